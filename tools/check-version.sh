#!/bin/sh
# Does everything tell the same version? tools/check-version.sh BUILD [ROOT]
#
# orbloom.h holds it; the programs, orbloom.pc, the shared library's file, pyproject.toml and debian/changelog (these two
# where they are) must have it, too. CHANGELOG.md begins with "Unreleased", or with that version and its date; what
# it has below that are versions before.
set -u

build=${1:?usage: tools/check-version.sh BUILD [ROOT]}
root=${2:-$(dirname "$0")/..}
wrong=0

# same WHAT VERSION
same() {
    if [ "$2" != "$version" ]; then
        echo "$1 has version \"$2\", client/orbloom.h \"$version\""
        wrong=1
    fi
}

version=$(sed -n 's/^#define ORBLOOM_VERSION "\(.*\)"$/\1/p' "$root/client/orbloom.h")
if ! echo "$version" | grep -qE '^[0-9]+[.][0-9]+[.][0-9]+$'; then
    echo "client/orbloom.h: ORBLOOM_VERSION is \"$version\", not MAJOR.MINOR.PATCH"
    exit 1
fi

same "orbloom version" "$("$build/bin/orbloom" version | cut -d ' ' -f 2)"
for name in coordinator link node router; do
    same "orbloom-$name --version" "$("$build/bin/orbloom-$name" --version | cut -d ' ' -f 2)"
done
same "$build/lib/liborbloom.so" "$(readlink "$build/lib/liborbloom.so" | sed 's/^liborbloom[.]so[.]//')"
if [ -e "$build/obj/orbloom.pc" ]; then
    same orbloom.pc "$(sed -n 's/^Version: //p' "$build/obj/orbloom.pc")"
fi
if [ -e "$root/python/pyproject.toml" ]; then
    same python/pyproject.toml "$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/python/pyproject.toml")"
fi
# A package of Debian's has a revision behind the last "-".
if [ -e "$root/debian/changelog" ]; then
    same debian/changelog "$(sed -n '1s/^[^(]*(\([^)]*\)-[^-)]*).*/\1/p' "$root/debian/changelog")"
fi

released=$(sed -n 's/^## \([0-9][^ ]*\).*/\1/p' "$root/CHANGELOG.md" | head -n 1)
first=$(sed -n 's/^## //p' "$root/CHANGELOG.md" | head -n 1)
case $first in
Unreleased) ;;
*" - "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]) same CHANGELOG.md "${first%% *}" ;;
*)
    echo "CHANGELOG.md begins with \"$first\", not with \"Unreleased\" or \"$version - YYYY-MM-DD\""
    wrong=1
    ;;
esac
if [ "$first" = Unreleased ] && [ "$released" = "$version" ]; then
    echo "CHANGELOG.md has changes that are not released, and client/orbloom.h still has $version, which is"
    wrong=1
fi
[ "$wrong" -eq 0 ] && echo "version $version, everywhere"
exit "$wrong"
