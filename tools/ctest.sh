#!/bin/sh
# ctest.sh BUILD-FOLDER [CTEST ARGUMENTS]: runs its tests and prints the skipped ones with their reasons.
set -u
build=$1
shift
if [ "$#" -eq 0 ] && grep -q '^CMAKE_C_FLAGS:.*-fsanitize=thread' "$build/CMakeCache.txt"; then
    set -- --label-exclude unit # Criterion does not start under the thread sanitizer
fi
said=$build/Testing/said.txt
mkdir -p "$build/Testing"
{
    ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$(nproc 2>/dev/null || echo 2)" "$@"
    echo "$?" >"$said.code"
} | tee "$said"
# The reason is the line of its output that starts with "skipped:", or else the last line.
sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) .*\*\*\*Skipped.*/\1/p' "$said" | while read -r name; do
    awk -v name="$name" '
        /^[0-9]+\/[0-9]+ Test: / { mine = $3 == name; next }
        /^Output:/ { output = 1; next }
        /^<end of output>/ { output = 0 }
        mine && output && NF && !/^-+$/ { last = $0 }
        mine && output && /^skipped: / && first == "" { first = substr($0, 10) }
        END { print "skipped: " name ": " (first == "" ? last : first) }
    ' "$build/Testing/Temporary/LastTest.log"
done
exit "$(cat "$said.code")"
