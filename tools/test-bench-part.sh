#!/bin/bash
# Does a part of the benchmark measure each of its figures, and leave nothing behind?
#   tools/test-bench-part.sh etcd|growth|many|operate|resp BUILD-DIRECTORY
# Everything is real, and as small as can be; no speed is judged, since machines differ.
set -u

usage="usage: tools/test-bench-part.sh etcd|growth|many|operate|resp BUILD-DIRECTORY"
part=${1:?$usage}
build=$(cd "${2:?$usage}" && pwd) || exit 2
runner=$(cd "$(dirname "$0")/../bench" && pwd)/run.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/tmp"
report=$dir/report/report.md
wrong=0 LIMIT_S=600

complain() {
    echo "bench/$part.sh: $1"
    tail -n 30 "$dir/output" | sed 's/^/    /'
    wrong=1
}

# processes: those of this build, with what they wait for.
processes() {
    local entry line
    for entry in /proc/[0-9]*; do
        line=$(tr '\0' ' ' <"$entry/cmdline") 2>/dev/null
        case $line in
        *"$build/"* | *"$dir"*) echo "    ${entry#/proc/} $(cat "$entry/wchan" 2>/dev/null) ${line:0:200}" ;;
        esac
    done
}

# await_runner PID: its exit status. Who has not ended after ten times what it takes is told of and
# stopped: what runs then, and what each daemon said last.
await_runner() {
    local end=$((SECONDS + LIMIT_S))
    while kill -0 "$1" 2>/dev/null && [ "$SECONDS" -lt "$end" ]; do sleep 0.2; done
    if kill -0 "$1" 2>/dev/null; then
        echo "bench/$part.sh: has not ended after $LIMIT_S s; of it there run:"
        processes
        find "$dir/tmp" -name '*log' -exec tail -n 5 {} +
        kill -TERM "$1"
    fi
    wait "$1"
}

# measured FIGURE...: each has a value.
measured() {
    for name in "$@"; do
        grep -q "^| $part: $name | [0-9]" "$report" || complain "$name has no value"
    done
}

case $part in
etcd | growth | many | operate | resp) ;;
*) echo "$usage" >&2; exit 2 ;;
esac
TMPDIR=$dir/tmp BENCH=tiny PARTS=$part "$runner" "$build" "$dir/report" >"$dir/output" 2>&1 </dev/null &
if ! await_runner $!; then
    complain "it failed, or was stopped"
    [ -f "$report" ] || exit 1
fi
[ -z "$(ls "$dir/tmp")" ] || complain "files were left: $(ls "$dir/tmp")"

if [ "$part" = resp ]; then
    for name in "BF.EXISTS" "BF.MEXISTS of 1,000" "BF.ADD on disk"; do
        measured "$name" "$name, CPU" "$name, by Redis"
    done
    measured "an idle connection" "beside idle connections" "BF.EXISTS by TLS" \
        "BF.EXISTS by TLS, by plain TCP" "BF.EXISTS by TLS, by Redis" "an idle TLS connection" \
        "TLS handshakes" "TLS handshakes, CPU" "a user alone, p99" "a user beside a flood, p99" \
        "a user beside a flood of another cluster, p99" \
        "a flood by its limit"
    for name in "unfinished" "unfinished by Redis"; do
        measured "$name, memory" "$name, left over" "$name, PING"
    done
elif [ "$part" = many ]; then
    measured "creates, none alive" "creates, up to all" "creates, all alive" "creates, restarted" \
        "created and dropped, 3 alive" "created and dropped, 60 alive" "filters that got keys" \
        "records in the store" "size of the store" "time of a backup" "size of the backup" \
        "time of a restore" "time of a restart" "restart until asked" "memory a filter" "disk of node-1"
    for name in before restored restarted; do
        measured "keys asked, $name" "keys absent, $name" "filters there, $name"
    done
    for name in "all alive" restarted; do
        measured "idle coordinator, $name" "idle router, $name" "idle node-3, $name" \
            "memory of coordinator, $name" "memory of router, $name" "memory of node-3, $name"
    done
elif [ "$part" = etcd ]; then
    measured creates "size of the database" "restart of a coordinator" "restart until all are told" \
        "time of a change" "bytes a change" "size after compaction"
elif [ "$part" = operate ]; then
    for name in "rate at 50 %" "rate at 90 %" "rate at 100 %"; do
        measured "$name, by a client" "$name, by nodes"
    done
    measured "CPU of a node that measures rates" "scrape of a coordinator" "50 filters for the page" \
        "page" "p99 of checks, alone" "p99 of checks, beside files" "p99 of checks, scraped" \
        "p99 of checks, scraped by files" "p99 of checks, scraped by alone" \
        "CPU of a coordinator that is scraped"
else
    # So few keys may be read back between two looks; then that is said.
    grep -q "^- not run: growth: backfill and verify: it took less than" "$report" ||
        measured "backfill and verify"
    measured "p99 of checks" "until it is over" "client-visible retries" "STALE answers" \
        "memory at the peak" "memory afterwards" "first touch of a huge page" "error rate, before" "error rate, while it grows" \
        "error rate, afterwards" "error rate, full again" \
        "mixed, a node down" "mixed, two generations" "mixed, two generations, full" \
        "mixed, grown, a node down" "mixed, all nodes" "mixed, unknown"
    for name in "MADD, 100" "MADD, 1,000" "MADD, 100,000" "ADD, 1,000"; do
        measured "$name" "$name, refused"
    done
    for name in "client-visible retries" "STALE answers" "error rate" "keys without an answer" \
        "keys refused"; do
        ! grep "^| $name.*not met" "$report" || complain "$name: not met"
    done
fi

[ "$wrong" -eq 0 ] && echo "the benchmark's part $part measures, and leaves nothing behind"
exit "$wrong"
