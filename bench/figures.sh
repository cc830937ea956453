#!/bin/bash
# Sourced by what run.sh starts inside a playground ($ORBLOOM_DIR) to measure one thing on disk.
# Knows $orbloom, $build, $rows (the file that rows are appended to), $round.

: "${orbloom:?}" "${build:?}" "${rows:?}" "${work:?}" "${round:?}"

# clean TEXT: as it may stand in JSON.
clean() {
    printf '%s' "$1" | tr -c '[:print:]' ' ' | tr '"\\|' "'/ " | cut -c 1-160
}

# figure NAME VALUE UNIT NOTE: one value.
figure() {
    if [[ ! $2 =~ ^[0-9.]+(e[-+]?[0-9]+)?$ ]]; then
        failed "$1" "no value: $2"
        return
    fi
    printf '{"round": %d, "target": "figure", "op": "%s", "value": %s, "unit": "%s", "note": "%s"}\n' \
        "$round" "$1" "$2" "$3" "$(clean "$4")" >>"$rows"
}

# not_run NAME REASON, failed NAME REASON: no value, and why.
not_run() {
    printf '{"round": %d, "target": "figure", "op": "%s", "not_run": "%s"}\n' \
        "$round" "$1" "$(clean "$2")" >>"$rows"
}

failed() {
    printf '{"round": %d, "target": "figure", "op": "%s", "failed": "%s"}\n' \
        "$round" "$1" "$(clean "$2")" >>"$rows"
    echo "bench: failed: $1: $2" >&2
}

# value EXPRESSION [NAME=VALUE...]: arithmetic with fractions.
value() {
    local expression=$1 words=()
    shift
    for word in "$@"; do words+=(-v "$word"); done
    awk "${words[@]}" "BEGIN { printf \"%.6g\", $expression }"
}

# grouped NUMBER: 5,000,000
grouped() {
    sed -E ':again; s/([0-9])([0-9]{3})(,|$)/\1,\2\3/; t again' <<<"$1"
}

# wait_for COMMAND...: in the background, so that a signal finds the shell waiting.
child=
wait_for() {
    local status
    "$@" &
    child=$!
    wait "$child"
    status=$?
    child=
    return "$status"
}

# load TARGET METHOD FLAG...: one row of `orbloom bench`, under that name; 1 when it failed.
load() {
    local target=$1 method=$2
    shift 2
    if ! wait_for "$orbloom" bench --json "$@" >"$work/raw" 2>"$work/error" || [ ! -s "$work/raw" ]; then
        failed "$target $method" "$(tail -n 1 "$work/error")"
        return 1
    fi
    sed "s/^{\"target\": \"[a-z]*\", \"method\": \"[a-z]*\"/{\"round\": $round, \"target\": \"$target\", \"method\": \"$method\"/" \
        "$work/raw" | tee -a "$rows" >"$work/line"
}

# member NAME: of the last load.
member() {
    grep -o "\"$1\": *[0-9.e+]*" "$work/line" | head -n 1 | grep -o '[0-9.e+]*$'
}

# endpoint DAEMON
endpoint() {
    sed -n 's/^listen = "\(.*\)";/\1/p' "$ORBLOOM_DIR/$1/conf"
}

# counter NAME DAEMON...: their sum.
counter() {
    local name=$1 daemon endpoints=()
    shift
    for daemon in "$@"; do endpoints+=("$(endpoint "$daemon")"); done
    "$orbloom" stats "${endpoints[@]}" |
        awk -v name="$name" '$1 == name { sum += $2 } END { printf "%.0f", sum }'
}

# written NODE...: bytes that they have had written to the disk so far.
written() {
    local node sum=0
    for node in "$@"; do
        sum=$((sum + $(awk '$1 == "write_bytes:" { print $2 }' "/proc/$(cat "$ORBLOOM_DIR/$node/pid")/io")))
    done
    echo "$sum"
}

# settle SECONDS NODE...: until no run comes or goes for two seconds. What merging does between two
# changes of the runs takes less.
settle() {
    local end=$((SECONDS + $1)) now before="" same=0
    shift
    while [ "$same" -lt 4 ] && [ "$SECONDS" -lt "$end" ]; do
        now="$(counter run_bytes "$@") $(counter runs "$@") $(written "$@")"
        if [ "$now" = "$before" ]; then same=$((same + 1)); else same=0; fi
        before=$now
        wait_for sleep 0.5
    done
    [ "$same" -ge 4 ]
}

# drop_caches: says whether it could.
drop_caches() {
    sync
    if { echo 3 >/proc/sys/vm/drop_caches; } 2>/dev/null; then
        echo "caches dropped"
    else
        echo "caches warm: dropping them takes root"
    fi
}
