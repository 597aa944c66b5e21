mirage-opt --no-gpu -q examples/lora.json 2>/dev/null || exit
mirage-opt --no-gpu -q --emit mugraph examples/lora.json 2>/dev/null || exit
mirage-opt --no-gpu -q - <examples/lora.json 2>/dev/null >stdout.cu || exit
cmp lora.cu stdout.cu && ls
