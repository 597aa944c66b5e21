# --verify: the answer is the product, on stdout; exit code 0 equal, 4 different, 2 for another interface.
program() {
    cat <<P
{"format": "mirage-opt/1", "name": "p",
 "inputs": [{"name": "X", "shape": [4, $1], "dtype": "f16"}, {"name": "W", "shape": [$1, 8], "dtype": "f16"}],
 "nodes": [$2], "outputs": ["Y"]}
P
}
program 16 '{"op": "matmul", "inputs": ["X", "W"], "output": "M"}, {"op": "mul", "inputs": ["M", 2], "output": "Y"}' >a.json
program 16 '{"op": "mul", "inputs": ["X", 2], "output": "D"}, {"op": "matmul", "inputs": ["D", "W"], "output": "Y"}' >b.json
program 16 '{"op": "mul", "inputs": ["X", 3], "output": "D"}, {"op": "matmul", "inputs": ["D", "W"], "output": "Y"}' >c.json
program 32 '{"op": "matmul", "inputs": ["X", "W"], "output": "Y"}' >d.json
mirage-opt a.json --verify b.json | sed 's/delta [0-9.e-]*/delta N/'
mirage-opt a.json --verify c.json >answer
echo "$?"
sed 's/values .*/values .../; s/index .*,/index ...,/' answer
mirage-opt a.json --verify d.json
echo "$?"
mirage-opt a.json --verify missing.json
echo "$?"
