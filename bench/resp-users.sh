#!/bin/bash
# Run by a playground for resp.sh: a user with one request in flight, alone and beside one that
# floods, and meanwhile a client of another cluster, which shares nothing with the flood but the
# machine; then the flood under a limit of its own.
#   bench/resp-users.sh BUILD ROWS-FILE WORK-DIRECTORY ROUND
set -u

build=$1 rows=$2 work=$3 round=$4 orbloom=$1/bin/orbloom
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

: "${RESP_CALM_COMMANDS:?}" "${RESP_FLOOD_S:?}"
socket=$ORBLOOM_DIR/router/resp.sock
limit=20000 # keys a second
flood_pid=
trap flood_end EXIT

# apply LIMITS: of the flood.
apply() {
    printf 'users = ({ name = "calm"; rights = ("rwc *"); create = "on"; },
        { name = "flood"; rights = ("rwc *"); create = "on"; %s });\n' "$1" >"$work/users"
    "$orbloom" user apply "$work/users" >/dev/null 2>"$work/error"
}

# token USER: a new one, that the router knows.
token() {
    local token
    token=$("$orbloom" user token "$1" add 2>"$work/error" | grep -o '[0-9a-f]\{64\}' | head -n 1)
    for _ in $(seq 100); do
        [ "$(redis-cli -s "$socket" --no-auth-warning --user "$1" --pass "$token" PING 2>&1)" = PONG ] && break
        sleep 0.1
    done
    echo "$token"
}

# p99 COMMANDS: of the calm one, in us.
p99() {
    redis-benchmark -s "$socket" --user calm -a "$calm" --csv -n "$1" -c 1 BF.EXISTS calm x 2>"$work/error" |
        p99_of_csv
}

# apart COMMANDS: the same of another cluster, without users, that is started for it.
apart() {
    # shellcheck disable=SC2016 # the inner shell's
    "$orbloom" playground --base-port 0 --in-memory --log-level warn --run /bin/sh -c \
        'redis-cli -s "$ORBLOOM_DIR/router/resp.sock" BF.ADD calm x >/dev/null
        exec redis-benchmark -s "$ORBLOOM_DIR/router/resp.sock" --csv -n "$1" -c 1 BF.EXISTS calm x' sh "$1" \
        2>"$work/error" | p99_of_csv
}

p99_of_csv() {
    tail -n 1 | awk -F '","' '{ printf "%d", $7 * 1000 }'
}

# Without end: 200 connections with 64 commands in flight each.
flood_begin() {
    redis-benchmark -s "$socket" --user flood -a "$flood" -l -q -c 200 -P 64 -r 1000000 \
        BF.EXISTS many __rand_int__ >/dev/null 2>&1 &
    flood_pid=$!
    sleep 1
}

flood_end() {
    [ -z "$flood_pid" ] || kill "$flood_pid" 2>/dev/null
    wait "$flood_pid" 2>/dev/null
    flood_pid=
}

checked() {
    counter keys_checked_total router
}

beside() {
    local alone before after rate elsewhere
    p99 1000 >/dev/null
    alone=$(p99 "$RESP_CALM_COMMANDS")
    figure "resp: a user alone, p99" "$alone" us "$(grouped "$RESP_CALM_COMMANDS") BF.EXISTS, one in flight"
    flood_begin
    before=$(checked)
    SECONDS=0
    after=$(p99 "$RESP_CALM_COMMANDS")
    rate=$(value "(b - a) / s" a="$before" b="$(checked)" s="$((SECONDS > 0 ? SECONDS : 1))")
    elsewhere=$(apart "$RESP_CALM_COMMANDS")
    flood_end
    figure "resp: a user beside a flood, p99" "$(value "a / b" a="$after" b="$alone")" x \
        "$after us by $alone us alone; the flood: 200 connections, 64 in flight each, $(grouped "${rate%.*}") keys/s"
    figure "resp: a user beside a flood of another cluster, p99" "$(value "a / b" a="$elsewhere" b="$alone")" x \
        "$elsewhere us, on the same cores: what of it the machine makes"
}

# Four clients that ask on whatever they are answered: redis-benchmark would end with the first error.
# One alone pauses now and then for longer than may be saved up.
limited() {
    local before began
    local pids=()
    apply "limits = { keys_per_s = \"$limit\"; };" ||
        { failed "resp: a flood by its limit" "$(tail -n 1 "$work/error")"; return; }
    sleep 6 # Routers have heard of it.
    before=$(checked)
    began=$(date +%s%N)
    for _ in 1 2 3 4; do
        # shellcheck disable=SC2016 # the inner shell's
        timeout "$RESP_FLOOD_S" sh -c '{ printf "AUTH flood %s\r\n" "$2"; yes "BF.EXISTS many x"; } |
            redis-cli -s "$1" --pipe' sh "$socket" "$flood" >/dev/null 2>&1 &
        pids+=($!)
    done
    wait "${pids[@]}"
    figure "resp: a flood by its limit" \
        "$(value "(b - a) / ((n - t) / 1e9) / l" a="$before" b="$(checked)" t="$began" n="$(date +%s%N)" l="$limit")" x \
        "keys checked a second by keys_per_s = $(grouped "$limit"), of one router"
}

if ! apply ""; then
    failed "resp: a user alone, p99" "$(tail -n 1 "$work/error")"
    exit 0
fi
calm=$(token calm) flood=$(token flood)
redis-cli -s "$socket" --no-auth-warning --user flood --pass "$flood" BF.RESERVE many 0.01 1000000 >/dev/null
redis-cli -s "$socket" --no-auth-warning --user calm --pass "$calm" BF.ADD calm x >/dev/null
beside
limited
exit 0
