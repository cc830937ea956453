#!/bin/sh
# Is the library, as it is installed, what orbloom.h says? tools/check-library.sh BUILD
#
# `make install` of BUILD into a temporary folder, with the libraries' folder where Debian has it; then
# - a program is built by what pkg-config tells, with the shared and with the static library, each
#   position-independent and not, and runs;
# - orbloom.h is C99, C17, and C++11 where there is a compiler for that;
# - liborbloom.so exports the functions of orbloom.h, each with a version, and nothing else;
# - no other name of liborbloom.a can collide with a program's;
# - the ABI is the one in tests/abi, if abidiff is there (docs/releases.md: how to renew it);
# - nothing that was installed knows in which folder it was built;
# - everybody may read what was installed under a umask of 077, and `make uninstall` leaves nothing of it.
set -u

build=${1:?usage: tools/check-library.sh BUILD}
root=$(cd "$(dirname "$0")/.." && pwd)
compiler=${CC:-cc}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
tree=$dir/tree
lib=$tree/usr/lib/multiarch
wrong=0

complain() {
    echo "$1:"
    sed 's/^/    /' "$dir/output"
    wrong=1
}

# make_tree WORD...: as a distribution calls make.
make_tree() {
    if ! make -C "$root" -s VARIANT=release BUILD_ROOT="$build" DESTDIR="$tree" PREFIX=/usr LIBDIR=/usr/lib/multiarch "$@" \
        >"$dir/output" 2>&1; then
        complain "make $* fails"
        exit 1
    fi
}

# told FLAG...: what pkg-config says of the installed tree.
told() {
    PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$tree pkg-config "$@" orbloom
}

# links KIND LIBRARIES FLAG...
links() {
    kind=$1
    libraries=$2
    shift 2
    # shellcheck disable=SC2046,SC2086 # lists of words
    if ! "$compiler" -std=c11 -D_GNU_SOURCE -O2 "$@" $(told --cflags) -o "$dir/program" \
        "$root/client/examples/dedup.c" $libraries >"$dir/output" 2>&1; then
        complain "a program can't be linked, $kind"
    elif LD_LIBRARY_PATH=$lib "$dir/program" >"$dir/output" 2>&1 </dev/null || ! grep -q usage "$dir/output"; then
        complain "a program does not say how it is used, $kind"
    fi
}

# needs_shared WHETHER: does the program that was linked last need liborbloom.so.0?
needs_shared() {
    objdump -p "$dir/program" | grep NEEDED >"$dir/output"
    needed=$(grep -c 'liborbloom[.]so[.]0$' "$dir/output")
    [ "$needed" -eq "$1" ] || complain "$needed times liborbloom.so.0 is needed, not $1"
}

# reads LANGUAGE STANDARD: does the header, alone, without a warning?
reads() {
    printf '#include <orbloom.h>\nextern int unused;\n' | "$compiler" "-std=$2" -Wall -Wextra -Wpedantic -Werror \
        -fsyntax-only -I"$tree/usr/include" -x "$1" - >"$dir/output" 2>&1 || complain "orbloom.h is no $2"
}

# same_names WHAT: are the names on stdin the functions of orbloom.h?
same_names() {
    sort >"$dir/names"
    if ! diff "$dir/declared" "$dir/names" >"$dir/output"; then
        complain "$1 (>) and orbloom.h (<) differ"
    fi
}

check_abi() {
    kept=$root/tests/abi/liborbloom.so.0.abi
    if ! command -v abidiff >/dev/null 2>&1 || [ "$(uname -m)" != x86_64 ]; then
        echo "the ABI was not compared: that takes abidiff, of the package abigail-tools, and x86_64"
        return
    fi
    make_tree abi ABI="$dir/abi"
    if ! abidiff "$kept" "$dir/abi" >"$dir/output" 2>&1; then
        complain "the ABI is another one than in $kept; docs/releases.md says what may change, and what to do"
    fi
}

make_tree install

static=$(told --static --libs | sed 's/-lorbloom\>/-l:liborbloom.a/')
links "shared, position-independent" "$(told --libs)" -fPIE -pie
needs_shared 1
links "shared, fixed" "$(told --libs)" -fno-pie -no-pie
links "static, position-independent" "$static" -fPIE -pie
needs_shared 0
links "static, fixed" "$static" -fno-pie -no-pie

reads c c99
reads c c17
if printf '' | "$compiler" -fsyntax-only -x c++ - 2>/dev/null; then
    reads c++ c++11
fi
"$compiler" -E -P $(told --cflags) -x c "$tree/usr/include/orbloom.h" | grep -oE '\borbloom_[a-z_]+ *\(' |
    tr -d ' (' | sort -u >"$dir/declared"
nm -D --defined-only "$lib/liborbloom.so" | awk '$2 != "A" { sub(/@@ORBLOOM_[0-9.]+$/, "", $3); print $3 }' |
    same_names "what liborbloom.so exports"
nm -g --defined-only "$lib/liborbloom.a" | awk 'NF == 3 { print $3 }' | same_names "what liborbloom.a defines"
check_abi
if grep -rlF "$root" "$tree" >"$dir/output"; then
    complain "these know the folder in which they were built"
fi
python=
! /usr/bin/python3 -c 'import cffi' 2>/dev/null || python=install-python
umask 077
make_tree install $python
find "$tree" ! -type l ! -perm -444 >"$dir/output"
[ ! -s "$dir/output" ] || complain "not everybody may read these"
make_tree uninstall
find "$tree" ! -type d >"$dir/output"
[ ! -s "$dir/output" ] || complain "make uninstall leaves these"

[ "$wrong" -eq 0 ] && echo "programs of both kinds link both libraries, which export what orbloom.h declares"
exit "$wrong"
