#!/bin/bash
# Clients that have to be fetched, and large ones, against a cluster.
#
# $ORBLOOM_BIN_DIR holds the programs, $CLIENTS_DIR gets the clients' packages, which stay there.
# What cannot be had here is skipped: no npm, no registry (npm's own configuration names it), an
# older Node.js, no Scrapy. Everything is bounded in time.
# Last line: "N passed, N failed", with ", N skipped" where any was; exit 1 if any failed.
set -u
. "$(dirname "$0")/verdicts.sh"

bin=${ORBLOOM_BIN_DIR:-build/bin}
export ORBLOOM_BIN_DIR="$bin"
folder=${CLIENTS_DIR:-build/clients}
tests=$(cd "$(dirname "$0")/.." && pwd)/tests/clients
probe_s=${CLIENTS_PROBE_S:-15}
fetch_s=${CLIENTS_FETCH_S:-60}
run_s=${CLIENTS_RUN_S:-240}
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# try NAME COMMAND...: with the socket of a cluster of its own as the last word.
try() {
    local name=$1
    shift
    # shellcheck disable=SC2016 # the inner shell's
    timeout -k 10 "$run_s" "$bin/orbloom" playground --base-port 0 --in-memory --run \
        sh -c '"$@" "$ORBLOOM_DIR/router/resp.sock"' sh "$@" >"$log" 2>&1 </dev/null
    judge "$name" $? "$log"
}

node_major() {
    node --version 2>/dev/null | sed -n 's/^v\([0-9]*\).*/\1/p'
}

# Why there can be no npm client here; nothing: there can.
no_npm() {
    local major
    major=$(node_major)
    if [ -z "$major" ] || ! command -v npm >/dev/null 2>&1; then
        echo "no Node.js with npm"
    elif ! timeout -k 5 "$probe_s" npm view redis@4 version >/dev/null 2>&1 </dev/null; then
        echo "the npm registry cannot be reached"
    fi
}

# fetch PLACE PACKAGE...
fetch() {
    local place=$1
    shift
    mkdir -p "$place" && echo '{"private": true}' >"$place/package.json" &&
        timeout -k 5 "$fetch_s" npm install --prefix "$place" --no-package-lock --no-audit --no-fund \
            --no-save --ignore-scripts --loglevel=error "$@" >"$log" 2>&1 </dev/null
}

# unsure NAME LIBRARY ENV...: the example of docs/clients/node.md, whose `??=` takes Node.js 15.
unsure() {
    local name=$1 library=$2
    shift 2
    if [ "$(node_major)" -lt 15 ]; then
        skip "$name, unsure" "needs Node.js 15"
    else
        try "$name, unsure" "$@" "$tests/seen.sh" "$library" io:seen
        try "$name, unsure, by TLS" "$tests/by_tls.sh" "$@" "$tests/seen.sh" "$library" io:seen
    fi
}

# npm_client LEAST-NODE SCRIPT PACKAGE...: the first one names it.
npm_client() {
    local least=$1 script=$2 name=$3 place
    shift 2
    place=$folder/${name%@*}-${name##*@}
    if [ -n "$reason" ]; then
        skip "$name" "$reason"
    elif [ "$(node_major)" -lt "$least" ]; then
        skip "$name" "needs Node.js $least"
    elif ! fetch "$place" "$@"; then
        skip "$name" "cannot be fetched: $(tail -n 1 "$log")"
    else
        try "$name" env NODE_PATH="$place/node_modules" node "$tests/$script"
        try "$name by TLS" "$tests/by_tls.sh" env NODE_PATH="$place/node_modules" node "$tests/$script"
        unsure "$name" "${name%@*}" env NODE_PATH="$place/node_modules"
    fi
}

reason=$(no_npm)
npm_client 14 node_redis.js redis@4
npm_client 20 node_redis.js redis@6 @redis/bloom@6
npm_client 12 ioredis.js ioredis@5
npm_client 20 ioredis.js ioredis@6
if timeout 60 /usr/bin/python3 -c 'import redis' >/dev/null 2>&1; then
    try "redis-py by TLS" "$tests/by_tls.sh" /usr/bin/python3 "$tests/redis_py.py"
else
    skip "redis-py by TLS" "python3-redis is not installed"
fi
if timeout 60 /usr/bin/python3 -c 'import redis, scrapy' >/dev/null 2>&1; then
    try scrapy /usr/bin/python3 "$tests/scrapy_site.py"
else
    skip scrapy "python3-scrapy is not installed"
fi

conclude
