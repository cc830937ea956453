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

version=$("$bin/orbloom" version | cut -d' ' -f2)
wanted=$("$root/tools/library-packages.sh" "$bin"/orbloom*)
echo "root: Debian $release, $(echo "$wanted" | tr ',' '\n' | wc -l) packages of libraries"
mmdebstrap --quiet --mode=root --variant=essential --include="$wanted" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$release" "$work/root.tar" ${IMAGE_MIRROR:+"$IMAGE_MIRROR"}

container=$(image from scratch)
image add --quiet "$container" "$work/root.tar" / >/dev/null
for program in $programs; do
    install -m 755 "$bin/$program" "$work/$program"
    strip "$work/$program"
    image add --quiet "$container" "$work/$program" /usr/bin/ >/dev/null
done
image run --isolation chroot --user 0:0 "$container" -- sh -euc '
    echo "orbloom:x:10001:" >>/etc/group
    echo "orbloom:x:10001:10001:orbloom:/var/lib/orbloom:/usr/sbin/nologin" >>/etc/passwd
    install -d -m 755 /etc/orbloom
    install -d -m 750 -o 10001 -g 10001 /var/lib/orbloom
    rm -rf /var/cache/* /var/log/* /etc/machine-id'
image config --user 10001:10001 --workingdir /var/lib/orbloom --cmd '["orbloom", "help"]' \
    --label org.opencontainers.image.title=orbloom --label "org.opencontainers.image.version=$version" \
    --label org.opencontainers.image.licenses=Apache-2.0 "$container"
rm -f "$folder/orbloom.tar"
image commit --quiet --disable-compression=false "$container" "oci-archive:$folder/orbloom.tar:orbloom:$version" \
    >"$work/log" 2>&1 || refuse "$(cat "$work/log")"
echo "$folder/orbloom.tar: orbloom:$version, $(($(stat -c %s "$folder/orbloom.tar") >> 20)) MiB"
