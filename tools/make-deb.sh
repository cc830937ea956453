#!/bin/bash
# Build the Debian packages of this tree, as it is, into a folder: `make deb`.
#
#   tools/make-deb.sh DIR      build/deb
#
# Works on a copy of the files that git knows, or where git knows none, as in a release's archive, of all but
# build; so nothing of it stays in the tree. What was there of packages is replaced; DIR/log has what the
# build said.
set -u

dir=${1:?usage: tools/make-deb.sh DIR}
cd "$(dirname "$0")/.." || exit 2
mkdir -p "$dir" && dir=$(realpath "$dir") || exit 2
version=$(dpkg-parsechangelog -S Version) || exit 2
tree=$dir/orbloom-$version

files() {
    if git ls-files --error-unmatch debian/rules >/dev/null 2>&1; then
        git ls-files -z --cached --others --exclude-standard
    else
        find . \( -path ./build -o -path ./.git \) -prune -o ! -type d -print0
    fi
}

rm -rf "$tree" "$dir"/*.deb "$dir"/*.changes "$dir"/*.buildinfo
mkdir "$tree" || exit 2
files | xargs -0 cp -P --parents -t "$tree" || exit 2

echo "building packages of version $version; see $dir/log"
# As on a machine of the distribution: nothing of this make's own settings.
if ! (cd "$tree" && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u VARIANT -u BUILD_ROOT \
    DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-} parallel=$(nproc)" dpkg-buildpackage --no-sign --build=binary) \
    >"$dir/log" 2>&1; then
    tail -n 30 "$dir/log" >&2
    echo "the packages do not build: see $dir/log" >&2
    exit 1
fi
rm -rf "$tree"
ls "$dir"/*.deb
