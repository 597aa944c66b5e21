#!/bin/sh
# odd_programs.sh MIRAGE-OPT: every program of tests/gpu/odd is one that the tool reads. They are there to be run
# on a GPU (tools/gpu-check.sh BUILD tests/gpu/odd); a program that no longer parses would go unnoticed until then.
set -u
tool=$1
cd "$(dirname "$0")/odd" || exit 1
failed=0 count=0
for program in *.json; do
    count=$((count + 1))
    "$tool" -q --check "$program" || failed=1
done
echo "$count programs"
[ "$count" -ge 40 ] || exit 1
exit $failed
