# A GPU that was asked for and is not there.
mirage-opt --device 200 examples/lora.json -o out.cu 2>/dev/null
echo "$?"
ls
