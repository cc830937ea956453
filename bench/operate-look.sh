#!/bin/bash
# Run by a playground for operate.sh: filters are made, and looked at as Prometheus, a browser and an
# operator look at them.
#   bench/operate-look.sh ORBLOOM BUILD ROWS-FILE WORK-DIRECTORY HTTP-PORT
# HTTP-PORT: of the coordinator; the router's is the next one, then come the nodes' (10 above).
set -u

orbloom=$1 build=$2 rows=$3 work=$4 port=$5
round=1
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

scraper=
trap '[ -z "$child$scraper" ] || kill $child $scraper 2>/dev/null' EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT

page() {
    curl -s -o /dev/null -m 10 -w '%{time_total} %{size_download}\n' "http://127.0.0.1:$1$2"
}

# median_of PORT PATH: sets took (s) and size (bytes), of 15.
median_of() {
    local all=()
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do all+=("$(page "$1" "$2")"); done
    read -r took size < <(printf '%s\n' "${all[@]}" | sort -n | sed -n 8p)
}

# number NAME FILE: the value of a member that stands alone in JSON.
number() {
    sed -n "s/.*\"$1\": \\([-0-9.e+]*\\).*/\\1/p" "$2" | head -n 1
}

make_filters() {
    local i
    for ((i = 0; i < OPERATE_FILTERS; i++)); do echo "BF.RESERVE watched-$i 0.01 1000"; done |
        wait_for redis-cli -s "$ORBLOOM_DIR/router/resp.sock" >/dev/null
}

# checks: sets p99, of single checks one after the other, in microseconds.
checks() {
    wait_for "$orbloom" bench --op check --filter loaded --filled --size "$OPERATE_KEYS" --batch 64 --in-flight 4 \
        --pace 100k --keys 100G --for "${OPERATE_S}s" --json >"$work/checks" 2>"$work/error" || return 1
    p99=$(number p99_us "$work/checks")
}

# scrape_all HOW: each process once a second, until it is stopped; files: as many bytes of files instead,
# which shows what starting curl costs on these cores.
scrape_all() {
    local at
    while :; do
        for at in "$port" $((port + 1)) $((port + 10)) $((port + 11)) $((port + 12)); do
            if [ "$1" = files ]; then
                curl -s -o /dev/null "file://$work/metrics-$at"
            else
                page "$at" /metrics >/dev/null
            fi
        done
        sleep 1
    done
}

# beside HOW NAME NOTE: the p99 of checks meanwhile.
beside() {
    scrape_all "$1" &
    scraper=$!
    checks || { failed "operate: p99 of checks, $2" "$(head -n 1 "$work/error")"; return; }
    kill "$scraper"
    wait "$scraper" 2>/dev/null
    scraper=
    figure "operate: p99 of checks, $2" "$p99" us "$3"
}

show_scrapes() {
    local alone files at
    "$orbloom" bench --op fill --filter loaded --size "$OPERATE_KEYS" --keys "$OPERATE_KEYS" >/dev/null 2>"$work/error" ||
        { failed "operate: p99 of checks, scraped" "no filter"; return; }
    checks || { failed "operate: p99 of checks, alone" "$(head -n 1 "$work/error")"; return; }
    alone=$p99
    figure "operate: p99 of checks, alone" "$alone" us "100,000 keys a second in batches of 64, for $OPERATE_S s"
    for at in "$port" $((port + 1)) $((port + 10)) $((port + 11)) $((port + 12)); do
        curl -s -m 10 -o "$work/metrics-$at" "http://127.0.0.1:$at/metrics"
    done
    beside files "beside files" "curl reads files as long as what processes tell, once a second"
    files=$p99
    beside pages "scraped" "each process once a second"
    figure "operate: p99 of checks, scraped by files" "$(value "a / b" a="$p99" b="$files")" times "what scraped processes add to curl"
    figure "operate: p99 of checks, scraped by alone" "$(value "a / b" a="$p99" b="$alone")" times ""
}

# cpu DAEMON: microseconds of its threads so far.
cpu() {
    awk '{ sum += $1 } END { printf "%.0f", sum / 1000 }' "/proc/$(cat "$ORBLOOM_DIR/$1/pid")"/task/*/schedstat
}

# show_cpu DAEMON NAME NOTE: its share of a core while nobody asks for keys.
show_cpu() {
    local before
    before=$(cpu "$1")
    sleep "$OPERATE_S"
    figure "operate: $2" "$(value "100 * (b - a) / 1000000 / s" a="$before" b="$(cpu "$1")" s="$OPERATE_S")" % "of a core; $3"
}

# show_rate SHARE: of a filter that is so full, what nodes measure beside what a client meets.
show_rate() {
    local size=$((OPERATE_KEYS * $1 / 100)) rest
    rest=$((2 * (OPERATE_KEYS - size)))
    "$orbloom" bench --op fill --filter "full-$1" --size "$size" --keys $((rest > 2 ? rest : 2)) >/dev/null 2>"$work/error" &&
        wait_for "$orbloom" bench --op check --filter "full-$1" --filled --size "$size" \
            --keys $((4 * OPERATE_KEYS)) --json >"$work/checks" 2>"$work/error" ||
        { failed "operate: rate at $1 %" "$(head -n 1 "$work/error")"; return; }
    figure "operate: rate at $1 %, by a client" "$(value "100 * f / c" f="$(number false_positives "$work/checks")" \
        c="$(number absent_checked "$work/checks")")" % "of absent keys; asked for at most 1 %"
}

# show_measured SHARE
show_measured() {
    "$orbloom" info "full-$1" --json >"$work/info" 2>"$work/error"
    figure "operate: rate at $1 %, by nodes" "$(value "100 * r" r="$(number measured_fpr "$work/info")")" % \
        "$(value "100 * r" r="$(number measured_fpr_low "$work/info")") to $(value "100 * r" \
            r="$(number measured_fpr_high "$work/info")") %, of $(number probes "$work/info") probes"
}

for share in 50 90 100; do show_rate "$share"; done
show_cpu node-1 "CPU of a node that measures rates" "3 filters, nobody asks"
sleep "$OPERATE_S"
for share in 50 90 100; do show_measured "$share"; done
make_filters
median_of "$port" /metrics
figure "operate: scrape of a coordinator" "$(value "1000 * t" t="$took")" ms "$OPERATE_FILTERS filters, $size bytes; median of 15"
median_of "$port" "/api/v1/filters?size=50"
figure "operate: 50 filters for the page" "$(value "1000 * t" t="$took")" ms "$size bytes; median of 15"
total=0
for path in / /page.css /page.js /icon.svg; do
    median_of "$port" "$path"
    total=$((total + size))
done
figure "operate: page" "$total" bytes "four files"
show_scrapes
scrape_all pages &
scraper=$!
show_cpu coordinator "CPU of a coordinator that is scraped" "once a second, $OPERATE_FILTERS filters"
exit 0
