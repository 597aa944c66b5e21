#!/bin/sh
# format.sh [--check]: formats the C sources with clang-format 14, or checks that they are formatted.
set -eu
cd "$(dirname "$0")/.."
formatter=
for name in clang-format-14 clang-format; do
    if command -v "$name" >/dev/null 2>&1 && "$name" --version | grep -q 'version 14\.'; then
        formatter=$name
        break
    fi
done
if [ -z "$formatter" ]; then
    echo "format.sh: clang-format 14 was not found; formatting was not checked" >&2
    exit 0
fi
files=$(find src include tests -name '*.c' -o -name '*.h' | sort)
# shellcheck disable=SC2086
if [ "${1:-}" = --check ]; then
    "$formatter" --dry-run -Werror $files
else
    "$formatter" -i $files
fi
