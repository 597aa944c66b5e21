# Each pass can be switched off, says so, and unknown ones are errors.
mirage-opt --disable-pass tiling examples/lora.json
for pass in layout schedule memory pipeline threads; do
    mirage-opt --no-gpu -v --max-states 2000 --disable-pass $pass examples/gated_mlp.json -o $pass.cu \
        --report report.json 2>&1 | sed -n "s/^mirage-opt: \($pass (off)\): .*/\1/p"
    grep -o "disable-pass=$pass" $pass.cu
    python3 -c 'import json; print(json.load(open("report.json"))["options"]["disabled_passes"])'
done
mirage-opt --no-gpu -q --max-states 2000 --disable-pass layout --disable-pass memory examples/gated_mlp.json -o both.cu \
    --report report.json 2>/dev/null
python3 -c 'import json; print(json.load(open("report.json"))["options"]["disabled_passes"])'
