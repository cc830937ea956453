#!/bin/bash
# Sourced by run.sh: what many filters are to etcd as the store: how fast they come, how large it gets,
# what a change adds, and how soon a coordinator has read all again. Needs durability.sh's row.

: "${build:?}" "${here:?}" "${rows:?}" "${work:?}" "${kind:?}"

# etcd_choose: numbers of filters and of changes by the kind of run; the environment may say another one.
etcd_choose() {
    local filters=10000
    export ETCD_CHANGES=200
    case $kind in
    quick) filters=500 ;;
    tiny) filters=30 ETCD_CHANGES=10 ;;
    esac
    export ETCD_FILTERS=${ETCD_FILTERS:-$filters}
    case $ETCD_FILTERS in
    '' | *[!0-9]* | 0* | ???????*) usage "ETCD_FILTERS=$ETCD_FILTERS is no number of filters" ;;
    esac
    # Arrays of a few KiB a filter and node, and what else is kept of each.
    export ETCD_MEMORY_MIB=$((ETCD_FILTERS * 32 / 1024 + 64))
}

etcd_reason() {
    local mib
    mib=$(available_mib)
    if ! command -v etcd >/dev/null; then
        echo "there is no etcd in PATH"
    elif ! command -v curl >/dev/null; then
        echo "there is no curl in PATH"
    elif [ "$mib" -lt $((3 * ETCD_MEMORY_MIB + 512)) ]; then
        echo "needs $((3 * ETCD_MEMORY_MIB + 512)) MiB of memory, $mib are available"
    fi
}

# run_etcd: false when a process did not start or the script was stopped.
run_etcd() {
    local reason status=0
    etcd_choose
    reason=$(etcd_reason)
    if [ -n "$reason" ]; then
        echo "bench: etcd is not measured: $reason" >&2
        durability_row "\"op\": \"etcd: creates\", \"not_run\": \"$reason\""
        return 0
    fi
    mkdir -m 700 "$work/etcd" || return 1
    run "$here/etcd-fill.sh" "$build/bin/orbloom" "$build" "$rows" "$work/etcd" || status=1
    rm -rf "$work/etcd"
    return "$status"
}
