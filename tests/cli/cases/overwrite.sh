cp examples/lora.json lora.cu
mirage-opt --no-gpu lora.cu
echo "$?"
mirage-opt --no-gpu examples/lora.json -o x --report x
echo "$?"
mirage-opt --no-gpu examples/lora.json -o - --report -
echo "$?"
mirage-opt --no-gpu examples/lora.json -o - --emit cu --emit mugraph
echo "$?"
cmp lora.cu examples/lora.json && ls
