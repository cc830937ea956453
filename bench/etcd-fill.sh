#!/bin/bash
# Run by etcd.sh: an etcd of one member, a coordinator on it, three nodes and a router of our own.
#   bench/etcd-fill.sh ORBLOOM BUILD ROWS-FILE WORK-DIRECTORY
# With $ETCD_FILTERS, $ETCD_CHANGES, $ETCD_MEMORY_MIB. Everything is stopped by its id at the end.
set -u

orbloom=$1 build=$2 rows=$3 work=$4
round=1
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

bin=$(dirname "$orbloom")
pids=()

# shellcheck disable=SC2317 # called by the trap
stop() {
    [ -z "$child" ] || kill "$child" 2>/dev/null
    for pid in "${pids[@]}"; do
        kill -KILL "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
}
trap stop EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT

die() {
    failed "etcd: creates" "$1"
    exit 1
}

# start NAME PROGRAM FLAG...: its output and log in the work directory.
start() {
    local name=$1
    shift
    setpriv --pdeathsig KILL "$@" >"$work/$name.out" 2>"$work/$name.log" </dev/null &
    pids+=($!)
    started=$!
}

# await_ready NAME: sets endpoint.
await_ready() {
    local tries=600
    until endpoint=$(sed -n 's/^ready //p' "$work/$1.out") && [ -n "$endpoint" ]; do
        tries=$((tries - 1))
        if ! kill -0 "$started" 2>/dev/null || [ "$tries" -eq 0 ]; then
            die "$1 does not start: $(tail -n 1 "$work/$1.log")"
        fi
        wait_for sleep 0.05
    done
}

# start_etcd: at ports that nobody else has; others are tried.
start_etcd() {
    local tries port
    for tries in 1 2 3 4 5; do
        port=$((20000 + RANDOM % 20000))
        client=http://127.0.0.1:$port
        start etcd etcd --data-dir "$work/etcd-$tries" --listen-client-urls "$client" --advertise-client-urls "$client" \
            --listen-peer-urls "http://127.0.0.1:$((port + 1))" --initial-advertise-peer-urls "http://127.0.0.1:$((port + 1))" \
            --initial-cluster "default=http://127.0.0.1:$((port + 1))"
        for _ in $(seq 100); do
            ! curl -s "$client/health" | grep -q true || return 0
            kill -0 "$started" 2>/dev/null || break
            wait_for sleep 0.1
        done
    done
    die "etcd does not start: $(tail -n 1 "$work/etcd.log")"
}

start_coordinator() {
    start coordinator "$bin/orbloom-coordinator" --name=coordinator "--listen=$1" "--etcd_endpoints=$client" \
        "--cluster_key_file=$work/key"
    coordinator=$started
    await_ready coordinator
}

start_others() {
    local i
    for i in 1 2 3; do
        start "node-$i" "$bin/orbloom-node" "--name=node-$i" "--host=host-$i" "--data_dir=$work/node-$i" \
            "--cluster_key_file=$work/key" "--coordinators=$ORBLOOM_COORDINATOR" --listen=tcp://127.0.0.1:0 \
            "--memory_limit=${ETCD_MEMORY_MIB}MiB"
    done
    start router "$bin/orbloom-router" "--cluster_key_file=$work/key" "--coordinators=$ORBLOOM_COORDINATOR" \
        --listen=tcp://127.0.0.1:0 "--resp_socket=$work/resp.sock" --resp_flush=on
    await_ready router
}

# metric NAME: of etcd, in full digits.
metric() {
    curl -s "$client/metrics" | awk -v name="$1" '$1 == name { printf "%.0f", $2 }'
}

size() { metric etcd_mvcc_db_total_size_in_bytes; }

post() { curl -s "$client$1" -d "$2"; }

revision() { post /v3/kv/range '{"key":"AA=="}' | grep -o '"revision":"[0-9]*' | tr -dc 0-9; }

mib() { value "s / 1048576" s="$1"; }

# create: sets bytes, of etcd's database.
create() {
    local seconds done_count rest
    wait_for "$build/bench/filters" "$work/resp.sock" create alive- 0 "$ETCD_FILTERS" --reserve "0.01 1000" \
        --limit 1h >"$work/filters" 2>"$work/error" || die "$(grep -v ' left$' "$work/error" | head -n 1)"
    # shellcheck disable=SC2034 # what is not looked at
    read -r seconds done_count rest <"$work/filters"
    figure "etcd: creates" "$(value "n / s" n="$ETCD_FILTERS" s="$seconds")" /s \
        "$(grouped "$ETCD_FILTERS") filters in $seconds s, 64 in flight"
    bytes=$(size)
    figure "etcd: size of the database" "$(mib "$bytes")" MiB \
        "$(value "b / n" b="$bytes" n="$ETCD_FILTERS") bytes a filter; the quota is $(metric etcd_server_quota_backend_bytes)"
}

# restart: killed; until it is ready, and until it has told all filters.
restart() {
    local began told
    kill -KILL "$coordinator"
    wait "$coordinator" 2>/dev/null
    : >"$work/coordinator.out"
    began=$EPOCHREALTIME
    start_coordinator "$ORBLOOM_COORDINATOR"
    figure "etcd: restart of a coordinator" "$(value "e - b" e="$EPOCHREALTIME" b="$began")" s "until it is ready"
    told=$("$orbloom" info --timeout 60s 2>/dev/null | tail -n +2 | wc -l)
    figure "etcd: restart until all are told" "$(value "e - b" e="$EPOCHREALTIME" b="$began")" s "$(grouped "$told") filters"
}

# change: revisions and bytes that changes of one filter add, while nobody compacts.
change() {
    local i before began
    before=$(revision) bytes=$(size) began=$EPOCHREALTIME
    for i in $(seq $((ETCD_CHANGES / 2))); do
        wait_for "$orbloom" expire alive-0 "$((100 + i))d" >/dev/null || die "a change failed"
        wait_for "$orbloom" expire alive-0 never >/dev/null || die "a change failed"
    done
    figure "etcd: time of a change" "$(value "1000 * (e - b) / n" e="$EPOCHREALTIME" b="$began" n="$ETCD_CHANGES")" ms \
        "orbloom expire, one after the other"
    figure "etcd: bytes a change" "$(value "(e - b) / n" e="$(size)" b="$bytes" n="$ETCD_CHANGES")" bytes \
        "$(value "(e - b) / n" e="$(revision)" b="$before" n="$ETCD_CHANGES") revisions each"
}

# compact: what is left of it.
compact() {
    post /v3/kv/compaction "{\"physical\":true,\"revision\":\"$(revision)\"}" >/dev/null
    post /v3/maintenance/defragment '{}' >/dev/null
    figure "etcd: size after compaction" "$(mib "$(size)")" MiB "and defragmentation"
}

start_etcd
"$orbloom" keygen "$work/key" >/dev/null || die "no cluster key"
start_coordinator tcp://127.0.0.1:0
export ORBLOOM_COORDINATOR=$endpoint
start_others
export ORBLOOM_ROUTER=$endpoint
create
restart
change
compact
exit 0
