#!/bin/bash
# Sourced by run.sh: what it costs that a filter grows while it serves. Each part has a playground of
# its own, in $work. Needs what durability.sh needs, and its in_playground and durability_row.

: "${build:?}" "${here:?}" "${rows:?}" "${work:?}" "${kind:?}"

# growth_choose: sizes by the kind of run.
growth_choose() {
    export GROWTH_PROBES=20000000
    mix_keys=4000000 mix_probes=10000000
    reserve_keys=10000000 growth_keys=10000000 growth_disk_mib=4000 growth_memory_mib=3000
    case $kind in
    quick)
        GROWTH_PROBES=4000000 mix_keys=300000 mix_probes=2000000 reserve_keys=1000000
        growth_keys=1000000 growth_disk_mib=1500 growth_memory_mib=1500
        ;;
    tiny)
        GROWTH_PROBES=400000 mix_keys=100000 mix_probes=1000000 reserve_keys=20000
        growth_keys=100000 growth_disk_mib=1000 growth_memory_mib=1000
        ;;
    esac
    mix_keys=${GROWTH_MIX_KEYS:-$mix_keys}
}

growth_reason() {
    local disk_mib mib
    disk_mib=$(df -Pm "$work" | awk 'NR == 2 { print $4 }')
    mib=$(available_mib)
    if [ "$disk_mib" -lt "$growth_disk_mib" ]; then
        echo "needs $growth_disk_mib MiB of disk in $work, $disk_mib are left; TMPDIR names another"
    elif [ "$mib" -lt "$growth_memory_mib" ]; then
        echo "needs $growth_memory_mib MiB of memory, $mib are available"
    fi
}

# run_growth: false when a playground could not start or a script was stopped.
run_growth() {
    local reason status=0
    growth_choose
    reason=$(growth_reason)
    if [ -n "$reason" ]; then
        echo "bench: growth is not measured: $reason" >&2
        durability_row "\"op\": \"growth: backfill and verify\", \"not_run\": \"$reason\""
        return 0
    fi
    in_playground --nodes 1 -- "$here/growth-alone.sh" \
        "$build/bin/orbloom" "$build" "$rows" "$work" "$growth_keys" || status=1
    in_playground -- "$here/growth-load.sh" \
        "$build/bin/orbloom" "$build" "$rows" "$work" "$growth_keys" || status=1
    in_playground -- "$here/growth-mix.sh" \
        "$build/bin/orbloom" "$build" "$rows" "$work" "$mix_keys" "$mix_probes" 2>"$work/mix-log" || status=1
    grep '^bench:' "$work/mix-log" >&2 # The playground tells of each node that is killed.
    run_reserved || status=1
    return "$status"
}

# run_reserved: with RedisBloom beside it, if its module is at hand.
run_reserved() {
    local status=0
    if [ -n "${REDISBLOOM_SO-}" ]; then
        redis_start || return 1
    fi
    in_playground -- "$here/growth-reserve.sh" \
        "$build/bin/orbloom" "$build" "$rows" "$work" "$reserve_keys" || status=1
    redis_stop
    return "$status"
}
