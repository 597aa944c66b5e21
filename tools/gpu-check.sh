#!/bin/sh
# gpu-check.sh [BUILD-FOLDER] [PROGRAM.json | FOLDER]...
#
# Everything that needs a GPU, in one command, on a machine that may lack a package registry: the build
# (default build/release) is made elsewhere and carried (tools/bundle.sh). Runs the GPU test programs;
# optimises every program of examples/ and those given; compiles each emitted file with nvcc and runs its
# self-check; prints one table.
#
# Writes table.txt, table.tsv, log.txt and products.tar.gz (emitted files and reports) to
# ${OUT:-gpu-check-out}. MO_OPTIONS holds further options for mirage-opt, MO_ARCH the architecture
# (default sm_90a), MO_SECONDS the bound on one program (default 180). MO_SANITIZE=1 runs every self-check under
# compute-sanitizer too (memcheck and racecheck), MO_PEERS=1 times PyTorch beside the emitted files
# (tools/bench/peers.py; MO_PEERS_OPTIONS are handed on). Exit code 1 when anything failed.
set -u
cd "$(dirname "$0")/.." || exit 1
build=build/release
if [ "$#" -gt 0 ] && [ -x "$1/mirage-opt" ]; then
    build=$1
    shift
fi
build=$(cd "$build" 2>/dev/null && pwd)
[ -x "$build/mirage-opt" ] || { echo "gpu-check.sh: no mirage-opt in the build folder; build it and carry it here" >&2; exit 2; }
out=${OUT:-gpu-check-out}
arch=${MO_ARCH:-sm_90a}
seconds=${MO_SECONDS:-180}
mkdir -p "$out" || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
mkdir "$work/products"
log=$out/log.txt
: >"$log"
failed=0

say() {
    echo "$*" | tee -a "$log"
}

# The test programs of label gpu.
[ -f "$build/tests/gpu.list" ] || say "no GPU tests: the build was made without tests"
while read -r test; do
    [ -n "$test" ] || continue
    # shellcheck disable=SC2086
    PATH="$build/tests:$PATH" timeout "$seconds" $test >"$work/test.log" 2>&1 </dev/null
    code=$?
    cat "$work/test.log" >>"$log"
    case $code in
    0) say "test $test: ok" ;;
    77) say "test $test: skipped: $(tail -n 1 "$work/test.log")" ;;
    *)
        say "test $test: FAILED ($code)"
        tail -n 20 "$work/test.log"
        failed=1
        ;;
    esac
done <<LIST
$(cat "$build/tests/gpu.list" 2>/dev/null)
LIST

# Programs: the tool first, one at a time, since it measures.
for path in examples "$@"; do
    if [ -d "$path" ]; then find "$path" -name '*.json' | sort; else echo "$path"; fi
done >"$work/programs"
number=100
while read -r program; do
    number=$((number + 1))
    name=$number-$(basename "$program" .json)
    start=$(date +%s)
    # shellcheck disable=SC2086
    timeout "$seconds" "$build/mirage-opt" ${MO_OPTIONS:-} --device 0 --arch "$arch" --progress none \
        --report "$work/products/$name.report.json" -o "$work/products/$name.cu" "$program" \
        >"$work/tool.log" 2>&1 </dev/null
    echo "$?" >"$work/$name.code"
    cp "$program" "$work/products/$name.json"
    tail -n 1 "$work/tool.log" >"$work/$name.verdict"
    { echo "== $program ($(($(date +%s) - start)) s)"; cat "$work/tool.log"; } >>"$log"
    echo "$(basename "$program"): $(cat "$work/$name.verdict")"
    echo "$name" >>"$work/names"
done <"$work/programs"

# nvcc is slow and measures nothing: all at once. Then the self-checks, one at a time.
xargs -P "$(nproc)" -I NAME sh -c "[ -f '$work/products/NAME.cu' ] && nvcc -arch=$arch -O3 -Xptxas -v -DMIRAGE_OPT_MAIN \
    '$work/products/NAME.cu' -o '$work/NAME.demo' >'$work/NAME.nvcc' 2>&1; true" <"$work/names"
while read -r name; do
    if [ -x "$work/$name.demo" ]; then
        timeout "$seconds" "$work/$name.demo" >"$work/$name.run" 2>&1 || echo "FAILED (exit $?)" >>"$work/$name.run"
    fi
    cat "$work/$name.nvcc" "$work/$name.run" >>"$log" 2>/dev/null
done <"$work/names"

# Sanitizers measure nothing: several at once. What they say goes to the log.
if [ "${MO_SANITIZE:-0}" = 1 ]; then
    for tool in memcheck racecheck; do
        xargs -P 6 -I NAME sh -c "[ -x '$work/NAME.demo' ] && { timeout $seconds compute-sanitizer --tool $tool \
            --error-exitcode 9 '$work/NAME.demo'; echo \"exit \$?\"; } >'$work/NAME.$tool' 2>&1; true" <"$work/names"
        while read -r name; do
            { echo "== $tool $name"; cat "$work/$name.$tool"; } >>"$log" 2>/dev/null
        done <"$work/names"
    done
fi

python3 tools/gpu_table.py "$work" "$out" || failed=1
tar -C "$work" -czf "$out/products.tar.gz" products
cat "$out/table.txt"
if [ "${MO_PEERS:-0}" = 1 ]; then
    # shellcheck disable=SC2086
    python3 tools/bench/peers.py --emitted "$work/products" --out "$out" --arch "$arch" ${MO_PEERS_OPTIONS:-} || failed=1
    cat "$out/peers.md"
fi
exit $failed
