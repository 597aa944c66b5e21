# A search that would go on for hours ends with its budget, and with what it has found.
start=$(date +%s)
mirage-opt --no-gpu -q --budget 2 --max-states 9000000000000000 examples/ngpt_block.json -o out.cu 2>/dev/null
echo "$?"
[ $(($(date +%s) - start)) -lt 60 ] || echo "it took too long"
ls
