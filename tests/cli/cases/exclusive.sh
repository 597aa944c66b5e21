for words in "--device 0 --no-gpu" "--require-speedup 2 --no-gpu" "--cache d --no-cache" "-v -q" \
    "--check -o x.cu" "--check --report r.json" "--check --emit cu"; do
    mirage-opt $words examples/lora.json
    echo "$words: $?"
done
