mirage-opt --check examples
