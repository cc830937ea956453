#!/bin/bash
# Sourced after figures.sh by what many.sh starts: filters by the thousand, through the router's
# Redis socket, in a playground's cluster.

: "${build:?}" "${work:?}" "${orbloom:?}" "${ORBLOOM_DIR:?}"

nodes=(node-1 node-2 node-3)
export MANY_KEYS=8 # of each filter that stays

# filters VERB PREFIX FIRST COUNT: sets seconds, done_count, failed_count, again and absent; false when
# a filter failed or a key was absent.
filters() {
    local status
    wait_for "$build/bench/filters" "$ORBLOOM_DIR/router/resp.sock" "$@" --keys "$MANY_KEYS" \
        --reserve "$MANY_RESERVE" --limit 1h >"$work/filters" 2> >(tee "$work/error" >&2)
    status=$?
    read -r seconds done_count failed_count again absent <"$work/filters"
    return "$status"
}

# filters_rate NAME VERB PREFIX FIRST COUNT NOTE: a figure, filters a second.
filters_rate() {
    local name=$1 verb=$2 prefix=$3 first=$4 count=$5 note=$6
    if ! filters "$verb" "$prefix" "$first" "$count"; then
        failed "many: $name" "${failed_count:-all} of $count: $(grep -v ' left$' "$work/error" | head -n 1)"
        return 1
    fi
    figure "many: $name" "$(value "n / s" n="$count" s="$seconds")" /s \
        "$(grouped "$count") in $seconds s, 64 in flight; $again sent again; $note"
}

# ask_all WHEN: every key of every filter that is to be there, which must be all there are.
ask_all() {
    local there
    filters check alive- 0 "$MANY_ALIVE" || :
    figure "many: keys asked, $1" "$((${done_count:-0} * MANY_KEYS))" "" \
        "$MANY_KEYS of each of $(grouped "$MANY_ALIVE") filters, in ${seconds:-?} s; ${again:-?} sent again"
    if [ "${absent:-1}" -ne 0 ] || [ "${failed_count:-1}" -ne 0 ]; then
        failed "many: keys absent, $1" "${absent:-all} absent, ${failed_count:-all} filters without an answer: $(
            grep -v ' left$' "$work/error" | head -n 1)"
    else
        figure "many: keys absent, $1" 0 "" "of them"
    fi
    there=$(redis-cli -s "$ORBLOOM_DIR/router/resp.sock" DBSIZE)
    if [ "$there" = "$MANY_ALIVE" ]; then
        figure "many: filters there, $1" "$there" "" "as many as were left alive"
    else
        failed "many: filters there, $1" "$there instead of $MANY_ALIVE"
    fi
}

# memory DAEMON: bytes of its own, without files.
memory() {
    awk '$1 == "RssAnon:" { printf "%.0f", $2 * 1024 }' "/proc/$(cat "$ORBLOOM_DIR/$1/pid")/status"
}

# cpu_ticks DAEMON: so far.
cpu_ticks() {
    sed 's/.*) //' "/proc/$(cat "$ORBLOOM_DIR/$1/pid")/stat" | awk '{ print $12 + $13 }'
}

# disk DAEMON: bytes of its folder.
disk() {
    du -s -B1 "$ORBLOOM_DIR/$1/data" | cut -f 1
}

# show_memory WHEN: of each daemon.
show_memory() {
    local daemon
    for daemon in coordinator router "${nodes[@]}"; do
        figure "many: memory of $daemon, $1" "$(value "m / 1048576" m="$(memory "$daemon")")" MiB \
            "RssAnon"
    done
}

# await_quiet: until nodes have next to nothing to ask each other, a minute at most; sets waited.
waited=0
await_quiet() {
    local began=$EPOCHREALTIME before now tries=30
    now=$(counter pulls_total "${nodes[@]}")
    while [ "$tries" -gt 0 ]; do
        before=$now
        wait_for sleep 2
        now=$(counter pulls_total "${nodes[@]}")
        [ $((now - before)) -gt 30 ] || break # Each asks each other one once a second.
        tries=$((tries - 1))
    done
    waited=$(value "e - b" e="$EPOCHREALTIME" b="$began")
}

# show_idle WHEN: what nobody asked for, once nothing is under way.
show_idle() {
    await_quiet
    show_cpu "$1"
}

# show_cpu WHEN
show_cpu() {
    local daemon before=() after i=0 began=$EPOCHREALTIME ended
    for daemon in coordinator router "${nodes[@]}"; do before+=("$(cpu_ticks "$daemon")"); done
    wait_for sleep "$MANY_IDLE_S"
    ended=$EPOCHREALTIME
    for daemon in coordinator router "${nodes[@]}"; do
        after=$(cpu_ticks "$daemon")
        figure "many: idle $daemon, $1" "$(value "100 * (a - b) / hz / (e - s)" a="$after" \
            b="${before[i]}" hz="$(getconf CLK_TCK)" e="$ended" s="$began")" % "CPU, of a core, over $MANY_IDLE_S s, after $waited s without work from outside"
        i=$((i + 1))
    done
}
