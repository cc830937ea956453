#!/bin/sh
# Can the library be linked into programs of both kinds, position-independent and not?
# tools/check-library.sh BUILD [ROOT]: an example with BUILD/lib/liborbloom.a and the libraries that
# README.md names for that, each way, and then it runs.
set -u

build=${1:?usage: tools/check-library.sh BUILD [ROOT]}
root=${2:-$(dirname "$0")/..}
compiler=${CC:-cc}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
wrong=0

needed=$(sed -n 's/.*pkg-config --libs \(lib[a-z0-9 -]*\)).*/\1/p' "$root/README.md" | head -n 1)
if [ -z "$needed" ]; then
    echo "README.md does not say what is linked with liborbloom.a"
    exit 1
fi

# links KIND FLAG...
links() {
    kind=$1
    shift
    # shellcheck disable=SC2046,SC2086 # lists of words
    if ! "$compiler" -std=c11 -D_GNU_SOURCE -O2 "$@" -I"$root/client" -o "$dir/program" \
        "$root/client/examples/dedup.c" -L"$build/lib" -lorbloom $(pkg-config --libs $needed) -lm \
        >"$dir/output" 2>&1; then
        echo "a $kind program can't be linked with $build/lib/liborbloom.a:"
        sed 's/^/    /' "$dir/output"
        wrong=1
    elif "$dir/program" >"$dir/output" 2>&1 </dev/null || ! grep -q usage "$dir/output"; then
        echo "a $kind program does not say how it is used:"
        sed 's/^/    /' "$dir/output"
        wrong=1
    fi
}

links position-independent -fPIE -pie
links fixed -fno-pie -no-pie
[ "$wrong" -eq 0 ] && echo "programs of both kinds can be linked with the library"
exit "$wrong"
