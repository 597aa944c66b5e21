for program in examples/*.json; do
    mirage-opt --check "$program" || exit
done
mirage-opt --check - <examples/lora.json
mirage-opt --check -q examples/lora.json
ls
