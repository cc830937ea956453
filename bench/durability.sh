#!/bin/bash
# Sourced by run.sh: what keeping keys on disk costs, and what comes back. Each part has a
# playground of its own, in $work, one after the other; what is compared runs in the same round.
# Needs $build, $here, $rows, $work, $kind, $rounds, and run.sh's run() and redis.sh.

: "${build:?}" "${here:?}" "${rows:?}" "${work:?}" "${kind:?}" "${rounds:?}"

# durability_choose: sizes by the kind of run. A full load of adds is of a minute; by then every
# merge has become part of it.
durability_choose() {
    export DURABLE_SECONDS=60 DURABLE_ONE_SECONDS=4 DURABLE_MOST_KEYS=900000000 DURABLE_PAUSE=4 \
        DURABLE_CALM=8
    durable_rounds=$rounds durable_keys=100000000 durable_copied=92000000 durable_compared=95000000 durable_missed=1000000 durable_sim=400
    durable_disk_mib=24000 durable_memory_mib=8000 durable_memory=2GiB
    [ "$durable_rounds" -le 3 ] || durable_rounds=3 # Five minutes each.
    case $kind in
    quick)
        DURABLE_SECONDS=10 DURABLE_ONE_SECONDS=2 DURABLE_MOST_KEYS=200000000
        durable_keys=5000000 durable_copied=5000000 durable_compared=5000000 durable_sim=100
        durable_disk_mib=6000 durable_memory_mib=4000 durable_memory=1GiB
        ;;
    tiny)
        DURABLE_SECONDS=1 DURABLE_ONE_SECONDS=1 DURABLE_MOST_KEYS=20000000 DURABLE_PAUSE=1 \
            DURABLE_CALM=2
        durable_keys=200000 durable_copied=200000 durable_compared=200000 durable_missed=100000 durable_sim=5
        durable_disk_mib=2000 durable_memory_mib=1000 durable_memory=256MiB
        ;;
    esac
}

# durability_row JSON-FIELDS...: of no round.
durability_row() {
    printf '{"round": 1, "target": "figure", %s}\n' "$1" >>"$rows"
}

# durability_reason: why none of this is measured, or nothing.
durability_reason() {
    local disk_mib mib
    disk_mib=$(df -Pm "$work" | awk 'NR == 2 { print $4 }')
    mib=$(available_mib)
    if [ "$disk_mib" -lt "$durable_disk_mib" ]; then
        echo "needs $durable_disk_mib MiB of disk in $work, $disk_mib are left; TMPDIR names another"
    elif [ "$mib" -lt "$durable_memory_mib" ]; then
        echo "needs $durable_memory_mib MiB of memory, $mib are available"
    fi
}

# in_playground FLAG... -- SCRIPT ARGUMENT...: run by a cluster of its own.
in_playground() {
    local flags=()
    while [ "$1" != -- ]; do
        flags+=("$1")
        shift
    done
    shift
    TMPDIR=$work run "$build/bin/orbloom" playground --base-port 0 --log-level warn \
        "${flags[@]}" --run "$@"
}

durable_adds() {
    local round=$1 kept flags
    for kept in memory os sync; do
        echo "bench: durability, round $round of $durable_rounds: adds, $kept (${SECONDS} s)" >&2
        flags=(--memory "$durable_memory")
        [ "$kept" != memory ] || flags+=(--in-memory)
        in_playground "${flags[@]}" -- "$here/durable-adds.sh" "$build/bin/orbloom" "$build" \
            "$rows" "$work" "$round" "$kept" || return 1
    done
    durable_redis "$round"
}

# durable_redis ROUND: the same keys in the same batches, for a quarter of the time: a set takes
# 100 bytes of memory a key and more.
durable_redis() {
    local seconds=$(((DURABLE_SECONDS + 3) / 4)) line fields
    fields='"target": "aof", "method": "set", "op": "add", "batch": 1000, "in_flight": 64, "size": 1000000'
    if [ -z "$redis_server" ]; then
        echo "{\"round\": $1, $fields, \"not_run\": \"no redis-server found; install redis-tools or set REDIS_SERVER\"}" >>"$rows"
        return 0
    fi
    echo "bench: durability, round $1 of $durable_rounds: SADD, appendfsync everysec (${SECONDS} s)" >&2
    mkdir -p "$work/aof"
    redis_start --dir "$work/aof" --appendonly yes --appendfsync everysec || return 1
    run "$build/bin/orbloom" bench --json --target redis --method set --op add --batch 1000 \
        --in-flight 64 --size 1000000 --keys 20000000 --for "${seconds}s" --timeout 60s \
        >"$work/line" 2>"$work/error"
    line=$(tr -d '\n' <"$work/line")
    case $line in
    '{'*) echo "{\"round\": $1, \"target\": \"aof\", ${line#*, }" >>"$rows" ;;
    *) echo "{\"round\": $1, $fields, \"failed\": \"$(tail -n 1 "$work/error" | tr -cd '[:alnum:] .,:;')\"}" >>"$rows" ;;
    esac
    redis_stop
    rm -rf "$work/aof"
}

durable_simulator() {
    local line
    echo "bench: durability: the simulator (${SECONDS} s)" >&2
    line=$("$build/tests/sim" --seeds "1-$durable_sim" 2>&1 | grep -o '([0-9]* a second)')
    line=${line//[^0-9]/}
    if [ -n "$line" ]; then
        durability_row "\"op\": \"simulator: messages delivered\", \"value\": $line, \"unit\": \"/s\", \"note\": \"one core, seeds 1 to $durable_sim\""
    else
        durability_row "\"op\": \"simulator: messages delivered\", \"not_run\": \"tests/sim is not built, or fails\""
    fi
}

# run_durability: false when a playground could not start or a script was stopped.
run_durability() {
    local round reason status=0
    durability_choose
    reason=$(durability_reason)
    if [ -n "$reason" ]; then
        echo "bench: durability is not measured: $reason" >&2
        durability_row "\"op\": \"restart until FULL\", \"not_run\": \"$reason\""
        return 0
    fi
    for ((round = 1; round <= durable_rounds; round++)); do
        durable_adds "$round" || return 1
        in_playground -- "$here/durable-delta.sh" "$build/bin/orbloom" "$build" "$rows" "$work" \
            "$round" "$durable_missed" || status=1
    done
    in_playground --nodes 1 --memory "$durable_memory" -- "$here/durable-restart.sh" \
        "$build/bin/orbloom" "$build" "$rows" "$work" "$durable_rounds" "$durable_keys" || status=1
    in_playground --memory "$durable_memory" -- "$here/durable-copy.sh" \
        "$build/bin/orbloom" "$build" "$rows" "$work" "$durable_rounds" "$durable_copied" || status=1
    in_playground --memory "$durable_memory" -- "$here/durable-repair.sh" \
        "$build/bin/orbloom" "$build" "$rows" "$work" "$durable_compared" || status=1
    durable_simulator
    return "$status"
}
