# shellcheck shell=sh
# Shared by the scripts of this folder (sourced): what the build needs and how to get it.
# Quiet when everything is in place.

have() {
    command -v "$1" >/dev/null 2>&1
}

have_library() {
    have pkg-config && pkg-config --exists "$1"
}

# Prints the Debian packages that are missing for a build, and with the argument `tests` for the tests.
missing_packages() {
    have gcc || have cc || echo gcc
    have cmake || echo cmake
    have make || have ninja || echo make
    have pkg-config || echo pkg-config
    have_library libcjson || echo libcjson-dev
    have_library libxxhash || echo libxxhash-dev
    [ "${1:-}" = tests ] || return 0
    have_library criterion || echo libcriterion-dev
    have g++ || echo g++
    have python3 || echo python3
}

# Installs what is missing when this can be done without a password; otherwise says how and exits with 3.
set_up() {
    missing=$(missing_packages "$@" | tr '\n' ' ')
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" = 0 ] && have apt-get; then
        echo "installing: $missing" >&2
        log=$(mktemp)
        # shellcheck disable=SC2086
        if { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing libc6-dev; } \
            >"$log" 2>&1; then
            rm -f "$log"
            return 0
        fi
        tail -n 20 "$log" >&2
        rm -f "$log"
    fi
    echo "missing: $missing" >&2
    if have apt-get; then
        echo "install it with: sudo apt-get install $missing" >&2
    else
        echo "install the equivalents of these Debian packages: $missing" >&2
    fi
    exit 3
}

cores() {
    nproc 2>/dev/null || echo 2
}

# build PRESET TARGET [CMAKE OPTIONS]: builds the target in build/PRESET, configured first where it is not yet
# or where options are given; prints only when something fails.
build() {
    preset=$1 target=$2
    shift 2
    mkdir -p build
    log=build/$preset.log
    : >"$log"
    if { [ "$#" -eq 0 ] && [ -f "build/$preset/CMakeCache.txt" ]; } || cmake --preset "$preset" "$@" >>"$log" 2>&1; then
        cmake --build "build/$preset" --target "$target" --parallel "$(cores)" >>"$log" 2>&1 && return 0
    fi
    cat "$log" >&2
    echo "the build failed; its log is $log" >&2
    exit 3
}
