#!/bin/bash
# Build older releases, the commits that tests/older-release names, and print the folder of each one's
# programs. What is built stays, and is taken the next time. Not optimized: that takes a third of the time,
# and is no matter to what is tested with it.
#
#   tools/older-release.sh DIR [USE]       build/older sites; no USE: all of them
#
# Exit 0: they are there; 1: a build failed, as DIR/COMMIT/log says; 3: this clone has no such commit.
set -u

dir=${1:?usage: tools/older-release.sh DIR [USE]}
use=${2:-}
cd "$(dirname "$0")/.." || exit 1

# build COMMIT
build() {
    local commit=$1 into=$dir/$1

    if [ ! -e "$into/built" ]; then
        if ! git cat-file -e "$commit^{commit}" 2>/dev/null; then
            echo "$commit, which tests/older-release names, is not in this clone; get it with: git fetch --unshallow" >&2
            exit 3
        fi
        rm -rf "$into"
        mkdir -p "$into" || exit 1
        git archive "$commit" | tar -x -C "$into" || exit 1
        # As somebody does who has fetched that release: nothing of this make's own settings.
        if ! env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u WERROR make -C "$into" VARIANT=release CFLAGS=-O0 programs >"$into/log" 2>&1; then
            tail -n 20 "$into/log" >&2
            echo "the older release does not build: see $into/log" >&2
            exit 1
        fi
        touch "$into/built"
    fi
    realpath "$into/build/bin"
}

commits=$(sed -n "s/^${use:-[a-z]*} \([0-9a-f]\{40\}\)\$/\1/p" tests/older-release | sort -u)
if [ -z "$commits" ]; then
    echo "tests/older-release names no commit for '$use'" >&2
    exit 1
fi
for commit in $commits; do
    build "$commit"
done
