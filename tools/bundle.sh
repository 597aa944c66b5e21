#!/bin/sh
# bundle.sh [BUILD-FOLDER] [TO-FOLDER]: makes a build runnable on a machine without this one's packages.
#
# Copies the shared libraries that its programs link, those of the C library excepted, beside the tool
# (programs look there: their run path is $ORIGIN). With TO-FOLDER, the tool and the GPU tests are copied
# there first, so that this folder can be carried alone; tools/gpu-check.sh takes it as its build folder.
set -eu
build=${1:-build/release}
to=${2:-$build}
[ -x "$build/mirage-opt" ] || { echo "bundle.sh: no mirage-opt in $build" >&2; exit 2; }
if [ "$to" != "$build" ]; then
    mkdir -p "$to/tests"
    cp "$build/mirage-opt" "$to/"
    if [ -f "$build/tests/gpu.list" ]; then
        cp "$build/tests/gpu.list" "$to/tests/"
        while read -r test _; do
            if [ -n "$test" ]; then cp "$build/tests/$test" "$to/tests/"; fi
        done <"$build/tests/gpu.list"
    fi
fi
copied=
for program in "$to/mirage-opt" "$to"/tests/*; do
    if [ ! -f "$program" ] || [ ! -x "$program" ]; then continue; fi
    case $program in *.so*) continue ;; esac
    for library in $(ldd "$program" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $3}'); do
        name=$(basename "$library")
        case $name in
        libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libresolv.so.* | ld-linux*) continue ;;
        esac
        [ "$(dirname "$library")" = "$(cd "$to" && pwd)" ] && continue
        case " $copied " in *" $name "*) continue ;; esac
        cp -L "$library" "$to/$name"
        copied="$copied $name"
    done
done
echo "bundled into $to:${copied:- nothing new}"
