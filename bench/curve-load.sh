#!/bin/bash
# Run by a playground for curve.sh: the same loads on that plain cluster and, right after each, on
# another one of the same shape that speaks CURVE, all on loopback.
#   bench/curve-load.sh ORBLOOM BUILD ROWS-FILE WORK-DIRECTORY ROUND
set -u

orbloom=$1 build=$2 rows=$3 work=$4 round=$5
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

other=$work/curve # The other cluster's folder, laid out as a playground's.
credential=$other/bench.cred
coordinator= router=
pids=()
rm -rf "$other"
mkdir -p "$other"
trap end EXIT

end() {
    local pid
    for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null; done
    rm -rf "$other"
}

# start DAEMON PROGRAM: with the playground's configuration, on a port and in a folder of its own.
# Sets started to its endpoint; false when it is not ready within 20 s.
start() {
    local folder=$other/$1
    mkdir -p "$folder/data"
    sed -e 's,^listen = .*,listen = "tcp://127.0.0.1:*";,' -e "s,\"$ORBLOOM_DIR/,\"$other/,g" \
        -e "s,^coordinators = .*,coordinators = [\"$coordinator\"];," \
        "$ORBLOOM_DIR/$1/conf" >"$folder/conf"
    echo 'transport = "curve";' >>"$folder/conf"
    "$build/bin/$2" --config "$folder/conf" >"$folder/ready" 2>"$folder/log" &
    pids+=($!)
    echo $! >"$folder/pid"
    for _ in $(seq 200); do
        started=$(sed -n 's/^ready //p' "$folder/ready")
        [ -z "$started" ] || return 0
        sleep 0.1
    done
    failed "curve: a cluster" "$1 does not start: $(tail -n 1 "$folder/log")"
    return 1
}

# by WHICH COMMAND...: orbloom, asking the plain cluster or the other one.
by() {
    if [ "$1" = plain ]; then
        "$orbloom" "${@:2}"
    else
        ORBLOOM_DIR=$other ORBLOOM_ROUTER=$router ORBLOOM_COORDINATOR=$coordinator \
            ORBLOOM_CREDENTIAL=$credential "$orbloom" "${@:2}"
    fi
}

start_other() {
    local node
    cp "$ORBLOOM_DIR/key" "$other/key" && chmod 600 "$other/key"
    start coordinator orbloom-coordinator || return
    coordinator=$started
    for node in "$ORBLOOM_DIR"/node-*; do
        start "$(basename "$node")" orbloom-node || return
    done
    start router orbloom-router || return
    router=$started
    ORBLOOM_COORDINATOR=$coordinator "$orbloom" user create bench --role admin \
        --credential "$credential" --cluster-key "$other/key" --timeout 20s >/dev/null 2>"$work/error" ||
        { failed "curve: a cluster" "$(tail -n 1 "$work/error")"; return 1; }
}

# measure WHICH BATCH IN-FLIGHT: sets rate (keys a second) and cost (ns of CPU time a key, of all
# processes and the client).
measure() {
    by "$1" bench --json --op check --filter bench --filled --size 1000000 --keys 1G \
        --for "${CURVE_SECONDS}s" --batch "$2" --in-flight "$3" >"$work/line" 2>"$work/error" &
    wait $!
    rate=$(member keys_per_s)
    cost=$(sed -n 's/.*"cpu_ns_per_key": {\([^}]*\)}.*/\1/p' "$work/line" |
        awk -F '[:,]' '{ for (i = 2; i <= NF; i += 2) sum += $i; printf "%.1f", sum }')
    [ -n "$rate" ] || { failed "curve: $1, batches of $2" "$(tail -n 1 "$work/error")"; return 1; }
}

# beside BATCH IN-FLIGHT
beside() {
    local name plain_rate plain_cost
    name="batches of $(grouped "$1")"
    measure plain "$1" "$2" || return
    plain_rate=$rate plain_cost=$cost
    measure curve "$1" "$2" || return
    figure "curve: keys a second, $name" "$(value "a / b" a="$rate" b="$plain_rate")" x \
        "checks, $2 in flight; CURVE: $(grouped "${rate%.*}")/s, plain: $(grouped "${plain_rate%.*}")/s"
    figure "curve: CPU a key, $name" "$(value "a / b" a="$cost" b="$plain_cost")" x \
        "of all processes and the client; CURVE: $cost ns, plain: $plain_cost ns"
}

handshakes() {
    local plain curve
    plain=$("$build/bench/handshakes" "${ORBLOOM_ROUTER%%,*}" none "$CURVE_HANDSHAKES" 2>"$work/error") &&
        curve=$("$build/bench/handshakes" "$router" "$credential" "$CURVE_HANDSHAKES" 2>"$work/error") ||
        { failed "curve: handshakes" "$(tail -n 1 "$work/error")"; return; }
    figure "curve: handshakes" "$curve" /s "of one client at one router, 64 at a time"
    figure "curve: handshakes, by plain ones" "$(value "a / b" a="$curve" b="$plain")" x \
        "plain: $(grouped "${plain%.*}")/s"
}

start_other || exit 0
for which in plain curve; do
    by "$which" bench --op fill --filter bench --size 1000000 --timeout 30s >/dev/null 2>"$work/error" ||
        { failed "curve: $which" "$(tail -n 1 "$work/error")"; exit 0; }
done
beside 1 64
beside 64 64
beside 1000 32
beside 4096 16
handshakes
exit 0
