for option in --arch --seed --report -o; do
    mirage-opt $option "" examples/lora.json
    echo "$option: $?"
done
mirage-opt ""
echo "program: $?"
