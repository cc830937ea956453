#!/bin/bash
# Alerts by Prometheus' own tools: rules and their tests by promtool, and a real Prometheus that watches a
# cluster of its own, in which a node is killed and started again.
#
# $ORBLOOM_BIN_DIR holds the programs. What is not installed is skipped. Everything is bounded in time, and ended by its pid.
# Last line: "N passed, N failed", with ", N skipped" where any was; exit 1 if any failed.
set -u
. "$(dirname "$0")/verdicts.sh"

bin=$(cd "${ORBLOOM_BIN_DIR:-build/bin}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/.." && pwd)
rules=$root/deploy/prometheus
wait_s=${PROMETHEUS_WAIT_S:-60}

# try NAME COMMAND...
try() {
    local name=$1
    shift
    timeout -k 10 300 "$@" >"$folder/log" 2>&1 </dev/null
    judge "$name" $? "$folder/log"
}

# ---- within the playground ----

# Where daemons of the cluster tell their metrics.
endpoints() {
    sed -n 's/^http_listen = "tcp:\/\/\(.*\)";$/\1/p' "$ORBLOOM_DIR"/*/conf
}

# The sample and the rules, without a token, of this cluster, in a hurry.
configure() {
    sed 's/\bfor: .*/for: 2s/' "$rules/rules.yml" >"$folder/rules.yml"
    {
        printf 'global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\nrule_files: [rules.yml]\n'
        printf 'scrape_configs:\n  - job_name: %s\n    static_configs:\n      - targets:\n' \
            "$(sed -n 's/.*job_name: \([a-z]*\).*/\1/p' "$rules/prometheus.yml")"
        endpoints | sed 's/.*/          - "&"/'
    } >"$folder/prometheus.yml"
}

# ask EXPRESSION: the answer; fails if it is none.
ask() {
    curl -sf --max-time 5 --get "http://$web/api/v1/query" --data-urlencode "query=$1"
}

# query EXPRESSION: is there anything?
query() {
    ask "$1" | grep -q '"value":'
}

# Every panel asks what Prometheus understands, and most of them something that there is without sites, changes or failures.
dashboard() {
    local expression all=0 empty=0
    while read -r expression; do
        ask "$expression" >"$folder/answer" || { echo "no answer: $expression"; return 1; }
        grep -q '"value":' "$folder/answer" || { echo "nothing: $expression"; empty=$((empty + 1)); }
        all=$((all + 1))
    done < <(sed -n 's/^ *"expr": "\(.*\)",$/\1/p' "$root/deploy/grafana/orbloom.json" |
        sed 's/\\"/"/g; s/\$__rate_interval/5s/g; s/\$[a-z]*/.*/g')
    echo "of $all expressions $empty find nothing"
    [ "$all" -gt 30 ] && [ "$empty" -lt $((all / 3)) ]
}

# await WHAT EXPRESSION: until there is.
await() {
    local end=$((SECONDS + wait_s))
    until kill -0 "$prometheus" 2>/dev/null && query "$2"; do
        if [ "$SECONDS" -ge "$end" ] || ! kill -0 "$prometheus" 2>/dev/null; then
            echo "not within $wait_s s: $1 ($2)"
            tail -n 20 "$folder/prometheus.log"
            return 1
        fi
        sleep 0.2
    done
    echo "$1 after $SECONDS s"
}

# A node that is killed is told, also by whom it served with, and not any more once it is back.
drill() {
    local all
    all=$(endpoints | wc -l)
    "$bin/orbloom" create urls --capacity 100k --fpr 1% || return 1
    await "all answer" "count(up == 1) == $all" || return 1
    await "the filter is told" 'orbloom_filter_shards_under_replicated{filter="urls"} == 0' || return 1
    seq 1000 | "$bin/orbloom" add --quiet urls && seq 1000 | "$bin/orbloom" check urls >/dev/null || return 1
    await "keys are told" 'sum(rate(orbloom_keys_total[5s])) > 0' || return 1
    dashboard || return 1
    await "quiet" "absent(ALERTS{alertstate=\"firing\"})" || return 1
    kill -KILL "$(cat "$ORBLOOM_DIR/node-1/pid")" || return 1
    await "down" 'ALERTS{alertname="OrbloomTargetDown",alertstate="firing"}' || return 1
    await "silent" 'ALERTS{alertname="OrbloomNodeSilent",alertstate="firing",node="node-1"}' || return 1
    await "lacking" 'ALERTS{alertname="OrbloomUnderReplicated",alertstate="firing",filter="urls"}' || return 1
    if query 'ALERTS{alertname="OrbloomQuorumLost"}'; then
        echo "two of three replicas are a quorum"
        return 1
    fi
    "$bin/orbloom-node" --config "$ORBLOOM_DIR/node-1/conf" >"$folder/node.log" 2>&1 &
    node=$!
    await "back" 'absent(ALERTS{alertname=~"OrbloomTargetDown|OrbloomNodeSilent|OrbloomUnderReplicated"})' || return 1
}

# As --run of the playground: with a Prometheus for as long as it takes.
watch_cluster() {
    local status=0
    node=
    configure
    prometheus --config.file="$folder/prometheus.yml" --storage.tsdb.path="$folder/series" \
        --web.listen-address="$web" --log.level=warn >"$folder/prometheus.log" 2>&1 &
    prometheus=$!
    if await "Prometheus answers" "vector(1)"; then
        : >"$folder/began"
        drill || status=1
    fi
    # shellcheck disable=SC2086 # no node, no word
    kill "$prometheus" $node 2>/dev/null
    wait
    return "$status"
}

# What promtool says of what each daemon tells.
lint_cluster() {
    local endpoint status=0
    : >"$folder/began"
    for endpoint in $(endpoints); do
        echo "$endpoint"
        curl -sf --max-time 5 "http://$endpoint/metrics" >"$folder/told" && promtool check metrics <"$folder/told" || status=1
    done
    return "$status"
}

# ---- around it ----

# playground PART: on ports that are free, as chance will have it: another try where they are not.
playground() {
    local base
    for _ in 1 2 3; do
        base=$((20000 + RANDOM % 1000 * 10))
        "$bin/orbloom" playground --nodes 3 --base-port "$base" --run \
            env PROMETHEUS_PART="$1" PROMETHEUS_FOLDER="$folder" PROMETHEUS_WEB=127.0.0.1:$((base + 500)) \
            "$root/tools/test-prometheus.sh"
        status=$?
        if [ -e "$folder/began" ]; then
            rm "$folder/began"
            return "$status"
        fi
    done
    return 1
}

if [ -n "${PROMETHEUS_PART:-}" ]; then
    folder=$PROMETHEUS_FOLDER
    web=$PROMETHEUS_WEB
    "$PROMETHEUS_PART"
    exit
fi
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

if [ "${1:-}" = playground ]; then
    playground "$2"
    exit
fi
if command -v promtool >/dev/null 2>&1; then
    try "promtool check rules" promtool check rules "$rules/rules.yml"
    try "promtool check config" promtool check config --syntax-only "$rules/prometheus.yml"
    try "promtool test rules" promtool test rules "$rules/rules_test.yml"
    try "promtool check metrics" "$0" playground lint_cluster
else
    skip alerts "no promtool (tools/install-deps.sh operate)"
fi
if command -v prometheus >/dev/null 2>&1 && command -v curl >/dev/null 2>&1; then
    try "a node that is killed is told" "$0" playground watch_cluster
else
    skip "a node that is killed is told" "no prometheus, or no curl (tools/install-deps.sh operate)"
fi

conclude
