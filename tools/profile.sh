#!/bin/bash
# Where does the time of a key go? tools/profile.sh [BUILD-DIRECTORY [check|add [BATCH [IN-FLIGHT]]]]
#
# Starts a playground, loads it, samples router, one node and the client with perf (Debian:
# linux-perf) and prints the CPU time of each by kind of work, in nanoseconds a key. Samples are
# of the clock, so a virtual machine without hardware counters will do. docs/performance.md
# has the tables of one such run.
set -u
export LC_ALL=C

build=$(cd "${1:-build}" && pwd) || exit 2
op=${2:-check}
batch=${3:-1000}
in_flight=${4:-64}
orbloom=$build/bin/orbloom

if ! command -v perf >/dev/null 2>&1; then
    echo "profile: perf is not installed; as root: apt-get install linux-perf" >&2
    exit 2
fi
if [ ! -x "$orbloom" ]; then
    echo "profile: $orbloom is not built; run make" >&2
    exit 2
fi

# kinds NS: perf's symbols with their percentages to kinds of work in ns a key.
kinds() {
    awk -v ns="$1" '
    function kind(s) {
        if (s ~ /siphash|fingerprint|XXH|hash_|bucket_|gather|lanes/) return "hashing keys"
        if (s ~ /avx2_(check|add)|lines_/) return "filter lines"
        if (s ~ /memmove|memcpy|memset/) return "copies, user space"
        if (s ~ /protobuf|codec|arena_|orbloom__v1|check_lengths/) return "encoding, decoding"
        if (s ~ /malloc|_int_free|cfree|calloc|unlink_chunk|heap_/) return "malloc"
        if (s ~ /_copy_(to|from)_iter|copy_user|check_object_size/) return "copies, kernel"
        if (s ~ /\[k\] (finish_task|_raw_spin_unlock_irq|__?schedule|try_to_wake|ttwu|pick_|enqueue|dequeue|update_|select_|native_|eventfd|ep_|do_epoll|epoll|__switch|switch_|prepare_task|set_next)/)
            return "waking, scheduling"
        if (s ~ /\[k\] .*(tcp|skb|ip_|sock|inet|net_|nf_|dev_|napi|backlog|softirq|kmem|alloc|page)/)
            return "TCP, its memory"
        if (s ~ /\[k\]/) return "system calls, other"
        if (s ~ /run_|segment_|append_parts|scatter|insertion_sort|log_|record_|read_log|storage_/)
            return "log and runs"
        if (s ~ /load_|bench|write_key|judge/) return "load generator"
        if (s ~ /quorum|op_|part_|router_|backend|node_|replica|session|operation|on_done|vote|collect|evaluate|spread|recent|place_index/)
            return "deciding"
        return "libzmq, libuv, other"
    }
    /%/ { percent = $1; sub("%", "", percent); sum[kind($0)] += percent; all += percent }
    END { for (k in sum) printf "%10.1f  %s\n", sum[k] / all * ns, k }' | sort -rn
}

# number_of NAME: the first number of that name in $row.
number_of() {
    grep -o "\"$1\": *[0-9.]*" <<<"$row" | head -n 1 | grep -o '[0-9.]*$'
}

# inside: run by the playground, whose folder is $ORBLOOM_DIR.
inside() {
    local row names=(router node-1 client) pids=() load
    "$orbloom" bench --json --op "$op" --batch "$batch" --in-flight "$in_flight" \
        --keys $((batch * 90000 > 90000000 ? 90000000 : batch * 90000)) --dir "$ORBLOOM_DIR" \
        >"$work/row" &
    load=$!
    pids=("$(cat "$ORBLOOM_DIR/router/pid")" "$(cat "$ORBLOOM_DIR/node-1/pid")" "$load")
    sleep 1 # The filter is filled first.
    for i in 0 1 2; do
        perf record -q -e cpu-clock -F 4999 -o "$work/${names[i]}" -p "${pids[i]}" -- sleep 1 \
            >/dev/null 2>&1
    done
    wait "$load" || exit 1
    row=$(cat "$work/row")
    for name in "${names[@]}"; do
        local ns
        ns=$(number_of "$name")
        printf '%10.1f  %s: CPU ns a key\n' "$ns" "$name"
        perf report -i "$work/$name" --no-children --sort symbol 2>/dev/null |
            grep -v '^#' | kinds "$ns"
    done
    echo "$(number_of keys_per_s) keys/s"
}

if [ -n "${PROFILE_WORK-}" ]; then
    work=$PROFILE_WORK
    inside
    exit
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export PROFILE_WORK=$work
"$orbloom" playground --base-port 0 --log-level warn --run "$0" "$build" "$op" "$batch" "$in_flight"
