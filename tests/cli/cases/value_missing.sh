mirage-opt examples/lora.json --budget
