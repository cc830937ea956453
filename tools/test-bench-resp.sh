#!/bin/bash
# Does the benchmark's part about Redis clients measure each figure, and leave nothing behind?
#   tools/test-bench-resp.sh BUILD-DIRECTORY
# Everything is real, and as small as can be; no speed is judged, since machines differ.
set -u

build=$(cd "${1:?usage: tools/test-bench-resp.sh BUILD-DIRECTORY}" && pwd) || exit 2
runner=$(cd "$(dirname "$0")/../bench" && pwd)/run.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/tmp"
wrong=0

complain() {
    echo "bench/resp.sh: $1"
    tail -n 30 "$dir/output" | sed 's/^/    /'
    wrong=1
}

TMPDIR=$dir/tmp BENCH=tiny PARTS=resp "$runner" "$build" "$dir/report" >"$dir/output" 2>&1 </dev/null ||
    complain "exit $? instead of 0"
[ -z "$(ls "$dir/tmp")" ] || complain "files were left: $(ls "$dir/tmp")"
for name in "BF.EXISTS" "BF.MEXISTS of 1,000" "BF.ADD on disk"; do
    for figure in "$name" "$name, CPU" "$name, by Redis"; do
        grep -q "^| resp: $figure | [0-9]" "$dir/report/report.md" || complain "resp: $figure has no value"
    done
done
for name in "an idle connection" "beside idle connections"; do
    grep -q "^| resp: $name | [0-9]" "$dir/report/report.md" || complain "resp: $name has no value"
done

[ "$wrong" -eq 0 ] && echo "the benchmark's part about Redis clients measures, and leaves nothing behind"
exit "$wrong"
