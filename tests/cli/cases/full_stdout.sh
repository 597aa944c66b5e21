# A product that cannot be written is exit code 74.
[ -w /dev/full ] || { echo "no /dev/full here" >&2; exit 1; }
mirage-opt --version >/dev/full
echo "$?"
