#!/bin/bash
# A filter that was made four times too small grows twice while keys go in:
# tools/demo-expand.sh BIN-DIRECTORY
#
# The keys are the distinct lines of this machine's package index. Exit 1 when a key was lost or the
# asked rate was passed at any stage. All processes are stopped and all files removed at the end,
# however it ends.
set -u
export LC_ALL=C
# shellcheck source=tools/demo-cluster.sh
. "$(dirname "$0")/demo-cluster.sh"

rate=1 # percent
probes=500000
most=800000 # keys

# inside FOLDER: the work itself, run by the playground with its endpoints set.
inside() {
    folder=$1
    exec 3>&2
    local n quarter lost unsure

    n=$(wc -l <"$folder/keys")
    quarter=$((n / 4))
    added=0
    seq -f 'never-added-%.0f' "$probes" >"$folder/probes"
    run create demo --capacity "$quarter" --max-capacity $((4 * n)) --fpr "$rate%" \
        --when-full refuse >/dev/null
    printf '%-24s %9s  %8s  %10s  %s\n' '' keys 'bits/key' 'rate' 'generations, for so many keys'
    add_until $((quarter * 9 / 10))
    row "made for $(commas "$quarter")"
    grow $((n / 2)) $((n * 45 / 100))
    grow "$n" "$n"

    run check demo -q "$folder/keys" >"$folder/answers"
    lost=$(grep -c '^absent$' "$folder/answers")
    unsure=$(grep -vc -e '^absent$' -e '^present$' "$folder/answers")
    echo
    echo "All $(commas "$n") keys checked again: $lost lost."
    chain "$n"
    if [ "$lost" -ne 0 ] || [ "$unsure" -ne 0 ]; then
        echo "demo: $lost keys were lost, $unsure have no answer" >&2
        exit 1
    fi
    [ ! -e "$folder/over" ] || exit 1
    exit 0
}

# grow CAPACITY KEYS: expand, and at once go on adding until so many keys are in.
grow() {
    run expand demo --capacity "$1" --detach >"$folder/out" 2>&1
    add_until "$2" &
    local adder=$!
    while [ "$(generations | wc -w)" -gt 1 ]; do
        row "  growing to $(commas "$1")"
        sleep 0.5
    done
    wait "$adder" || exit 1
    added=$2
    row "grown to $(commas "$1")"
}

# add_until KEYS
add_until() {
    sed -n "$((added + 1)),$1p" "$folder/keys" >"$folder/part-$1"
    run add demo "$folder/part-$1" >"$folder/out-$1" 2>&1
    added=$1
}

# generations: the capacities of those that the document names, the wanted one last.
generations() {
    "$orbloom" info demo --json | tr -d ' \n' | sed 's/.*"generations":\[\([^]]*\)\].*/\1/' |
        grep -o '"capacity":[0-9]*' | cut -d : -f 2 | tr '\n' ' '
}

# row NAME: how things are now.
row() {
    local false_n keys bits all
    false_n=$(run check demo -q --only present "$folder/probes" | wc -l)
    all=$(generations)
    keys=$("$orbloom" info demo --json | sed -n 's/.*"keys_estimate": \([0-9]*\).*/\1/p' | head -n 1)
    bits=$("$orbloom" info demo --json | sed -n 's/.*"bits_per_key": \([0-9.]*\).*/\1/p' | head -n 1)
    printf '%-24s %9s  %8.2f  %8s  %s\n' "$1" "$(commas "${keys:-0}")" "${bits:-0}" \
        "$(percent "$false_n" "$probes")" "$(for one in $all; do commas "$one"; done | tr '\n' ' ')"
    if [ $((false_n * 100)) -gt $((probes * rate)) ]; then
        echo "demo: more false positives than asked for" >&2
        touch "$folder/over"
    fi
}

# chain KEYS: the usual answer, from the formula of the classic filter.
chain() {
    awk -v n="$1" -v p="$rate" 'BEGIN {
        ln2 = log(2)
        split("0.25 0.5 1", size)
        for (i = 1; i <= 3; i++) {
            share = p / 100 / 2 ^ i
            bits += size[i] * -log(share) / ln2 ^ 2
        }
        printf "A chain of sub-filters, each twice as large and half the rate of the one before,\n"
        printf "would take %.2f bits a key, and look into 3 filters for each answer.\n", bits
    }'
}

# run COMMAND...: orbloom; its failure ends the demo.
run() {
    "$orbloom" "$@" || {
        cat "$folder"/out* >&3 2>/dev/null
        echo "demo: orbloom $1 failed" >&3
        kill -TERM $$
        exit 1
    }
}

bin=$(cd "${1:-${BIN:-build/bin}}" && pwd) || exit 2
orbloom=$bin/orbloom
if [ "${2-}" = inside ]; then
    inside "$3"
fi
if [ ! -x "$orbloom" ]; then
    echo "demo: $orbloom is not built; run make" >&2
    exit 2
fi

demo_folder
echo "orbloom demo: lines of the package index go into a filter that grows meanwhile (N=3, W=2, R=2)"
"$(dirname "$0")/package-index.sh" lines >"$work/all" || exit 1
head -n "$most" "$work/all" >"$work/keys"
demo_cluster "$work"
