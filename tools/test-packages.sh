#!/bin/bash
# The Debian packages, as a platform team meets them: judged by lintian, installed into a bare system of its
# own (mmdebstrap), started, used, upgraded while all runs, removed and purged.
#
#   tools/test-packages.sh [DIR]      build/deb, with packages as tools/make-deb.sh leaves them
#
# The system is made once and kept beside the packages. It takes root, and the package archive that this
# machine uses; where mmdebstrap or lintian lack, or no system can be made, that is skipped.
# Last line: "N passed, N failed", with ", N skipped" where any was; exit 1 if any failed.
set -u
. "$(dirname "$0")/verdicts.sh"

dir=$(realpath "${1:-build/deb}") || exit 2
cd "$(dirname "$0")/.." || exit 2
version=$(dpkg-parsechangelog -S Version)
next=$version+next
bare=$dir/bare
root=$dir/root
output=$(mktemp) || exit 2
trap 'leave; rm -f "$output"' EXIT

leave() {
    [ ! -d "$root" ] || inside /bin/sh -c 'for f in /run/orbloom-test/*.pid; do [ ! -e "$f" ] || kill -9 "$(cat "$f")"; done' 2>/dev/null
    ! mountpoint -q "$root/proc" || umount "$root/proc"
    rm -rf "$root"
}

inside() {
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

# step NAME SCRIPT: a shell script in the system.
step() {
    inside /bin/bash -c "set -eu; $2" >"$output" 2>&1
    judge "$1" $? "$output"
}

# ---- the packages themselves ----

if ! ls "$dir"/orbloom_"$version"_*.changes >/dev/null 2>&1; then
    echo "there are no packages of version $version in $dir; make them with: make deb"
    echo "0 passed, 1 failed"
    exit 1
fi
if command -v lintian >/dev/null; then
    # The one that is left out is for who uploads a package to the distribution for the first time.
    lintian --allow-root --suppress-tags initial-upload-closes-no-bugs --fail-on error,warning --tag-display-limit 0 "$dir"/orbloom_"$version"_*.changes >"$output" 2>&1
    judge "lintian has no errors and no warnings" $? "$output"
else
    skip lintian "is not installed"
fi

# A release is an archive of the files, without git. What is built of it is looked at alone.
archived() {
    local tree=$dir/archived
    rm -rf "$tree"
    mkdir -p "$tree/tree/build" "$tree/bin"
    git archive HEAD | tar -xC "$tree/tree" || return 1
    touch "$tree/tree/build/left-over"
    printf '#!/bin/sh\n[ ! -e build ] && find . ! -type d -print | sort >"%s/there" && touch ../orbloom_0_all.deb\n' "$tree" \
        >"$tree/bin/dpkg-buildpackage"
    chmod +x "$tree/bin/dpkg-buildpackage"
    GIT_CEILING_DIRECTORIES=$tree PATH=$tree/bin:$PATH "$tree/tree/tools/make-deb.sh" "$tree/tree/build/deb" || return 1
    git ls-tree -r --name-only HEAD | sed 's|^|./|' | sort | diff - "$tree/there"
}
archived >"$output" 2>&1
judge "packages are built of a release's archive" $? "$output"
rm -rf "$dir/archived"

# ---- a system ----

names=(orbloom orbloom-server liborbloom0 liborbloom-dev python3-orbloom)
packages=()
for name in "${names[@]}"; do
    packages+=("$(ls "$dir/${name}_${version}"_*.deb)")
done

# What they depend on that is not among them, alternatives as their first.
depends() {
    for package in "${packages[@]}"; do
        dpkg-deb -f "$package" Pre-Depends Depends
    done | sed 's/^[A-Za-z-]*: //' | tr ',' '\n' | sed -E 's/^ *//; s/ *\|.*//; s/ *\(.*\)//; s/:any$//' |
        grep -v orbloom | sed 's/^systemd$/systemd-standalone-sysusers/' | sort -u
}

if ! command -v mmdebstrap >/dev/null || [ "$(id -u)" -ne 0 ]; then
    skip "a bare system" "it takes mmdebstrap and root"
    conclude
fi
wanted=$(depends | tr '\n' ',')systemd-standalone-tmpfiles
if [ ! -e "$bare/made" ] || [ "$(cat "$bare/made")" != "$wanted" ]; then
    rm -rf "$bare"
    mkdir -p "$bare"
    sources=$(find /etc/apt -name debian.sources -o -name sources.list -size +0 | sort | head -n 1)
    if ! timeout 300 mmdebstrap --quiet --variant=apt --include="$wanted" bookworm "$bare/system" "$sources" >"$output" 2>&1; then
        tail -n 3 "$output"
        skip "a bare system" "the package archive gives none"
        conclude
    fi
    echo "$wanted" >"$bare/made"
fi
rm -rf "$root"
cp -a "$bare/system" "$root"
mkdir -p "$root/packages" "$root/run/orbloom-test"
cp "${packages[@]}" "$root/packages"
mount -t proc proc "$root/proc" 2>/dev/null

# The same packages, of a later version.
mkdir "$root/next"
for package in "${packages[@]}"; do
    rm -rf "$dir/again"
    dpkg-deb -R "$package" "$dir/again"
    sed -i "s/^Version: .*/Version: $next/; s/(= $version)/(= $next)/" "$dir/again/DEBIAN/control"
    dpkg-deb --root-owner-group -b "$dir/again" "$root/next" >/dev/null
done
rm -rf "$dir/again"

# What packages tell a systemd that is not there.
mkdir "$root/told"
printf '#!/bin/sh\necho "$*" >>/told/log\n' >"$root/told/systemctl"
chmod +x "$root/told/systemctl"

# ---- what is done with them ----

cat >"$root/run/orbloom-test/start" <<'SCRIPT'
# start UNIT NAME: as its unit does, without systemd: its folders, its credentials, its command, as the user.
start() {
    local unit=/lib/systemd/system/$1.service name=$2 instance=${2#node-} given=/run/credentials/$2 command
    install -d -o orbloom -g orbloom -m 700 "$given"
    for credential in $(sed -n 's/^LoadCredential=//p' "$unit"); do
        install -o orbloom -m 400 "${credential#*:}" "$given/${credential%%:*}"
    done
    for folder in $(sed -n "s/^StateDirectory=//p" "$unit" | sed "s/%i/$instance/g"); do
        install -d -o orbloom -g orbloom -m 700 "/var/lib/$folder"
    done
    command=$(sed -n 's/^ExecStart=//p' "$unit" | sed "s/%i/$instance/g; s|%d|$given|g")
    setpriv --reuid orbloom --regid orbloom --init-groups $command >/run/orbloom-test/$name.out 2>&1 &
    echo $! >/run/orbloom-test/$name.pid
    for _ in $(seq 100); do
        ! grep -q '^ready ' /run/orbloom-test/$name.out || return 0
        sleep 0.1
    done
    cat /run/orbloom-test/$name.out
    return 1
}
stop() {
    kill "$(cat /run/orbloom-test/$1.pid)"
    for _ in $(seq 100); do
        [ -e "/proc/$(cat /run/orbloom-test/$1.pid)/exe" ] || return 0
        sleep 0.1
    done
    return 1
}
start_all() {
    start orbloom-coordinator coordinator
    for i in 1 2 3; do start orbloom-node@ node-$i; done
    start orbloom-router router
}
stop_all() {
    for name in router node-1 node-2 node-3 coordinator; do stop $name; done
}
SCRIPT

step "they install" "dpkg -i /packages/*.deb"
step "nothing has started, and there is the user orbloom" "
    ! grep -la '^orbloom-' /proc/[0-9]*/comm
    getent passwd orbloom
    [ \"\$(stat -c '%a %U %G' /etc/orbloom)\" = '750 root orbloom' ]
    ! ls /etc/systemd/system/*.wants/orbloom* 2>/dev/null"
step "programs say the version of their packages" "
    for p in orbloom-coordinator orbloom-node orbloom-router orbloom-link; do \$p --version | grep -F ' ${version%-*}'; done
    orbloom version | grep -F ' ${version%-*}'"
step "a daemon without configuration says what lacks" "
    ! orbloom-node --config /etc/orbloom/node-1.conf 2>&1 | tee /dev/stderr | grep -q ready"
step "a first cluster is set up" "orbloom setup --dir /etc/orbloom
    ! find /etc/orbloom -name '*.key' -perm /o=rwx | grep ."
step "it starts and is used" ". /run/orbloom-test/start; start_all
    seq 1 50000 >/keys
    orbloom create seen --capacity 100k --fpr 1%
    orbloom add seen /keys
    orbloom check seen /keys | sort | uniq -c | grep -qx ' *50000 present'"
step "Python asks it" "python3 -c '
import orbloom
with orbloom.Cluster() as cluster:
    assert all(a is orbloom.Answer.PRESENT for a in cluster.check(\"seen\", [b\"1\", b\"50000\"]))
'"
step "an upgrade leaves it running" "
    before=\$(cat /run/orbloom-test/*.pid)
    mkdir -p /run/systemd/system
    PATH=/told:\$PATH dpkg -i /next/*.deb
    rmdir /run/systemd/system
    cat /told/log
    grep -q daemon-reload /told/log
    ! grep -vE '^(--system )?daemon-reload' /told/log
    for pid in \$before; do [ -d /proc/\$pid ]; done
    orbloom check seen /keys | sort | uniq -c | grep -qx ' *50000 present'"
step "it starts again as the later version, with all keys" ". /run/orbloom-test/start; stop_all; start_all
    orbloom check seen /keys | sort | uniq -c | grep -qx ' *50000 present'"
step "data survive a removal, which ends what runs" ". /run/orbloom-test/start; stop_all
    mkdir -p /run/systemd/system
    PATH=/told:\$PATH dpkg -r orbloom-server
    rmdir /run/systemd/system
    grep -q '^stop orbloom.target .*orbloom-\*.service' /told/log
    [ ! -e /usr/bin/orbloom-node ]
    find /var/lib/orbloom -type f | grep -q log-"
step "a purge refuses to delete them, and says so" "
    dpkg -P orbloom-server 2>&1 | tee /said
    grep -q '/var/lib/orbloom is kept' /said
    find /var/lib/orbloom -type f | grep -q log-"
step "installed again, they are there" "dpkg -i /next/*.deb; . /run/orbloom-test/start; start_all
    orbloom check seen /keys | sort | uniq -c | grep -qx ' *50000 present'
    stop_all"
step "without data a purge leaves nothing" "
    rm -rf /var/lib/orbloom /etc/orbloom
    mkdir -p /etc/systemd/system/orbloom.target.wants
    ln -s /lib/systemd/system/orbloom-node@.service /etc/systemd/system/orbloom.target.wants/orbloom-node@1.service
    dpkg -P ${names[*]}
    ! find / -xdev -name '*orbloom*' -not -path '/proc/*' -not -path '/packages*' -not -path '/told*' -not -path '/next*' -not -path '/run/*' -not -path '/var/lib/dpkg/*' -not -path '/var/log/*' | grep ."
conclude
