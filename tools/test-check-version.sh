#!/bin/sh
# Can the comparison of versions fail? A tree of fakes in which one place after the other has another version.
set -u

script=$(cd "$(dirname "$0")" && pwd)/check-version.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
wrong=0

# program NAME VERSION
program() {
    printf '#!/bin/sh\necho "%s %s (protocol 1)"\n' "$1" "$2" >"$dir/build/bin/$1"
    chmod +x "$dir/build/bin/$1"
}

tree() {
    rm -rf "${dir:?}"/*
    mkdir -p "$dir/build/bin" "$dir/build/lib" "$dir/build/obj" "$dir/client" "$dir/python" "$dir/debian"
    for name in orbloom orbloom-coordinator orbloom-link orbloom-node orbloom-router; do
        program "$name" 1.2.3
    done
    ln -s liborbloom.so.1.2.3 "$dir/build/lib/liborbloom.so"
    echo '#define ORBLOOM_VERSION "1.2.3"' >"$dir/client/orbloom.h"
    echo 'Version: 1.2.3' >"$dir/build/obj/orbloom.pc"
    echo 'version = "1.2.3"' >"$dir/python/pyproject.toml"
    echo 'orbloom (1.2.3-1) unstable; urgency=medium' >"$dir/debian/changelog"
    printf '# Changelog\n\n## 1.2.3 - 2027-01-31\n\n## 1.2.2 - 2027-01-01\n' >"$dir/CHANGELOG.md"
}

# expect STATUS WHAT
expect() {
    "$script" "$dir/build" "$dir" >"$dir/output" 2>&1
    got=$?
    if [ "$got" -ne "$1" ]; then
        echo "check-version.sh: exit $got instead of $1 with $2"
        sed 's/^/    /' "$dir/output"
        wrong=1
    fi
    tree
}

tree
expect 0 "one version"
program orbloom-node 1.2.2
expect 1 "an older node"
program orbloom 1.2.4
expect 1 "a newer command"
ln -sf liborbloom.so.1.2.2 "$dir/build/lib/liborbloom.so"
expect 1 "an older library"
echo 'Version: 1.2' >"$dir/build/obj/orbloom.pc"
expect 1 "another version in orbloom.pc"
echo 'version = "1.3.3"' >"$dir/python/pyproject.toml"
expect 1 "another version of the Python package"
echo 'orbloom (1.2.2-7) unstable; urgency=medium' >"$dir/debian/changelog"
expect 1 "an older package"
echo '#define ORBLOOM_VERSION "1.2"' >"$dir/client/orbloom.h"
expect 1 "a version of two numbers"
sed -i 's/1[.]2[.]3 -/1.2.4 -/' "$dir/CHANGELOG.md"
expect 1 "another version in the changelog"
sed -i 's/ - 2027-01-31//' "$dir/CHANGELOG.md"
expect 1 "a release without a date"
sed -i '3i ## Unreleased\n' "$dir/CHANGELOG.md"
expect 1 "changes after the release of that version"
sed -i 's/^## 1[.]2[.]3.*/## Unreleased/' "$dir/CHANGELOG.md"
expect 0 "changes that are to be that version"

[ "$wrong" -eq 0 ] && echo "another version is found wherever it is"
exit "$wrong"
