#!/bin/bash
# Run by a playground for resp.sh: the router by TLS beside the same router by TCP, and a Redis
# server by TLS in the same run; then what idle connections and handshakes take.
#   bench/resp-tls.sh BUILD ROWS-FILE WORK-DIRECTORY ROUND
set -u

build=$1 rows=$2 work=$3 round=$4 orbloom=$1/bin/orbloom
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

item=https://www.example.org/a/page/with/a/longish/n:__rand_int__
: "${RESP_TLS_COMMANDS:?}" "${RESP_TLS_IDLE:?}" "${RESP_TLS_S:?}"
tick=$(getconf CLK_TCK)
folder=$work/tls
router_pid=
redis_pid=
idle_pids=
stop() {
    local pid
    for pid in $router_pid $redis_pid $idle_pids; do
        kill "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    rm -rf "$folder"
}
trap stop EXIT

make_certificates() {
    mkdir -p "$folder" && cd "$folder" || return 1
    printf 'subjectAltName=IP:127.0.0.1\n' >names
    local curve='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
    # shellcheck disable=SC2086 # several words
    openssl req -x509 $curve -days 2 -subj /CN=ca -keyout ca.key -out ca.pem &&
        openssl req $curve -subj /CN=server -keyout server.key -out server.csr &&
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
            -extfile names -out server.pem
}

# port_of TEXT: behind it in the router's log.
port_of() {
    local port=
    for _ in $(seq 200); do
        port=$(sed -n "s/.*$1 tcp:\/\/127\.0\.0\.1:\([0-9]*\).*/\1/p" "$folder/log")
        [ -z "$port" ] || break
        sleep 0.05
    done
    echo "$port"
}

start_router() {
    "$build/bin/orbloom-router" --config "$ORBLOOM_DIR/router/conf" --name tls \
        --log_level info --listen 'tcp://127.0.0.1:*' --resp_socket "$folder/socket" \
        --resp_listen 'tcp://127.0.0.1:*' --resp_tls_listen 'tcp://127.0.0.1:*' \
        --tls_cert_file "$folder/server.pem" --tls_key_file "$folder/server.key" \
        >"$folder/log" 2>&1 &
    router_pid=$!
    tls_port=$(port_of 'clients by TLS on')
    plain_port=$(port_of 'RESP clients on')
    [ -n "$tls_port" ] && [ -n "$plain_port" ]
}

# start_redis: sets redis_port; false: there is none, or it knows no TLS.
start_redis() {
    [ -n "${BENCH_REDIS_SERVER-}" ] || return 1
    for _ in 1 2 3 4 5; do
        redis_port=$((20000 + RANDOM % 12000))
        "$BENCH_REDIS_SERVER" --port 0 --tls-port $redis_port --bind 127.0.0.1 --save '' \
            --appendonly no --tls-cert-file "$folder/server.pem" --tls-key-file "$folder/server.key" \
            --tls-ca-cert-file "$folder/ca.pem" --tls-auth-clients no --dir "$folder" \
            >/dev/null 2>&1 </dev/null &
        redis_pid=$!
        for _ in $(seq 50); do
            redis-cli -p $redis_port --tls --cacert "$folder/ca.pem" PING >/dev/null 2>&1 && return 0
            kill -0 "$redis_pid" 2>/dev/null || break
            sleep 0.05
        done
    done
    return 1
}

# ask PORT FLAG...: sets rate.
ask() {
    local port=$1
    shift
    redis-benchmark -p "$port" --csv -r 1000000 -n "$RESP_TLS_COMMANDS" -c 50 -P 64 "$@" \
        >"$work/raw" 2>"$work/error"
    rate=$(tail -n 1 "$work/raw" | awk -F '","' '{ print $2 }')
}

rates() {
    local ours tls=(--tls --cacert "$folder/ca.pem")
    ask "$plain_port" BF.ADD k "$item"
    ask "$tls_port" "${tls[@]}" BF.EXISTS k "$item"
    ours=$rate
    figure "resp: BF.EXISTS by TLS" "$ours" /s "50 connections, 64 commands in flight each, 60-byte items, by TCP on loopback"
    ask "$plain_port" BF.EXISTS k "$item"
    figure "resp: BF.EXISTS by TLS, by plain TCP" "$(value "a / b" a="$ours" b="$rate")" x \
        "plain: $(grouped "${rate%.*}")/s, the same router and client"
    if start_redis; then
        ask "$redis_port" "${tls[@]}" SET "$item" x
        ask "$redis_port" "${tls[@]}" GET "$item"
        figure "resp: BF.EXISTS by TLS, by Redis" "$(value "a / b" a="$ours" b="$rate")" x \
            "Redis: GET by TLS, $(grouped "${rate%.*}")/s"
    else
        not_run "resp: BF.EXISTS by TLS, by Redis" "no redis-server with TLS"
    fi
}

# cpu_us: of CPU time of the router so far.
cpu_us() {
    sed 's/.*) //' "/proc/$router_pid/stat" | awk -v tick="$tick" '{ print ($12 + $13) * 1000000 / tick }'
}

# counter NAME: of the router.
counter() {
    redis-cli -p "$plain_port" INFO | awk -F '[:\r]' -v name="$1" '$1 == name { print $2 }'
}

memory() {
    awk '$1 == "RssAnon:" { print $2 * 1024 }' "/proc/$router_pid/status"
}

# connect COUNT: so many more that say nothing; false: not all of them get in.
connect() {
    local connected=0 wanted
    wanted=$(($(counter connected_clients) - 1 + $1))
    redis-benchmark -I -c "$1" -p "$tls_port" --tls --cacert "$folder/ca.pem" >/dev/null 2>&1 &
    idle_pids="$idle_pids $!"
    for _ in $(seq 300); do
        connected=$(($(counter connected_clients) - 1))
        [ "$connected" -lt "$wanted" ] || return 0
        sleep 0.1
    done
    return 1
}

# Some hundreds at a time, as only 1,024 may shake hands at once.
idle() {
    local before left=$RESP_TLS_IDLE name="resp: an idle TLS connection" some
    before=$(memory)
    while [ "$left" -gt 0 ]; do
        some=$((left < 500 ? left : 500))
        connect "$some" || { failed "$name" "not all of $RESP_TLS_IDLE connect"; return; }
        left=$((left - some))
    done
    figure "$name" "$(value "(a - b) / n" a="$(memory)" b="$before" n="$RESP_TLS_IDLE")" B \
        "$(grouped "$RESP_TLS_IDLE") connections, RssAnon of a router that has just started"
}

idle_end() {
    local pid
    for pid in $idle_pids; do
        kill "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    idle_pids=
}

# Two clients that do nothing else, on the same cores.
handshakes() {
    local before done_before cpu count
    local pids=()
    before=$(cpu_us) done_before=$(counter resp_tls_connections_total)
    for _ in 1 2; do
        openssl s_time -connect "127.0.0.1:$tls_port" -new -time "$RESP_TLS_S" >/dev/null 2>&1 &
        pids+=($!)
    done
    wait "${pids[@]}"
    count=$(($(counter resp_tls_connections_total) - done_before))
    cpu=$(value "(a - b)" a="$(cpu_us)" b="$before")
    figure "resp: TLS handshakes" "$(value "n / s" n="$count" s="$RESP_TLS_S")" /s \
        "TLS 1.3, P-256, two clients (openssl s_time -new) on the same cores"
    figure "resp: TLS handshakes, CPU" "$(value "a / n" a="$cpu" n="$count")" us \
        "CPU time of the router a handshake, with its connection"
}

if ! make_certificates >"$work/error" 2>&1; then
    not_run "resp: BF.EXISTS by TLS" "no openssl"
    exit 0
fi
if ! start_router; then
    failed "resp: BF.EXISTS by TLS" "the router does not start: $(tail -n 1 "$folder/log")"
    exit 0
fi
if ulimit -n "$((RESP_TLS_IDLE + 200))" 2>/dev/null; then
    idle
    idle_end
else
    not_run "resp: an idle TLS connection" "the limit of open files is too low"
fi
handshakes
rates
exit 0
