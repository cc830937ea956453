#!/bin/bash
# The image of containers, as tools/make-image.sh has made it: tools/test-image.sh FOLDER/orbloom.tar
#
# Each program runs in it, by buildah with chroot isolation, as uid 10001; and a whole cluster does, on a root that can't be
# written to, with no capability, and one folder for data.
# Last line: "N passed, N failed", with ", N skipped" where any was; exit 1 if any failed.
set -u
. "$(dirname "$0")/verdicts.sh"

archive=${1:?usage: tools/test-image.sh ARCHIVE}
work=$(mktemp -d) || exit 1
image() {
    buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"
}
trap 'image rm --all >/dev/null 2>&1; rm -rf "$work"' EXIT

# try NAME COMMAND...
try() {
    local name=$1
    shift
    "$@" >"$work/log" 2>&1 </dev/null
    judge "$name" $? "$work/log"
}

# in_image COMMAND...
in_image() {
    buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs run --isolation chroot "$container" -- "$@"
}

# What a pod would have: the image's files read-only, /proc, /tmp and a volume. $1 is the image's root, $2 a shell script.
locked() {
    unshare --mount --pid --fork sh -euc '
        mount --make-rprivate /
        mount --bind "$1" "$1"
        mount -o remount,bind,ro "$1"
        mount -t proc proc "$1/proc"
        mount --rbind /dev "$1/dev"
        mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
        mount -t tmpfs -o mode=770,uid=0,gid=10001 tmpfs "$1/var/lib/orbloom"
        exec chroot "$1" setpriv --reuid 10001 --regid 10001 --clear-groups --bounding-set=-all --no-new-privs sh -euc "$2"
    ' sh "$root" "$1"
}
export -f image in_image locked

cluster='
    touch /usr/bin/x 2>&1 | grep -q "Read-only file system"
    grep -q "^CapBnd:.*0000000000000000" /proc/self/status
    cd /var/lib/orbloom
    orbloom playground --dir /var/lib/orbloom/cluster --base-port 0 --memory 64MiB --run sh -euc "
        orbloom create seen --capacity 100k --fpr 1%
        seq 1000 | orbloom add --quiet seen
        test \$(seq 1000 | orbloom check --quiet seen | sort -u) = present"'

if ! command -v buildah >/dev/null 2>&1 || [ "$(id -u)" -ne 0 ]; then
    skip image "no buildah, or not root"
elif [ ! -e "$archive" ]; then
    echo "no $archive: make image"
    failed=1
else
    container=$(image from --quiet "oci-archive:$archive" 2>/dev/null) || exit 1
    export container work
    for program in orbloom-coordinator orbloom-router orbloom-node orbloom-link; do
        try "$program --version" in_image "$program" --version
    done
    try "orbloom version" in_image orbloom version
    try "runs as orbloom, 10001" bash -c '[ "$(in_image id -un):$(in_image id -u)" = orbloom:10001 ]'
    root=$(image mount "$container")
    export root
    if unshare --mount --pid --fork true 2>/dev/null; then
        try "a cluster on a read-only root" locked "$cluster"
    else
        skip "a cluster on a read-only root" "no namespaces here"
    fi
    image umount "$container" >/dev/null
fi

conclude
