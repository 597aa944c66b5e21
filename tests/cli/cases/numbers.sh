# Each must be refused with its own message and exit code 2.
for words in "--budget 3x" "--budget 0" "--budget -1" "--budget nan" "--budget 1e99" "--budget 0x10" \
    "--top-k 0" "--top-k 1.5" "--top-k ten" "--threads 99999" "--seed -1" "--seed 99999999999999999999" \
    "--verify-delta 2" "--factor 0" "--max-kernel-ops=0" "--device 1000" "--require-speedup 0"; do
    mirage-opt $words examples/lora.json
    echo "$words: $?"
done
