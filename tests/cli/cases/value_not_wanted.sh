mirage-opt --no-gpu=yes examples/lora.json
