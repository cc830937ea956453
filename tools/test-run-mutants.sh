#!/bin/sh
# Are names that only one of mutants.txt and the table knows refused, and unit tests that are not there? Small lists
# and tables.
set -u

run=$(cd "$(dirname "$0")" && pwd)/run-mutants.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
wrong=0
found_by=1-10

# names STATUS LISTED KNOWN [COMPLAINT]: with these names, apart by blanks, it exits so and says that.
names() {
    for name in $2; do
        echo "$name  breaks something  $found_by"
    done >"$dir/list"
    for name in $3; do
        echo "    X($name) \\"
    done >"$dir/table"
    MUTANT_LIST=$dir/list MUTANT_TABLE=$dir/table "$run" --names >"$dir/output" 2>&1
    status=$?
    if [ "$status" -ne "$1" ] || { [ $# -gt 3 ] && ! grep -q "$4" "$dir/output"; }; then
        echo "run-mutants.sh, listed: $2, in the table: $3: exit $status"
        cat "$dir/output"
        wrong=1
    fi
}

names 0 "ONE TWO" "TWO ONE"
names 2 "ONE TWO" "ONE" "TWO: in .*list, and not in .*table"
names 2 "ONE" "ONE TWO" "TWO: in .*table, and not in .*list"
names 2 "ONE ONE" "ONE" "ONE: twice in .*list"
names 2 "ONE" "ONE ONE" "ONE: twice in .*table"
names 2 "ONE ONE_MORE" "ONE ONE_LESS" "ONE_MORE: in .*list"
found_by=unit/base_heap
names 0 "ONE" "ONE"
found_by=unit/base_gone
names 2 "ONE" "ONE" "ONE: there is no tests/unit/base_gone.c"

if ! "$run" --names; then
    echo "the mutants of this tree"
    wrong=1
fi
exit "$wrong"
