#!/bin/sh
# Do two builds give the same bytes? tools/check-reproducible.sh [COMMIT]
#
# COMMIT (HEAD) is built in two folders, of names of different lengths, in other languages and time zones; what
# `make install` puts from there is compared byte by byte. Without ccache, which would
# give the second build what the first one has made. Takes two full builds.
set -u

commit=${1:-HEAD}
root=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

# build FOLDER NAME=VALUE...: into FOLDER.tree
build() {
    folder=$dir/$1
    shift
    mkdir -p "$folder"
    git -C "$root" archive "$commit" | tar -x -C "$folder" || exit 1
    if ! env -u MAKEFLAGS -u MAKELEVEL CCACHE_DISABLE=1 "$@" make -s -C "$folder" install DESTDIR="$folder.tree" \
        PREFIX=/usr >"$dir/output" 2>&1; then
        echo "$commit can't be built:"
        tail -n 20 "$dir/output" | sed 's/^/    /'
        exit 1
    fi
}

build one LC_ALL=C TZ=UTC
build another/one/of/a/longer/name LC_ALL=C.UTF-8 TZ=Asia/Tokyo
if ! (cd "$dir/one.tree" && find . -printf '%p %M %l\n' | sort) >"$dir/first" ||
    ! (cd "$dir/another/one/of/a/longer/name.tree" && find . -printf '%p %M %l\n' | sort) >"$dir/second" ||
    ! diff "$dir/first" "$dir/second" || ! diff -r "$dir/one.tree" "$dir/another/one/of/a/longer/name.tree"; then
    echo "two builds of $commit differ"
    exit 1
fi
echo "two builds of $commit are equal: $(find "$dir/one.tree" -type f | wc -l) files," \
    "$(du -sb "$dir/one.tree" | cut -f 1) bytes"
