#!/bin/bash
# Run by a playground of one node for durability.sh and large.sh: how fast it is filled, what many keys take on disk when all is merged,
# and how long the node takes to come back with them after kill -9.
#   bench/durable-restart.sh ORBLOOM BUILD ROWS-FILE WORK-DIRECTORY ROUNDS KEYS
set -u

orbloom=$1 build=$2 rows=$3 work=$4 rounds=$5 keys=$6
round=1 node=node-1 LIMIT_S=600
WATCHED="replicas_full replayed_keys_total"
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"
# shellcheck source=bench/node-again.sh
. "$(dirname "$0")/node-again.sh"

LEAST_ON_DISK=50000000 # Keys; of fewer the log, which never shrinks below its files, says nothing.

keys_text=$(grouped "$keys")

# bytes_of PREFIX: that files take on the disk.
bytes_of() {
    find "$ORBLOOM_DIR/node-1/data" -name "$1*" -printf '%b\n' |
        awk '{ sum += $1 } END { printf "%.0f", sum * 512 }'
}

on_disk() {
    local runs log
    runs=$(bytes_of run-)
    log=$(bytes_of log-)
    figure "on disk a key: runs" "$(value "a / k" a="$runs" k="$keys")" B \
        "$keys_text keys, merged into $(counter runs node-1) runs"
    figure "on disk a key: log" "$(value "a / k" a="$log" k="$keys")" B \
        "$((log / 1048576)) MiB, however many keys: kept for other nodes, reserved for adds to come"
    if [ "$keys" -ge "$LEAST_ON_DISK" ]; then
        figure "on disk a key: all" "$(value "(a + b) / k" a="$runs" b="$log" k="$keys")" B \
            "$keys_text keys, runs and log"
    else
        not_run "on disk a key: all" "takes $(grouped $LEAST_ON_DISK) keys: the log's files do not shrink"
    fi
}

restart() {
    local note pace caches
    node_kill
    caches=$(drop_caches)
    node_start
    note="$keys_text keys, $caches"
    if ! node_await_full; then
        failed "restart until FULL" "not FULL after $LIMIT_S s: $(tail -n 1 "$work/$node.log")"
        return 1
    fi
    figure "restart until FULL" "$took" s "$note"
    pace=$(node_pace 3)
    if [ -n "$pace" ]; then
        figure "fingerprints replayed" "$pace" /s "$note"
    else
        not_run "fingerprints replayed" "it took less than 20 ms"
    fi
    load durable restarted --op check --filter big --size "$keys" --filled --keys 1000000 \
        --batch 1000 --in-flight 64
}

"$orbloom" create big --timeout 60s --capacity $((keys + keys / 20)) --fpr 1% --replicas 1 >/dev/null ||
    { failed "restart until FULL" "the filter can't be made"; exit 0; }
echo "bench: filling a node with $keys_text keys (${SECONDS} s)" >&2
begin=$EPOCHREALTIME
load durable one-node --op add --filter big --size "$keys" --keys 2 --batch 1 --in-flight 1 || exit 0
took=$(value "e - b" e="$EPOCHREALTIME" b="$begin")
figure "keys added until full" "$(value "k / t" k="$keys" t="$took")" /s \
    "$keys_text keys by one client in $took s, one replica, its log on disk"
if [ "$keys" -ge "$LEAST_ON_DISK" ]; then
    wait_for sleep 21 # The log is kept for ten to twenty seconds for its age.
fi
settle $LIMIT_S node-1 || echo "bench: merging has not ended after $LIMIT_S s" >&2
on_disk
for ((round = 1; round <= rounds; round++)); do
    echo "bench: restart $round of $rounds (${SECONDS} s)" >&2
    restart || break
done
