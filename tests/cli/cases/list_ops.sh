mirage-opt --list-ops
