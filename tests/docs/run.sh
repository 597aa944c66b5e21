#!/bin/sh
# run.sh MIRAGE-OPT: runs every block of README.md and docs/*.md that is fenced as ```sh test.
# Each block runs by `sh -e` in a fresh copy of examples/, with the tool first in PATH.
set -u
tool=$1
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0 count=0
for page in README.md docs/*.md; do
    [ -e "$page" ] || continue
    mkdir -p "$work/blocks"
    awk -v base="$work/blocks/" '
        /^```sh test$/ { open = 1; file = base sprintf("%03d.sh", ++n); line = FNR; print "# line " line > file; next }
        /^```/ { if (open) close(file); open = 0; next }
        open { print > file }' "$page"
    for block in "$work"/blocks/*.sh; do
        [ -e "$block" ] || continue
        count=$((count + 1))
        rm -rf "$work/run" && mkdir "$work/run" && cp -R "$root/examples" "$work/run/examples"
        if ! (cd "$work/run" && PATH="$(dirname "$tool"):$PATH" sh -e "$block" >"$work/log" 2>&1); then
            failed=1
            echo "$page, $(head -n 1 "$block" | cut -c3-): failed"
            sed 's/^/    /' "$block" "$work/log"
        fi
    done
    rm -rf "$work/blocks"
done
[ "$count" -gt 0 ] || { echo "no block marked as a test was found"; exit 1; }
echo "$count blocks run"
exit $failed
