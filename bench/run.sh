#!/bin/bash
# Measure everything in one run: bench/run.sh [BUILD-DIRECTORY [OUTPUT-DIRECTORY]]
#
# The line kernel alone, then a cluster of 1 router and 3 nodes (N=3 W=2 R=2) in memory beside a
# Redis server of our own, on the same cores, in rounds: each row once a round, what is compared
# right after each other. Then the same on disk, and what a node does that is started again. docs/benchmark.md says what the columns mean.
#
#   BENCH=full    all rows (default)
#   BENCH=quick   one round, fewer rows
#   BENCH=tiny    fewer still: the runner's own test
#   ROUNDS=N      instead of 5
#   PARTS="kernel cluster durability growth resp curve many operate"   all of them, or some; "large" and "etcd" only when named
#   LARGE_KEYS=N          of the part large, instead of 1,150,000,000
#   LARGE_DISK_MBPS=N     its restarts are as on a disk that reads N MB/s (root; control groups)
#   MANY_ALIVE=N MANY_DROPPED=N   filters of the part many
#   ETCD_FILTERS=N        of the part etcd, instead of 10,000
#   GROWTH_MIX_KEYS=N    of the filter whose generations are mixed, instead of 4,000,000
#   REDISBLOOM_SO=FILE   also Redis' own Bloom filter, from this module
#   REDIS_SERVER=FILE    instead of the redis-server found in PATH
#
# OUTPUT-DIRECTORY (default BUILD-DIRECTORY/bench-report) gets head.txt, rows.jsonl, report.md
# and chart.svg. Exit: 0; 1 when a command failed or a key was lost or not answered, whatever
# the speed; 2 for wrong usage; 130 or 143 when stopped. All processes are stopped by their
# id at the end, however it ends.
set -u
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd) || exit 2

usage() {
    echo "bench: $1" >&2
    exit 2
}

# choose_rows: what this kind of run measures, for rounds.sh.
choose_rows() {
    export BENCH_SIZE=5000000 # Of the grid.
    case $kind in
    full)
        rounds=${ROUNDS:-5}
        cluster_minutes=$((3 + (rounds * 3 + 1) / 2)) durability_minutes=$((3 + (rounds < 3 ? rounds : 3) * 6)) growth_minutes=4 many_minutes=20 operate_minutes=4 large_minutes=30 etcd_minutes=5
        BENCH_BATCHES="1 16 64 256 1000 4096" BENCH_FLIGHTS="1 16 64"
        BENCH_SIZES="100000 1000000 100000000"
        kernel_sizes=120M,1M,1.2G kernel_flags=--rates
        ;;
    quick)
        rounds=${ROUNDS:-1}
        cluster_minutes=$rounds durability_minutes=$((1 + (rounds < 3 ? rounds : 3) * 2)) growth_minutes=2 many_minutes=1 operate_minutes=2 large_minutes=2 etcd_minutes=1
        BENCH_BATCHES="1 1000 4096" BENCH_FLIGHTS="1 64" BENCH_SIZES=1000000
        kernel_sizes=120M,1M kernel_flags=
        ;;
    tiny)
        rounds=${ROUNDS:-1}
        cluster_minutes=1 durability_minutes=1 growth_minutes=1 many_minutes=1 operate_minutes=1 large_minutes=1 etcd_minutes=1
        BENCH_BATCHES="1 1000" BENCH_FLIGHTS=64 BENCH_SIZES="100000 1000000 100000000"
        kernel_sizes=1M kernel_flags=
        ;;
    *) usage "BENCH=$kind is none of full, quick, tiny" ;;
    esac
    case $rounds in
    '' | *[!0-9]* | 0 | ???*) usage "ROUNDS=$rounds is no number from 1 to 99" ;;
    esac
    export BENCH_BATCHES BENCH_FLIGHTS BENCH_SIZES BENCH_ROUNDS=$rounds
    minutes=0
    for part in $parts; do
        case $part in
        kernel) ;;
        cluster) minutes=$((minutes + cluster_minutes)) ;;
        durability) minutes=$((minutes + durability_minutes)) ;;
        growth) minutes=$((minutes + growth_minutes)) ;;
        resp) minutes=$((minutes + rounds)) ;;
        curve) minutes=$((minutes + rounds)) ;;
        many) minutes=$((minutes + many_minutes)) ;;
        operate) minutes=$((minutes + operate_minutes)) ;;
        large) minutes=$((minutes + large_minutes)) ;;
        etcd) minutes=$((minutes + etcd_minutes)) ;;
        *) usage "PARTS=$parts: $part is none of kernel, cluster, durability, growth, resp, curve, many, operate, large, etcd" ;;
        esac
    done
}

# has PART: is it to be measured?
has() {
    [[ " $parts " == *" $1 "* ]]
}

# available_mib: memory that processes may still take, also inside a container.
available_mib() {
    local mib limit used
    mib=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' "${MEMINFO:-/proc/meminfo}")
    if [ -r /sys/fs/cgroup/memory.max ] && [ "$(cat /sys/fs/cgroup/memory.max)" != max ]; then
        limit=$(cat /sys/fs/cgroup/memory.max)
        used=$(cat /sys/fs/cgroup/memory.current)
        if [ $(((limit - used) / 1048576)) -lt "$mib" ]; then
            mib=$(((limit - used) / 1048576))
        fi
    fi
    echo "$mib"
}

# check_room: give up what memory does not suffice for, and say so in the report.
check_room() {
    local mib disk_mib
    mib=$(available_mib)
    disk_mib=$(df -Pm "$output" | awk 'NR == 2 { print $4 }')
    [ "$disk_mib" -ge 64 ] || usage "less than 64 MiB of disk for $output"
    export BENCH_NO_BIG=
    if [ "$mib" -lt 5000 ]; then
        BENCH_NO_BIG="needs 5,000 MiB of memory, $mib are available"
    fi
    if has kernel && [ "$mib" -lt 4000 ] && [ "${kernel_sizes##*,}" = 1.2G ]; then
        kernel_sizes=${kernel_sizes%,*}
        printf '{"target": "kernel", "method": "line", "op": "check", "z": 1, "batch": 1024, "in_flight": 1, "size": 1200000000, "not_run": "%s"}\n' \
            "needs 4,000 MiB of memory, $mib are available" >>"$rows"
    fi
}

# cpu_ticks FIELD: of /proc/stat's first line; 9 is what the hypervisor took away.
cpu_ticks() {
    awk -v field="$1" 'NR == 1 { for (i = 2; i <= 9; i++) sum += $i; print field ? $field : sum }' \
        /proc/stat
}

# run COMMAND...: with a signal finding the shell waiting; the exit status is the command's.
child=
run() {
    local status
    "$@" &
    child=$!
    wait "$child"
    status=$?
    child=
    return "$status"
}

run_kernel() {
    echo "bench: the kernel alone, arrays of $kernel_sizes bytes" >&2
    # shellcheck disable=SC2086 # a list of flags
    if ! run "$build/bench/kernel" --json --rounds "$rounds" --size-bytes "$kernel_sizes" \
        $kernel_flags >>"$rows" 2>"$work/kernel-error"; then
        cat "$work/kernel-error" >&2
        echo '{"target": "kernel", "op": "check", "failed": "the kernel benchmark failed"}' >>"$rows"
    fi
}

run_cluster() {
    echo "bench: $BENCH_ROUNDS rounds of a cluster beside Redis" >&2
    TMPDIR=$work run "$build/bin/orbloom" playground --base-port 0 --log-level warn \
        --in-memory --run "$here/rounds.sh" "$build/bin/orbloom" "$rows" "$work"
}

# shellcheck disable=SC2317 # called by the trap
stop() {
    if [ -n "$child" ]; then
        kill -TERM "$child" 2>/dev/null
        wait "$child" 2>/dev/null
    fi
    redis_stop
    rm -rf "$work"
}

kind=${BENCH:-full}
parts=${PARTS:-kernel cluster durability growth resp curve many operate}
build=$(cd "${1:-build}" && pwd) || exit 2
output=${2:-$build/bench-report}
for program in bin/orbloom bench/kernel bench/report bench/disk bench/filters bench/handshakes bench/unfinished bench/watch; do
    [ -x "$build/$program" ] || usage "$build/$program is not built; run make bench-programs"
done
choose_rows
mkdir -p "$output" || exit 2
rows=$output/rows.jsonl
rm -f "$rows" "$output/head.txt" "$output/report.md" "$output/chart.svg"
work=$(mktemp -d "${TMPDIR:-/tmp}/orbloom-bench-XXXXXX") || exit 1
# shellcheck source=bench/redis.sh
. "$here/redis.sh"
# shellcheck source=bench/durability.sh
. "$here/durability.sh"
# shellcheck source=bench/growth.sh
. "$here/growth.sh"
# shellcheck source=bench/resp.sh
. "$here/resp.sh"
# shellcheck source=bench/curve.sh
. "$here/curve.sh"
# shellcheck source=bench/many.sh
. "$here/many.sh"
# shellcheck source=bench/operate.sh
. "$here/operate.sh"
# shellcheck source=bench/large.sh
. "$here/large.sh"
# shellcheck source=bench/etcd.sh
. "$here/etcd.sh"
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

: >"$rows"
check_room
echo "bench: $kind ($parts), $rounds rounds, about $minutes minutes on a quiet machine; the report goes to $output" >&2
begin_s=$SECONDS
begin_ticks=$(cpu_ticks 0)
begin_stolen=$(cpu_ticks 9)
redis_find
{
    echo "run: $kind ($parts), $rounds rounds"
    "$here/head.sh" "$build/bin/orbloom" "$redis_server"
} >"$output/head.txt"
grep '^warning: ' "$output/head.txt" >&2
status=0
if has kernel; then
    run_kernel
fi
if has cluster; then
    redis_start || exit 1
    run_cluster || status=1
    redis_stop
fi
if has durability; then
    run_durability || status=1
fi
if has growth; then
    run_growth || status=1
fi
if has resp; then
    run_resp || status=1
fi
if has curve; then
    run_curve || status=1
fi
if has many; then
    run_many || status=1
fi
if has operate; then
    run_operate || status=1
fi
if has large; then
    run_large || status=1
fi
if has etcd; then
    run_etcd || status=1
fi
{
    echo "duration: $((SECONDS - begin_s)) s"
    awk -v stolen="$(($(cpu_ticks 9) - begin_stolen))" -v all="$(($(cpu_ticks 0) - begin_ticks))" \
        'BEGIN { printf "taken by the hypervisor meanwhile: %.1f %% of the CPU time\n",
            (all > 0 ? 100 * stolen / all : 0) }'
} >>"$output/head.txt"
"$build/bench/report" "$output" || status=1
cat "$output/report.md"
echo
echo "The report, its chart, its rows: $output/report.md chart.svg rows.jsonl head.txt"
if [ "$status" -ne 0 ]; then
    echo "bench: failed; see Proof at the end of the report" >&2
fi
exit "$status"
