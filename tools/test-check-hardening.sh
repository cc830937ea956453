#!/bin/sh
# Can the check of how programs are linked fail? One that has it all, then one that lacks one thing,
# each in turn.
set -u

check=$(cd "$(dirname "$0")" && pwd)/check-hardening.sh
compiler=${CC:-cc}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
wrong=0
mkdir "$dir/bin" "$dir/empty"

cat >"$dir/program.c" <<'EOF'
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    char name[16];

    (void)argc;
    strcpy(name, argv[0]);
    return puts(name) < 0;
}
EOF

complain() {
    echo "check-hardening.sh $1"
    sed 's/^/    /' "$dir/output"
    wrong=1
}

# build FLAG...: what a compiler does by itself differs, so all is said; the last word counts.
build() {
    if ! "$compiler" -O2 -fPIE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -pie \
        -Wl,-z,relro,-z,now,-z,noexecstack "$@" -o "$dir/bin/program" "$dir/program.c" >"$dir/output" 2>&1; then
        complain "can't be tried: $compiler $*"
    fi
}

# exits STATUS FOLDER...
exits() {
    status=$1
    shift
    "$check" "$@" >"$dir/output" 2>&1
    got=$?
    [ "$got" -eq "$status" ] || complain "$*: exit $got instead of $status"
}

# shows TEXT
shows() {
    grep -qF -e "$1" "$dir/output" || complain "does not say: $1"
}

# refuses PROPERTY FLAG...: a program made with these flags lacks that, and nothing else.
refuses() {
    property=$1
    shift
    build "$@"
    exits 1 "$dir/bin"
    shows "program lacks $property"
    [ "$(grep -c . "$dir/output")" -eq 1 ] || complain "finds more than that in a program made with $*"
}

exits 2
exits 1 "$dir/empty"
shows "no programs"
READELF=$dir/none exits 2 "$dir/bin"
shows "package binutils"

build
exits 0 "$dir/bin" "$dir/empty"
build -fPIC -shared -Wl,-soname,library.so.0
exits 0 "$dir/bin"
refuses RELRO -fPIC -shared -Wl,-soname,library.so.0 -Wl,-z,norelro
refuses PIE -fno-pie -no-pie
refuses RELRO -Wl,-z,norelro
refuses BIND_NOW -Wl,-z,lazy
refuses "stack protector" -fno-stack-protector
refuses FORTIFY -U_FORTIFY_SOURCE
refuses "noexec stack" -Wl,-z,execstack

build
printf '#!/bin/sh\n' >"$dir/bin/script"
chmod +x "$dir/bin/script"
exits 1 "$dir/bin"
shows "script is no program"

[ "$wrong" -eq 0 ] && echo "the check of how programs are linked refuses what it must"
exit "$wrong"
