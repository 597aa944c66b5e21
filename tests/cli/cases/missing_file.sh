mirage-opt --check nothere.json
