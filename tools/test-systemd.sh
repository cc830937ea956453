#!/bin/bash
# The units of deploy/systemd under a real systemd: tools/test-systemd.sh BIN-DIRECTORY FOLDER
#
# A small Debian 12 (mmdebstrap; kept as FOLDER/root.tar) is booted in namespaces of its own, also of the network, with
# the programs, the units, and what `orbloom setup` writes there: do all start, and what do a hang, a wrong file, a
# coordinator that is away and a stop come to?
#
# Takes root, a network the first time, and three minutes, as the watchdog's 30 s have to pass. What is not there is skipped.
# Last line: "N passed, N failed", with ", N skipped" where any was; exit 1 if any failed.
set -u
. "$(dirname "$0")/verdicts.sh"

bin=$(cd "${1:?usage: tools/test-systemd.sh BIN-DIRECTORY FOLDER}" && pwd) || exit 1
mkdir -p "${2:?usage: tools/test-systemd.sh BIN-DIRECTORY FOLDER}" || exit 1
folder=$(cd "$2" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
name=orbloom-test-$$
starter=
work=

leave() {
    if [ -n "$starter" ]; then
        kill -KILL "$starter" 2>/dev/null # and so all in its namespaces
        wait "$starter" 2>/dev/null
    fi
    sleep 1
    find "$groups/$name" -depth -type d -exec rmdir {} \; 2>/dev/null
    [ -z "$work" ] || rm -rf "$work"
}

# lacks REASON: no system can be had here.
lacks() {
    skip systemd "$1"
    conclude
}

# try NAME SCRIPT: in there.
try() {
    timeout -k 10 200 nsenter -t "$init" -a -r /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -euc "$2" \
        >"$work/log" 2>&1 </dev/null
    judge "$1" $? "$work/log"
}

make_root() {
    local units=$work/root/etc/systemd/system
    if [ ! -e "$folder/root.tar" ]; then
        mmdebstrap --quiet --mode=root --variant=essential \
            --include="systemd,systemd-sysv,dbus,procps,$("$root/tools/library-packages.sh" "$bin"/orbloom*)" \
            bookworm "$folder/root.part.tar" ${IMAGE_MIRROR:+"$IMAGE_MIRROR"} && mv "$folder/root.part.tar" "$folder/root.tar" || return 1
    fi
    mkdir "$work/root" && tar -xf "$folder/root.tar" -C "$work/root" --exclude='./dev/*' || return 1
    cp "$bin"/orbloom* "$work/root/usr/bin/" && cp "$root"/deploy/systemd/*.service "$root"/deploy/systemd/*.target "$units/" || return 1
    install -D "$root/deploy/systemd/orbloom-backup.sh" "$work/root/usr/lib/orbloom/orbloom-backup" || return 1
    mkdir -p "$work/root/etc/sysusers.d" "$work/root/etc/tmpfiles.d"
    cp "$root/deploy/systemd/orbloom.sysusers.conf" "$work/root/etc/sysusers.d/orbloom.conf"
    cp "$root/deploy/systemd/orbloom.tmpfiles.conf" "$work/root/etc/tmpfiles.d/orbloom.conf"
    echo 0123456789abcdef0123456789abcdef >"$work/root/etc/machine-id"
}

# Its own cgroup is the root of the only hierarchy that it sees.
boot() {
    mkdir "$groups/$name" || return 1
    (
        echo "$BASHPID" >"$groups/$name/cgroup.procs" || exit 1
        exec unshare --pid --mount --cgroup --ipc --uts --net --fork --kill-child sh -euc '
            mount --make-rprivate /
            ip link set lo up
            mount --bind "$1" "$1"
            cd "$1"
            mount -t proc proc proc
            mount -t sysfs -o ro sysfs sys
            mount -t cgroup2 cgroup2 sys/fs/cgroup
            mount -t tmpfs -o mode=755 tmpfs dev
            for device in null zero full random urandom tty; do
                touch "dev/$device"
                mount --bind "/dev/$device" "dev/$device"
            done
            mkdir dev/pts dev/shm .old
            mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
            ln -s pts/ptmx dev/ptmx
            mount -t tmpfs tmpfs dev/shm
            mount -t tmpfs -o mode=755 tmpfs run
            mount -t tmpfs tmpfs tmp
            pivot_root . .old
            umount -l /.old
            rmdir /.old
            mount --make-rshared / # else credentials do not get to the daemons
            exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=console
        ' sh "$work/root"
    ) >"$work/console" 2>&1 </dev/null &
    starter=$!
    for _ in $(seq 100); do
        init=$(pgrep -P "$starter") && nsenter -t "$init" -a -r /bin/systemctl is-system-running 2>/dev/null |
            grep -qE 'running|degraded' && return 0
        sleep 0.3
    done
    tail -n 20 "$work/console"
    return 1
}

groups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ "$(id -u)" -eq 0 ] || lacks "not root"
command -v mmdebstrap >/dev/null 2>&1 || lacks "no mmdebstrap"
[ -n "$groups" ] && [ -w "$groups" ] || lacks "no cgroup2 to write to"
unshare --pid --mount --cgroup --net --fork true 2>/dev/null || lacks "no namespaces"
work=$(mktemp -d) || exit 1
trap leave EXIT
make_root || { echo "no root"; exit 1; }
boot || { echo "systemd does not boot here"; exit 1; }

all="orbloom-coordinator orbloom-router orbloom-node@1 orbloom-node@2 orbloom-node@3"
try "what setup says starts a cluster" "
    orbloom setup
    test \"\$(stat -c '%a %G' /etc/orbloom/cluster.key)\" = '640 orbloom'
    systemctl enable --now orbloom.target $all
    systemctl is-active orbloom.target $all
    orbloom create seen --capacity 1M --fpr 1% --timeout 20s
    seq 1000 | orbloom add --quiet seen
    test \"\$(seq 1000 | orbloom check --quiet seen | sort -u)\" = present"
try "the timer's backup of all is one" '
    systemctl start orbloom-backup
    test "$(ls /var/lib/orbloom/backup | sed "s/.*Z//" | sort | tr "\n" " ")" = ".map .orb "
    test "$(stat -c "%a %U" /var/lib/orbloom/backup)" = "700 orbloom"'
try "Redis clients of a group have the socket, and no key" '
    echo "g clients" | systemd-sysusers -
    echo "d /run/orbloom-clients 2750 orbloom clients" >/etc/tmpfiles.d/orbloom-clients.conf
    systemd-tmpfiles --create orbloom-clients.conf
    mkdir /etc/systemd/system/orbloom-router.service.d
    printf "[Service]\nUMask=0007\nReadWritePaths=/run/orbloom-clients\n" >/etc/systemd/system/orbloom-router.service.d/socket.conf
    cp /etc/orbloom/router.conf /etc/orbloom/router.before
    echo "resp_socket = \"/run/orbloom-clients/resp.sock\";" >>/etc/orbloom/router.conf
    systemctl daemon-reload
    systemctl restart orbloom-router
    ask="use IO::Socket::UNIX; \$s = IO::Socket::UNIX->new(q(/run/orbloom-clients/resp.sock)) or die; print \$s qq(PING\r\n); print scalar <\$s>"
    client="setpriv --reuid 65534 --regid 65534 --groups clients"
    $client perl -e "$ask" | grep PONG
    ! $client cat /etc/orbloom/cluster.key || exit 1
    ! setpriv --reuid 65534 --regid 65534 --clear-groups perl -e "$ask" || exit 1
    mv /etc/orbloom/router.before /etc/orbloom/router.conf
    rm -r /etc/systemd/system/orbloom-router.service.d
    systemctl daemon-reload
    systemctl restart orbloom-router'
try "a reload that is refused shows" '
    echo "nonsense = 1;" >>/etc/orbloom/router.conf
    systemctl reload orbloom-router
    sleep 1
    systemctl show -p StatusText orbloom-router | grep "the last SIGHUP was refused"
    systemctl is-active orbloom-router'
try "wrong options are not tried again" '
    ! systemctl restart orbloom-router || exit 1
    sleep 7
    systemctl show orbloom-router | grep -x SubState=failed
    systemctl show orbloom-router | grep -x ExecMainStatus=2
    sed -i /nonsense/d /etc/orbloom/router.conf
    systemctl start orbloom-router'
try "one that hangs is started again" '
    pid=$(systemctl show -p MainPID --value orbloom-node@2)
    kill -STOP "$pid"
    for second in $(seq 60); do
        test "$(systemctl show -p Result --value orbloom-node@2)" != watchdog || break
        sleep 1
    done
    systemctl show -p Result orbloom-node@2 | grep watchdog
    for second in $(seq 30); do
        ! systemctl is-active orbloom-node@2 || break
        sleep 1
    done
    test "$(systemctl show -p MainPID --value orbloom-node@2)" != "$pid"
    test "$(seq 1000 | orbloom check --quiet seen | sort -u)" = present'
# The other site is started by hand, as it is about the unit of this one.
try "a link under its unit joins another site" '
    at_eu() { env ORBLOOM_COORDINATOR=tcp://127.0.0.1:7400 ORBLOOM_ROUTER=tcp://127.0.0.1:7401 orbloom "$@"; }
    at_us() { env ORBLOOM_COORDINATOR=tcp://127.0.0.1:17400 ORBLOOM_ROUTER=tcp://127.0.0.1:17401 orbloom "$@"; }
    link() {
        printf "%s = \"%s\";\n" name "link-$1" listen "tcp://127.0.0.1:$2" site "$1"
        printf "coordinators = [\"tcp://127.0.0.1:%s\"];\nsite_peers = (\"%s\");\n" "$3" "$4"
    }
    orbloom setup --dir /root/us --data /root/us/data --base-port 17400
    eu=$(orbloom keygen --site /etc/orbloom/site.key | grep -oE "[0-9a-f]{64}")
    us=$(orbloom keygen --site /root/us/site.key | grep -oE "[0-9a-f]{64}")
    link eu 7402 7400 "us tcp://127.0.0.1:17420 $us" >/etc/orbloom/link.conf
    link us 17402 17400 "eu - $eu" >/root/us/link.conf
    cat >>/root/us/link.conf <<END
site_listen = "tcp://127.0.0.1:17420";
site_key_file = "/root/us/site.key";
cluster_key_file = "/root/us/cluster.key";
END
    echo "site = \"eu\";" >>/etc/orbloom/coordinator.conf
    echo "site = \"us\";" >>/root/us/coordinator.conf
    for conf in coordinator node-1 node-2 node-3 router link; do
        daemon=${conf%-[123]}
        orbloom-$daemon --config /root/us/$conf.conf >/root/us/$conf.log 2>&1 </dev/null &
        daemons="${daemons:-} $!"
    done
    systemctl restart orbloom-coordinator
    systemctl enable --now orbloom-link
    systemctl is-active orbloom-link
    at_eu site add seen us --timeout 60s
    test "$(seq 1000 | at_us check --quiet seen | sort -u)" = present
    kill -KILL "$(systemctl show -p MainPID --value orbloom-link)"
    for second in $(seq 30); do
        ! systemctl is-active orbloom-link || break
        sleep 1
    done
    echo later | at_eu add --quiet seen
    for second in $(seq 30); do
        test "$(echo later | at_us check --quiet seen)" != present || break
        sleep 1
    done
    test "$(echo later | at_us check --quiet seen)" = present
    kill $daemons
    wait'
try "a stop of the target stops all" "
    systemctl stop orbloom.target
    for second in \$(seq 30); do
        pgrep orbloom || break
        sleep 1
    done
    ! pgrep orbloom || exit 1
    ! systemctl --failed --plain --no-legend | grep orbloom || exit 1"
try "a node waits for longer than a start may take" '
    systemctl start --no-block orbloom-node@3
    sleep 100
    systemctl show -p ActiveState orbloom-node@3 | grep activating
    systemctl show -p StatusText orbloom-node@3 | grep "no coordinator has confirmed this start"
    systemctl start orbloom-coordinator
    for second in $(seq 30); do
        ! systemctl is-active orbloom-node@3 || break
        sleep 1
    done
    systemctl is-active orbloom-node@3'

conclude
