# Found before the search: exit code 2, nothing written.
mirage-opt --no-gpu examples/lora.json -o missing/folder/out.cu
echo "$?"
mirage-opt --no-gpu examples/lora.json -o examples
echo "$?"
mirage-opt --no-gpu examples/lora.json -o out.cu --report missing/report.json
echo "$?"
ls
