#!/bin/sh
# The rules of run.sh are rules only if they can fail: each violation, planted in a copy, must be reported.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0

# plant FILE TEXT [REPORTED]: expects run.sh to fail and to name FILE (or what stands in REPORTED).
plant() {
    rm -rf "$work/copy" && mkdir "$work/copy"
    cp -R CMakeLists.txt src include kernels "$work/copy/"
    mkdir -p "$work/copy/tests/layers" "$work/copy/$(dirname "$1")"
    cp tests/layers/run.sh "$work/copy/tests/layers/"
    echo "$2" >>"$work/copy/$1"
    if "$work/copy/tests/layers/run.sh" 2>&1 | grep -q "${3:-$1}"; then return; fi
    echo "not reported: $1: $2"
    bad=1
}

plant src/gpu/planted.c '#include "search/search.h"'
plant src/ir/planted.c 'void f(void) { __asm__ volatile ("nop"); }'
plant src/verify/planted.c 'int r = cuLaunchKernel(f);'
plant src/search/planted.c 'const char *s = getenv("HOME");'
plant src/parse/planted.c '#include <cJSON.h>'
plant src/extra/planted.c 'int x;' "src/extra is not in the table"
plant CMakeLists.txt 'mo_module(early late)'
exit $bad
