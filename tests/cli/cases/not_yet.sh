for words in "--cache somewhere" "--replay report.json" "--emit cubin" \
    "--emit ptx" "--emit dot" "--emit html"; do
    mirage-opt $words examples/lora.json
    echo "$words: $?"
done
