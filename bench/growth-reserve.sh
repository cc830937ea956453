#!/bin/bash
# Run by a playground of three nodes for growth.sh: a Redis client loads filters that were reserved too
# small, beside one that was reserved large enough, and beside RedisBloom's chain if its module is at hand.
#   bench/growth-reserve.sh ORBLOOM BUILD ROWS-FILE WORK-DIRECTORY KEYS
# One redis-cli reads commands from a file and waits for each answer, as a user's script does.
set -u

orbloom=$1 build=$2 rows=$3 work=$4 keys=$5
round=1 BATCH=1000
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

ours=$ORBLOOM_DIR/router/resp.sock
theirs=${BENCH_REDIS_SOCKET-}
trap 'exit 143' TERM HUP
trap 'exit 130' INT

# commands NAME BATCH KEYS: one in a line.
commands() {
    awk -v name="$1" -v batch="$2" -v keys="$3" 'BEGIN {
        for (key = 0; key < keys; key += batch) {
            printf "%s %s", batch == 1 ? "BF.ADD" : "BF.MADD", name
            for (i = key; i < key + batch && i < keys; i++)
                printf " https://www.example.org/a/page/with/a/longish/n:%012d", i
            print ""
        }
    }'
}

# send SOCKET: the commands, by one connection.
send() {
    redis-cli -s "$1" <"$work/commands" >"$work/answers" 2>&1
}

# fill SOCKET CAPACITY BATCH KEYS: into a filter of its own. Sets took (seconds), refused (keys), and
# refusal, the first one.
fill() {
    local socket=$1 capacity=$2 batch=$3 count=$4 name begin taken
    name=f-$capacity-$batch-$count
    redis-cli -s "$socket" BF.RESERVE "$name" 0.01 "$capacity" >"$work/reserve" 2>&1
    commands "$name" "$batch" "$count" >"$work/commands"
    begin=$EPOCHREALTIME
    wait_for send "$socket"
    took=$(value "e - b" e="$EPOCHREALTIME" b="$begin")
    taken=$(grep -c '^[01]$' "$work/answers")
    refused=$((count - taken))
    refusal=$(grep -v -m 1 -e '^[01]$' -e '^$' "$work/answers")
    redis-cli -s "$socket" DEL "$name" >/dev/null
    rm -f "$work/commands" "$work/answers"
}

# how BATCH
how() {
    if [ "$1" = 1 ]; then echo "ADD"; else echo "MADD"; fi
}

# row WHO SOCKET BATCH KEYS CAPACITY...: each by what the one takes that was reserved large enough.
row() {
    local who=$1 socket=$2 batch=$3 count=$4 enough capacity name
    shift 4
    fill "$socket" "$count" "$batch" "$count"
    enough=$took
    for capacity in "$@"; do
        name="growth: $(how "$batch"), $(grouped "$capacity")$who"
        fill "$socket" "$capacity" "$batch" "$count"
        figure "$name" "$(value "t / e" t="$took" e="$enough")" x \
            "time for $(grouped "$count") keys ($took s), by that with room for all reserved ($enough s)"
        figure "$name, refused" "$refused" "" "keys of $(grouped "$count"); ${refusal:-none}"
    done
}

# all WHO SOCKET
all() {
    row "$1" "$2" $BATCH "$keys" 100 1000 100000
    row "$1" "$2" 1 $((keys / 10)) 1000
}

echo "bench: filters reserved too small, $(grouped "$keys") keys (${SECONDS} s)" >&2
all "" "$ours"
if [ -n "$theirs" ]; then
    all ", by RedisBloom" "$theirs"
else
    not_run "growth: MADD, by RedisBloom" "REDISBLOOM_SO does not name the module"
fi
exit 0
