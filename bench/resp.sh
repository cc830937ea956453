#!/bin/bash
# Sourced by run.sh: Redis clients of the cluster, beside a Redis server in the same run. Needs
# what durability.sh needs, and its in_playground and durability_row.

: "${build:?}" "${here:?}" "${rows:?}" "${work:?}" "${kind:?}" "${rounds:?}"

# resp_choose: numbers of commands by the kind of run.
resp_choose() {
    export RESP_EXISTS=4000000 RESP_MEXISTS=8000 RESP_ADDS=4000000 RESP_IDLE=9900 \
        RESP_UNFINISHED=1000
    case $kind in
    quick) RESP_EXISTS=1000000 RESP_MEXISTS=2000 RESP_ADDS=1000000 ;;
    tiny) RESP_EXISTS=50000 RESP_MEXISTS=200 RESP_ADDS=50000 RESP_IDLE=200 RESP_UNFINISHED=50 ;;
    esac
}

# run_resp: false when a playground could not start or a script was stopped.
run_resp() {
    local round status=0
    resp_choose
    for round in $(seq "$rounds"); do
        echo "bench: RESP, round $round (${SECONDS} s)" >&2
        redis_start --appendonly yes --appendfsync everysec || return 1
        export BENCH_REDIS_PID=$redis_pid
        in_playground -- "$here/resp-load.sh" \
            "$build/bin/orbloom" "$build" "$rows" "$work" "$round" || status=1
        redis_stop
        rm -rf "$work/appendonlydir"
    done
    return "$status"
}
