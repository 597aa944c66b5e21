# A reader that goes away is an output error, not a crash.
(mirage-opt --no-gpu -q examples/lora.json -o - 2>message; echo "$?" >code) | true
cat code
sed 's/: .*: /: ... /' message
