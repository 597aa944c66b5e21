# The graph itself, and so places and values, are free to change.
mirage-opt -q --no-gpu --max-states 300 --emit mugraph examples/lora.json -o m.json 2>/dev/null
mirage-opt examples/lora.json --verify m.json
echo "equal: $?"
sed 's/"op": "add"/"op": "sub"/' m.json >sub.json
mirage-opt examples/lora.json --verify sub.json >sub.out
echo "a difference for a sum: $?"
sed 's/index \[[0-9]*,[0-9]*\], values [-0-9.e]* and [-0-9.e]*/index [I,J], values A and B/' sub.out
sed '0,/"imap": \["n"\]/s//"imap": []/' m.json >imap.json
mirage-opt examples/lora.json --verify imap.json 2>imap.err
echo "another imap: $?"
sed -n '1s/^imap.json:[0-9]*:[0-9]*: error: at [a-z0-9/]*: //p' imap.err
sed 's/4096/2048/g' m.json >short.json
mirage-opt examples/lora.json --verify short.json 2>short.err
echo "other shapes: $?"
sed -n 1p short.err
