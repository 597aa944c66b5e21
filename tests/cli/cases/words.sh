mirage-opt --emit wat examples/lora.json
mirage-opt --progress loud examples/lora.json
mirage-opt --count all examples/lora.json
mirage-opt --arch sm_7 --no-gpu examples/lora.json
