#!/bin/sh
# ctest.sh BUILD-FOLDER [CTEST ARGUMENTS]: runs its tests and prints the skipped ones with their reasons.
set -u
build=$1
shift
if [ "$#" -eq 0 ] && grep -q '^CMAKE_C_FLAGS:.*-fsanitize=thread' "$build/CMakeCache.txt"; then
    set -- --label-exclude unit # Criterion does not start under the thread sanitizer
fi
ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$(nproc 2>/dev/null || echo 2)" "$@"
result=$?
# The last lines that a skipped test printed are its reason.
awk '
    /^[0-9]+\/[0-9]+ Test(ing)?: / { name = $3; last = "" }
    /^Output:/ { output = 1; next }
    /^<end of output>/ { output = 0; next }
    output && NF && !/^-+$/ { last = $0 }
    /^Test Skipped\./ { print "skipped: " name ": " last; any = 1 }
' "$build/Testing/Temporary/LastTest.log" 2>/dev/null
exit $result
