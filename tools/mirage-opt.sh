#!/bin/sh
# mirage-opt.sh [ARGUMENTS]: sets up and builds mirage-opt if need be, then runs it with the arguments.
# File names in the arguments are relative to the current directory.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/tools/lib.sh"
(
    cd "$here"
    set_up
    if [ -f build/release/CMakeCache.txt ]; then build release mirage-opt; else build release mirage-opt -DMO_TESTS=OFF; fi
) || exit $?
exec "$here/build/release/mirage-opt" "$@"
