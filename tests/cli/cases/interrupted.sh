# Interrupted while it searches: the best so far is written, exit code 130 (143 for SIGTERM).
for signal in INT TERM; do
    mirage-opt --no-gpu -q --max-states 9000000000000000 examples/ngpt_block.json -o "$signal.cu" 2>message &
    sleep 1.5
    kill "-$signal" $!
    wait $!
    echo "$signal: $?"
    sed 's/[0-9][0-9]*\.[0-9]*/N/g' message
done
ls
