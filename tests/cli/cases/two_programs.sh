mirage-opt examples/lora.json examples/attention.json
