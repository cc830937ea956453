#!/bin/bash
# A short torture must lose nothing; and one that loses keys on purpose must say so.
#
#   tools/test-torture.sh TORTURE [SECONDS]     build/tests/torture, 15
set -u

torture=${1:?usage: tools/test-torture.sh TORTURE [SECONDS]}
seconds=${2:-15}
# rewind-node is left out: see docs/torture.md, "What it has found".
small="--without rewind-node --keys-max 1M --verify-keys 50k --pace 100k --seed 1"
output=$(mktemp) || exit 2
wrong=0
trap 'rm -f "$output"' EXIT

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

expect 0 '^torture: [0-9,]+ faults, [1-9][0-9,]* acknowledged adds, 0 lost$' --seconds "$seconds"
for action in expansions drains; do
    grep -Eq "^$action +[1-9]" "$output" || {
        echo "torture: no $action in $seconds s"
        wrong=1
    }
done
expect 1 '^torture: FAILED: LOST: ' --seconds 4 --break false-claim
expect 1 '^torture: FAILED: (LOST|NOT READY): ' --seconds 4 --break wipe-majority
exit $wrong
