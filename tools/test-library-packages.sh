#!/bin/sh
# Are the packages of libraries all that there are, or none? ldd and dpkg are fakes: the file `linked` is what the former says,
# `packaged` what the latter does.
# shellcheck disable=SC2016 # the fakes expand their own variables
set -u

script=$(cd "$(dirname "$0")" && pwd)/library-packages.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
wrong=0
mkdir "$dir/bin"
export FAKE="$dir"
printf '%s\n' '#!/bin/sh' '[ "$1" != static ] || exit 1' 'cat "$FAKE/linked"' >"$dir/bin/ldd"
printf '%s\n' '#!/bin/sh' 'grep ": $2\$" "$FAKE/packaged"' >"$dir/bin/dpkg"
chmod +x "$dir/bin/ldd" "$dir/bin/dpkg"

# expect WHAT STATUS STDOUT STDERR PROGRAM...: STDERR is a part of it.
expect() {
    what=$1 status=$2 out=$3 part=$4
    shift 4
    told=$(PATH="$dir/bin:$PATH" "$script" "$@" 2>"$dir/errors")
    got=$?
    if [ "$got" != "$status" ] || [ "$told" != "$out" ] ||
        { [ -n "$part" ] && ! grep -qF -- "$part" "$dir/errors"; }; then
        echo "$what: exit $got, \"$told\", $(cat "$dir/errors")"
        wrong=1
    fi
}

printf '\t%s\n' 'linux-vdso.so.1 (0x1)' 'liba.so.1 => /lib/liba.so.1 (0x2)' 'libc.so.6 => /lib/libc.so.6 (0x3)' \
    'libd.so.1 => /usr/lib/libd.so.1 (0x4)' '/lib64/ld-linux-x86-64.so.2 (0x5)' >"$dir/linked"
printf '%s\n' 'liba1:amd64: /usr/lib/liba.so.1' 'libc6:amd64: /lib/libc.so.6' 'libd1:amd64, libd1: /lib/libd.so.1' \
    >"$dir/packaged"
: >"$dir/errors"
expect "all of two programs" 0 liba1,libc6,libd1 "" one two
sed -i '/libc6/d' "$dir/packaged"
expect "a library of no package" 1 "" "/lib/libc.so.6 is of no package" one
printf '%s\n' 'libc6:amd64: /lib/libc.so.6' >>"$dir/packaged"
printf '\t%s\n' 'libe.so.3 => not found' >>"$dir/linked"
expect "a library that is not there" 1 "" "one lacks libe.so.3" one
expect "a program without libraries" 1 "" "cannot tell what static is linked with" static
exit "$wrong"
