mirage-opt -z examples/lora.json
