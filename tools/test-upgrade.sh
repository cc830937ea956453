#!/bin/bash
# Every order of upgrade, and of downgrade, of the kinds of process, from older releases: nothing may be lost,
# and no client refused. Of one cluster, from a release that lacks features of this one; of two linked sites,
# from one that knows sites. And clients of one release beside a cluster of the other.
#
#   tools/test-upgrade.sh
#
# TORTURE, TORTURE_SITES: the programs (build/tests/torture, torture-sites). ORBLOOM_BIN_DIR: programs of this
# release (build/bin). OLDER: where older releases are built (build/older). UPGRADE_ROUNDS, UPGRADE_SITES_ROUNDS:
# there and back; 6 and 12 are all orders. In one round of sites each of two kinds comes first at one of them.
# Where the clone lacks an older release's commit it is skipped.
# Last line: "N passed, N failed", with ", N skipped" where any was; exit 1 if any failed.
set -u
. "$(dirname "$0")/verdicts.sh"

torture=${TORTURE:-build/tests/torture}
torture_sites=${TORTURE_SITES:-build/tests/torture-sites}
newer=$(realpath "${ORBLOOM_BIN_DIR:-build/bin}") || exit 2
rounds=${UPGRADE_ROUNDS:-6}
sites_rounds=${UPGRADE_SITES_ROUNDS:-12}
output=$(mktemp) || exit 2
script=$(mktemp) || exit 2
trap 'rm -f "$output" "$script"' EXIT

# find USE: the folder of its programs, in `older`; false: there is none, and that is told
find() {
    older=$(tools/older-release.sh "${OLDER:-build/older}" "$1" 2>"$output")
    case $? in
    0) return 0 ;;
    3) skip "upgrades ($1)" "$(cat "$output")" ;;
    *) judge "the older release builds ($1)" 1 "$output" ;;
    esac
    return 1
}

# What a client of one release does with a cluster of the other: each has the words to be found.
cat >"$script" <<'SCRIPT'
set -e
. "$ORBLOOM_DIR/env"
"$CLIENT" create seen --capacity 100k --fpr 1%
seq 1 20000 | "$CLIENT" add seen
seq 1 20000 | "$CLIENT" check seen | grep -c '^present$' | grep -qx 20000
"$CLIENT" expand seen --capacity 400k
"$CLIENT" info seen | grep -q '^capacity'
"$CLIENT" status | grep -q '^node-1\|node-1'
"$CLIENT" upgrade status | grep -q '^features'
"$CLIENT" drop seen --yes 2>/dev/null || "$CLIENT" drop seen
SCRIPT

# serves NAME CLUSTER CLIENT
serves() {
    CLIENT=$3/orbloom "$2/orbloom" playground --nodes 3 --base-port 0 --run bash "$script" >"$output" 2>&1
    judge "$1" $? "$output"
}

if find features; then
    serves "an older client at a newer cluster" "$newer" "$older"
    serves "a newer client at an older cluster" "$older" "$newer"
    ORBLOOM_BIN_DIR=$newer "$torture" --upgrade "$older" --rounds "$rounds" --nodes 3 --keys-max 1M --verify-keys 50k \
        --pace 50k --patience 300 --seed 1 >"$output" 2>&1
    judge "$rounds rounds of upgrade and downgrade" $? "$output"
    tail -n 1 "$output"
fi
if find sites; then
    ORBLOOM_BIN_DIR=$newer "$torture_sites" --upgrade "$older" --rounds "$sites_rounds" --keys-max "${sites_rounds}M" --pace 10k \
        --patience 300 --seed 1 >"$output" 2>&1
    judge "$sites_rounds rounds of upgrade and downgrade of two sites" $? "$output"
    grep -E '^[0-9]+ (rounds|filters)|^torture-sites: ' "$output"
fi

conclude
