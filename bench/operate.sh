#!/bin/bash
# Sourced by run.sh: what does it cost to be watched, and is the rate of false positives that nodes
# measure the one that a client meets? Needs what durability.sh needs, and its durability_row.

: "${build:?}" "${here:?}" "${rows:?}" "${work:?}" "${kind:?}"

# operate_choose: numbers by the kind of run.
operate_choose() {
    export OPERATE_FILTERS=1000 OPERATE_KEYS=1000000 OPERATE_S=30
    case $kind in
    quick) export OPERATE_KEYS=300000 OPERATE_S=15 ;;
    tiny) export OPERATE_FILTERS=40 OPERATE_KEYS=20000 OPERATE_S=2 ;;
    esac
}

# operate_port: one that is free, and whose neighbours up to 1,020 above it hardly are taken: pages are
# told 1,000 above each process' port.
operate_port() {
    local port
    for _ in 1 2 3 4 5 6 7 8; do
        port=$((20000 + RANDOM % 8000))
        if ! grep -qE ":$(printf '%04X|:%04X' "$port" $((port + 1000))) " /proc/net/tcp; then
            echo "$port"
            return
        fi
    done
    echo "$port"
}

run_operate() {
    local port
    operate_choose
    if ! command -v curl >/dev/null; then
        durability_row '"op": "operate: scrape of a coordinator", "not_run": "needs curl (tools/install-deps.sh operate)"'
        return 0
    fi
    port=$(operate_port)
    TMPDIR=$work run "$build/bin/orbloom" playground --base-port "$port" --log-level warn --in-memory \
        --memory 512MiB --run "$here/operate-look.sh" "$build/bin/orbloom" "$build" "$rows" "$work" "$((port + 1000))"
}
