#!/bin/bash
# Is each planted defect found? tools/run-mutants.sh [--names | NAME...]
#
# tests/sim/mutants.txt lists them, a line each: NAME description... SEEDS. Those of the table in lib/base/mutant.h and no
# others, and no unit test that is not there, or exit 2; --names: only see to that. A mutant is the simulator built so that
# MUTANT(NAME) holds; run with --seeds SEEDS it must exit 1 and report a lost key, a wrong document, a forgotten key that is
# back, data given up that was there, certainty without enough replicas, something done for a user without the right to it,
# or a command, a growth or a difference of replicas that does not end though nothing is wrong.
# SCENARIO:SEEDS gives all of them that scenario; SITES:SEEDS are seeds of the simulator of whole sites, where anything that
# does not come to rest counts, too. Where a unit test stands in place of SEEDS, unit/<name>, that one is built so
# and must fail. MUTANT_JOBS of them are tried at a time, as many as there are cores by default.
# A line each, in the order of the list; the last one: "N passed, N failed"; exit 1 if any was not found.
set -u

cd "$(dirname "$0")/.." || exit 2
list=${MUTANT_LIST:-tests/sim/mutants.txt}
table=${MUTANT_TABLE:-lib/base/mutant.h}
build=${BUILD_ROOT:-build}
timeout_s=${MUTANT_TIMEOUT_S:-120}
jobs=${MUTANT_JOBS:-$(nproc)}
unset MAKEFLAGS MFLAGS MAKELEVEL # the jobs of an outer make are not ours

if [ ! -e "$list" ]; then
    echo "mutants: there is no $list yet"
    exit 0
fi

# one_sided LISTED KNOWN: what is wrong with names that are in one of both only, or twice in one.
one_sided() {
    sort "$1" | uniq -d | sed "s|\$|: twice in $list|"
    sort "$2" | uniq -d | sed "s|\$|: twice in $table|"
    comm -23 <(sort -u "$1") <(sort -u "$2") | sed "s|\$|: in $list, and not in $table|"
    comm -13 <(sort -u "$1") <(sort -u "$2") | sed "s|\$|: in $table, and not in $list|"
}

# Unit tests that find one have a source; renamed, none of the others could be tried either.
lost_tests() {
    local name rest
    while read -r name rest; do
        rest=${rest##*[[:space:]]}
        [[ $rest != unit/* || -e tests/$rest.c ]] || echo "$name: there is no tests/$rest.c"
    done < <(sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$list")
}

made() {
    make --no-print-directory VARIANT=release "$@" 2>&1
}

wanted() {
    [ $# -eq 1 ] && return 0
    local name=$1 each
    shift
    for each in "$@"; do
        [ "$each" = "$name" ] && return 0
    done
    return 1
}

# unit_verdict NAME unit/TEST LOG: the same for one that a unit test finds.
unit_verdict() {
    if ! made MUTANT="$1" "$build/mutants/$1/$2" >"$3"; then
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

# sim_verdict NAME [SCENARIO:]SEEDS LOG: build and run one; prints "found" or why it was not.
sim_verdict() {
    local scenario=() status program=sim more=
    case $2 in
    SITES:*) program=sim-sites more='|nothing is wrong any more' ;;
    *:*) scenario=(--scenario "${2%%:*}") ;;
    esac
    if ! made MUTANT="$1" "$build/mutants/$1/$program" >"$3"; then
        echo "does not build"
        return
    fi
    timeout -k 5 "$timeout_s" "$build/mutants/$1/$program" "${scenario[@]}" --seeds "${2##*:}" >"$3" 2>&1 </dev/null
    status=$?
    if [ "$status" -eq 1 ] && grep -Eiq "lost[ -]key|is a pair|forgotten key|gives up incarnation|wrong document|does not come to its end|fewer than R FULL|too few FULL|on its way from generation|differ in key|without the right$more" "$3"; then
        echo "found"
    elif [ "$status" -eq 0 ]; then
        echo "NOT FOUND"
    elif [ "$status" -eq 124 ]; then
        echo "no answer in $timeout_s s"
    else
        echo "exit $status, no lost key reported"
    fi
}

# try NAME SEEDS DESCRIPTION: its line in the table, and what it said where it was not found.
try() {
    local log=$results/$1.log verdict begun=$SECONDS kind=sim_verdict
    [[ $2 == unit/* ]] && kind=unit_verdict
    verdict=$($kind "$1" "$2" "$log")
    printf '%-28s %-24s %-30s %4d s  %s\n' \
        "$1" "$verdict" "$2" $((SECONDS - begun)) "$3" >"$results/$1.table"
    if [ "$verdict" = found ]; then
        rm -rf "${build:?}/mutants/$1" # as large as the simulator
    else
        tail -n 20 "$log" | sed 's/^/    | /' >>"$results/$1.table"
    fi
}

results=$(mktemp -d) || exit 2
trap 'rm -rf "$results"' EXIT

sed 's/#.*//; s/[[:space:]].*//; /^$/d' "$list" >"$results/listed"
sed -n 's/^[[:space:]]*X(\([A-Z0-9_]*\)).*/\1/p' "$table" >"$results/known"
{ one_sided "$results/listed" "$results/known"; lost_tests; } >"$results/wrong"
if [ -s "$results/wrong" ]; then
    sed 's/^/mutants: /' "$results/wrong"
    exit 2
fi
if [ "${1:-}" = --names ]; then
    exit 0
fi

names=()
seeds=()
descriptions=()
shared=("$build/tests/sim" "$build/tests/sim-sites") # what several of them link is built once, before any of them
while read -r name rest; do
    wanted "$name" "$@" || continue
    names+=("$name")
    seeds+=("${rest##*[[:space:]]}")
    descriptions+=("$(sed 's/[[:space:]]*[^[:space:]]*$//' <<<"$rest")")
    [[ ${rest##*[[:space:]]} == unit/* ]] && shared+=("$build/tests/${rest##*[[:space:]]}")
done < <(sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$list")
made "${shared[@]}" >"$results/shared" || { tail -n 20 "$results/shared"; exit 2; }

passed=0
failed=0
told=0
tell() { # those whose turn in the list has come
    while [ "$told" -lt "${#names[@]}" ] && [ -e "$results/${names[$told]}.done" ]; do
        cat "$results/${names[$told]}.table"
        if grep -q '^[A-Z0-9_]* *found ' "$results/${names[$told]}.table"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
        fi
        told=$((told + 1))
    done
}

for i in "${!names[@]}"; do
    while [ "$(jobs -pr | wc -l)" -ge "$jobs" ]; do
        wait -n
    done
    tell
    { try "${names[$i]}" "${seeds[$i]}" "${descriptions[$i]}"; : >"$results/${names[$i]}.done"; } &
done
wait
tell

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
