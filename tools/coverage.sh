#!/bin/sh
# Lines reached, summed by source directory: tools/coverage.sh OBJECT-DIRECTORY
set -u

cd "$(dirname "$0")/.." || exit 2
find "$1" -name '*.gcda' -print0 | xargs -0 -r gcov -n 2>/dev/null | awk '
/^File / {
    file = substr($0, 7, length($0) - 7)
}
/^Lines executed:/ && file != "" {
    split($0, part, /[:% ]+/)
    percent = part[3]
    count = part[5]
    if (file !~ /^\// && file !~ /^(tests|build)\// && count > lines[file]) {
        lines[file] = count
        hits[file] = percent * count / 100
    }
    file = ""
}
END {
    for (file in lines) {
        dir = file
        sub(/\/[^\/]*$/, "", dir)
        sum[dir] += lines[file]
        hit[dir] += hits[file]
        sum["all"] += lines[file]
        hit["all"] += hits[file]
    }
    for (dir in sum) {
        printf "%-16s %6d lines %6.1f %%\n", dir, sum[dir], 100 * hit[dir] / sum[dir]
    }
}' | sort
