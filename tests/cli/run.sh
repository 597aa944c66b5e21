#!/bin/sh
# run.sh MIRAGE-OPT [--update]: exact tests of the command line.
#
# cases/NAME.sh runs in an empty folder that holds a copy of examples/, with the tool as `mirage-opt` in
# PATH and this folder as $CLI_TESTS; its stdout, stderr and exit code must be those of cases/NAME.expected. --update rewrites those files.
set -u
tool=$1
update=${2:-}
cd "$(dirname "$0")" || exit 1
here=$PWD
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
PATH="$(cd "$(dirname "$tool")" && pwd):$PATH"
export PATH
LC_ALL=C
CLI_TESTS=$here
export LC_ALL CLI_TESTS
failed=0 count=0
for case in cases/*.sh; do
    name=$(basename "$case" .sh)
    rm -rf "$work/run" && mkdir "$work/run" && cp -R ../../examples "$work/run/examples"
    (cd "$work/run" && sh "$here/$case" >"$work/stdout" 2>"$work/stderr" </dev/null)
    code=$?
    {
        echo "[exit $code]"
        echo "[stdout]"
        cat "$work/stdout"
        echo "[stderr]"
        cat "$work/stderr"
    } >"$work/actual"
    count=$((count + 1))
    if [ "$update" = --update ]; then
        cp "$work/actual" "cases/$name.expected"
    elif ! diff -u "cases/$name.expected" "$work/actual" >"$work/diff"; then
        echo "$name:"
        cat "$work/diff"
        failed=1
    fi
done
echo "$count cases"
exit $failed
