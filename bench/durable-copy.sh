#!/bin/bash
# Run by a playground for durability.sh: a node that comes back without its data takes all of it from
# the others.
#   bench/durable-copy.sh ORBLOOM BUILD ROWS-FILE WORK-DIRECTORY ROUNDS KEYS
set -u

orbloom=$1 build=$2 rows=$3 work=$4 rounds=$5 keys=$6
round=1 node=node-3 LIMIT_S=120
WATCHED="replicas_full sync_keys_total"
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"
# shellcheck source=bench/node-again.sh
. "$(dirname "$0")/node-again.sh"

copy() {
    local pace note
    node_kill
    rm -rf "${ORBLOOM_DIR:?}/$node/data"
    node_start
    if ! node_await_full; then
        failed "copy of a whole replica" "not FULL after $LIMIT_S s: $(tail -n 1 "$work/$node.log")"
        return 1
    fi
    note="$(grouped "$keys") keys, 8 bytes each, asked of two replicas"
    pace=$(node_pace 3)
    if [ -n "$pace" ]; then
        figure "copy of a whole replica" "$(value "8 * pace" pace="$pace")" B/s "$note"
    else
        not_run "copy of a whole replica" "it took less than 20 ms"
    fi
    figure "wiped node until FULL" "$took" s "$note"
    load durable copied --op check --filter big --size "$keys" --filled --keys 1000000 \
        --batch 1000 --in-flight 64
}

"$orbloom" create big --timeout 60s --capacity "$((keys + keys / 20))" --fpr 1% >/dev/null ||
    { failed "copy of a whole replica" "the filter can't be made"; exit 0; }
echo "bench: filling three nodes with $(grouped "$keys") keys (${SECONDS} s)" >&2
load durable to-copy --op add --filter big --size "$keys" --keys 2 --batch 1 --in-flight 1 || exit 0
settle 120 node-1 node-2 node-3 || echo "bench: merging has not ended after 120 s" >&2
for ((round = 1; round <= rounds; round++)); do
    echo "bench: copy $round of $rounds (${SECONDS} s)" >&2
    copy || break
done
