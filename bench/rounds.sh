#!/bin/bash
# Run by the playground for run.sh: bench/rounds.sh ORBLOOM ROWS-FILE WORK-DIRECTORY
#
# Appends a line a row and round to ROWS-FILE: what `orbloom bench --json` said, with the
# round, or with the reason why it failed or was not run. Exit 1 after FAILURES_MAX failures,
# since a cluster that is gone fails all rows; else 0, and the report judges.
set -u

FAILURES_MAX=5
PEER_SIZE_MAX=5000000 # Of Redis' sets: 100 bytes a key and more.

BIG_SIZE=100000000    # Takes much memory, and long to fill.

orbloom=$1
rows=$2
work=$3
round=1
failures=0
child=
declare -A fresh # By filter: the number of the first key that was never added to it.

# target_of METHOD: "orbloom" stands for the cluster, all else are ways of Redis.
target_of() {
    if [ "$1" = orbloom ]; then echo orbloom; else echo redis; fi
}

# describe METHOD OP BATCH IN-FLIGHT SIZE: what a row is about, as JSON fields.
describe() {
    local method=$1
    [ "$method" != orbloom ] || method=
    printf '"round": %d, "target": "%s", "method": "%s", "op": "%s", "batch": %d, "in_flight": %d, "size": %d' \
        "$round" "$(target_of "$1")" "$method" "$2" "$3" "$4" "$5"
}

# record REASON-NAME TEXT METHOD OP BATCH IN-FLIGHT SIZE: a row without a figure.
record() {
    local name=$1 text
    text=$(printf '%s' "$2" | tr -c '[:print:]' ' ' | tr '"\\|' "'/ " | cut -c 1-160)
    shift 2
    printf '{%s, "%s": "%s"}\n' "$(describe "$@")" "$name" "$text" >>"$rows"
}

# bench METHOD FLAG...: one command; what it says is in $work/line and $work/error. A signal
# finds the shell waiting.
bench() {
    local method=$1 status
    shift
    local words=(--target "$(target_of "$method")")
    [ "$method" = orbloom ] || words+=(--method "$method")
    "$orbloom" bench "${words[@]}" "$@" --json >"$work/line" 2>"$work/error" &
    child=$!
    wait "$child"
    status=$?
    child=
    return "$status"
}

fail() {
    local reason=$1
    shift
    record failed "$reason" "$@"
    echo "bench: failed: $* : $reason" >&2
    failures=$((failures + 1))
    if [ "$failures" -ge "$FAILURES_MAX" ]; then
        echo "bench: $failures commands have failed; stopping" >&2
        exit 1
    fi
}

# measure METHOD OP BATCH IN-FLIGHT SIZE KEYS FLAG...: one row. A failed command's figures are
# not used.
measure() {
    local row=("$1" "$2" "$3" "$4" "$5") keys=$6 line
    shift 6
    bench "${row[0]}" --op "${row[1]}" --batch "${row[2]}" --in-flight "${row[3]}" \
        --size "${row[4]}" --keys "$keys" "$@"
    local status=$?
    line=$(tr -d '\n' <"$work/line")
    if [ "$status" -ne 0 ]; then
        fail "exit $status: $(tail -n 1 "$work/error")" "${row[@]}"
    else
        case $line in
        '{'*) printf '{"round": %d, %s\n' "$round" "${line#\{}" >>"$rows" ;;
        *) fail "no JSON object was printed" "${row[@]}" ;;
        esac
    fi
}

# keys_for METHOD BATCH IN-FLIGHT: enough for 0.3 to 1 s, and for all in flight twice.
keys_for() {
    local requests=40000 most=350000 least=$((2 * $2 * $3)) keys
    case $1 in
    orbloom) most=4000000 ;;
    bits) most=100000 least=$(($2 * $3)) ;; # Slow: seven commands a key.
    esac
    case $3 in
    1) requests=1500 ;;
    16) requests=20000 ;;
    esac
    [ "$2 $3" != "1 1" ] || requests=5000
    keys=$((requests * $2))
    [ "$keys" -le "$most" ] || keys=$most
    [ "$keys" -ge "$least" ] || keys=$least
    echo "$keys"
}

# reason_not_to METHOD OP SIZE: why this is not measured, or nothing.
reason_not_to() {
    if [ "$1" != orbloom ] && [ -n "$BENCH_NO_REDIS" ]; then
        echo "$BENCH_NO_REDIS"
    elif [ "$1" != orbloom ] && [ "$1" != bits ] && [ "$3" -gt "$PEER_SIZE_MAX" ]; then
        case $1 in
        set) echo "a set of this size takes about 10 GB" ;;
        *) echo "filling it key by key takes minutes" ;;
        esac
    elif [ "$3" -ge "$BIG_SIZE" ] && [ -n "$BENCH_NO_BIG" ]; then
        echo "$BENCH_NO_BIG"
    elif [ "$2" = add ] && [ "$3" -lt 1000000 ]; then
        echo "too few keys to time adds"
    fi
}

# fill METHOD NAME SIZE [KEYS]: creates it, with keys 0 to SIZE - 1, and room for what adds of
# KEYS in all bring.
fill() {
    bench "$1" --op fill --filter "$2" --size "$3" --keys "${4:-1}" ||
        fail "exit $?: $(tail -n 1 "$work/error")" "$1" fill 1000 64 "$3"
    fresh[$2]=$3
}

# row METHOD OP BATCH IN-FLIGHT SIZE: measured, or not run. Checks share a filter that is
# filled once. Adds need keys that were never added: ours get a filter of their own, which
# `bench` fills and drops, except the largest; filling a set takes seconds, so all adds of a
# round share one.
row() {
    local method=$1 op=$2 batch=$3 flight=$4 size=$5 reason keys name
    reason=$(reason_not_to "$method" "$op" "$size")
    if [ -n "$reason" ]; then
        record not_run "$reason" "$@"
        return
    fi
    keys=$(keys_for "$method" "$batch" "$flight")
    if [ "$method $op" = "orbloom add" ] && [ "$size" -lt "$BIG_SIZE" ]; then
        measure "$@" "$keys"
        return
    fi
    name=$op-$method-$size
    measure "$@" "$keys" --filter "$name" --filled --fresh "${fresh[$name]:-$size}"
    if [ "$op" = add ]; then
        fresh[$name]=$((${fresh[$name]:-$size} + keys))
    fi
}

# fill_for OP METHOD...: the shared filters of an operation, all sizes.
fill_for() {
    local op=$1 size method
    shift
    for method in "$@"; do
        for size in $BENCH_SIZE $BENCH_SIZES; do
            if [ -z "$(reason_not_to "$method" "$op" "$size")" ]; then # Also of Redis at all.
                echo "bench: filling $method with $size keys for $op" >&2
                fill "$method" "$op-$method-$size" "$size"
            fi
        done
    done
}

# copy_bitmaps: of the checks, for the adds; hashing 100 M keys again takes long. Sets are
# never copied: a copy lies in memory as no set does that was filled key by key.
copy_bitmaps() {
    local size
    for size in $BENCH_SIZE $BENCH_SIZES; do
        if [ -z "$(reason_not_to bits add "$size")" ] && [ "$(redis-cli -s "$BENCH_REDIS_SOCKET" \
            copy "check-bits-$size" "add-bits-$size")" != 1 ]; then
            fill bits "add-bits-$size" "$size" # Before Redis 6.2.
        fi
    done
}

# empty METHOD...: forget what last round's adds left in Redis.
empty() {
    local method keys
    for method in "$@"; do
        mapfile -t keys < <(redis-cli -s "$BENCH_REDIS_SOCKET" --scan --pattern "*add-$method-*")
        [ "${#keys[@]}" -eq 0 ] ||
            redis-cli -s "$BENCH_REDIS_SOCKET" del "${keys[@]}" >/dev/null ||
            fail "redis-cli cannot delete" "$method" fill 1000 64 "$BENCH_SIZE"
    done
}

run_round() {
    local batch flight op method size
    for batch in $BENCH_BATCHES; do
        for flight in $BENCH_FLIGHTS; do
            echo "bench: round $round of $BENCH_ROUNDS: batch $batch, $flight in flight (${SECONDS} s)" >&2
            for op in check add; do
                for method in "${methods[@]}"; do
                    row "$method" "$op" "$batch" "$flight" "$BENCH_SIZE"
                done
            done
        done
    done
    for size in $BENCH_SIZES; do
        echo "bench: round $round of $BENCH_ROUNDS: $size keys held (${SECONDS} s)" >&2
        for op in check add; do
            for method in "${methods[@]}"; do
                row "$method" "$op" 1000 64 "$size"
            done
        done
    done
}

stop() {
    if [ -n "$child" ]; then
        kill -TERM "$child" 2>/dev/null
        wait "$child" 2>/dev/null
    fi
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

read -ra peers <<<"$BENCH_METHODS"
methods=(orbloom "${peers[@]}")
growing=() # All but bits, whose bitmap stays as large as it is.
for method in "${peers[@]}"; do
    [ "$method" = bits ] || growing+=("$method")
done

fill_for check "${methods[@]}"
[ "${#peers[@]}" -eq "${#growing[@]}" ] || copy_bitmaps
if [[ " $BENCH_SIZES " == *" $BIG_SIZE "* ]] && [ -z "$BENCH_NO_BIG" ]; then
    echo "bench: filling orbloom with $BIG_SIZE keys for add" >&2
    fill orbloom "add-orbloom-$BIG_SIZE" "$BIG_SIZE" $(($(keys_for orbloom 1000 64) * BENCH_ROUNDS))
fi
for ((round = 1; round <= BENCH_ROUNDS; round++)); do
    if [ -z "$BENCH_NO_REDIS" ]; then
        empty "${growing[@]}"
        fill_for add "${growing[@]}"
    fi
    run_round
done
