# What a script of tests has found, a line each, and counted: to be sourced by it.
#
# The last line is what `tools/run-tests.sh --plain` reads: "N passed, N failed", with ", N skipped" where any was.
# shellcheck shell=bash

passed=0
failed=0
skipped=0

# judge NAME STATUS LOG: 0 is good; else the log's end is shown.
judge() {
    if [ "$2" -eq 0 ]; then
        echo "ok    $1"
        passed=$((passed + 1))
    else
        echo "FAIL  $1"
        tail -n 60 "$3" | sed 's/^/    | /'
        failed=$((failed + 1))
    fi
}

# skip NAME REASON: what it takes is not there.
skip() {
    echo "skip  $1: $2"
    skipped=$((skipped + 1))
}

# conclude: the count, and the script's end; exit 1 if any failed.
conclude() {
    printf '%d passed, %d failed' "$passed" "$failed"
    [ "$skipped" -eq 0 ] || printf ', %d skipped' "$skipped"
    printf '\n'
    [ "$failed" -eq 0 ]
    exit
}
