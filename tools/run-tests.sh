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
#     PROGRAM              a Criterion test program; a test that it leaves out says, on a line of its own,
#                          "SKIPPED TEST: REASON", which is shown
#
# Output is shown where something failed, and its end once more above the count. A program that ran no test, crashed, ran out of
# time (TEST_TIMEOUT_S, default 600) or whose exit status contradicts its count has failed.
# Last line: "N passed, N failed", with ", N skipped" where any was; exit 1 if any failed or none
# passed.
set -u

timeout_s=${TEST_TIMEOUT_S:-600}
shown_lines=${TEST_SHOWN_LINES:-200}
repeated_lines=15
passed=0
failed=0
skipped=0
suite=tests
kind=criterion
jobs=
environment=()
output=$(mktemp) || exit 1
failures=$(mktemp) || exit 1
trap 'rm -f "$output" "$failures"' EXIT
trap 'exit 130' INT TERM

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

# run COMMAND...: bounded, its output in $output, its exit status returned.
run() {
    env ${environment[@]+"${environment[@]}"} timeout -k 10 "$timeout_s" "$@" \
        >"$output" 2>&1 </dev/null
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
    } >>"$failures"
}

# report NAME STATUS TESTED GOOD MS [SKIPPED]: count one program, print its line.
report() {
    local name=$1 status=$2 tested=$3 good=${4:-0} ms=$5 left_out=${6:-0} bad
    bad=$((${tested:-0} - good))
    skipped=$((skipped + left_out))
    if [ "$status" -eq 0 ] && [ $((${tested:-0} + left_out)) -gt 0 ] && [ "$bad" -eq 0 ]; then
        printf 'ok    %-8s %-44s %5d tests %7d ms' "$suite" "$name" "$tested" "$ms"
        [ "$left_out" -eq 0 ] || printf ', %d skipped' "$left_out"
        printf '\n'
        grep -a '^SKIPPED ' "$output" | sed 's/^/    | /'
    else
        show_failure "$name" "$(reason "$status" "$tested" "$bad")" "$ms"
        [ "$bad" -gt 0 ] || bad=1
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
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

while [ $# -gt 0 ]; do
    case $1 in
    --suite) begin_suite "$2"; shift 2 ;;
    --env) environment+=("$2"); shift 2 ;;
    --jobs) jobs=$2; kind=criterion; shift 2 ;;
    --plain) kind=plain; shift ;;
    --check) run_check "$2" "$3"; shift 3 ;;
    -*) echo "run-tests: unknown word $1" >&2; failed=$((failed + 1)); shift ;;
    *) run_program "$1"; shift ;;
    esac
done

if [ -s "$failures" ]; then
    echo "What failed:"
    cat "$failures"
fi
printf '%d passed, %d failed' "$passed" "$failed"
[ "$skipped" -eq 0 ] || printf ', %d skipped' "$skipped"
printf '\n'
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
