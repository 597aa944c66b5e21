#!/bin/sh
# Bad inputs: run.sh [--update] BINARY
#
# Each case is NAME.json, or a file made by make_case below, with NAME.stderr beside it: the exact text
# that both `BINARY --check case.json` and `BINARY case.json -o out.cu` must print, with exit code 2,
# nothing on stdout and nothing written. The destination cases are valid programs that cannot be written.
# --update records what the binary prints.
set -u

update=no
if [ "${1:-}" = --update ]; then
    update=yes
    shift
fi
if [ $# -ne 1 ]; then
    echo "usage: run.sh [--update] BINARY" >&2
    exit 2
fi
binary=$(realpath "$1")
cases=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
count=0

fail()
{
    echo "FAIL $name: $1"
    failures=$((failures + 1))
}

# Inputs that are awkward to keep as files. The name of the case says what they are.
make_case()
{
    case $1 in
    empty) : >case.json ;;
    nul_bytes) printf '{"format": "mirage-opt/1",\000 "name": "n"}' >case.json ;;
    binary) printf '\177ELF\002\001\001\000\000\000\377\376' >case.json ;;
    not_utf8) printf '{"format": "mirage-opt/1", "name": "caf\351"}' >case.json ;;
    utf16) printf '\377\376{\000}\000' >case.json ;;
    byte_order_mark) printf '\357\273\277{"format": "mirage-opt/1"}' >case.json ;;
    deep_nesting) { printf '{"x-deep": '; printf '[%.0s' $(seq 64); printf ']%.0s' $(seq 64); printf '}\n'; } >case.json ;;
    long_line)
        { printf '{"format": "mirage-opt/1", "x-pad": "'; printf 'p%.0s' $(seq 400)
          printf '", "inptus": [], "x-more": "'; printf 'm%.0s' $(seq 400); printf '"}\n'; } >case.json ;;
    directory) mkdir case.json ;;
    missing) ;;
    too_large) truncate -s 64M case.json && printf ' ' >>case.json ;;
    *) cp "$cases/$1.json" case.json ;;
    esac
}

# Compares stderr, stdout, the exit code, and the list of files before and after.
check_run()
{
    expected="$cases/$name.stderr"
    before=$(ls -lA --time-style=+ .)
    "$binary" "$@" >../stdout 2>../stderr </dev/null
    code=$?
    after=$(ls -lA --time-style=+ .)
    [ "$update" = yes ] && cp ../stderr "$expected"
    [ "$code" -eq 2 ] || fail "exit code $code instead of 2: $*"
    [ -s ../stdout ] && fail "text on stdout: $*"
    [ "$before" = "$after" ] || fail "something was written: $*"
    diff -u "$expected" ../stderr || fail "another message: $*"
    count=$((count + 1))
}

enter()
{
    rm -rf "$work/run" && mkdir "$work/run" && cd "$work/run" || exit 1
}

for name in $(cd "$cases" && ls *.json | sed 's/\.json$//' | grep -v '^valid$') \
    empty nul_bytes binary not_utf8 utf16 byte_order_mark deep_nesting long_line directory missing too_large; do
    enter
    make_case "$name"
    check_run --check case.json
    check_run case.json -o out.cu
done

for name in unwritable_missing_directory unwritable_is_directory unwritable_below_file unwritable_name_too_long \
    unwritable_dangling_link; do
    enter
    cp "$cases/valid.json" case.json
    target=out.cu
    case $name in
    unwritable_missing_directory) target=no/such/out.cu ;;
    unwritable_is_directory) mkdir out.cu ;;
    unwritable_below_file) target=case.json/out.cu ;;
    unwritable_name_too_long) target=$(printf 'n%.0s' $(seq 300)).cu ;;
    unwritable_dangling_link) ln -s nowhere out.cu ;;
    esac
    check_run case.json -o "$target"
done

if [ "$failures" -ne 0 ]; then
    echo "$failures failures in $count runs"
    exit 1
fi
echo "$count runs, no failures"
