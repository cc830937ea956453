#!/bin/sh
# What this machine's package index has, one a line: tools/package-index.sh homepages|lines
#
#   homepages  real URLs with real duplicates, as many packages share a project
#   lines      every distinct line that can be a key: names, versions, checksums, files, descriptions
#
# When the index is not there, as in a bare container, and apt-get may be called, it is fetched
# first. Exit 1 when there is nothing.
set -u

enough=1000

homepages() {
    apt-cache dumpavail 2>/dev/null | sed -n 's/^Homepage: *\(.*[^ ]\) *$/\1/p'
}

lines() {
    apt-cache dumpavail 2>/dev/null | LC_ALL=C awk 'length > 0 && length <= 65536' | LC_ALL=C sort -u
}

# as_root COMMAND...: directly or through sudo without a password; fails when neither works.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

case ${1-} in
homepages | lines) ;;
*)
    echo "usage: tools/package-index.sh homepages|lines" >&2
    exit 2
    ;;
esac
if ! command -v apt-cache >/dev/null 2>&1; then
    echo "demo: apt-cache is missing: this needs Debian's or Ubuntu's package index" >&2
    exit 1
fi
if [ "$(homepages | head -n "$enough" | wc -l)" -lt "$enough" ]; then
    echo "demo: fetching the package index (apt-get update)" >&2
    as_root apt-get update >/dev/null 2>&1 || echo "demo: that failed; going on without" >&2
fi
"$1" | grep . && exit 0
echo "demo: the package index is empty; run apt-get update" >&2
exit 1
