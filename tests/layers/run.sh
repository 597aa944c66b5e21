#!/bin/sh
# The architecture as rules that can fail:
# - a folder of src/ includes only the folders that mo_module() in CMakeLists.txt allows it;
# - that table has no cycles (a folder may only name folders above it);
# - inline PTX stands in kernels/ptx.cuh, cJSON in src/base/json.*, CUDA names in src/gpu;
# - every folder of src/ is in the table.
set -u
cd "$(dirname "$0")/../.." || exit 1
bad=0
complain() {
    printf '%s\n' "$*" >&2
    bad=1
}

table=$(sed -n 's/^mo_module(\(.*\))$/\1/p' CMakeLists.txt)
[ -n "$table" ] || complain "no mo_module() lines in CMakeLists.txt"

known=
while read -r module allowed; do
    for other in $allowed; do
        case " $known " in
        *" $other "*) ;;
        *) complain "CMakeLists.txt: $module may include $other, which is not above it" ;;
        esac
    done
    known="$known $module"
    [ -d "src/$module" ] || continue
    # "FILE:#include "FOLDER/..." of everything in the module, reduced to "FILE FOLDER".
    includes=$(grep -rHE '^[[:space:]]*#[[:space:]]*include "[a-z_]+/' "src/$module" --include='*.[ch]' |
        sed 's/^\([^:]*\):[^"]*"\([a-z_]*\)\/.*/\1 \2/' | sort -u)
    while read -r file other; do
        case " $module $allowed " in
        *" $other "*) ;;
        *) [ -z "$file" ] || complain "$file: src/$module may not include \"$other/\"" ;;
        esac
    done <<INCLUDES
$includes
INCLUDES
done <<TABLE
$table
TABLE

for folder in src/*/; do
    module=$(basename "$folder")
    case " $known " in
    *" $module "*) ;;
    *) complain "src/$module is not in the table of CMakeLists.txt" ;;
    esac
done

# forbid PATTERN MESSAGE ALLOWED-FILES(regular expression) FOLDERS...: no line of code may match.
forbid() {
    pattern=$1 message=$2 except=$3
    shift 3
    hits=$(grep -rnE --include='*.c' --include='*.h' --include='*.cuh' --include='*.cu' "$pattern" "$@" 2>/dev/null |
        grep -vE "^($except)")
    [ -z "$hits" ] || complain "$message:
$hits"
}

forbid '\b(__)?asm(__)?( +(volatile|__volatile__))? *\(' 'inline assembly outside kernels/ptx.cuh' \
    'kernels/ptx\.cuh:' src kernels include
forbid 'cJSON' 'cJSON outside src/base/json' 'src/base/json[a-z_]*\.[ch]:' src include
forbid '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"](cuda|nvrtc)' 'CUDA headers' 'none:' src include
# Calls and types of the driver and NVRTC (in emitted text, within quotes, cudart names are fine).
forbid '\b(cu(Init|Ctx|Device|Module|Launch|Mem|Stream|Event|Graph|Func|Get|Link|Library|Occupancy|Tensor)[A-Z][A-Za-z]*|nvrtc[A-Z][A-Za-z]*) *\(' \
    'calls of the CUDA driver or NVRTC outside src/gpu' 'src/gpu/|src/codegen/[a-z_]*\.c:[0-9]+:.*"' src include
forbid '\bgetenv *\(' 'environment read outside src/gpu, src/profile and src/cli' 'src/(gpu|profile|cli)/' src
forbid 'use_fast_math' 'the flag is forbidden' 'none:' src kernels
exit $bad
