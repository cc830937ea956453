#!/bin/bash
# Run by a playground for durability.sh: what comparing replicas costs, equal ones and such that
# differ in a thousand keys.
#   bench/durable-repair.sh ORBLOOM BUILD ROWS-FILE WORK-DIRECTORY KEYS
# node-3 is killed and misses the keys; the others are started anew until their logs of that time
# are gone. So it has to be compared when it comes back.
set -u

orbloom=$1 build=$2 rows=$3 work=$4 keys=$5
round=1 APART=1000 LIMIT_S=60
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

declare -A pids
stop() {
    local pid
    [ -z "$child" ] || kill "$child" 2>/dev/null
    for pid in "${pids[@]}"; do
        kill -TERM "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
}
trap stop EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT

kill_node() {
    local pid
    pid=$(cat "$ORBLOOM_DIR/$1/pid")
    kill -KILL "$pid"
    [ -z "${pids[$1]:-}" ] || wait "$pid" 2>/dev/null
    while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
    unset "pids[$1]"
}

# start_node NODE OPTION...
start_node() {
    local node=$1
    shift
    # Should this shell be killed, so is the node.
    setpriv --pdeathsig KILL "$(dirname "$orbloom")/orbloom-node" --config "$ORBLOOM_DIR/$node/conf" \
        "$@" >"$work/$node.log" 2>&1 </dev/null &
    pids[$node]=$!
    echo "${pids[$node]}" >"$ORBLOOM_DIR/$node/pid"
}

# await NAME LEAST NODE: false after LIMIT_S, and $why says so.
why=
await() {
    local tries=$((LIMIT_S * 5)) seen=
    until [ "${seen:-0}" -ge "$2" ]; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || { why="$3: $1 is ${seen:-unknown} after $LIMIT_S s, not $2"; return 1; }
        wait_for sleep 0.2
        seen=$(counter "$1" "$3" 2>/dev/null)
    done
}

# What node-3 has missed is then in no log that is kept: two segments are, and each start begins one.
# One without an add would go before them.
lose_logs() {
    local times node
    for times in 1 2 3; do
        echo "begins-a-segment-$times" | "$orbloom" add big --quiet >/dev/null || return 1
        for node in node-1 node-2; do
            kill_node "$node"
            start_node "$node" --log_retain=0 --gossip_delay=100ms --scrub_interval=1s
        done
        for node in node-1 node-2; do
            await replicas_full 1 "$node" || return 1
        done
        wait_for sleep 4
    done
}

identical() {
    local shards
    await repairs_ended_total 1 node-1 && await repairs_ended_total 1 node-2 || return 1
    shards=$(counter repair_shards_total node-1 node-2)
    figure "repair: identical, a shard" "$(value "b / s" \
        b="$(counter repair_bytes_total node-1 node-2)" s="$shards")" B "$(grouped "$keys") keys, $shards shards compared"
}

# Each slot group is compared with both nodes; the second one has nothing more.
apart() {
    local groups trips bytes found
    # After a kill it would first catch up, which here means a copy of all: this is about repair.
    start_node node-3 --scrub_interval=0s --catch_up_wait=0s
    await replicas_full 1 node-3 || return 1
    groups=$(counter replicas_full node-3)
    # Merging is the nodes' own business: one may still have the log, and then nothing is compared.
    if ! await repairs_ended_total $((2 * groups)) node-3; then
        not_run "repair: a differing key" "a log of that time was still there, and was followed: $why"
        return 0
    fi
    found=$(counter repair_keys_total node-3)
    trips=$(counter repair_round_trips_total node-3)
    bytes=$(counter repair_bytes_total node-3)
    if [ "$found" -lt $((APART * 9 / 10)) ] || [ "$found" -gt $((APART * 11 / 10)) ]; then
        failed "repair: a differing key" "$found keys were taken over, about $APART were missed"
        return 0
    fi
    figure "repair: a differing key" "$(value "b / k" b="$bytes" k="$found")" B \
        "$(grouped "$found") of $(grouped "$keys") keys missed; both nodes asked, the second has no more"
    figure "repair: round trips" "$(value "t / g - 1" t="$trips" g="$groups")" "" \
        "a slot group of $groups, and one for the second node"
}

give_up() {
    failed "repair: $1" "$why; node-3 said last: $(tail -n 1 "$work/node-3.log" 2>/dev/null)"
    exit 0
}

"$orbloom" create big --timeout 60s --capacity "$((keys + keys / 20))" --max-capacity "$((keys + keys / 20))" --fpr 1% \
    >/dev/null || give_up "a differing key"
echo "bench: filling three nodes with $(grouped "$keys") keys (${SECONDS} s)" >&2
load durable to-compare --op add --filter big --size "$keys" --keys 2 --batch 1 --in-flight 1 || exit 0
settle 120 node-1 node-2 node-3 || echo "bench: merging has not ended after 120 s" >&2
kill_node node-3
# Half of these are not there yet.
load durable apart --op add --filter big --size "$keys" --filled --fresh "$keys" --keys $((2 * APART)) \
    --batch 2000 --in-flight 1 || exit 0
lose_logs || give_up "identical, a shard"
identical || give_up "identical, a shard"
apart || give_up "a differing key"
