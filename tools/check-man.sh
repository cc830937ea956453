#!/bin/sh
# Are the man pages in order? tools/check-man.sh BUILD
#
# - Each command has a page, and orbloom(1) names it; each daemon has one.
# - Each flag and each option that a program tells of stands in its page.
# - man has nothing to warn of, and apropos can read what the page is about.
# - Pages that pages name are there.
set -u

build=${1:?usage: tools/check-man.sh BUILD}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
seen=0
wrong=0

complain() {
    echo "$*"
    wrong=1
}

# has PAGE TERM: is there an entry for it? Terms are as roff has them, after escapes.
has() {
    sed 's/\\f[BIR]//g; s/\\//g' "$1" | grep -qE -e "^(-., )?$2( |\$)" || complain "$1 does not describe $2"
}

lint() {
    seen=$((seen + 1))
    if ! command -v man >/dev/null 2>&1; then
        [ "$seen" -gt 1 ] || echo "no man here, so it was not asked what it thinks of the pages"
        return
    fi
    man --warnings -E UTF-8 -l -Tutf8 -Z "$1" >/dev/null 2>"$dir/warnings" </dev/null
    while read -r warning; do
        complain "$warning"
    done <"$dir/warnings"
    lexgrog "$1" >/dev/null || complain "$1: lexgrog finds no name and summary"
}

check_command() {
    page=$build/man/orbloom-$1.1
    [ -e "$page" ] || complain "orbloom $1 has no page"
    has "$build/man/orbloom.1" "orbloom-$1[(]1[)]"
    for flag in $("$build/bin/orbloom" help --print "$1" | awk -F '\t' '$1 == "flag" { print $2 }'); do
        has "$page" "--$flag"
    done
}

check_daemon() {
    page=$build/man/orbloom-$1.8
    [ -e "$page" ] || complain "orbloom-$1 has no page"
    for option in $("$build/bin/orbloom-$1" --print-options | cut -f 1); do
        has "$page" "$option"
    done
}

for name in $("$build/bin/orbloom" help --names); do
    check_command "$name"
done
for name in coordinator link node router; do
    check_daemon "$name"
done
for page in "$build"/man/*.[18]; do
    lint "$page"
done
for named in $(sed 's/\\f[BIR]//g; s/\\//g' "$build"/man/*.[18] | grep -ohE 'orbloom[a-z-]*[(][18][)]' | sort -u); do
    name=${named%(*}
    section=${named#*(}
    [ -e "$build/man/$name.${section%)}" ] || complain "a page names $named, which is not there"
done
[ "$wrong" -eq 0 ] && echo "$seen man pages are in order"
exit "$wrong"
