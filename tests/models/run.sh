#!/bin/sh
# Check the models: tests/models/run.sh [-v] [--short] [MODEL]
#
# The rules must hold in every state that a model can reach, and each wrong variant must be caught:
# a model in which nothing can go wrong proves nothing. The cases are in the file of that name.
# -v prints how an error comes about. --short leaves out the cases that take several seconds each.
set -u

models=$(cd "$(dirname "$0")" && pwd)

# search MODEL RESULT FLAGS: look through all states. Prints "holds", "loses" or what went wrong, and
# leaves "states, seconds" in the file `cost`. Where an error is expected, compiling is the longer part.
# shellcheck disable=SC2086 # flags are split into words
search() {
    cp "$models/$1" model.pml
    [ "$2" = loses ] && optimize=-O0 || optimize=-O1
    if ! spin -a $3 model.pml >log 2>&1 || ! gcc $optimize -w -DSAFETY -DMEMLIM=1500 -o pan pan.c >>log 2>&1; then
        echo "cannot be built: $(tail -n 1 log)"
        return
    fi
    # -E: a process that waits for messages that were lost is no error.
    ./pan -E -m100000 >log 2>&1
    awk '/states, stored/ { states = $1 } /elapsed time/ { seconds = $4 }
        END { printf "%9d states %5.1f s", states, seconds }' log >cost
    if grep -q "max search depth too small" log; then
        echo "was not searched deep enough"
    elif grep -q "assertion violated" log; then
        [ "$verbose" = -v ] && spin -t -p $3 model.pml | grep -v "^ *[0-9]*:.*else" >&2
        echo "loses"
    elif grep -q "errors: 0" log && ! grep -q "Search not completed" log; then
        echo "holds"
    else
        echo "was not searched to the end"
    fi
}

# One case, in a process of its own.
if [ "${1-}" = --case ]; then
    verbose=$2
    expected=$(echo "$3" | cut -d "|" -f 1)
    model=$(echo "$3" | cut -d "|" -f 2)
    flags=$(echo "$3" | cut -d "|" -f 3)
    what=$(echo "$3" | cut -d "|" -f 4)
    dir=$(mktemp -d) || exit 1
    trap 'rm -rf "$dir"' EXIT
    cd "$dir" || exit 1
    : >cost
    result=$(search "$model" "$expected" "$flags")
    if [ "$result" = "$expected" ]; then
        printf 'ok    %-6s %s  %-18s %s\n' "$result" "$(cat cost)" "$model" "$what"
    else
        printf 'FAIL  %s, expected %s: %s (%s %s)\n' "$result" "$expected" "$what" "$model" "$flags"
    fi
    exit 0
fi

verbose=--quiet
[ "${1-}" = -v ] && verbose=-v && shift
left_out='^#'
[ "${1-}" = --short ] && left_out='^#\||long$' && shift
only=${1-}

for tool in spin gcc; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "models: $tool is missing; \`make deps\` installs it" >&2
        exit 1
    fi
done

out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
expected=$(grep -v "$left_out" "$models/cases" | grep -c "|$only")
grep -v "$left_out" "$models/cases" | grep "|$only" | tr '\n' '\0' |
    xargs -0 -n 1 -P "$(nproc)" "$models/run.sh" --case "$verbose" | tee "$out"
passed=$(grep -c "^ok " "$out")

echo "$passed passed, $((expected - passed)) failed"
[ "$expected" -gt 0 ] && [ "$passed" -eq "$expected" ]
