#!/bin/bash
# The units of deploy/systemd, by systemd's own tools: are they well formed, how much are the daemons locked
# in, and do the filters of system calls and sockets let through what real daemons ask for?
#
# $ORBLOOM_BIN_DIR holds the programs. What is not installed is skipped. Everything is bounded in time.
# Last line: "N passed, N failed", with ", N skipped" where any was; exit 1 if any failed.
set -u
. "$(dirname "$0")/verdicts.sh"

bin=$(cd "${ORBLOOM_BIN_DIR:-build/bin}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/.." && pwd)
units=$root/deploy/systemd
most_exposed=15 # tenths
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# try NAME COMMAND...
try() {
    local name=$1
    shift
    "$@" >"$folder/log" 2>&1 </dev/null
    judge "$name" $? "$folder/log"
}

# What runs all the time; a backup begins and ends.
daemons=()
for unit in "$units"/*.service; do
    [ "$(basename "$unit")" = orbloom-backup.service ] || daemons+=("$unit")
done

# setting NAME UNIT: its values, one a line.
setting() {
    sed -n "s/^$1=//p" "$2"
}

# As they are installed, with programs and scripts in other folders than /usr's. The tool must find these, and
# say nothing at all.
verify() {
    local told
    make -s -C "$root" install-units BINDIR="$bin" SCRIPTDIR="$folder/scripts" UNITDIR="$folder/units" \
        SYSUSERSDIR="$folder/sysusers" TMPFILESDIR="$folder/tmpfiles" || return 1
    ! grep -h '/usr/' "$folder"/units/* | grep -v '^Documentation=file:/usr/local/' || return 1
    sed -i '/^Documentation=/d' "$folder"/units/*
    told=$(systemd-analyze verify --man=no "$folder"/units/* 2>&1) || { echo "$told"; return 1; }
    [ -z "$told" ] || { echo "$told"; return 1; }
}

# How exposed one of them is, of ten.
exposed() {
    local score
    score=$(systemd-analyze security --offline=true --no-pager "$1" | sed -n 's/.*exposure level.*: \([0-9]*\)\.\([0-9]\).*/\1\2/p')
    echo "$(basename "$1"): ${score:-?} tenths, $most_exposed at most"
    [ -n "$score" ] && [ "$((10#$score))" -le "$most_exposed" ]
}

# What supervision needs of a unit; each daemon's own file of options; its key by a credential.
supervised() {
    local unit=$1 program
    program=$(setting ExecStart "$unit" | sed 's|^/usr/bin/\([a-z-]*\) .*|\1|')
    [ "$(setting Type "$unit")" = notify ] || { echo "no Type=notify"; return 1; }
    [ "$(setting WatchdogSec "$unit")" -gt 0 ] || { echo "no WatchdogSec"; return 1; }
    [ -x "$bin/$program" ] || { echo "no program $program"; return 1; }
    grep -q '^LoadCredential=cluster.key:/etc/orbloom/cluster.key$' "$unit" || { echo "no credential"; return 1; }
    setting ExecStart "$unit" | grep -o -- '--[a-z_]*' | grep -v -- '^--config$' | while read -r flag; do
        "$bin/$program" --print-options | cut -f1 | grep -qx -- "${flag#--}" || { echo "$program has no $flag"; exit 1; }
    done
}

# expand WORD...: system calls, of groups all that are in them.
expand() {
    local word
    for word in "$@"; do
        case $word in
        @*) expand $(systemd-analyze syscall-filter --no-pager "$word" | sed -n 's/^    \([@a-z0-9_-]*\)$/\1/p') ;;
        *) echo "$word" ;;
        esac
    done
}

# allowed UNIT: what its filter lets through. Lines add to what those before have let through, or take
# from it.
allowed() {
    local words
    : >"$folder/let"
    setting SystemCallFilter "$1" | while read -r words; do
        expand ${words#\~} | sort -u >"$folder/named"
        case $words in
        \~*) comm -23 "$folder/let" "$folder/named" >"$folder/now" ;;
        *) sort -u "$folder/let" "$folder/named" >"$folder/now" ;;
        esac
        mv "$folder/now" "$folder/let"
    done
    cat "$folder/let"
}

# Programs that are the real ones under strace, which sees to it that they are the playground's children.
wrap() {
    local program
    mkdir -p "$folder/bin" "$folder/calls"
    cp "$bin/orbloom" "$folder/bin/"
    for program in orbloom-coordinator orbloom-router orbloom-node orbloom-link; do
        printf '#!/bin/sh\nexec strace -D -f -qq -o %s/calls/%s.$$ %s/%s "$@"\n' "$folder" "$program" "$bin" "$program" \
            >"$folder/bin/$program"
        chmod +x "$folder/bin/$program"
    done
}

use_cluster() {
    printf '%s\n' '. "$ORBLOOM_DIR/env"' 'orbloom create seen --capacity 100k --fpr 1% || exit 1' \
        'seq 10000 | orbloom add --quiet seen && orbloom expand seen --capacity 1M || exit 1' \
        'seq 10000 | orbloom check seen >/dev/null' \
        'for pid in "$ORBLOOM_DIR"/*/pid; do kill -HUP "$(cat "$pid")"; done; orbloom stats "$ORBLOOM_ROUTER" >/dev/null' >"$folder/use.sh"
    PATH=$folder/bin:$PATH timeout -k 10 120 "$folder/bin/orbloom" playground --sites 2 --base-port 0 --memory 256MiB \
        --run bash "$folder/use.sh"
}

calls() {
    local unit program missed=0
    wrap
    use_cluster || return 1
    for unit in "${daemons[@]}"; do
        program=$(setting ExecStart "$unit" | sed 's|^/usr/bin/\([a-z-]*\) .*|\1|')
        # fchown is what SQLite calls as root alone.
        cat "$folder/calls/$program".* | sed -n 's/^[0-9]* *\([a-z0-9_]*\)(.*/\1/p' | grep -vx fchown | sort -u >"$folder/called"
        echo "$program: $(wc -l <"$folder/called") kinds of calls"
        grep -q . "$folder/called" || missed=1
        grep -ho 'socket(AF_[A-Z0-9]*' "$folder/calls/$program".* | sed 's/.*(//' | sort -u >>"$folder/called"
        { allowed "$unit"; setting RestrictAddressFamilies "$unit" | tr ' ' '\n'; } >"$folder/allowed"
        LC_ALL=C sort -o "$folder/allowed" "$folder/allowed"
        LC_ALL=C sort -o "$folder/called" "$folder/called"
        LC_ALL=C comm -23 "$folder/called" "$folder/allowed" >"$folder/beyond"
        if [ -s "$folder/beyond" ]; then
            echo "$(basename "$unit") refuses: $(tr '\n' ' ' <"$folder/beyond")"
            missed=1
        fi
    done
    return "$missed"
}

accounts() {
    mkdir -p "$folder/root/etc" "$folder/root/var/lib"
    systemd-sysusers --root="$folder/root" "$units/orbloom.sysusers.conf" || return 1
    grep -q '^orbloom:' "$folder/root/etc/passwd" && grep -q '^orbloom:' "$folder/root/etc/group" || return 1
    systemd-tmpfiles --root="$folder/root" --create "$units/orbloom.tmpfiles.conf" || return 1
    [ "$(stat -c %a "$folder/root/etc/orbloom")" = 750 ]
}

for unit in "${daemons[@]}"; do
    try "$(basename "$unit") is supervised" supervised "$unit"
done
if command -v systemd-analyze >/dev/null 2>&1; then
    try "they are installed, and well formed" verify
    for unit in "$units"/*.service; do
        try "$(basename "$unit") is locked in" exposed "$unit"
    done
    if command -v strace >/dev/null 2>&1 && strace -qq true 2>/dev/null; then
        try "what daemons call is let through" calls
    else
        skip "what daemons call is let through" "no strace, or it may not be used here"
    fi
else
    skip "units" "no systemd-analyze (package systemd)"
fi
if command -v systemd-sysusers >/dev/null 2>&1 && command -v systemd-tmpfiles >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    try "the user and the folders" accounts
else
    skip "the user and the folders" "no systemd-sysusers and systemd-tmpfiles, or not root"
fi

conclude
