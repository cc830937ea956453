#!/bin/bash
# Build the release before this one, the commit that tests/older-release names, and print the folder of its
# programs. What is built stays, and is taken the next time.
#
#   tools/older-release.sh DIR        build/older
#
# Exit 0: they are there; 1: the build failed, as DIR/COMMIT/log says; 3: this clone has no such commit.
set -u

dir=${1:?usage: tools/older-release.sh DIR}
cd "$(dirname "$0")/.." || exit 1
commit=$(grep -Ev '^(#|$)' tests/older-release)
into=$dir/$commit
programs=$into/build/bin

if [ ! -e "$into/built" ]; then
    if ! git cat-file -e "$commit^{commit}" 2>/dev/null; then
        echo "$commit, which tests/older-release names, is not in this clone; get it with: git fetch --unshallow" >&2
        exit 3
    fi
    rm -rf "$into"
    mkdir -p "$into" || exit 1
    git archive "$commit" | tar -x -C "$into" || exit 1
    # As somebody does who has fetched that release: nothing of this make's own settings.
    if ! env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u WERROR make -C "$into" VARIANT=release programs >"$into/log" 2>&1; then
        tail -n 20 "$into/log" >&2
        echo "the older release does not build: see $into/log" >&2
        exit 1
    fi
    touch "$into/built"
fi
realpath "$programs"
