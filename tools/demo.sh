#!/bin/bash
# A whole cluster on this machine, shown at work: tools/demo.sh BIN-DIRECTORY
#
# Starts the playground in a temporary directory, adds keys, kills a node
# and checks that no key was lost. Everything is stopped and removed at the end.
set -u

bin=$(cd "${1:?usage: tools/demo.sh BIN-DIRECTORY}" && pwd) || exit 2
orbloom=$bin/orbloom
keys=${DEMO_KEYS:-200000}
dir=$(mktemp -d) || exit 1
cluster=$dir/cluster
playground=

if [ ! -x "$orbloom" ]; then
    echo "demo: $orbloom is not built" >&2
    exit 1
fi

stop() {
    if [ -n "$playground" ]; then
        kill -TERM "$playground" 2>/dev/null
        wait "$playground" 2>/dev/null
    fi
    rm -rf "$dir"
}
trap stop EXIT
trap 'exit 130' INT TERM

give_up() {
    echo "demo: $*" >&2
    if [ -s "$dir/playground.log" ]; then
        tail -n 20 "$dir/playground.log" >&2
    fi
    exit 1
}

say() {
    printf '\n== %s\n' "$*"
}

# show WORD...: a command as the reader would type it, then its output.
show() {
    printf '$ orbloom %s\n' "$*"
    "$orbloom" "$@" || give_up "orbloom $1 failed"
}

start_playground() {
    "$orbloom" playground --dir "$cluster" --base-port 0 >"$dir/playground.log" 2>&1 &
    playground=$!
    for _ in $(seq 300); do
        [ -e "$cluster/env" ] && return 0
        kill -0 "$playground" 2>/dev/null || give_up "the playground ended"
        sleep 0.1
    done
    give_up "the playground is not ready after 30 s"
}

# urls FROM TO: a key a line.
urls() {
    seq -f 'https://example.org/page/%.0f' "$1" "$2"
}

# expect_present NAME FILE: every key of the file must be found.
expect_present() {
    local lost
    "$orbloom" check "$1" --only absent "$2" >"$dir/lost" || give_up "check failed"
    lost=$(wc -l <"$dir/lost")
    [ "$lost" -eq 0 ] || give_up "$lost keys were lost"
    echo "all $(wc -l <"$2") keys are present"
}

say "A cluster: a coordinator, three nodes, a router"
start_playground
cat "$dir/playground.log"
# shellcheck disable=SC1091 # written by the playground
. "$cluster/env"

say "A filter for $((2 * keys)) keys, 1 % false positives, three replicas"
show create seen --capacity "$((2 * keys))" --fpr 1%
urls 1 "$keys" >"$dir/keys"
show add seen "$dir/keys"
expect_present seen "$dir/keys"

say "Keys that were never added: about 1 % or fewer are reported present"
urls 1000000001 1000100000 >"$dir/absent"
"$orbloom" check seen "$dir/absent" >"$dir/answers" || give_up "check failed"
sort "$dir/answers" | uniq -c

say "dedup prints each line once"
printf '%s\n' apple pear apple plum pear >"$dir/fruit"
show dedup seen "$dir/fruit"

say "kill -9 of one node of three: nothing is lost, service goes on"
kill -9 "$(cat "$cluster/node-1/pid")" || give_up "no node to kill"
expect_present seen "$dir/keys"
urls $((keys + 1)) $((keys + 1000)) >"$dir/more"
show add seen "$dir/more"
expect_present seen "$dir/more"

say "The cluster now"
show status
show info seen
say "That was orbloom: try 'build/bin/orbloom playground' yourself"
