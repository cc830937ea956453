#!/bin/bash
# Run test programs and checks, one line each with its time, and count them.
#
#   tools/run-tests.sh [WORD...], read from left to right:
#     --suite NAME         begin a suite: its name is shown, --env, --jobs, --plain are forgotten
#     --env NAME=VALUE     set for the programs of this suite
#     --jobs N             tests that a Criterion program may run at once
#     --plain PROGRAM...   from here on, programs that end with a line "N passed, N failed", and
#                          ", N skipped" where what they need cannot be had
#     --check NAME COMMAND one test: does the shell command exit 0?
#     --workers N          how many programs and checks of the suites that follow run at once: 1; 0: half as
#                          many again as there are cores, as they wait a good deal, unless TEST_WORKERS
#                          says otherwise
#     PROGRAM              a Criterion test program; a test that it leaves out says, on a line of its own,
#                          "SKIPPED TEST: REASON", which is shown
#
# What runs beside others is shown when it ends, whole. Output is shown where something failed, and
# its end once more above the count, after a table of what each suite took. A program that ran no
# test, crashed, ran out of time (TEST_TIMEOUT_S, default 600) or whose exit status contradicts its
# count has failed.
# Last line: "N passed, N failed", with ", N skipped" where any was; exit 1 if any failed or none
# passed.
set -u

timeout_s=${TEST_TIMEOUT_S:-600}
shown_lines=${TEST_SHOWN_LINES:-200}
repeated_lines=15
workers=1
passed=0
failed=0
skipped=0
begun=0
running=()
suite=tests
kind=criterion
jobs=
environment=()
dir=$(mktemp -d) || exit 1
failures=$dir/failures
took=$dir/took
trap 'rm -rf "$dir"' EXIT
trap 'kill_all; exit 130' INT TERM

begin_suite() {
    suite=$1
    kind=criterion
    jobs=
    environment=()
}

# now_ms: a clock for the times shown, in milliseconds.
now_ms() {
    date +%s%3N
}

# run COMMAND...: bounded, its output in $output, its exit status returned. What a shell starts in the
# background ignores SIGINT, which tests of daemons send: timeout(1) sets that right.
run() {
    local child
    env ${environment[@]+"${environment[@]}"} timeout -k 10 "$timeout_s" "$@" >"$output" 2>&1 </dev/null &
    child=$!
    trap 'kill "$child"; wait "$child"; exit 143' TERM
    wait "$child"
}

# criterion_counts: "TESTED PASSING SKIPPED" from the synthesis line, and from lines "SKIPPED TEST:
# REASON", as Criterion does not count those; nothing when there is no synthesis.
criterion_counts() {
    local left_out
    left_out=$(grep -ac '^SKIPPED ' "$output")
    sed -n "s/.*Synthesis: Tested: \\([0-9]*\\) | Passing: \\([0-9]*\\) | .*/\\1 \\2 $left_out/p" "$output" |
        tail -n 1
}

# plain_counts: likewise from a last line "N passed, N failed", and SKIPPED.
plain_counts() {
    tail -n 1 "$output" |
        sed -nE 's/^([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$/\1 \2 \4/p' |
        awk '{ print $1 + $2, $1, $3 + 0 }'
}

# reason STATUS TESTED BAD: why a program counts as failed, in words.
reason() {
    if [ "$1" -eq 124 ] || [ "$1" -eq 137 ]; then
        echo "killed, time limit ${timeout_s} s"
    elif [ -z "$2" ]; then
        echo "no result, exit status $1"
    elif [ "$2" -eq 0 ]; then
        echo "ran no test"
    elif [ "$3" -eq 0 ]; then
        echo "all passed but exit status $1"
    else
        echo "$3 failed"
    fi
}

# show_output LINES: the end of it.
show_output() {
    local lines
    lines=$(wc -l <"$output")
    if [ "$lines" -gt "$1" ]; then
        echo "    | ($((lines - $1)) lines before these not shown)"
    fi
    tail -n "$1" "$output" | sed 's/^/    | /'
}

# show_failure NAME REASON MS: now, and in short for the end.
show_failure() {
    local line
    printf -v line 'FAIL  %-8s %-44s %s, %d ms' "$suite" "$@"
    printf '%s\n' "$line"
    show_output "$shown_lines"
    {
        printf '%s\n' "$line"
        show_output "$repeated_lines"
    } >"$mine.failure"
}

# report NAME STATUS TESTED GOOD MS [SKIPPED]: print one program's line, note its counts.
report() {
    local name=$1 status=$2 tested=$3 good=${4:-0} ms=$5 left_out=${6:-0} bad
    bad=$((${tested:-0} - good))
    if [ "$status" -eq 0 ] && [ $((${tested:-0} + left_out)) -gt 0 ] && [ "$bad" -eq 0 ]; then
        printf 'ok    %-8s %-44s %5d tests %7d ms' "$suite" "$name" "$tested" "$ms"
        [ "$left_out" -eq 0 ] || printf ', %d skipped' "$left_out"
        printf '\n'
        grep -a '^SKIPPED ' "$output" | sed 's/^/    | /'
    else
        show_failure "$name" "$(reason "$status" "$tested" "$bad")" "$ms"
        [ "$bad" -gt 0 ] || bad=1
    fi
    echo "$good $bad $left_out $ms $suite" >"$mine.count"
}

run_program() {
    local program=$1 start status counts words=()
    if [ "$kind" = criterion ]; then
        words=(--color=never ${jobs:+--jobs "$jobs"})
    fi
    start=$(now_ms)
    run "$program" ${words[@]+"${words[@]}"}
    status=$?
    counts=$("${kind}_counts")
    # shellcheck disable=SC2086 # up to three words
    set -- $counts
    report "${program#"$PWD"/}" "$status" "${1-}" "${2-}" $(($(now_ms) - start)) "${3-0}"
}

run_check() {
    local start status
    start=$(now_ms)
    run sh -c "$2"
    status=$?
    report "$1" "$status" 1 $((status == 0)) $(($(now_ms) - start))
}

# take FILES: show and count one that has ended.
take() {
    local good=0 bad=1 left_out=0 ms=0 of=$suite
    cat "$1.shown"
    if [ -s "$1.count" ]; then
        read -r good bad left_out ms of <"$1.count"
    else
        echo "run-tests: what ran in the background ended without a result"
    fi
    [ ! -s "$1.failure" ] || cat "$1.failure" >>"$failures"
    echo "$of $ms" >>"$took"
    passed=$((passed + good))
    failed=$((failed + bad))
    skipped=$((skipped + left_out))
    rm -f "$1".*
}

# await LEAST: until fewer than so many run; each is shown as it ends.
await() {
    local pid left
    while [ "${#running[@]}" -ge "$1" ]; do
        wait -n "${running[@]}" 2>/dev/null
        left=()
        for pid in "${running[@]}"; do
            if kill -0 "$pid" 2>/dev/null; then
                left+=("$pid")
            else
                wait "$pid" 2>/dev/null
                take "$dir/$(cat "$dir/of.$pid")"
            fi
        done
        running=(${left[@]+"${left[@]}"})
    done
}

# begin FUNCTION ARGUMENT...: in the background, as soon as a worker is free.
begin() {
    local mine
    await "$workers"
    begun=$((begun + 1))
    mine=$dir/$begun
    (
        output=$mine.output
        "$@"
    ) >"$mine.shown" &
    running+=("$!")
    echo "$begun" >"$dir/of.$!"
}

kill_all() {
    [ "${#running[@]}" -eq 0 ] || { kill "${running[@]}"; wait "${running[@]}"; } 2>/dev/null
}

# choose_workers N: those under way end first, so that what must be alone is.
choose_workers() {
    await 1
    workers=$1
    [ "$workers" -gt 0 ] || workers=${TEST_WORKERS:-$((($(nproc) * 3 + 1) / 2))}
}

# show_suites: what each took, if there was more than one. Programs beside each other count each, so
# the last line may be less than the sum.
show_suites() {
    [ -s "$took" ] || return
    awk -v seconds="$SECONDS" '
    !($1 in ms) { order[++suites] = $1 }
    { ms[$1] += $2; programs[$1]++ }
    END {
        if (suites < 2) exit
        printf "%-10s %8s %9s\n", "suite", "programs", "seconds"
        for (i = 1; i <= suites; i++)
            printf "%-10s %8d %9.1f\n", order[i], programs[order[i]], ms[order[i]] / 1000
        printf "%-10s %8s %9.1f\n", "in all", "", seconds
    }' "$took"
}

while [ $# -gt 0 ]; do
    case $1 in
    --suite) begin_suite "$2"; shift 2 ;;
    --env) environment+=("$2"); shift 2 ;;
    --jobs) jobs=$2; kind=criterion; shift 2 ;;
    --workers) choose_workers "$2"; shift 2 ;;
    --plain) kind=plain; shift ;;
    --check) begin run_check "$2" "$3"; shift 3 ;;
    -*) echo "run-tests: unknown word $1" >&2; failed=$((failed + 1)); shift ;;
    *) begin run_program "$1"; shift ;;
    esac
done
await 1
show_suites

if [ -s "$failures" ]; then
    echo "What failed:"
    cat "$failures"
fi
printf '%d passed, %d failed' "$passed" "$failed"
[ "$skipped" -eq 0 ] || printf ', %d skipped' "$skipped"
printf '\n'
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
