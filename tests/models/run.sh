#!/bin/sh
# Check the models: tests/models/run.sh [-v]
#
# The rule must hold in every state that a model can reach, and each wrong variant must be caught:
# a model in which nothing can go wrong proves nothing. -v prints how an error comes about.
set -u

models=$(cd "$(dirname "$0")" && pwd)
verbose=${1-}
passed=0
failed=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

for tool in spin gcc; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "models: $tool is missing; \`make deps\` installs it" >&2
        exit 1
    fi
done

# search MODEL FLAGS: look through all states. Prints "holds", "loses" or what went wrong.
# shellcheck disable=SC2086 # flags are split into words
search() {
    rm -rf "${dir:?}/model" && mkdir "$dir/model" && cp "$models/$1" "$dir/model/model.pml"
    cd "$dir/model" || return
    if ! spin -a $2 model.pml >log 2>&1 || ! gcc -O1 -w -DSAFETY -DMEMLIM=1500 -o pan pan.c >>log 2>&1; then
        echo "cannot be built: $(tail -n 1 log)"
        return
    fi
    # -E: a process that waits for messages that were lost is no error.
    ./pan -E -m100000 >log 2>&1
    if grep -q "assertion violated" log; then
        [ "$verbose" = -v ] && spin -t -p $2 model.pml | grep -v "^ *[0-9]*:.*else" >&2
        echo "loses"
    elif grep -q "errors: 0" log && ! grep -q -e "max search depth too small" -e "Search not completed" log; then
        echo "holds"
    else
        echo "was not searched to the end"
    fi
}

# expect RESULT MODEL FLAGS WHAT
expect() {
    result=$(search "$2" "$3")
    if [ "$result" = "$1" ]; then
        passed=$((passed + 1))
        printf 'ok    %-6s %s\n' "$result" "$4"
    else
        failed=$((failed + 1))
        printf 'FAIL  %s, expected %s: %s (%s %s)\n' "$result" "$1" "$4" "$2" "$3"
    fi
}

change=replica_change.pml
expect holds $change "" "replacing a replica: one is lost or cut off, one is killed"
expect holds $change "-DGONE" "replacing a replica: its node came back without its data"
expect holds $change "-DGONE -DKILLS=2" "replacing a replica: the same, two are killed"
expect loses $change "-DKILLS=0 -DONE_FENCE_SHORT" "a fence less than F"
expect loses $change "-DKILLS=0 -DNO_FENCE_V3" "no fence before the old member is left out"
expect loses $change "-DKILLS=0 -DNO_PAIR" "no pair: the newcomer need not have what counts"
expect loses $change "-DKILLS=0 -DCOUNT_JOINING" "a newcomer counts like anybody"
expect loses $change "-DGONE -DKILLS=0 -DFENCE_FIRST" "a fence overtakes the log's commit"
expect loses $change "-DGONE -DKILLS=0 -DONE_SOURCE" "copied from N - W members"
expect loses $change "-DGONE -DKILLS=0 -DCOPY_FIRST" "copied before the sources have fenced"
expect loses $change "-DGONE -DCOPY_IN_MEMORY" "complete before the copy is committed"
expect loses $change "-DKILLS=0 -DOLD_COPY" "an older copy of a folder comes back as itself"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
