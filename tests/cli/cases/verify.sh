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
# The certificate goes to stderr.
mirage-opt a.json --verify b.json -v 2>proof
sed -n '1,2p' proof
# Equal, but the forms differ: a sum of quotients below a sum, over a common denominator.
program 16 '{"op": "square", "inputs": ["X"], "output": "S"}, {"op": "add", "inputs": ["S", 1], "output": "A"},
 {"op": "add", "inputs": ["S", 2], "output": "B"}, {"op": "reciprocal", "inputs": ["A"], "output": "C"},
 {"op": "reciprocal", "inputs": ["B"], "output": "D"}, {"op": "add", "inputs": ["C", "D"], "output": "E"},
 {"op": "matmul", "inputs": ["E", "W"], "output": "Y"}' >e.json
program 16 '{"op": "square", "inputs": ["X"], "output": "S"}, {"op": "add", "inputs": ["S", 1], "output": "A"},
 {"op": "add", "inputs": ["S", 2], "output": "B"}, {"op": "mul", "inputs": ["A", "B"], "output": "C"},
 {"op": "add", "inputs": ["A", "B"], "output": "D"}, {"op": "div", "inputs": ["D", "C"], "output": "E"},
 {"op": "matmul", "inputs": ["E", "W"], "output": "Y"}' >f.json
mirage-opt e.json --verify f.json | sed 's/delta [0-9.e-]*/delta N/'
# Equal by a law of logarithms, which neither the forms nor the fields have.
program 16 '{"op": "square", "inputs": ["X"], "output": "S"}, {"op": "add", "inputs": ["S", 1], "output": "A"},
 {"op": "square", "inputs": ["A"], "output": "B"}, {"op": "log", "inputs": ["B"], "output": "L"},
 {"op": "matmul", "inputs": ["L", "W"], "output": "Y"}' >g.json
program 16 '{"op": "square", "inputs": ["X"], "output": "S"}, {"op": "add", "inputs": ["S", 1], "output": "A"},
 {"op": "log", "inputs": ["A"], "output": "B"}, {"op": "mul", "inputs": ["B", 2], "output": "L"},
 {"op": "matmul", "inputs": ["L", "W"], "output": "Y"}' >h.json
mirage-opt g.json --verify h.json
echo "$?"
