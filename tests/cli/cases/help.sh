mirage-opt --help
