#!/bin/bash
# Run by a playground of three nodes for growth.sh: a filter grows to four times its capacity under
# load, with the default throttle.
#   bench/growth-load.sh ORBLOOM BUILD ROWS-FILE WORK-DIRECTORY KEYS
# It is as full as one that would begin to grow by itself before long: from 95 % on all new arrays
# stand at once, for the valve. Checks come at half of the measured maximum, whatever the answers do; adds beside them. Then it is
# filled up and probed once more.
set -u

orbloom=$1 build=$2 rows=$3 work=$4 keys=$5
round=1
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

nodes=(node-1 node-2 node-3)
OTHER=100000          # Keys of a filter that nobody changes.
THROTTLE=5000000      # growth_rate's default.
added=$((keys / 100)) # While it grows, and as many before.
# A node reads each key twice, three nodes do so in turn, at about a quarter of that beside the load.
seconds=$(value "((t = 4 * 3 * 2 * k / g) > 2 ? t : 2)" k="$keys" g=$THROTTLE)
sampler='' adder='' prober='' grower=''

stop() {
    local pid
    for pid in "$child" "$sampler" "$adder" "$prober" "$grower"; do
        [ -z "$pid" ] || kill "$pid" 2>/dev/null
    done
}
trap stop EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT

# resident NODE: bytes of its own memory, without files.
resident() {
    awk '$1 == "RssAnon:" { printf "%.0f", $2 * 1024 }' "/proc/$(cat "$ORBLOOM_DIR/$1/pid")/status"
}

# sample_memory: the most of each node, into $work/peak-NODE, until killed. It takes time on the
# cores that are measured, so it runs before the growth, too.
sample_memory() {
    local node key kib rest
    declare -A peaks
    while :; do
        for node in "${nodes[@]}"; do
            kib=0
            while read -r key kib rest; do
                [ "$key" != RssAnon: ] || break
            done <"/proc/${pids[$node]}/status"
            # A node that is just reading it, or has ended, may show nothing.
            if [ "${kib:-0}" -gt "${peaks[$node]:-0}" ]; then
                peaks[$node]=$kib
                echo $((kib * 1024)) >"$work/peak-$node"
            fi
        done
        sleep 0.02
    done
}
declare -A pids

end_sampler() {
    kill "$sampler"
    wait "$sampler" 2>/dev/null
    sampler=
}

# checks METHOD FLAG...: of the filter's first keys and of such that it never gets.
checks() {
    local method=$1
    shift
    load growth "$method" --op check --filter big --size "$keys" --filled --fresh $((8 * keys)) \
        --batch 1000 --in-flight 64 "$@"
}

# rate_figure PHASE: what the last load says of absent keys. The upper 99.9 % limit of the measured
# rate (z = 3.09; z^2 / 2 hits more for the normal approximation): 1 % or less proves the bound.
rate_figure() {
    figure "growth: error rate, $1" "$(value \
        "100 * ((p = (f + 4.8) / n) + 3.09 * sqrt(p * (1 - p) / n))" \
        f="$(member false_positives)" n="$(member absent_checked)")" % \
        "upper 99.9 % limit, of $(grouped "$(member absent_checked)") absent keys; asked: at most 1 %"
}

# memory_figures: the worst node's, by what its arrays take.
memory_figures() {
    local node base now shard worst_peak=0 worst_after=0 one
    shard=$("$orbloom" info big --json | grep -o '"shard_bytes": *[0-9]*' | head -n 1 | grep -o '[0-9]*$')
    for node in "${nodes[@]}"; do
        base=$((rss_before[$node] - arrays_before[$node]))
        now=$(counter memory_used_bytes "$node")
        one=$(value "(p - b) / (a + s)" p="$(cat "$work/peak-$node")" b="$base" a="$now" s="$shard")
        worst_peak=$(value "(a > b ? a : b)" a="$one" b="$worst_peak")
        one=$(value "(p - b) / a" p="$(resident "$node")" b="$base" a="$now")
        worst_after=$(value "(a > b ? a : b)" a="$one" b="$worst_after")
    done
    figure "growth: memory at the peak" "$worst_peak" x \
        "RssAnon, worst node, what it had beyond arrays before taken off; of new arrays and one shard: $(grouped "$((now + shard))") bytes"
    figure "growth: memory afterwards" "$worst_after" x "likewise, of the new arrays alone"
}
declare -A rss_before arrays_before

give_up() {
    failed "growth under load" "$1"
    exit 0
}

prepare() {
    "$orbloom" create big --timeout 60s --capacity "$((keys + keys / 5))" --fpr 1% \
        --when-full refuse >/dev/null || give_up "the filter can't be made"
    "$orbloom" create other --capacity $((2 * OTHER)) --fpr 1% >/dev/null || give_up "the other one can't be made"
    echo "bench: filling three nodes with $(grouped "$keys") keys (${SECONDS} s)" >&2
    load growth fill --op add --filter big --size "$keys" --keys 2 --batch 1 --in-flight 1 || exit 0
    load growth other --op add --filter other --size $OTHER --keys 2 --batch 1 --in-flight 1 || exit 0
    settle 120 "${nodes[@]}" || echo "bench: merging has not ended after 120 s" >&2
}

# begin_beside FRESH: what else is going on, judged, but no rows of the report: adds, the first of key
# FRESH, and checks of the other filter.
begin_beside() {
    "$orbloom" bench --json --op add --filter big --size "$keys" --filled --fresh "$1" \
        --keys $((2 * added)) --pace "$(printf '%.0f' "$(value "2 * a / s" a=$added s="$seconds")")" \
        --batch 1000 --in-flight 8 >"$work/adds" 2>"$work/adds.error" &
    adder=$!
    "$orbloom" bench --json --op check --filter other --size $OTHER --filled --batch 100 --in-flight 4 \
        --pace 10000 --keys 100000000 --for "${seconds}s" >"$work/others" 2>"$work/others.error" &
    prober=$!
}

end_beside() {
    wait "$adder" || give_up "adds meanwhile: $(tail -n 1 "$work/adds.error")"
    wait "$prober" || give_up "checks of the other filter: $(tail -n 1 "$work/others.error")"
    adder='' prober=''
}

# measure_before: sets `pace`, half of what can be checked a second.
measure_before() {
    local node
    checks maximum --keys "$GROWTH_PROBES" || exit 0
    rate_figure "before"
    pace=$(value "int(k / 2)" k="$(member keys_per_s)")
    pace=$(printf '%.0f' "$pace")
    for node in "${nodes[@]}"; do
        pids[$node]=$(cat "$ORBLOOM_DIR/$node/pid")
    done
    begin_beside $((4 * keys))
    sample_memory &
    sampler=$!
    checks before --pace "$pace" --keys 100000000000 --for "${seconds}s" || exit 0
    end_sampler
    end_beside
    p99_before=$(member p99_us)
    for node in "${nodes[@]}"; do
        rss_before[$node]=$(resident "$node")
        arrays_before[$node]=$(counter memory_used_bytes "$node")
    done
    stale_before=$(counter stale_total "${nodes[@]}")
}

# grow: all loads run while it does.
grow() {
    local begin
    sample_memory &
    sampler=$!
    begin_beside $((4 * keys + added))
    begin=$EPOCHREALTIME
    "$orbloom" expand big --capacity $((4 * keys)) --timeout 60s 2>"$work/expand" >/dev/null &
    grower=$!
    checks during --pace "$pace" --keys 100000000000 --for "${seconds}s" || exit 0
    wait "$grower" || give_up "$(tail -n 1 "$work/expand")"
    grower=
    took=$(value "e - b" e="$EPOCHREALTIME" b="$begin")
    end_sampler
    end_beside
}

tell_growth() {
    local note="$(grouped "$keys") keys to $(grouped "$((4 * keys))"), three nodes in turn, checks and adds meanwhile"
    local retries
    figure "growth: p99 of checks" "$(value "d / b" d="$(member p99_us)" b="$p99_before")" x \
        "while it grows, of before; $(grouped "$pace") keys a second, batches of 1,000"
    rate_figure "while it grows"
    retries=$(($(member retries) + $(grep -o '"retries": *[0-9]*' "$work/adds" | grep -o '[0-9]*$') + \
        $(grep -o '"retries": *[0-9]*' "$work/others" | grep -o '[0-9]*$')))
    figure "growth: until it is over" "$took" s "$note"
    figure "growth: client-visible retries" "$retries" "" "$note"
    figure "growth: STALE answers" \
        "$(value "n - b" n="$(counter stale_total "${nodes[@]}")" b="$stale_before")" "" \
        "of all nodes, about this filter and another one; $note"
}

echo "bench: growth under load (${SECONDS} s)" >&2
prepare
measure_before
echo "bench: growing (${SECONDS} s)" >&2
grow
tell_growth
wait_for sleep 2 # Freed memory goes back within a second or so.
memory_figures
figure "growth: first touch of a huge page" "$("$build/bench/touch")" us \
    "mean of 64 of 2 MiB, as new arrays take them; a virtual machine's host may look for memory only then"
checks afterwards --keys "$GROWTH_PROBES" || exit 0
rate_figure "afterwards"
echo "bench: filling it up (${SECONDS} s)" >&2
load growth fill-up --op add --filter big --size "$keys" --filled --fresh "$keys" \
    --keys $((2 * (3 * keys - 2 * added))) --batch 4000 --in-flight 16 || exit 0
checks full --keys "$GROWTH_PROBES" || exit 0
rate_figure "full again"
