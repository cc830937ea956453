#!/bin/bash
# Run by a playground of one node for durability.sh and large.sh: how fast it is filled, what many keys take on disk when all is merged,
# and how long the node takes to come back with them after kill -9: by an imprint of its array, and from sorted runs.
#   bench/durable-restart.sh ORBLOOM BUILD ROWS-FILE WORK-DIRECTORY ROUNDS KEYS [DISK_MBPS]
# DISK_MBPS: restarts are as on a disk that reads so many MB/s.
set -u

orbloom=$1 build=$2 rows=$3 work=$4 rounds=$5 keys=$6 disk_mbps=${7:-}
round=1 node=node-1 LIMIT_S=600
WATCHED="replicas_full replayed_keys_total"
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"
# shellcheck source=bench/node-again.sh
. "$(dirname "$0")/node-again.sh"
# shellcheck source=bench/slow-disk.sh
. "$(dirname "$0")/slow-disk.sh"
trap 'node_stop; slow_disk_leave' EXIT

LEAST_ON_DISK=50000000 # Keys; of fewer the log, which never shrinks below its files, says nothing.

LEAST_IMPRINT=20000000 # Keys; the arrays of fewer are smaller than imprint_size.

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

imprints() {
    find "$ORBLOOM_DIR/node-1/data" -name 'imprint-*' | sort
}

# await_imprint: until one is there, and none comes any more: at rest one is taken every A / 16 MB/s at
# most. False: there is none.
await_imprint() {
    local before="" now same=0 tries=1000 wait_s=0
    while [ "$tries" -gt 0 ] && { [ "$same" -le "$wait_s" ] || [ -z "$before" ]; }; do
        now=$(imprints)
        if [ "$now" = "$before" ]; then same=$((same + 1)); else same=0; fi
        before=$now tries=$((tries - 1))
        wait_s=$((15 + $(bytes_of imprint-) / 16000000))
        wait_for sleep 1
        [ -n "$now" ] || [ "$tries" -gt 880 ] || return 1
    done
    [ -n "$before" ]
}

# read_array: the same disk reads the array's bytes and nothing is done with them; `array_s` is how
# long that takes. While no node runs.
read_array() {
    local begin
    drop_caches >/dev/null
    begin=$EPOCHREALTIME
    dd if="$(imprints | tail -n 1)" of=/dev/null bs=4M status=none
    array_s=$(value "e - b" e="$EPOCHREALTIME" b="$begin")
}

# again NAME: killed before; started on cold caches, `took` until it is FULL.
again() {
    caches=$(drop_caches)${disk_mbps:+, disk limited to $disk_mbps MB/s}
    node_start
    if ! node_await_full; then
        failed "$1" "not FULL after $LIMIT_S s: $(tail -n 1 "$work/$node.log")"
        return 1
    fi
}

look_for_keys() {
    load durable restarted --op check --filter big --size "$keys" --filled --keys 1000000 \
        --batch 1000 --in-flight 64
}

# As it is: by an imprint, where the array is large enough for one.
as_it_is() {
    local array_s= bytes
    bytes=$(bytes_of imprint-)
    node_kill
    [ "$bytes" -eq 0 ] || read_array
    again "restart until FULL" || return 1
    figure "restart until FULL" "$took" s "$keys_text keys, imprints of $((bytes / 1048576)) MiB, $caches"
    if [ "$bytes" -gt 0 ]; then
        figure "reading the array's bytes" "$array_s" s "$((bytes / 1048576)) MiB by dd from the same disk, $caches"
        figure "restart beside reading the array" "$(value "a / b" a="$took" b="$array_s")" x \
            "to be at most 1.3; $(grouped "$(counter replayed_keys_total node-1)") keys were read besides"
    fi
    look_for_keys
}

# All keys are read, as without imprints.
from_runs() {
    local pace
    node_kill
    imprints | xargs -r rm
    again "restart from runs until FULL" || return 1
    figure "restart from runs until FULL" "$took" s "$keys_text keys, no imprint, $caches"
    pace=$(node_pace 3)
    if [ -n "$pace" ]; then
        figure "fingerprints replayed" "$pace" /s "$keys_text keys, no imprint, $caches"
    else
        not_run "fingerprints replayed" "it took less than 20 ms"
    fi
    look_for_keys
}

restart() {
    local caches
    if [ "$keys" -ge "$LEAST_IMPRINT" ] && ! await_imprint; then
        failed "restart beside reading the array" "there is no imprint"
    fi
    as_it_is && from_runs
}

"$orbloom" create big --timeout 60s --capacity $((keys + keys / 20)) --fpr 1% --replicas 1 --when-full refuse >/dev/null ||
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
if [ -n "$disk_mbps" ] && ! slow_disk_enter "$ORBLOOM_DIR" "$disk_mbps"; then
    failed "restart until FULL" "no disk of $disk_mbps MB/s: it takes root and a control group that can limit a disk"
    exit 0
fi
for ((round = 1; round <= rounds; round++)); do
    echo "bench: restart $round of $rounds (${SECONDS} s)" >&2
    restart || break
done
