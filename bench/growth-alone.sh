#!/bin/bash
# Run by a playground of one node for growth.sh: how fast it makes new arrays from sorted runs when
# nothing holds it back.
#   bench/growth-alone.sh ORBLOOM BUILD ROWS-FILE WORK-DIRECTORY KEYS
set -u

orbloom=$1 build=$2 rows=$3 work=$4 keys=$5
round=1 node=node-1 LIMIT_S=120
WATCHED="replicas_full growth_keys_total"
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"
# shellcheck source=bench/node-again.sh
. "$(dirname "$0")/node-again.sh"

name="growth: backfill and verify"

give_up() {
    failed "$name" "$1"
    exit 0
}

"$orbloom" create big --timeout 60s --capacity "$((keys + keys / 5))" --fpr 1% --replicas 1 \
    --when-full refuse >/dev/null || give_up "the filter can't be made"
echo "bench: filling a node with $(grouped "$keys") keys (${SECONDS} s)" >&2
load durable to-grow --op add --filter big --size "$keys" --keys 2 --batch 1 --in-flight 1 || exit 0
settle 120 node-1 || echo "bench: merging has not ended after 120 s" >&2
node_kill
echo 'growth_rate = "0";' >>"$ORBLOOM_DIR/node-1/conf"
node_start
node_await_full || give_up "not FULL after $LIMIT_S s: $(tail -n 1 "$work/$node.log")"
settle 120 node-1 # What was in no run at the kill becomes one.
echo "bench: growing it to $(grouped "$((4 * keys))") keys (${SECONDS} s)" >&2
"$build/bench/watch" "$(endpoint "$node")" $WATCHED --every 5ms --for ${LIMIT_S}s \
    >"$work/watched" 2>/dev/null &
watch_pid=$!
wait_for "$orbloom" expand big --capacity "$((4 * keys))" 2>"$work/error" >/dev/null ||
    give_up "$(tail -n 1 "$work/error")"
kill "$watch_pid"
wait "$watch_pid" 2>/dev/null
watch_pid=
pace=$(node_pace 3)
if [ -n "$pace" ]; then
    figure "$name" "$(value "pace / 2" pace="$pace")" /s \
        "$(grouped "$keys") keys to $(grouped "$((4 * keys))"), one node, growth_rate 0, no load; each is read twice"
else
    not_run "$name" "it took less than 5 ms"
fi
load durable grown --op check --filter big --size "$keys" --filled --keys 1000000 --batch 1000 \
    --in-flight 64
