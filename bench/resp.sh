#!/bin/bash
# Sourced by run.sh: Redis clients of the cluster, beside a Redis server in the same run. Needs
# what durability.sh needs, and its in_playground and durability_row.

: "${build:?}" "${here:?}" "${rows:?}" "${work:?}" "${kind:?}" "${rounds:?}"

# resp_choose: numbers of commands by the kind of run.
resp_choose() {
    export RESP_EXISTS=4000000 RESP_MEXISTS=8000 RESP_ADDS=4000000 RESP_IDLE=9900 \
        RESP_UNFINISHED=1000 RESP_TLS_COMMANDS=2000000 RESP_TLS_IDLE=3000 RESP_TLS_S=5 \
        RESP_CALM_COMMANDS=50000 RESP_FLOOD_S=10
    case $kind in
    quick)
        RESP_EXISTS=1000000 RESP_MEXISTS=2000 RESP_ADDS=1000000 RESP_TLS_COMMANDS=500000
        RESP_CALM_COMMANDS=10000 RESP_TLS_S=3 RESP_FLOOD_S=5
        ;;
    tiny)
        RESP_EXISTS=50000 RESP_MEXISTS=200 RESP_ADDS=50000 RESP_IDLE=200 RESP_UNFINISHED=50
        RESP_TLS_COMMANDS=20000 RESP_TLS_IDLE=100 RESP_TLS_S=1 RESP_CALM_COMMANDS=1000 RESP_FLOOD_S=2
        ;;
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
        export BENCH_REDIS_SERVER=$redis_server
        in_playground --in-memory -- "$here/resp-tls.sh" "$build" "$rows" "$work" "$round" || status=1
        in_playground --in-memory -- "$here/resp-users.sh" "$build" "$rows" "$work" "$round" || status=1
    done
    return "$status"
}
