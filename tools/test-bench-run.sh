#!/bin/bash
# Does the benchmark's runner measure in turn, judge, and stop what it started?
#   tools/test-bench-run.sh REPORT-PROGRAM
# orbloom, the kernel, redis-server and redis-cli are fakes; the report's program is the real
# one. The n-th measurement of a row gives 1, 3, 2 M keys a second, whose median is 2 M.
# shellcheck disable=SC2016 # the fakes expand their own variables
set -u

runner=$(cd "$(dirname "$0")/../bench" && pwd)/run.sh
report=$(realpath "${1:?usage: tools/test-bench-run.sh REPORT-PROGRAM}") || exit 2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
wrong=0
export FAKE=$dir TMPDIR=$dir/tmp
export PARTS="kernel cluster" # test-bench-durability.sh is about the third.
mkdir -p "$dir/build/bin" "$dir/build/bench" "$dir/path" "$dir/tmp"
ln -s "$report" "$dir/build/bench/report"
ln -s /bin/false "$dir/build/bench/filters"
ln -s /bin/false "$dir/build/bench/handshakes"
ln -s /bin/false "$dir/build/bench/disk"
ln -s /bin/false "$dir/build/bench/unfinished"
ln -s /bin/false "$dir/build/bench/watch"

# fake FILE LINE...
fake() {
    local file=$dir/$1
    shift
    printf '%s\n' '#!/bin/bash' "$@" >"$file"
    chmod +x "$file"
}

fake build/bench/kernel \
    'echo "{\"target\": \"kernel\", \"method\": \"line\", \"op\": \"check\", \"z\": 1, \"batch\": 1024, \"in_flight\": 1, \"size\": 1000000, \"keys_per_s\": 5e7}"' \
    'for op in encode decode; do' \
    '    echo "{\"target\": \"kernel\", \"method\": \"site batch\", \"op\": \"$op\", \"batch\": 1000, \"in_flight\": 1, \"size\": 0, \"keys_per_s\": 6e7, \"bits_per_key\": 55.6, \"value\": 7.25, \"unit\": \"B\"}"' \
    'done'
fake path/redis-server '[ "$1" != --version ] || { echo "Redis server v=7.0.0 sha=0"; exit; }' \
    'echo "$*" >"$FAKE/redis-words"; echo $$ >"$FAKE/redis-pid"; exec sleep 60'
fake path/redis-cli '[ "${!#}" != ping ] || { [ -s "$FAKE/redis-pid" ] && echo PONG; }' \
    '[ "${3-}" != copy ] || { echo "$4 $5" >>"$FAKE/copies"; echo 1; }'
fake build/bin/orbloom 'mode=$(cat "$FAKE/mode")' \
    'if [ "$1" = playground ]; then' \
    '    [ "$mode" != no_cluster ] || exit 1' \
    '    while [ "$1" != --run ]; do shift; done; shift; exec "$@"' \
    'fi' \
    '[ "$1" = bench ] || { echo "orbloom 0.0 (fake)"; exit; }' \
    'shift; method= op= filter=' \
    'while [ $# -gt 0 ]; do' \
    '    case $1 in' \
    '    --json | --filled) shift ;;' \
    '    --*) declare "${1:2}"="$2" 2>/dev/null || declare "flight=$2"; shift 2 ;;' \
    '    esac' \
    'done' \
    'row="$target,$method,$op,${batch-},${flight-},$size"' \
    'echo "$row" >>"$FAKE/calls"' \
    '[ "$op" != fill ] || exit 0' \
    'if [ "$mode" = slow ]; then echo $$ >"$FAKE/slow-pid"; exec sleep 60; fi' \
    'n=$(grep -cx "$row" "$FAKE/calls"); rates=(0 1000000 3000000 2000000); lost=0' \
    'if [ "$row" = orbloom,,check,1000,64,5000000 ]; then' \
    '    case $mode in' \
    '    lost) lost=1 ;;' \
    '    exits) echo "orbloom: DEADLINE: no answer" >&2; exit 1 ;;' \
    '    torn) echo "{\"target\": \"orbl"; exit 0 ;;' \
    '    silent) exit 0 ;;' \
    '    esac' \
    'fi' \
    '[ "$mode" != dead ] || exit 1' \
    'echo "{\"target\": \"$target\", \"method\": \"$method\", \"op\": \"$op\", \"batch\": $batch, \"in_flight\": $flight, \"size\": $size, \"keys_per_s\": ${rates[n]}, \"lost\": $lost, \"unanswered\": 0}"'

complain() {
    echo "bench/run.sh: $1"
    sed 's/^/    /' "$dir/output"
    wrong=1
}

# all_stopped WHAT: neither the fake server nor a command of the cluster lives, and no folder
# is left.
all_stopped() {
    local file
    for file in "$dir/redis-pid" "$dir/slow-pid"; do
        if [ -e "$file" ] && kill -0 "$(cat "$file")" 2>/dev/null; then
            complain "$1: $(basename "$file") $(cat "$file") was not stopped"
            kill "$(cat "$file")"
        fi
    done
    [ -z "$(ls "$dir/tmp")" ] || complain "$1: files were left: $(ls "$dir/tmp")"
}

prepare() {
    echo "$1" >"$dir/mode"
    rm -rf "$dir/calls" "$dir/redis-pid" "$dir/slow-pid" "$dir/build/bench-report" "${dir:?}"/tmp/*
    touch "$dir/calls"
}

# expect STATUS MODE [NAME=VALUE...]
expect() {
    local status=$1 mode=$2 got
    shift 2
    prepare "$mode"
    env PATH="$dir/path:$PATH" BENCH=tiny ROUNDS=1 "$@" "$runner" "$dir/build" \
        >"$dir/output" 2>&1 </dev/null
    got=$?
    [ "$got" -eq "$status" ] || complain "$mode $*: exit $got instead of $status"
    all_stopped "$mode"
}

# says TEXT: the report has it, as a fixed string.
says() {
    grep -qF -e "$1" "$dir/build/bench-report/report.md" || complain "no '$1' in the report"
}

# expected_rows: one round, in the order of measuring; fills left out.
expected_rows() {
    local batch op size
    for batch in 1 1000; do
        for op in check add; do
            echo "orbloom,,$op,$batch,64,5000000"
            echo "redis,set,$op,$batch,64,5000000"
            echo "redis,bits,$op,$batch,64,5000000"
        done
    done
    for size in 100000 1000000 100000000; do
        for op in check add; do
            [ "$size,$op" != 100000,add ] || continue
            echo "orbloom,,$op,1000,64,$size"
            [ "$size" -gt 5000000 ] || echo "redis,set,$op,1000,64,$size"
            echo "redis,bits,$op,1000,64,$size"
        done
    done
}

# signalled SIGNAL STATUS: stopped while a row is measured.
signalled() {
    local pid got
    prepare slow
    env --default-signal=INT PATH="$dir/path:$PATH" BENCH=tiny "$runner" "$dir/build" \
        >"$dir/output" 2>&1 </dev/null &
    pid=$!
    for _ in $(seq 200); do
        [ ! -s "$dir/slow-pid" ] || break
        sleep 0.1
    done
    [ -s "$dir/slow-pid" ] || complain "$1: no row was begun"
    kill -"$1" "$pid"
    wait "$pid"
    got=$?
    [ "$got" -eq "$2" ] || complain "$1: exit $got instead of $2"
    all_stopped "$1"
}

printf 'MemTotal: 16000000 kB\nMemAvailable: 12000000 kB\n' >"$dir/roomy"
printf 'MemTotal: 16000000 kB\nMemAvailable: 3000000 kB\n' >"$dir/narrow"
export MEMINFO=$dir/roomy

expect 0 good ROUNDS=3
grep -v ',fill,' "$dir/calls" >"$dir/got"
for _ in 1 2 3; do expected_rows; done >"$dir/wanted"
cmp -s "$dir/got" "$dir/wanted" || complain "rows were not measured in turn:
$(diff "$dir/wanted" "$dir/got" | head -n 20)"
[ "$(sort -u "$dir/copies" | tr '\n' ' ')" = "check-bits-1000000 add-bits-1000000 check-bits-100000000 \
add-bits-100000000 check-bits-5000000 add-bits-5000000 " ] || complain "bitmaps copied: $(cat "$dir/copies")"
says '| 1,000 | 6.95 | 7.25 | 60.0 M | 60.0 M |'
says "| 1000 | 64 | 2.00 M (1.00 M..3.00 M) | 2.00 M (1.00 M..3.00 M) | 2.00 M (1.00 M..3.00 M) | 1.00 x | 1.00 x |"
says "not run: a set of this size takes about 10 GB"
says "not run: too few keys to time adds"
says "SMISMEMBER: 2.00 M | 2.00 M | 1.00 x | at least 7 x | **not met**"
grep -q -e '--bind 127.0.0.1 --port [0-9]* .*--save  *--appendonly no' "$dir/redis-words" || complain "redis-server was started otherwise"
[ -s "$dir/build/bench-report/chart.svg" ] || complain "no chart was drawn"
grep -q '^CPU: ' "$dir/build/bench-report/head.txt" || complain "the head names no CPU"

expect 0 good MEMINFO="$dir/narrow"
says "not run: needs 5,000 MiB of memory, 2929 are available"
! grep -q 100000000 "$dir/calls" || complain "100 M keys were tried without the memory for them"

expect 1 lost
says "1 lost, 0 unanswered"
expect 1 exits
says "exit 1: orbloom: DEADLINE: no answer"
expect 1 torn
expect 1 silent
says "no JSON object was printed"
expect 1 no_cluster
expect 1 good REDIS_SERVER=/bin/false
expect 2 good ROUNDS=0
expect 2 good BENCH=everything
expect 2 good PARTS="kernel everything"
expect 1 dead
[ "$(grep -vc ',fill,' "$dir/calls")" -eq 5 ] || complain "a cluster that is gone was asked on and on"

signalled TERM 143
signalled INT 130

[ "$wrong" -eq 0 ] && echo "the benchmark's runner measures in turn, judges, and stops what it started"
exit "$wrong"
