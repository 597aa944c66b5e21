# Words behind '--' are files; '=' and a value behind a letter are understood.
mirage-opt --check -- -nothere.json
echo "$?"
mirage-opt --check --seed=3 -- examples/lora.json
echo "$?"
mirage-opt -omissing/x.cu --no-gpu examples/lora.json
echo "$?"
