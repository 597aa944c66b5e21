mirage-opt --no-gpu -q examples/lora.json -o out.cu --report report.json 2>/dev/null || exit
python3 "$CLI_TESTS/check_report.py" report.json
mirage-opt --no-gpu -q examples/lora.json -o out.cu --report - 2>/dev/null >stdout.json || exit
python3 "$CLI_TESTS/check_report.py" stdout.json
