#!/bin/bash
# A short torture must lose nothing, of each course; one that loses keys on purpose must say so; and
# what can't be meant is refused.
#
#   tools/test-torture.sh TORTURE [SECONDS]     build/tests/torture, 15
set -u

torture=${1:?usage: tools/test-torture.sh TORTURE [SECONDS]}
seconds=${2:-15}
# rewind-node is left out: see docs/torture.md, "What it has found"; and the node that comes later, so
# that the first drain begins at once.
# Others may hold the machine: what has come to a stand never goes on, however long it is waited for.
small="--without rewind-node,rebalance --patience 300 --keys-max 1M --verify-keys 50k --pace 100k --seed 1"
output=$(mktemp) || exit 2
wrong=0
trap 'rm -f "$output"' EXIT

# refused FLAGS...: exit status 2, and a line that says what is wrong.
refused() {
    "$torture" "$@" >"$output" 2>&1
    if [ $? -ne 2 ] || ! grep -Eq '^torture: --[a-z, -]+: .*; see --help$' "$output"; then
        echo "torture $*: not refused"
        cat "$output"
        wrong=1
    fi
}

# lacks PATTERN...: the first of them that no line of the output is like.
lacks() {
    local pattern
    for pattern in "$@"; do
        grep -Eq "$pattern" "$output" || {
            echo "$pattern"
            return
        }
    done
    return 1
}

# expect STATUS PATTERN FLAGS...: its exit status, and its last line.
expect() {
    local status=$1 pattern=$2 got
    shift 2
    # shellcheck disable=SC2086 # words
    TMPDIR=${TMPDIR:-/tmp} "$torture" $small "$@" >"$output" 2>&1
    got=$?
    if [ "$got" -ne "$status" ] || ! tail -n 1 "$output" | grep -Eq "$pattern"; then
        echo "torture $*: exit status $got, expected $status and a last line like: $pattern"
        tail -n 60 "$output"
        wrong=1
    fi
    folder=$(sed -n 's/.* partitions .*, in //p' "$output")
    case $folder in
    */orbloom-torture-*) [ "$got" -eq "$status" ] && rm -rf "$folder" ;;
    esac
}

refused --change shrink
refused --keys 1M
refused --change drain --nodes 3
refused --change drain --keys 2M --to 1M
refused --change expand --in-memory
refused --change expand --break wipe-majority
refused --break old-credential
refused --rounds 3
refused --upgrade /nowhere
refused --upgrade /nowhere --in-memory

zero='^torture: [0-9,]+ faults, [1-9][0-9,]* acknowledged adds, 0 lost$'

# shows SECONDS FLAGS... -- PATTERN...: nothing is lost, and there are such lines. How much happens in a
# while depends on the machine: what lacks one is tried for longer, too.
shows() {
    local seconds=$1 times flags=() pattern
    shift
    while [ "$1" != -- ]; do
        flags+=("$1")
        shift
    done
    shift
    for times in 1 4 8; do
        expect 0 "$zero" --seconds $((seconds * times)) ${flags[@]+"${flags[@]}"}
        pattern=$(lacks "$@") && [ $wrong -eq 0 ] || return
    done
    tail -n 60 "$output"
    echo "torture: no line like: $pattern"
    wrong=1
}

shows "$seconds" -- '^expansions +[1-9]' '^drains +[1-9]' '^expansions .* by a chain [1-9]' \
    '^slices of a window +[1-9]'

# The same among processes that let in nobody else, by a user with a credential, while the cluster key is
# replaced.
shows 5 --curve -- '^rotations +[1-9]'

# Each kind of process in each phase of a change; in so little time not every cell is hit.
killed='[1-9][0-9]*'
shows 6 --change expand --keys 100k --hits 1 -- \
    '^kill -9 of +building node +other node +all nodes +router +coordinator$' \
    "^fill +([0-9]+ +){4}[0-9]+$" "^all +([0-9]+ +){3}$killed +$killed\$" "^changes +$killed +expand"
shows 4 --change drain --keys 100k --hits 1 -- \
    '^kill -9 of +leaving node +joining node +other node +all nodes +router +coordinator$' \
    "^v2 pair +([0-9]+ +){4}$killed +$killed\$" "^changes +$killed +drain"
shows 3 --change replace --keys 100k --hits 1 -- \
    "^v2 pair +([0-9]+ +){4}$killed +$killed\$" "^changes +$killed +replace"

expect 1 '^torture: FAILED: LOST: ' --change expand --keys 100k --seconds 4 --break false-claim
expect 1 '^torture: FAILED: LOST: ' --seconds 4 --break false-claim
expect 1 '^torture: FAILED: REFUSED: ' --curve --seconds 4 --break old-credential
expect 1 '^torture: FAILED: (LOST|NOT READY): ' --seconds 4 --break wipe-majority
exit $wrong
