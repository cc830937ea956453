#!/bin/bash
# Does the benchmark's part about the disk measure, and stop what it started?
#   tools/test-bench-durability.sh BUILD-DIRECTORY
# Everything is real, and as small as can be; no figure is judged, since machines differ.
# shellcheck disable=SC2317 # What tests is called by beside_others.
set -u

build=$(cd "${1:?usage: tools/test-bench-durability.sh BUILD-DIRECTORY}" && pwd) || exit 2
runner=$(cd "$(dirname "$0")/../bench" && pwd)/run.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
wrong=0
beside=()

complain() {
    echo "bench/durability.sh: $1"
    tail -n 30 "$dir/output" | sed 's/^/    /'
    wrong=1
}

# ours: processes that were given a path below our folder, but for the runner itself.
ours() {
    local process words
    for process in /proc/[0-9]*; do
        words=$(tr '\0' ' ' 2>/dev/null <"$process/cmdline")
        case $words in
        */bench/run.sh*) ;;
        *"$dir/tmp"*) echo "${process#/proc/} $words" ;;
        esac
    done
}

# nothing_left WHAT: a process that ends by itself gets some time.
nothing_left() {
    for _ in $(seq 100); do
        [ -n "$(ours)" ] || break
        sleep 0.1
    done
    [ -z "$(ours)" ] || complain "$1: still running: $(ours)"
    [ -z "$(ls "$dir/tmp")" ] || complain "$1: files were left: $(ls "$dir/tmp")"
}

# begin [NAME=VALUE...]: in the background.
begin() {
    rm -rf "$dir/report"
    env --default-signal=INT TMPDIR="$dir/tmp" BENCH=tiny PARTS=durability ROUNDS=1 "$@" \
        "$runner" "$build" "$dir/report" >"$dir/output" 2>&1 </dev/null &
    pid=$!
}

says() {
    grep -qF -e "$1" "$dir/report/report.md" || complain "no '$1' in the report"
}

# Each figure that a tiny run can give has a value.
measures() {
    local name
    begin
    wait "$pid" || complain "exit $? instead of 0"
    nothing_left "a whole run"
    for name in "in memory" "on disk, \`os\`" "on disk, \`sync\`" "4 KiB written and synced" \
        "written to disk a key (os)" "written to disk a key (sync)" \
        "log not merged at the end (sync)" "one add: sync less in memory" \
        "gossip an added key" "on disk a key: runs" "on disk a key: log" "restart until FULL" \
        "wiped node until FULL" "simulator: messages delivered"; do
        says "| $name |"
    done
    says "not run: takes 50,000,000 keys"
    grep -q '"method": "restarted", "op": "check"' "$dir/report/rows.jsonl" ||
        complain "nobody looked for the keys after the restart"
}

# signalled TEXT: by TERM once it says TEXT.
signalled() {
    local got
    begin
    for _ in $(seq 1200); do
        ! grep -q "$1" "$dir/output" || break
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    grep -q "$1" "$dir/output" || complain "it never said: $1"
    sleep 1
    kill -TERM "$pid"
    wait "$pid"
    got=$?
    [ "$got" -eq 143 ] || complain "TERM after '$1': exit $got instead of 143"
    nothing_left "TERM after '$1'"
}

no_room() {
    mkdir -p "$dir/path"
    printf '%s\n' '#!/bin/sh' 'echo "Filesystem"' 'echo "/dev/x 9 9 1500 9% /"' >"$dir/path/df"
    chmod +x "$dir/path/df"
    begin PATH="$dir/path:$PATH"
    wait "$pid" || complain "no room: exit $? instead of 0"
    says "not run: needs 2000 MiB of disk"
    nothing_left "no room"
}

# beside_others FUNCTION ARGUMENT...: in a folder of its own. Most of what it takes is waiting, so
# nothing is gained by one after the other.
beside_others() {
    local own=$dir/${#beside[@]}
    mkdir -p "$own/tmp"
    (
        dir=$own
        trap - EXIT
        "$@"
        exit "$wrong"
    ) &
    beside+=("$!")
}

beside_others measures
beside_others signalled "adds, sync"
beside_others signalled "restart 1"
beside_others no_room
for process in "${beside[@]}"; do
    wait "$process" || wrong=1
done

[ "$wrong" -eq 0 ] && echo "the benchmark's part about the disk measures, and stops what it started"
exit "$wrong"
