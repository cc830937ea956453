#!/bin/bash
# seen.sh LIBRARY FILTER WHERE: client/examples/resp_seen.js says "unsure" wherever nothing is known.
#
# WHERE is a router's socket, or rediss://HOST:PORT with files in $TLS_FOLDER and a user's token in
# $TLS_TOKEN (by_tls.sh); $NODE_PATH has the library, $ORBLOOM_BIN_DIR the programs, $ORBLOOM_DIR is
# the playground's. Items are refused by a filter that is full, and unknown while two nodes are stopped,
# which takes the router's time-out, so that by TLS it is left out.
set -u

library=$1 filter=$2
example=$(cd "$(dirname "$0")/../.." && pwd)/client/examples/resp_seen.js
folder=$(mktemp -d) || exit 1
stopped=
trap '[ -z "$stopped" ] || kill -CONT $stopped; rm -rf "$folder"' EXIT
# Nobody listens at the first one.
export ORBLOOM_RESP="$folder/nobody,$3"
if [ -n "${TLS_FOLDER-}" ]; then
    export ORBLOOM_CA=$TLS_FOLDER/ca.pem ORBLOOM_CERT=$TLS_FOLDER/client.pem ORBLOOM_KEY=$TLS_FOLDER/client.key
fi

die() {
    echo "$*"
    tail -n 5 "$folder"/{said,errors}
    exit 1
}

# seen ACTION STATUS LINES-FILE: what it says is in $folder/said, and so many lines as were asked.
seen() {
    timeout 60 node "$example" "$library" "$1" "$filter" <"$3" >"$folder/said" 2>"$folder/errors"
    [ $? -eq "$2" ] || die "$1 does not end with $2"
    [ "$(wc -l <"$folder/said")" -eq "$(wc -l <"$3")" ] || die "$1 leaves lines out"
}

count() {
    grep -c "^$1 " "$folder/said"
}

"$ORBLOOM_BIN_DIR/orbloom" create "$filter" --capacity 1000 --fpr 0.1% --when-full refuse >"$folder/made" 2>&1 ||
    die "$(cat "$folder/made")"
seq 500 >"$folder/some"
seq 3000 >"$folder/many"
seq 10001 10100 >"$folder/others"

seen add 0 "$folder/some"
[ "$(count new)" -gt 450 ] || die "what was added is not new"
seen add 0 "$folder/some"
[ "$(count present)" -eq 500 ] || die "what was added again is not present"
seen check 0 "$folder/others"
[ "$(count absent)" -gt 50 ] || die "what was never added is not absent"

# Full: what is not acknowledged is unsure, and all else is there.
seen add 1 "$folder/many"
[ "$(count unsure)" -gt 500 ] || die "a full filter takes everything"
grep -q 'full' "$folder/errors" || die "nothing says that it is full"
sed -n 's/^new //p; s/^present //p' "$folder/said" >"$folder/acknowledged"
seen check 0 "$folder/acknowledged"
[ "$(count absent)" -eq 0 ] || die "what was acknowledged is absent"

if [ -n "${TLS_TOKEN-}" ]; then
    (umask 077 && echo "$TLS_TOKEN" >"$folder/token")
    export ORBLOOM_USER=reader ORBLOOM_TOKEN_FILE=$folder/token
    seen add 1 "$folder/some"
    [ "$(count unsure)" -eq 500 ] || die "who may only read adds"
    grep -q '^NOPERM' "$folder/errors" || die "nothing says that it is not allowed"
    seen check 0 "$folder/some"
    [ "$(count present)" -eq 500 ] || die "who may read does not find what was added"
    exit
fi

# One node of three knows nobody to be absent.
stopped="$(cat "$ORBLOOM_DIR/node-1/pid") $(cat "$ORBLOOM_DIR/node-2/pid")"
# shellcheck disable=SC2086 # two words
kill -STOP $stopped
seen check 1 "$folder/others"
[ "$(count absent)" -eq 0 ] || die "one node alone knows what is absent"
[ "$(count unsure)" -gt 50 ] || die "what is not known is not unsure"
# shellcheck disable=SC2086
kill -CONT $stopped
stopped=
seen check 0 "$folder/some"
[ "$(count present)" -eq 500 ] || die "what was added is not present"
