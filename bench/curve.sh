#!/bin/bash
# Sourced by run.sh: what CURVE takes, beside a plain cluster in the same run. Needs what
# durability.sh needs, and its in_playground.

: "${build:?}" "${here:?}" "${rows:?}" "${work:?}" "${kind:?}" "${rounds:?}"

# curve_choose: how many keys and handshakes by the kind of run.
curve_choose() {
    export CURVE_SECONDS=4 CURVE_HANDSHAKES=4000
    case $kind in
    quick) CURVE_SECONDS=2 CURVE_HANDSHAKES=2000 ;;
    tiny) CURVE_SECONDS=1 CURVE_HANDSHAKES=100 ;;
    esac
}

# run_curve: false when a playground could not start or a script was stopped.
run_curve() {
    local round status=0
    curve_choose
    for round in $(seq "$rounds"); do
        echo "bench: CURVE beside plain, round $round (${SECONDS} s)" >&2
        in_playground --in-memory -- "$here/curve-load.sh" \
            "$build/bin/orbloom" "$build" "$rows" "$work" "$round" || status=1
    done
    return "$status"
}
