#!/bin/bash
# Does the benchmark's part about growth measure each figure, and leave nothing behind?
#   tools/test-bench-growth.sh BUILD-DIRECTORY
# Everything is real, and as small as can be; no speed is judged, since machines differ.
set -u

build=$(cd "${1:?usage: tools/test-bench-growth.sh BUILD-DIRECTORY}" && pwd) || exit 2
runner=$(cd "$(dirname "$0")/../bench" && pwd)/run.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/tmp"
wrong=0

complain() {
    echo "bench/growth.sh: $1"
    tail -n 30 "$dir/output" | sed 's/^/    /'
    wrong=1
}

TMPDIR=$dir/tmp BENCH=tiny PARTS=growth "$runner" "$build" "$dir/report" >"$dir/output" 2>&1 </dev/null ||
    complain "exit $? instead of 0"
[ -z "$(ls "$dir/tmp")" ] || complain "files were left: $(ls "$dir/tmp")"
# So few keys may be read back between two looks; then that is said.
grep -q -e "^| growth: backfill and verify | [0-9]" \
    -e "^- not run: growth: backfill and verify: it took less than" "$dir/report/report.md" ||
    complain "growth: backfill and verify has no value"
for name in "p99 of checks" "until it is over" "client-visible retries" \
    "STALE answers" "memory at the peak" "memory afterwards" "error rate, before" \
    "error rate, while it grows" "error rate, afterwards" "error rate, full again"; do
    grep -q "^| growth: $name | [0-9]" "$dir/report/report.md" || complain "growth: $name has no value"
done
for name in "client-visible retries" "STALE answers" "error rate"; do
    ! grep "^| $name.*not met" "$dir/report/report.md" || complain "$name: not met"
done

[ "$wrong" -eq 0 ] && echo "the benchmark's part about growth measures, and leaves nothing behind"
exit "$wrong"
