#!/bin/bash
# An image of containers with all programs: tools/make-image.sh BIN-DIRECTORY FOLDER
#
# Writes FOLDER/orbloom.tar, an OCI archive that holds the image orbloom:VERSION, for whatever takes one:
# `podman load -i`, `skopeo copy oci-archive:FOLDER/orbloom.tar docker://REGISTRY/orbloom:VERSION`.
#
# Its root is Debian 12's essential packages, by mmdebstrap, and the libraries that the programs are linked with; they
# run as uid 10001 and need no writable root. buildah puts it together, with chroot isolation and a store of its
# own: neither a daemon nor a kernel's namespaces are needed. Run as root, on Debian 12, with a network.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "${1:?usage: tools/make-image.sh BIN-DIRECTORY FOLDER}" && pwd)
folder=${2:?usage: tools/make-image.sh BIN-DIRECTORY FOLDER}
programs="orbloom orbloom-coordinator orbloom-router orbloom-node orbloom-link"
release=bookworm

refuse() {
    echo "make-image: $*" >&2
    exit 2
}

grep -q "^VERSION_CODENAME=$release\$" /etc/os-release ||
    refuse "the programs need the libraries of the system that they were built on, and the image has those of Debian 12"
for tool in mmdebstrap buildah; do
    command -v "$tool" >/dev/null || refuse "no $tool here: apt-get install --no-install-recommends mmdebstrap buildah"
done
[ "$(id -u)" -eq 0 ] || refuse "run it as root: files of the image belong to several users"

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
image() {
    buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"
}
trap 'image rm --all >/dev/null 2>&1 || :; rm -rf "$work"' EXIT

# Times in the image are the commit's: what is built twice, of the same packages, is equal.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
version=$("$bin/orbloom" version | cut -d' ' -f2)
wanted=$("$root/tools/library-packages.sh" "$bin"/orbloom*)
echo "root: Debian $release, $(echo "$wanted" | tr ',' '\n' | wc -l) packages of libraries, and ca-certificates for etcd by https"

# What is left out: what makes another user of who runs it; and what is this machine's, its mirror of packages too.
# The folder of data is of group 0 as well, which is that of whoever has a uid that a platform has drawn.
cat >"$work/finish" <<'END'
set -eu
cd "$1"
find . -xdev -type f -perm /6000 -exec chmod a-s {} +
echo "orbloom:x:10001:" >>etc/group
echo "orbloom:x:10001:10001:orbloom:/var/lib/orbloom:/usr/sbin/nologin" >>etc/passwd
install -d -m 755 etc/orbloom
install -d -m 770 -o 10001 -g 0 var/lib/orbloom
rm -rf var/cache/* var/log/* var/lib/apt/lists/* var/lib/apt/extended_states var/lib/dpkg/*-old
rm -f etc/machine-id etc/resolv.conf etc/hostname etc/apt/sources.list
END
mmdebstrap --quiet --mode=root --variant=essential --include="$wanted,ca-certificates" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook="sh $work/finish \"\$1\"" \
    "$release" "$work/root.tar" ${IMAGE_MIRROR:+"$IMAGE_MIRROR"}

container=$(image from scratch)
image add --quiet "$container" "$work/root.tar" / >/dev/null
for program in $programs; do
    install -m 755 "$bin/$program" "$work/$program"
    strip "$work/$program"
    image add --quiet "$container" "$work/$program" /usr/bin/ >/dev/null
done
image config --user 10001:10001 --workingdir /var/lib/orbloom --cmd '["orbloom", "help"]' \
    --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin \
    --label org.opencontainers.image.title=orbloom --label "org.opencontainers.image.version=$version" \
    --label "org.opencontainers.image.description=A distributed cluster of Bloom filter nodes" \
    --label org.opencontainers.image.licenses=Apache-2.0 "$container"
rm -f "$folder/orbloom.tar"
image commit --quiet --disable-compression=false --timestamp "$SOURCE_DATE_EPOCH" "$container" \
    "oci-archive:$folder/orbloom.tar:orbloom:$version" >"$work/log" 2>&1 || refuse "$(cat "$work/log")"
echo "$folder/orbloom.tar: orbloom:$version, $(($(stat -c %s "$folder/orbloom.tar") >> 20)) MiB"
