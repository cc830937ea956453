#!/bin/bash
# Run by a playground for durability.sh: what adds cost, kept in one way.
#   bench/durable-adds.sh ORBLOOM BUILD ROWS-FILE WORK-DIRECTORY ROUND memory|os|sync
# One load of DURABLE_SECONDS, then one key at a time. `sync` also says what merging left to do and
# wrote, and what a sync of the disk takes meanwhile.
set -u

orbloom=$1 build=$2 rows=$3 work=$4 round=$5 kept=$6
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

KNOWN=1000000 # Keys that the filter holds; half of all adds are of them.

nodes=(node-1 node-2 node-3)

stop() {
    [ -z "$child" ] || kill "$child" 2>/dev/null
}
trap stop EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT

# make_filter NAME CAPACITY
make_filter() {
    "$orbloom" create "$1" --timeout 60s --capacity "$2" --fpr 1% --durability "$kept" >/dev/null 2>"$work/error" ||
        failed "durable $kept" "$(tail -n 1 "$work/error")"
}

# what_was_written KEYS: once merging has come to rest.
what_was_written() {
    local keys=$1 before=$2 unmerged=$3 note
    note="$(grouped "$keys") keys, $kept, each node"
    settle 120 "${nodes[@]}" || note="$note, merging not ended after 120 s"
    figure "written to disk a key ($kept)" \
        "$(value "(now - before) / keys / 3" now="$(written "${nodes[@]}")" before="$before" keys="$keys")" \
        B "$note"
    figure "log not merged at the end ($kept)" "$unmerged" bytes "$note, the most of three"
}

most_unmerged() {
    local node most=0 one
    for node in "${nodes[@]}"; do
        one=$(counter unmerged_bytes "$node")
        [ "$one" -le "$most" ] || most=$one
    done
    echo "$most"
}

sustained() {
    local before unmerged
    make_filter long $((DURABLE_MOST_KEYS / 2 + KNOWN))
    before=$(written "${nodes[@]}")
    load durable "$kept" --op add --filter long --size "$KNOWN" --keys "$DURABLE_MOST_KEYS" \
        --for "${DURABLE_SECONDS}s" --batch 1000 --in-flight 64 || return
    unmerged=$(most_unmerged)
    if [ "$kept" != memory ]; then
        what_was_written $(($(member keys) + KNOWN)) "$before" "$unmerged"
    fi
}

# In order: a load that is over, so nothing merges meanwhile.
one_at_a_time() {
    local in_memory=$work/p50-memory-$round
    make_filter small 2000000
    load durable "$kept" --op add --filter small --size "$KNOWN" --keys 1000000 \
        --for "${DURABLE_ONE_SECONDS}s" --batch 1 --in-flight 1 || return
    if [ "$kept" = memory ]; then
        member p50_us >"$in_memory"
    elif [ "$kept" = sync ] && [ -s "$in_memory" ]; then
        figure "one add: sync less in memory" \
            "$(value "(with > without ? with - without : 0)" with="$(member p50_us)" without="$(cat "$in_memory")")" \
            us "medians, one key, one in flight"
        "$build/bench/disk" "$work" --writers 3 --for "${DURABLE_ONE_SECONDS}s" 2>"$work/error" |
            sed "s/^{/{\"round\": $round, /" >>"$rows"
    fi
}

one_at_a_time
sustained
