#!/bin/sh
# tools/format.sh: rewrite all sources with clang-format.
# tools/format.sh --check: exit 1 naming the files that it would change; passes, saying so,
# where clang-format is not installed.
set -u

cd "$(dirname "$0")/.." || exit 2
if ! command -v clang-format >/dev/null 2>&1; then
    echo "format: skipped, clang-format is not installed"
    exit 0
fi

sources() {
    for dir in lib proto node router coordinator link client cli bench tests; do
        if [ -d "$dir" ]; then
            find "$dir" -name '*.[ch]' -type f
        fi
    done | sort
}

if [ "${1-}" != --check ]; then
    sources | xargs -r clang-format -i
    exit
fi
# One process for all: starting one for each file takes longer than looking at it.
changed=$(sources | xargs -r clang-format --dry-run 2>&1 | sed -n 's/:[0-9]*:[0-9]*: warning: .*//p' | sort -u)
[ -z "$changed" ] && exit 0
echo "$changed" | sed 's/$/: clang-format would change it; run make format/'
exit 1
