mirage-opt
