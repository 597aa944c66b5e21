mirage-opt --version
