#!/bin/bash
# Run by a playground of three nodes for many.sh: filters are created and dropped, others stay and
# get keys; then the store is lost and comes back from a backup.
#   bench/many-fill.sh ORBLOOM BUILD ROWS-FILE WORK-DIRECTORY
# With $MANY_ALIVE, $MANY_DROPPED, $MANY_RESERVE, $MANY_IDLE_S.
set -u

orbloom=$1 build=$2 rows=$3 work=$4
round=1
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"
# shellcheck source=bench/many-filters.sh
. "$(dirname "$0")/many-filters.sh"

store=$ORBLOOM_DIR/coordinator/data/store.sqlite
backup=$work/many.map
coordinator_pid=

stop() {
    [ -z "$child" ] || kill "$child" 2>/dev/null
    if [ -n "$coordinator_pid" ]; then
        kill -TERM "$coordinator_pid" 2>/dev/null
        wait "$coordinator_pid" 2>/dev/null
    fi
}
trap stop EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT

# create_alive: the first ones into an empty cluster and the last ones beside all others apart.
create_alive() {
    local some=$((MANY_ALIVE / 20 > 500 ? 500 : MANY_ALIVE / 20)) middle
    [ "$some" -gt 0 ] || some=1
    middle=$((MANY_ALIVE - 2 * some))
    filters_rate "creates, none alive" create alive- 0 "$some" "into an empty cluster" &&
        churn "$((MANY_DROPPED - MANY_DROPPED / 100))" "$some" &&
        filters_rate "creates, up to all" create alive- "$some" "$middle" "beside $some and more" &&
        filters_rate "creates, all alive" create alive- "$((some + middle))" "$some" \
            "beside $(grouped "$((some + middle))")" &&
        churn "$((MANY_DROPPED / 100))" "$MANY_ALIVE"
}

# churn COUNT ALIVE
churned=0
churn() {
    local first=$churned
    churned=$((churned + $1))
    [ "$1" -eq 0 ] || filters_rate "created and dropped, $(grouped "$2") alive" churn gone- "$first" "$1" "pairs"
}

# await_forgotten: until all that was dropped is out of the store.
await_forgotten() {
    local tries=1200
    until [ "$(counter filters_forgotten_total coordinator)" -ge "$MANY_DROPPED" ]; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        wait_for sleep 0.25
    done
}

# show_store: how large it is, and a backup of it.
show_store() {
    local began=$EPOCHREALTIME told
    if ! wait_for "$orbloom" map backup "$backup" --timeout 60s >"$work/told" 2>&1; then
        failed "many: time of a backup" "$(tail -n 1 "$work/told")"
        return 1
    fi
    figure "many: time of a backup" "$(value "e - b" e="$EPOCHREALTIME" b="$began")" s "orbloom map backup"
    told=$(sed -n 's/.*: \([0-9]*\) records.*/\1/p' "$work/told")
    figure "many: records in the store" "$told" "" \
        "of $(grouped "$MANY_ALIVE") filters alive and $(grouped "$MANY_DROPPED") dropped"
    figure "many: size of the backup" "$(value "s / 1048576" s="$(stat -c %s "$backup")")" MiB "one file"
    figure "many: size of the store" "$(value "s / 1048576" s="$(disk coordinator)")" MiB "with its log"
}

# show_each: what a filter takes of a node; its arrays are most of the memory.
show_each() {
    local node
    for node in "${nodes[@]}"; do
        figure "many: disk of $node" "$(value "d / 1048576" d="$(disk "$node")")" MiB "all of its folder"
    done
    figure "many: memory a filter" "$(value "(m - b) / n / 1024" m="$(memory node-1)" b="$memory_before" \
        n="$MANY_ALIVE")" KiB "of node-1, $MANY_RESERVE; of it the arrays: $(array_kib) KiB"
}

array_kib() {
    redis-cli -s "$ORBLOOM_DIR/router/resp.sock" BF.INFO alive-0 Size | awk '{ print $NF / 1024 }'
}

# lose_store: with the coordinator's process; another one starts on an empty folder.
lose_store() {
    local pid
    pid=$(cat "$ORBLOOM_DIR/coordinator/pid")
    kill -KILL "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
    rm -f "$store"*
    setpriv --pdeathsig KILL "$(dirname "$orbloom")/orbloom-coordinator" \
        --config "$ORBLOOM_DIR/coordinator/conf" >"$work/coordinator.log" 2>&1 </dev/null &
    coordinator_pid=$!
    echo "$coordinator_pid" >"$ORBLOOM_DIR/coordinator/pid"
}

# restore: again while nodes have not all told what they hold.
restore() {
    local began=$EPOCHREALTIME tries=60
    lose_store
    until wait_for "$orbloom" map restore "$backup" --timeout 60s >"$work/told" 2>"$work/error"; do
        tries=$((tries - 1))
        if [ "$tries" -eq 0 ] || ! grep -q UNAVAILABLE "$work/error"; then
            failed "many: time of a restore" "$(tail -n 1 "$work/error")"
            return 1
        fi
        wait_for sleep 1
    done
    figure "many: time of a restore" "$(value "e - b" e="$EPOCHREALTIME" b="$began")" s \
        "from the coordinator's start on an empty folder; $(tail -n 1 "$work/told")"
}

memory_before=$(memory node-1)
create_alive || exit 1
echo "bench: $MANY_ALIVE filters alive, $MANY_DROPPED dropped" >&2
filters_rate "filters that got keys" add alive- 0 "$MANY_ALIVE" "BF.MADD of $MANY_KEYS keys" || exit 1
await_forgotten || failed "many: records in the store" \
    "only $(counter filters_forgotten_total coordinator) of $MANY_DROPPED dropped filters are out of it after 5 min"
ask_all "before"
show_idle "all alive"
show_memory "all alive"
show_each
show_store || exit 1
restore || exit 1
ask_all "restored"
exit 0
