#!/bin/sh
# Does tools/run-guided.sh tell what was found? The programs that search are fakes.
# shellcheck disable=SC2016 # the fakes expand their own variables
set -u

script=$(cd "$(dirname "$0")" && pwd)/run-guided.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
wrong=0
mkdir -p "$dir/tests/fuzz"

# fake NAME LINE...: a program that writes its corpus, and on a search does LINEs.
fake() {
    file=$dir/tests/fuzz/$1
    shift
    printf '%s\n' '#!/bin/sh' 'if [ "$1" = --corpus ]; then echo made >"$2/made-1"; exit 0; fi' \
        'echo "$@" >>"${0%/tests/*}/arguments"' "$@" >"$file"
    chmod +x "$file"
}

# expect STATUS TEXT
expect() {
    "$script" "$dir" 7 >"$dir/output" 2>&1
    got=$?
    if [ "$got" -ne "$1" ] || ! grep -q -e "$2" "$dir/output"; then
        echo "run-guided.sh: exit $got instead of $1, or no '$2' in:"
        sed 's/^/    /' "$dir/output"
        wrong=1
    fi
}

fake good 'echo "stat::number_of_executed_units: 12" >&2'
expect 0 "^good: 12 inputs, exit 0"
grep -q -e '--guided -max_total_time=7 ' "$dir/arguments" && [ -s "$dir/corpus/good/made-1" ] || wrong=1

fake bad 'echo "artifact_prefix=x; Test unit written to /there/bad-crash-1"' 'exit 77'
expect 1 "^FOUND by bad: /there/bad-crash-1"
expect 1 "^good: 12 inputs"

rm "$dir/tests/fuzz/bad"
fake idle 'exit 0'
expect 1 "^FOUND by idle: no input"

rm "$dir"/tests/fuzz/*
expect 1 "no program"

[ "$wrong" -eq 0 ] && echo "what is found is named, and nothing tried is no success"
exit "$wrong"
