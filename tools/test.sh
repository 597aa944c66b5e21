#!/bin/sh
# test.sh [CTEST ARGUMENTS]: sets up, builds and runs all tests; prints the skipped ones with the reason.
# MO_PRESET=asan (dev, tsan) tests another build than release.
set -eu
cd "$(dirname "$0")/.."
. tools/lib.sh
preset=${MO_PRESET:-release}
set_up tests
build "$preset" all -DMO_TESTS=ON
exec tools/ctest.sh "build/$preset" "$@"
