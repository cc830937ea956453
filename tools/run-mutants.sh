#!/bin/sh
# Is each planted defect found? tools/run-mutants.sh [NAME...]
#
# tests/sim/mutants.txt lists them, a line each: NAME description... SEEDS. A mutant is the
# simulator built with -DORBLOOM_MUTANT_<NAME>; run with --seeds SEEDS it must exit 1 and
# report a lost key, a forgotten one that is back, data given up that was there, or a command
# that does not end though nothing is wrong.
# SCENARIO:SEEDS gives all of them that scenario. Where a unit test stands in place of SEEDS, unit/<name>, that one is built so
# and must fail. Last line: "N passed, N failed"; exit 1 if any was not found.
set -u

cd "$(dirname "$0")/.." || exit 2
list=${MUTANT_LIST:-tests/sim/mutants.txt}
build=${BUILD_ROOT:-build}
timeout_s=${MUTANT_TIMEOUT_S:-120}
passed=0
failed=0
unset MAKEFLAGS MFLAGS MAKELEVEL # the jobs of an outer make are not ours

if [ ! -e "$list" ]; then
    echo "mutants: there is no $list yet"
    exit 0
fi

wanted() {
    [ $# -eq 1 ] && return 0
    name=$1
    shift
    for each in "$@"; do
        [ "$each" = "$name" ] && return 0
    done
    return 1
}

# unit_verdict NAME unit/TEST LOG: the same for one that a unit test finds.
unit_verdict() {
    if ! make --no-print-directory VARIANT=release MUTANT="$1" "$build/mutants/$1/$2" >"$3" 2>&1; then
        echo "does not build"
        return
    fi
    timeout -k 5 "$timeout_s" "$build/mutants/$1/$2" >"$3" 2>&1 </dev/null
    if grep -q 'Failing: [1-9]' "$3" && grep -q 'Crashing: 0' "$3"; then
        echo "found"
    else
        echo "NOT FOUND"
    fi
}

# verdict NAME SEEDS LOG: build and run one; prints "found" or why it was not.
verdict() {
    case $2 in
    unit/*)
        unit_verdict "$@"
        return
        ;;
    esac
    if ! make --no-print-directory VARIANT=release MUTANT="$1" "$build/mutants/$1/sim" >"$3" 2>&1; then
        echo "does not build"
        return
    fi
    scenario=
    case $2 in
    *:*) scenario="--scenario ${2%%:*}" ;;
    esac
    # shellcheck disable=SC2086 # two words, or none
    timeout -k 5 "$timeout_s" "$build/mutants/$1/sim" $scenario --seeds "${2##*:}" >"$3" 2>&1 </dev/null
    status=$?
    if [ "$status" -eq 1 ] && grep -Eiq 'lost[ -]key|forgotten key|gives up incarnation|does not come to its end' "$3"; then
        echo "found"
    elif [ "$status" -eq 0 ]; then
        echo "NOT FOUND"
    elif [ "$status" -eq 124 ]; then
        echo "no answer in $timeout_s s"
    else
        echo "exit $status, no lost key reported"
    fi
}

log=$(mktemp) || exit 2
names=$(mktemp) || exit 2
trap 'rm -f "$log" "$names"' EXIT
sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$list" >"$names"

while read -r name rest; do
    wanted "$name" "$@" || continue
    seeds=${rest##*[[:space:]]}
    description=${rest%[[:space:]]*}
    result=$(verdict "$name" "$seeds" "$log")
    printf '%-28s %-24s %s\n' "$name" "$result" "$description"
    if [ "$result" = found ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        tail -n 20 "$log" | sed 's/^/    | /'
    fi
done <"$names"

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
