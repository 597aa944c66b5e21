mirage-opt --no-gpu -q --top-k 3 examples/lora.json -o out.cu --save-temps kept 2>/dev/null || exit
ls kept | head -n 3
cmp out.cu kept/candidate000.cu || echo "the winner is another candidate"
touch file
mirage-opt --no-gpu examples/lora.json --save-temps file
echo "$?"
