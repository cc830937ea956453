#!/bin/bash
# Run by a playground of three nodes for growth.sh: the error rate while the replicas that answer are in
# different generations. One node is down, so that "present" of either of the others decides, and
# rates add up (docs/expansion.md).
#   bench/growth-mix.sh ORBLOOM BUILD ROWS-FILE WORK-DIRECTORY KEYS PROBES
# The filter is nearly full and grows by a twentieth, for which the bound leaves least; beyond 95 % nodes
# would not wait for their turns. They read so few keys back a second that one of them has hardly
# begun when the other one is done. Then as many keys are added as it is to hold in the end.
set -u

orbloom=$1 build=$2 rows=$3 work=$4 keys=$5 probes=$6
round=1 PACE_S=8 LIMIT_S=300 # Growing takes a node twice PACE_S alone, and 16 times that under load.
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

name="growth: mixed"
capacity=$keys wanted=$((keys + keys / 20))
held=$((keys / 100 * 93)) later=$((keys / 100 * 11)) # Added before, and while generations are mixed.
unknown=0
declare -A pids

stop() {
    local pid
    [ -z "$child" ] || kill "$child" 2>/dev/null
    for pid in "${pids[@]}"; do
        kill -TERM "$pid" 2>/dev/null
    done
    wait
}
trap stop EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT

give_up() {
    failed "$name" "$1"
    exit 0
}

# end NODE, start NODE: killed, and started as a child of this shell.
end() {
    local pid
    pid=$(cat "$ORBLOOM_DIR/$1/pid") || give_up "nobody knows the process of $1"
    kill -KILL "$pid"
    [ -z "${pids[$1]-}" ] || wait "$pid" 2>/dev/null
    while kill -0 "$pid" 2>/dev/null; do wait_for sleep 0.02; done
    unset "pids[$1]"
}

start() {
    setpriv --pdeathsig KILL "$(dirname "$orbloom")/orbloom-node" --config "$ORBLOOM_DIR/$1/conf" \
        >"$work/$1.log" 2>&1 </dev/null &
    pids[$1]=$!
    echo "$!" >"$ORBLOOM_DIR/$1/pid"
}

# await SECONDS COMMAND...: until it succeeds.
await() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        wait_for sleep 0.1
    done
}

is_up() {
    "$orbloom" stats "$(endpoint "$1")" >/dev/null 2>&1
}

is_full() {
    [ "$(counter replicas_full "$1" 2>/dev/null)" -ge 1 ]
}

# grown NODE: shards that it serves from new arrays.
grown() {
    counter growth_shards_total "$1"
}

is_half_way() {
    [ "$(grown node-1)" -ge "$shards" ] || [ "$(grown node-2)" -ge "$shards" ]
}

is_over() {
    ! "$orbloom" info big --json | tr -d '\n' | grep -q '"generations": *\[ *{[^]]*}, *{'
}

# add_all FLAG...: as many as it is to hold in the end. What is refused meanwhile is added afterwards.
add_all() {
    wait_for "$orbloom" bench --json --op add --filter big --size "$held" --filled --fresh "$held" \
        --keys $((2 * later)) --batch 1000 "$@"
}

# about: so many keys it holds.
about() {
    "$orbloom" info big --json | grep -o '"keys_estimate": *[0-9]*' | head -n 1 | grep -o '[0-9]*$'
}

# measure PHASE METHOD NOTE: the upper 99.9 % limit of the measured rate, as rate_figure has it.
measure() {
    local hits absent
    load growth "$2" --op check --filter big --size "$held" --filled --fresh $((8 * keys)) \
        --batch 1000 --in-flight 64 --keys $((2 * probes)) || exit 0
    hits=$(member false_positives) absent=$(member absent_checked)
    unknown=$((unknown + $(member unanswered)))
    figure "$name, $1" "$(value "100 * ((p = (f + 4.8) / n) + 3.09 * sqrt(p * (1 - p) / n))" \
        f="$hits" n="$absent")" % \
        "upper 99.9 % limit; measured: $(value "100 * f / n" f="$hits" n="$absent") % of $(grouped "$absent"), asked: at most 1 %; $3"
}

echo "bench: generations mixed, $(grouped "$keys") keys (${SECONDS} s)" >&2
for node in node-1 node-2 node-3; do
    end "$node"
    echo "growth_rate = \"$((keys / PACE_S))\";" >>"$ORBLOOM_DIR/$node/conf"
    start "$node"
    await 20 is_up "$node" || give_up "$node does not start: $(tail -n 1 "$work/$node.log")"
done
"$orbloom" create big --timeout 60s --capacity "$capacity" --fpr 1% --when-full refuse \
    >/dev/null || give_up "the filter can't be made"
shards=$("$orbloom" info big --json | grep -o '"shards": *[0-9]*' | head -n 1 | grep -o '[0-9]*$')
load growth fill --op add --filter big --size "$held" --keys 2 --batch 1 --in-flight 1 || exit 0
end node-3
measure "a node down" mix-before "93 % full, two of three nodes"
"$orbloom" expand big --timeout 60s --capacity "$wanted" --detach 2>"$work/error" >/dev/null ||
    give_up "$(tail -n 1 "$work/error")"
await $LIMIT_S is_half_way || give_up "no node has grown after $LIMIT_S s"
measure "two generations" mix-during "shards grown: $(grown node-1) and $(grown node-2) of $shards"
add_all --timeout 1s --in-flight 1 >"$work/adds" 2>"$work/error" ||
    grep -q "full until it has grown" "$work/error" || give_up "adds: $(tail -n 1 "$work/error")"
measure "two generations, full" mix-full "$(about) keys; $(grown node-1) and $(grown node-2) of $shards"
await $LIMIT_S is_over || give_up "it has not grown after $LIMIT_S s"
measure "grown, a node down" mix-after "two of three nodes"
add_all --in-flight 4 >"$work/adds" 2>"$work/error" || give_up "adds: $(tail -n 1 "$work/error")"
start node-3
await $LIMIT_S is_full node-3 || give_up "node-3 is not FULL after $LIMIT_S s"
measure "all nodes" mix-all "three nodes, with what one of them missed"
load growth mix-added --op check --filter big --size "$((held + later))" --filled \
    --fresh $((16 * keys)) --batch 1000 --in-flight 64 --keys $((2 * keys)) || exit 0
figure "$name, unknown" "$((unknown + $(member unanswered)))" "" "keys without an answer in all these checks"
