#!/bin/bash
# The page of a coordinator in a real browser, on a cluster of its own; see tests/page.
#
# $ORBLOOM_BIN_DIR holds the programs; PAGE_FILTERS: how many filters there are, 40 if it is not set;
# PAGE_PICTURES: a folder for screenshots. Without Chromium, its driver or Node.js 18 it is skipped.
# Last line: "N passed, N failed", with ", N skipped" where any was; exit 1 if any failed.
set -u

bin=${ORBLOOM_BIN_DIR:-build/bin}
tests=$(cd "$(dirname "$0")/.." && pwd)/tests/page
major=$(node --version 2>/dev/null | sed -n 's/^v\([0-9]*\).*/\1/p')

skip() {
    echo "skip  page: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

if [ "${major:-0}" -lt 18 ]; then
    skip "no Node.js, 18 or newer"
fi
for program in chromium chromedriver; do
    command -v "$program" >/dev/null 2>&1 || skip "no $program (tools/install-deps.sh operate)"
done
exec timeout -k 10 "${PAGE_RUN_S:-500}" node "$tests/page.mjs" "$bin" "${PAGE_FILTERS:-40}" ${PAGE_PICTURES:+"$PAGE_PICTURES"}
