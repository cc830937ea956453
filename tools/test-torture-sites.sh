#!/bin/bash
# A short torture of several sites must lose nothing, and leave no process, also where lines between
# them lose packets and are cut; one that loses keys on purpose must say so; and what can't be meant is
# refused. Where no lines can be made links speak by loopback, and what that torture said is shown.
#
#   tools/test-torture-sites.sh TORTURE [SECONDS]     build/tests/torture-sites, 12
set -u

torture=${1:?usage: tools/test-torture-sites.sh TORTURE [SECONDS]}
seconds=${2:-12}
# Others may hold the machine: what has come to a stand never goes on, however long it is waited for.
small="--patience 300 --keys-max 200k --pace 10k --gap 700 --seed 1"
output=$(mktemp) || exit 2
wrong=0
trap 'rm -f "$output"' EXIT

# refused FLAGS...: exit status 2, and a line that says what is wrong.
refused() {
    "$torture" "$@" >"$output" 2>&1
    if [ $? -ne 2 ] || ! grep -Eq '^torture-sites: --[a-z-]+: .*; see --help$' "$output"; then
        echo "torture-sites $*: not refused"
        cat "$output"
        wrong=1
    fi
}

# is_running FOLDER: does a process have it among its words?
is_running() {
    local words
    for words in /proc/[0-9]*/cmdline; do
        case $(tr '\0' ' ' 2>/dev/null <"$words") in
        *"$1"*) return 0 ;;
        esac
    done 2>/dev/null
    return 1
}

# expect STATUS PATTERN FLAGS...: its exit status, its last line, and that nothing is left running.
expect() {
    local status=$1 pattern=$2 got folder
    shift 2
    # shellcheck disable=SC2086 # words
    "$torture" $small "$@" >"$output" 2>&1
    got=$?
    if [ "$got" -ne "$status" ] || ! tail -n 1 "$output" | grep -Eq "$pattern"; then
        echo "torture-sites $*: exit status $got, expected $status and a last line like: $pattern"
        cat "$output"
        wrong=1
    fi
    folder=$(sed -n 's/.* nodes, in //p' "$output")
    if [ -z "$folder" ] || is_running "$folder"; then
        echo "torture-sites $*: processes are left in '$folder'"
        wrong=1
    fi
    case $folder in
    */orbloom-torture-sites-*) [ "$got" -eq "$status" ] && rm -rf "$folder" ;;
    esac
}

refused --sites 1
refused --sites 5
refused --nodes 0
refused --seconds
refused --break it
refused --torture 1
refused --cut 0
refused --rounds 0
refused --upgrade
refused --wan 80ms
refused --wan 80,1%
refused --wan 80ms,60%

zero='^torture-sites: [1-9][0-9,]* faults, [1-9][0-9,]* acknowledged adds, 0 lost$'

expect 0 "$zero" --sites 2 --nodes 3 --seconds "$seconds"
expect 0 "$zero" --sites 3 --nodes 1 --losses 1 --seconds $((seconds * 2 / 3))
expect 0 "$zero" --sites 2 --nodes 3 --losses 0 --seconds "$seconds" --wan 80ms,1% --cut 5
grep -E '^(wan|torture-sites): .*(no network of its own|no TUN devices|by loopback)' "$output"
expect 1 '^torture-sites: FAILED: LOST: ' --nodes 1 --losses 0 --seconds 2 --break false-claim
expect 1 '^torture-sites: FAILED: LOST: ' --nodes 1 --losses 0 --seconds 2 --break rewind-site
exit $wrong
