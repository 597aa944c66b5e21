mirage-opt --bugdet 3 examples/lora.json
