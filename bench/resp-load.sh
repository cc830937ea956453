#!/bin/bash
# Run by a playground for resp.sh: the same client, redis-benchmark, asks the router and then the
# Redis server, by unix-domain sockets.
#   bench/resp-load.sh ORBLOOM BUILD ROWS-FILE WORK-DIRECTORY ROUND
set -u

orbloom=$1 build=$2 rows=$3 work=$4 round=$5
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

ours=$ORBLOOM_DIR/router/resp.sock
theirs=${BENCH_REDIS_SOCKET-}
item=https://www.example.org/a/page/with/a/longish/n:__rand_int__ # 60 bytes: the number has 12 digits
tick=$(getconf CLK_TCK)
idle_pid=
trap '[ -z "$idle_pid" ] || kill "$idle_pid" 2>/dev/null' EXIT

# pids WHO: of the processes that serve.
pids() {
    if [ "$1" = ours ]; then
        cat "$ORBLOOM_DIR"/router/pid "$ORBLOOM_DIR"/node-*/pid
    else
        echo "$BENCH_REDIS_PID"
    fi
}

# cpu_us WHO: of CPU time so far.
cpu_us() {
    local pid sum=0
    for pid in $(pids "$1"); do
        sum=$((sum + $(sed 's/.*) //' "/proc/$pid/stat" | awk '{ print $12 + $13 }')))
    done
    value "sum * 1000000 / tick" sum="$sum" tick="$tick"
}

# memory PID: bytes of its own.
memory() {
    awk '$1 == "RssAnon:" { print $2 * 1024 }' "/proc/$1/status"
}

# ask WHO COMMANDS FLAG...: sets rate (commands a second), cost (us of CPU time a command), and
# error, the first one that was answered.
ask() {
    local who=$1 count=$2 socket=$ours before after
    shift 2
    [ "$who" = ours ] || socket=$theirs
    before=$(cpu_us "$who")
    redis-benchmark -s "$socket" -e --csv -r 1000000 -n "$count" "$@" >"$work/raw" 2>"$work/error" &
    wait $!
    rate=$(tail -n 1 "$work/raw" | awk -F '","' '{ print $2 }')
    error=$(grep -m 1 '^Error' "$work/raw")
    after=$(cpu_us "$who")
    cost=$(value "(after - before) / count" before="$before" after="$after" count="$count")
}

# beside NAME COUNT NOTE OURS... -- THEIRS...: rates, cost, and their ratio.
beside() {
    local name=$1 count=$2 note=$3 first=() our_rate our_cost
    shift 3
    while [ "$1" != -- ]; do
        first+=("$1")
        shift
    done
    shift
    ask ours "$count" "${first[@]}"
    our_rate=$rate our_cost=$cost
    if [ -n "$error" ]; then
        failed "resp: $name" "$error"
        return
    fi
    figure "resp: $name" "$our_rate" /s "$note"
    figure "resp: $name, CPU" "$our_cost" us "CPU time a command, router and nodes"
    if [ -z "$theirs" ] || [ -z "${BENCH_REDIS_PID-}" ]; then
        not_run "resp: $name, by Redis" "${BENCH_NO_REDIS:-no redis-server}"
        return
    fi
    ask theirs "$count" "$@"
    figure "resp: $name, by Redis" "$(value "a / b" a="$our_rate" b="${rate:-1}")" x \
        "Redis: $(grouped "${rate%.*}")/s, $cost us of CPU time a command"
}

# median_rate: of BF.EXISTS, three times, as one time alone differs by a tenth.
median_rate() {
    for _ in 1 2 3; do
        ask ours "$RESP_EXISTS" -c 50 -P 64 BF.EXISTS k "$item"
        echo "${rate:-0}"
    done | sort -n | sed -n 2p
}

# idle_begin NAME: connections that say nothing; false, and said, when they can't be made.
idle_begin() {
    local connected
    ulimit -n "$((RESP_IDLE + 200))" 2>/dev/null ||
        { not_run "$1" "the limit of open files is too low"; return 1; }
    redis-benchmark -s "$ours" -I -c "$RESP_IDLE" >/dev/null 2>&1 &
    idle_pid=$!
    for _ in $(seq 300); do
        connected=$(redis-cli -s "$ours" INFO | awk -F '[:\r]' '$1 == "connected_clients" { print $2 }')
        [ "${connected:-0}" -lt "$RESP_IDLE" ] || return 0
        sleep 0.1
    done
    failed "$1" "only ${connected:-0} of $RESP_IDLE connect"
    idle_end
    return 1
}

idle_end() {
    kill "$idle_pid"
    wait "$idle_pid" 2>/dev/null
    idle_pid=
}

# Of a router that has served nobody yet: later on they take what others have left.
idle_memory() {
    local router before after
    router=$(cat "$ORBLOOM_DIR/router/pid")
    before=$(memory "$router")
    idle_begin "resp: an idle connection" || return
    after=$(memory "$router")
    figure "resp: an idle connection" "$(value "(a - b) / n" a="$after" b="$before" n="$RESP_IDLE")" B \
        "$(grouped "$RESP_IDLE") connections, memory of a router that has just started"
    idle_end
}

idle_rate() {
    local plain beside
    plain=$(median_rate)
    idle_begin "resp: beside idle connections" || return
    beside=$(median_rate)
    figure "resp: beside idle connections" "$(value "a / b" a="$beside" b="$plain")" x \
        "medians of three, BF.EXISTS beside $(grouped "$RESP_IDLE") idle connections, by the rate without them"
    idle_end
}

# told NAME: of what the crowd of unfinished requests left behind.
told() {
    awk -v name="$1" '$1 == name { print $2 }' "$work/raw"
}

# crowd WHO SOCKET PID BUDGET OF: requests that are begun and never finished, one a connection, by
# what all may hold together.
crowd() {
    local name="resp: unfinished$1" socket=$2 pid=$3 budget=$4 of=$5 closed
    if ! wait_for "$build/bench/unfinished" "$socket" "$pid" --clients "$RESP_UNFINISHED" \
        --bytes $((31 << 20)) >"$work/raw" 2>"$work/error"; then
        failed "$name, memory" "$(tail -n 1 "$work/error")"
        return 1
    fi
    closed="closed with an error: $(grouped "$(told told)"), without: $(grouped "$(told mute)"), left: $(told waiting)"
    figure "$name, memory" "$(value "(p - b) / m" p="$(told memory_peak)" b="$(told memory_before)" m="$budget")" x \
        "RssAnon at the peak less before, by $of; $(grouped "$RESP_UNFINISHED") clients with 31 MiB each; $closed"
    figure "$name, left over" "$(told memory_after)" bytes \
        "RssAnon a second after they have left; before: $(grouped "$(told memory_before)") bytes"
    figure "$name, PING" "$(told worst_ping_us)" us "the worst of another client meanwhile"
}

# What clients hold is bounded in both: here as ever, there because it was asked for.
unfinished() {
    local budget=$((256 << 20))
    ulimit -n "$((RESP_UNFINISHED + 200))" 2>/dev/null ||
        { not_run "resp: unfinished, memory" "the limit of open files is too low"; return; }
    crowd "" "$ours" "$(cat "$ORBLOOM_DIR/router/pid")" $budget resp_memory || return
    [ "$(told mute)" -eq 0 ] ||
        failed "resp: unfinished, memory" "$(told mute) were closed without an error"
    if [ -z "$theirs" ] || [ -z "${BENCH_REDIS_PID-}" ]; then
        not_run "resp: unfinished by Redis, memory" "${BENCH_NO_REDIS:-no redis-server}"
    elif [ "$(redis-cli -s "$theirs" CONFIG SET maxmemory-clients $budget 2>/dev/null)" != OK ]; then
        not_run "resp: unfinished by Redis, memory" "it can't bound what clients hold"
    else
        crowd " by Redis" "$theirs" "$BENCH_REDIS_PID" $budget "maxmemory-clients, off by default"
    fi
}

idle_memory
redis-cli -s "$ours" BF.RESERVE k 0.01 2000000 >/dev/null
redis-cli -s "$ours" BF.RESERVE added 0.01 2000000 >/dev/null
ask ours "$RESP_ADDS" -c 50 -P 64 BF.ADD k "$item"
if [ -n "$theirs" ]; then
    ask theirs "$RESP_ADDS" -c 50 -P 64 SET "$item" x
    ask theirs "$RESP_ADDS" -c 50 -P 64 SADD k "$item"
fi
# One thread of redis-benchmark would be slower than the router at such long commands.
many=()
for _ in $(seq 1000); do many+=("$item"); done
beside "BF.EXISTS" "$RESP_EXISTS" "50 connections, 64 commands in flight each, 60-byte items; GET" \
    -c 50 -P 64 BF.EXISTS k "$item" -- -c 50 -P 64 GET "$item"
beside "BF.MEXISTS of 1,000" "$RESP_MEXISTS" "4 connections, 16 commands in flight each, two threads of the client; SMISMEMBER" \
    -c 4 -P 16 --threads 2 BF.MEXISTS k "${many[@]}" -- -c 4 -P 16 --threads 2 SMISMEMBER k "${many[@]}"
beside "BF.ADD on disk" "$RESP_ADDS" "on two of three disks before the answer; SADD, appendfsync everysec" \
    -c 50 -P 64 BF.ADD added "$item" -- -c 50 -P 64 SADD added "$item"
idle_rate
unfinished
exit 0
