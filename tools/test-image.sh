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

# locked USER GROUP SCRIPT: what a pod would have, with the image's files read-only, /proc, /tmp and a volume of that group.
locked() {
    # shellcheck disable=SC2016 # those are the inner shell's
    exec unshare --mount --pid --fork sh -euc '
        mount --make-rprivate /
        mount --bind "$1" "$1"
        mount -o remount,bind,ro "$1"
        mount -t proc proc "$1/proc"
        mount --rbind /dev "$1/dev"
        mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
        mount -t tmpfs -o "mode=770,uid=0,gid=$3" tmpfs "$1/var/lib/orbloom"
        exec chroot "$1" setpriv --reuid "$2" --regid "$3" --clear-groups --bounding-set=-all --no-new-privs sh -euc "cd /var/lib/orbloom; $4"
    ' sh "$root" "$1" "$2" "$3"
}

# A daemon is process 1, which gets no signal that it has no handler for: does SIGTERM end it, with 0? unshare itself
# takes none.
first_process() {
    locked 10001 10001 'orbloom keygen key
        exec orbloom-router --name=r --listen=tcp://127.0.0.1:0 --coordinators=tcp://127.0.0.1:1 \
            --cluster_key_file=key' >"$work/first" 2>&1 &
    local outer=$! tries=0 ended
    until grep -q ^ready "$work/first" || [ $((tries += 1)) -gt 600 ]; do sleep 0.1; done
    kill -TERM "$(pgrep -P "$outer")"
    tries=0
    while kill -0 "$outer" 2>/dev/null && [ $((tries += 1)) -le 300 ]; do sleep 0.1; done
    [ "$tries" -le 300 ] || kill -KILL "$(pgrep -P "$outer")"
    wait "$outer"
    ended=$?
    cat "$work/first"
    return "$ended"
}

# Nothing that makes another user of who runs it.
no_setuid() {
    ! find "$root" -xdev -type f -perm /6000 | grep .
}

# Nothing of the machine that it was built on, and no copies of packages.
nothing_left() {
    local name
    ! find "$root/var/cache" "$root/var/lib/apt" -type f -size +0 | grep . || return 1
    for name in etc/machine-id etc/resolv.conf etc/hostname etc/apt/sources.list; do
        ! [ -s "$root/$name" ] || { echo "there is $name"; return 1; }
    done
}

# labelled: as the archive has it, title and version.
labelled() {
    image inspect --format '{{.OCIv1.Config.Labels}}' "$container" >"$work/labels"
    cat "$work/labels"
    grep -q "image.title:orbloom" "$work/labels" &&
        grep -q "image.version:$(in_image orbloom version | cut -d' ' -f2)" "$work/labels"
}

export -f image in_image locked

cluster='
    touch /usr/bin/x 2>&1 | grep -q "Read-only file system"
    grep -q "^CapBnd:.*0000000000000000" /proc/self/status
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
    try "another user, of group 0, has a folder for data" \
        image run --isolation chroot --user 1000680000:0 "$container" -- sh -euc 'touch x; test "$PWD" = /var/lib/orbloom'
    try "knows the authorities of https" in_image test -s /etc/ssl/certs/ca-certificates.crt
    try "is labelled" labelled
    root=$(image mount "$container")
    export root cluster
    try "nothing is setuid" no_setuid
    try "nothing of the machine that built it" nothing_left
    if unshare --mount --pid --fork true 2>/dev/null; then
        try "a cluster on a read-only root" bash -c 'locked 10001 10001 "$cluster"'
        try "a cluster of a user without a name, of group 0" bash -c 'locked 1000680000 0 "$cluster"'
        try "SIGTERM ends a daemon that is process 1" first_process
    else
        skip "clusters on a read-only root, process 1" "no namespaces here"
    fi
    image umount "$container" >/dev/null
fi

conclude
