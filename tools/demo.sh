#!/bin/bash
# A whole cluster finds the duplicates among real URLs: tools/demo.sh BIN-DIRECTORY
#
# Every homepage in this machine's package index goes through `orbloom dedup`, beside the
# exact answer of sort -u. Exit 1 when a key was lost or the asked rate was passed. All
# processes are stopped and all files removed at the end, however it ends.
set -u
export LC_ALL=C
# shellcheck source=tools/demo-cluster.sh
. "$(dirname "$0")/demo-cluster.sh"

rate=1 # percent
probes=1000000

# inside FOLDER: the work itself, run by the playground with its endpoints set.
inside() {
    local urls=$1/urls exact=$1/exact first=$1/first
    local read_n distinct_n first_n lost_n unsure_n false_n bits memory pace wrong=0

    sort -u "$urls" >"$exact"
    read_n=$(wc -l <"$urls")
    distinct_n=$(wc -l <"$exact")
    run create demo --capacity "$distinct_n" --fpr "$rate%" >/dev/null
    run dedup demo "$urls" >"$first" 2>"$1/summary"
    pace=$(sed -n 's/.*, \([0-9,]*\) keys\/s$/\1/p' "$1/summary")
    first_n=$(sort -u "$first" | wc -l)
    run check demo -q "$exact" >"$1/answers"
    lost_n=$(grep -c '^absent$' "$1/answers")
    unsure_n=$(grep -vc -e '^absent$' -e '^present$' "$1/answers")
    seq -f 'https://never-added.example/%.0f' "$probes" >"$1/probes"
    false_n=$(run check demo -q --only present "$1/probes" | wc -l)
    bits=$("$orbloom" info demo --json | sed -n 's/.*"bits_per_key": \([0-9.]*\).*/\1/p' | head -n 1)
    memory=$(node_memory)

    line "URLs read" "$read_n"
    line "first seen" "$first_n"
    line "duplicates" $((read_n - first_n))
    line "exact answer (sort -u)" "$distinct_n"
    line "distinct, taken for seen" $((distinct_n - first_n)) \
        "$(percent $((distinct_n - first_n)) "$distinct_n"): the price of a filter, while it fills"
    line "absent, taken for seen" "$false_n" \
        "$(percent "$false_n" "$probes") of $(commas "$probes") at the final fill; asked: at most $rate %"
    line "lost" "$lost_n" "of $(commas "$distinct_n") checked again"
    line "speed, keys/s" "${pace//,/}"
    line "memory a node, bytes" "$memory" \
        "$(printf '%.2f' "$bits") bits a key"
    if [ "$lost_n" -ne 0 ] || [ "$unsure_n" -ne 0 ]; then
        echo "demo: $lost_n keys were lost, $unsure_n have no answer" >&2
        wrong=1
    fi
    if [ $((false_n * 100)) -gt $((probes * rate)) ]; then
        echo "demo: more false positives than asked for" >&2
        wrong=1
    fi
    exit "$wrong"
}

# run COMMAND...: orbloom; its failure ends the demo.
run() {
    "$orbloom" "$@" || {
        cat "${work:?}/summary" >&2 2>/dev/null
        echo "demo: orbloom $1 failed" >&2
        kill -TERM $$
        exit 1
    }
}

# node_memory: of filters on the fullest node; nodes report once a second.
node_memory() {
    local bytes=0
    for _ in $(seq 50); do
        bytes=$("$orbloom" status --json | sed -n 's/.*"memory_used_bytes": \([0-9]*\).*/\1/p' |
            sort -n | tail -n 1)
        [ "${bytes:-0}" -gt 0 ] && break
        sleep 0.1
    done
    echo "${bytes:-0}"
}

# line NAME NUMBER [REMARK]
line() {
    printf '  %-26s %12s  %s\n' "$1" "$(commas "$2")" "${3-}"
}

bin=$(cd "${1:-${BIN:-build/bin}}" && pwd) || exit 2
orbloom=$bin/orbloom
if [ "${2-}" = inside ]; then
    work=$3
    inside "$work"
fi
if [ ! -x "$orbloom" ]; then
    echo "demo: $orbloom is not built; run make" >&2
    exit 2
fi

demo_folder
echo "orbloom demo: homepages of all packages, deduplicated by 3 nodes (N=3, W=2, R=2)"
"$(dirname "$0")/package-index.sh" homepages >"$work/urls" || exit 1
demo_cluster "$work"
