#!/bin/bash
# Sourced after figures.sh: one node of the playground, killed and started again as a child of this
# shell, and watched meanwhile. Needs $node, $LIMIT_S and $WATCHED, the counters to watch;
# replicas_full is the first of them.

: "${node:?}" "${LIMIT_S:?}" "${WATCHED:?}" "${work:?}" "${build:?}" "${orbloom:?}"

node_pid=$(cat "$ORBLOOM_DIR/$node/pid")
node_ours=
watch_pid=

node_stop() {
    [ -z "$child" ] || kill "$child" 2>/dev/null
    [ -z "$watch_pid" ] || kill "$watch_pid" 2>/dev/null
    if [ -n "$node_ours" ]; then
        kill -TERM "$node_pid" 2>/dev/null
        wait "$node_pid" 2>/dev/null
    fi
}
trap node_stop EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT

node_kill() {
    kill -KILL "$node_pid"
    [ -z "$node_ours" ] || wait "$node_pid" 2>/dev/null
    while kill -0 "$node_pid" 2>/dev/null; do sleep 0.02; done
}

# node_start: sets `began`, the time. Looked at every 20 ms from then on, into $work/watched.
node_start() {
    # shellcheck disable=SC2086 # a list
    "$build/bench/watch" "$(endpoint "$node")" $WATCHED --every 20ms --for ${LIMIT_S}s \
        >"$work/watched" 2>/dev/null &
    watch_pid=$!
    sleep 0.2
    began=$EPOCHREALTIME
    # Should this shell be killed, so is the node.
    setpriv --pdeathsig KILL "$(dirname "$orbloom")/orbloom-node" --config "$ORBLOOM_DIR/$node/conf" \
        >"$work/$node.log" 2>&1 </dev/null &
    node_pid=$!
    node_ours=yes
    echo "$node_pid" >"$ORBLOOM_DIR/$node/pid"
}

# node_await_full: `took` becomes the seconds since `began`; false after LIMIT_S.
node_await_full() {
    local tries=$((LIMIT_S * 10))
    until awk '$2 > 0 { found = 1 } END { exit !found }' "$work/watched"; do
        tries=$((tries - 1))
        if [ "$tries" -eq 0 ] || ! kill -0 "$node_pid" 2>/dev/null; then
            return 1
        fi
        sleep 0.1
    done
    kill "$watch_pid"
    wait "$watch_pid" 2>/dev/null
    watch_pid=
    # shellcheck disable=SC2034 # for whoever called
    took=$(awk -v began="$began" '$2 > 0 { printf "%.3f", $1 - began; exit }' "$work/watched")
}

# node_pace COLUMN: how fast that counter rose, from the first time that it was seen above 0 to the
# last time that it rose; nothing when that was within 20 ms.
node_pace() {
    awk -v c="$1" '$c > 0 && !first { first = $1; least = $c } $c > most { most = $c; last = $1 }
        END { if (last > first) printf "%.6g", (most - least) / (last - first) }' "$work/watched"
}
