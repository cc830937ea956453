#!/bin/sh
# Search for harmful inputs with libFuzzer: tools/run-guided.sh BUILD-DIRECTORY SECONDS
#
# Each program in BUILD-DIRECTORY/tests/fuzz searches that long, one after the other, beginning with
# inputs made by itself. BUILD-DIRECTORY/corpus/PROGRAM keeps what reached new code, for the next
# time; BUILD-DIRECTORY/findings what did harm. Names the files of what was found, then exits with 1.
set -u

build=${1:?BUILD-DIRECTORY} seconds=${2:?SECONDS}
made=${GUIDED_MADE:-300}
findings=$build/findings
found=0
programs=0
mkdir -p "$findings" || exit 2
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

# search PROGRAM: says how many inputs it tried.
search() {
    name=$(basename "$1")
    corpus=$build/corpus/$name
    log=$findings/$name.log
    mkdir -p "$corpus" && "$1" --corpus "$corpus" "$made" || return 1
    # Longer than any input that is made; one that takes 20 s counts as harm.
    "$1" --guided -max_total_time="$seconds" -max_len=65536 -timeout=20 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="$findings/$name-" "$corpus" >"$log" 2>&1
    status=$?
    executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "$name: ${executed:-0} inputs, exit $status"
    [ "$status" -eq 0 ] && [ "${executed:-0}" -gt 0 ] && return 0
    tail -n 40 "$log"
    input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    echo "FOUND by $name: ${input:-no input; see $log}"
    [ -z "$input" ] || echo "    again: $1 --guided $input"
    return 1
}

for program in "$build"/tests/fuzz/*; do
    if [ -x "$program" ] && [ -f "$program" ]; then
        programs=$((programs + 1))
        search "$program" || found=1
    fi
done
if [ "$programs" -eq 0 ]; then
    echo "no program in $build/tests/fuzz" >&2
    exit 1
fi
exit "$found"
