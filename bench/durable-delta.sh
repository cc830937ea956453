#!/bin/bash
# Run by a playground for durability.sh: what nodes tell each other about adds.
#   bench/durable-delta.sh ORBLOOM BUILD ROWS-FILE WORK-DIRECTORY ROUND KEYS
# Nothing missed: bytes an added key. Then node-3 is paused, KEYS are added, it goes on: bytes a
# missed key, and how long until it has them all.
set -u

orbloom=$1 build=$2 rows=$3 work=$4 round=$5 keys=$6
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

LIMIT_S=30
KNOWN=100000

nodes=(node-1 node-2 node-3)
paused=$(cat "$ORBLOOM_DIR/node-3/pid")
watch_pid=

stop() {
    [ -z "$child" ] || kill "$child" 2>/dev/null
    [ -z "$watch_pid" ] || kill "$watch_pid" 2>/dev/null
    kill -CONT "$paused" 2>/dev/null
}
trap stop EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT

# gossip NODE...: bytes that they have sent and received, each counted once.
gossip() {
    echo $(($(counter gossip_bytes_in_total "$@") + $(counter gossip_bytes_out_total "$@")))
}

# Until nothing is told any more; what idle nodes ask each other is told too.
nothing_missed() {
    local before missed added
    before=$(gossip "${nodes[@]}")
    missed=$(counter gossip_keys_missed_total "${nodes[@]}")
    load durable delta --op add --filter delta --size "$KNOWN" --keys "$keys" \
        --batch 1000 --in-flight 64 || return 1
    added=$((keys + KNOWN))
    wait_for sleep 4
    missed=$(($(counter gossip_keys_missed_total "${nodes[@]}") - missed))
    figure "gossip an added key" "$(value "(now - before) / k" now="$(gossip "${nodes[@]}")" \
        before="$before" k="$added")" B "batches of 1,000, 16 shards, $missed of $(grouped "$added") missed"
}

# disagreements: of checks of all keys, each asking two of the three replicas in turn.
disagreements() {
    local before
    before=$(counter disagreements_total router)
    load durable after-pause --op check --filter delta --size $((KNOWN + keys)) --filled \
        --keys $((2 * (KNOWN + keys))) --batch 1000 --in-flight 16
    echo $(($(counter disagreements_total router) - before))
}

paused_node() {
    local base_missed base_bytes missed first took disagreed
    base_missed=$(counter gossip_keys_missed_total node-3)
    base_bytes=$(gossip node-3)
    "$build/bench/watch" "$(endpoint node-3)" gossip_keys_missed_total keys_added_total --every 20ms \
        --for $((LIMIT_S + 30))s >"$work/watched" 2>/dev/null &
    watch_pid=$!
    sleep 0.2
    kill -STOP "$paused"
    load durable paused --op add --filter delta --size "$KNOWN" --filled --fresh $((KNOWN + keys / 2)) \
        --keys "$keys" --batch 1000 --in-flight 64
    wait_for sleep "$DURABLE_PAUSE"
    first=$EPOCHREALTIME
    kill -CONT "$paused"
    wait_for sleep "$DURABLE_CALM"
    kill "$watch_pid"
    wait "$watch_pid" 2>/dev/null
    watch_pid=
    missed=$(($(counter gossip_keys_missed_total node-3) - base_missed))
    if [ "$missed" -eq 0 ]; then
        not_run "gossip a missed key" "its connections held everything while it was paused"
        not_run "until missed keys are there" "it missed nothing"
        return
    fi
    took=$(awk -v began="$first" -v base="$base_missed" '$1 > began && $2 + $3 != before { at = $1 }
        { before = $2 + $3 } END { if (at > 0) printf "%.3f", at - began }' "$work/watched")
    figure "gossip a missed key" "$(value "(now - before) / m" now="$(gossip node-3)" \
        before="$base_bytes" m="$missed")" B "$(grouped "$missed") of $(grouped "$keys") missed by a node paused for ${DURABLE_PAUSE} s and the adds"
    disagreed=$(disagreements)
    if [ "$disagreed" -eq 0 ]; then
        figure "until missed keys are there" "$took" s "$(grouped "$missed") keys missed; from the pause's end"
    else
        failed "until missed keys are there" "$DURABLE_CALM s later $disagreed checks find that replicas differ"
    fi
}

"$orbloom" create delta --timeout 60s --capacity $((KNOWN + 4 * keys)) --max-capacity $((KNOWN + 4 * keys)) --fpr 1% \
    >/dev/null || { failed "gossip an added key" "the filter can't be made"; exit 0; }
nothing_missed && paused_node
