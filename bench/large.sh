#!/bin/bash
# Sourced by run.sh: one node with a filter beyond 2^30 keys, filled and started again after kill -9.
# Needs what durability.sh needs, and its in_playground and durability_row.

: "${build:?}" "${here:?}" "${rows:?}" "${work:?}" "${kind:?}"

# large_choose: how many keys by the kind of run; the environment may say another number, and how fast the disk is.
large_choose() {
    local keys=1150000000
    case $kind in
    quick) keys=60000000 ;;
    tiny) keys=1000000 ;;
    esac
    large_keys=${LARGE_KEYS:-$keys}
    case $large_keys in
    '' | *[!0-9]* | 0* | ???????????*) usage "LARGE_KEYS=$large_keys is no number of keys" ;;
    esac
    case ${LARGE_DISK_MBPS:=} in
    *[!0-9]* | 0* | ??????*) usage "LARGE_DISK_MBPS=$LARGE_DISK_MBPS is no number of MB/s" ;;
    esac
    # 8 bytes a key in the log, as much in runs, and as much again while those are merged.
    large_disk_mib=$((large_keys * 25 / 1048576 + 2000))
    large_memory_mib=$((large_keys * 2 / 1048576 + 1000))
}

large_reason() {
    local disk_mib mib
    disk_mib=$(df -Pm "$work" | awk 'NR == 2 { print $4 }')
    mib=$(available_mib)
    if [ "$disk_mib" -lt "$large_disk_mib" ]; then
        echo "needs $large_disk_mib MiB of disk in $work, $disk_mib are left; TMPDIR names another"
    elif [ "$mib" -lt "$large_memory_mib" ]; then
        echo "needs $large_memory_mib MiB of memory, $mib are available; LARGE_KEYS=$((large_keys / 2)) takes half"
    fi
}

# run_large: false when the playground could not start or the script was stopped.
run_large() {
    local reason
    large_choose
    reason=$(large_reason)
    if [ -n "$reason" ]; then
        echo "bench: a large filter is not measured: $reason" >&2
        durability_row "\"op\": \"keys added until full\", \"not_run\": \"$reason\""
        return 0
    fi
    in_playground --nodes 1 --memory "${large_memory_mib}MiB" -- "$here/durable-restart.sh" \
        "$build/bin/orbloom" "$build" "$rows" "$work" 1 "$large_keys" "$LARGE_DISK_MBPS"
}
