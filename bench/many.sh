#!/bin/bash
# Sourced by run.sh: does a cluster live with many filters, and with the memory of many that are
# gone? Needs what durability.sh needs, and its in_playground and durability_row.

: "${build:?}" "${here:?}" "${rows:?}" "${work:?}" "${kind:?}"

# many_choose: numbers of filters by the kind of run; the environment may say others.
many_choose() {
    local alive=10000 dropped=100000
    export MANY_IDLE_S=20
    case $kind in
    quick) alive=500 dropped=2000 MANY_IDLE_S=10 ;;
    tiny) alive=60 dropped=100 MANY_IDLE_S=2 ;;
    esac
    export MANY_ALIVE=${MANY_ALIVE:-$alive} MANY_DROPPED=${MANY_DROPPED:-$dropped}
    export MANY_RESERVE=${MANY_RESERVE:-0.01 1000}
    for number in "$MANY_ALIVE" "$MANY_DROPPED"; do
        case $number in
        '' | *[!0-9]* | 0* | ????????*) usage "MANY_ALIVE=$MANY_ALIVE MANY_DROPPED=$MANY_DROPPED are no numbers of filters" ;;
        esac
    done
    # Arrays of a few KiB a filter and node, and what else is kept of each.
    many_memory_mib=$((MANY_ALIVE * 32 / 1024 + 64))
    many_disk_mib=$((1000 + MANY_ALIVE / 10))
}

many_reason() {
    local disk_mib mib
    disk_mib=$(df -Pm "$work" | awk 'NR == 2 { print $4 }')
    mib=$(available_mib)
    if [ "$disk_mib" -lt "$many_disk_mib" ]; then
        echo "needs $many_disk_mib MiB of disk in $work, $disk_mib are left; TMPDIR names another"
    elif [ "$mib" -lt $((3 * many_memory_mib)) ]; then
        echo "needs $((3 * many_memory_mib)) MiB of memory, $mib are available; MANY_ALIVE=$((MANY_ALIVE / 2)) takes half"
    fi
}

# run_many: false when a playground could not start or a script was stopped. The second playground
# is all of the first one's processes started again.
run_many() {
    local reason cluster=$work/many flags status=0
    many_choose
    reason=$(many_reason)
    if [ -n "$reason" ]; then
        echo "bench: many filters are not measured: $reason" >&2
        durability_row "\"op\": \"many: creates, none alive\", \"not_run\": \"$reason\""
        return 0
    fi
    flags=(--dir "$cluster" --memory "${many_memory_mib}MiB")
    in_playground "${flags[@]}" -- "$here/many-fill.sh" \
        "$build/bin/orbloom" "$build" "$rows" "$work" || return 1
    export MANY_BEGAN=$EPOCHREALTIME
    if ! in_playground "${flags[@]}" -- "$here/many-ask.sh" \
        "$build/bin/orbloom" "$build" "$rows" "$work"; then
        durability_row "\"op\": \"many: time of a restart\", \"failed\": \"the cluster did not start again\""
        status=1
    fi
    rm -rf "$cluster"
    return "$status"
}
