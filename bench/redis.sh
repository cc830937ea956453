#!/bin/bash
# Sourced by run.sh: a Redis server of our own, in $work, on a free port of loopback, reached by
# TCP as the cluster is. Nothing is written to disk unless redis_start is told so. The packaged service is neither used nor
# touched; ours is stopped by its process id.

redis_server=
redis_pid=
: "${work:?run.sh sets the folder}"

# redis_find: sets redis_server, or leaves it empty. Debian's redis-tools brings the server as
# redis-check-rdb, which is the same program and takes its part from its name.
redis_find() {
    redis_server=${REDIS_SERVER:-$(command -v redis-server)}
    if [ -z "$redis_server" ] && [ "$(command -v redis-check-rdb)" != "" ]; then
        ln -s "$(command -v redis-check-rdb)" "$work/redis-server"
        redis_server=$work/redis-server
    fi
}

redis_cli() {
    redis-cli -s "$work/redis.sock" "$@"
}

# redis_try PORT FLAG...: false when it does not answer within 10 s, or ends by itself.
redis_try() {
    local port=$1
    shift
    "$redis_server" --bind 127.0.0.1 --port "$port" "$@" >/dev/null 2>&1 </dev/null &
    redis_pid=$!
    for _ in $(seq 100); do
        if [ "$(redis_cli ping 2>/dev/null)" = PONG ]; then
            export ORBLOOM_REDIS=127.0.0.1:$port
            return 0
        fi
        kill -0 "$redis_pid" 2>/dev/null || break
        sleep 0.1
    done
    redis_stop
    return 1
}

# redis_start [FLAG...]: tries some ports, since any may be taken. Without a server the cluster is
# measured alone, and the rows say so. Flags come last, so they win.
redis_start() {
    export BENCH_METHODS="set bits" BENCH_NO_REDIS=
    if [ -z "$redis_server" ]; then
        BENCH_NO_REDIS="no redis-server found; install redis-tools or set REDIS_SERVER"
        echo "bench: $BENCH_NO_REDIS" >&2
        return 0
    fi
    local flags=(--unixsocket "$work/redis.sock" --save "" --appendonly no
        --daemonize no --dir "$work" --logfile "$work/redis.log")
    if [ -n "${REDISBLOOM_SO-}" ]; then
        flags+=(--loadmodule "$REDISBLOOM_SO")
        BENCH_METHODS+=" bloom bloom-one"
    fi
    flags+=("$@")
    export BENCH_REDIS_SOCKET=$work/redis.sock # for redis-cli, which copies bitmaps
    for _ in 1 2 3 4 5; do
        redis_try $((20000 + RANDOM % 12000)) "${flags[@]}" && return 0
    done
    echo "bench: $redis_server does not answer; its log:" >&2
    tail -n 20 "$work/redis.log" >&2
    return 1
}

redis_stop() {
    if [ -z "$redis_pid" ]; then
        return
    fi
    kill -TERM "$redis_pid" 2>/dev/null
    for _ in $(seq 50); do
        kill -0 "$redis_pid" 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL "$redis_pid" 2>/dev/null
    wait "$redis_pid" 2>/dev/null
    redis_pid=
}
