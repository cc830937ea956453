#!/bin/bash
# Make the man pages: tools/man/make.sh BIN VERSION OUT
#
# Of the very tables that make --help, as the programs in BIN print them, and of the words in the .roff files
# here: orbloom.1, a page for each command, and one for each daemon.
set -euo pipefail

bin=$1
version=$2
out=$3
here=$(dirname "$0")

# page NAME: the rest of what is written is OUT/NAME when all of it is there.
page() {
    cat >"$out/.page" && mv "$out/.page" "$out/$1"
}

overview() {
    printf '.TH ORBLOOM 1 "" "orbloom %s" orbloom\n.SH NAME\n%s\n' "$version" \
        'orbloom \- ask a cluster of Bloom filters which keys it has seen'
    cat "$here/orbloom.roff"
    echo '.SH COMMANDS'
    for command in $commands; do
        "$bin/orbloom" help --print "$command" | awk -F '\t' -v command="$command" -f "$here/roff.awk" \
            -f "$here/overview.awk"
    done
    cat "$here/orbloom-end.roff"
    echo '.SH SEE ALSO'
    for daemon in coordinator link node; do
        printf '\\fBorbloom\\-%s\\fR(8),\n' "$daemon"
    done
    echo '\fBorbloom\-router\fR(8)'
}

mkdir -p "$out"
rm -f "$out"/*.[18]
commands=$("$bin/orbloom" help --names)
overview | page orbloom.1
for command in $commands; do
    "$bin/orbloom" help --print "$command" | awk -v command="$command" -v version="$version" -f "$here/roff.awk" \
        -f "$here/command.awk" | page "orbloom-$command.1"
done
for daemon in coordinator link node router; do
    name=orbloom-$daemon
    summary=$("$bin/$name" --help | sed -n "1s/^$name - //p")
    "$bin/$name" --print-options | awk -v name="$name" -v summary="$summary" -v version="$version" \
        -v described="$here/$name.roff" -v common="$here/daemon.roff" -f "$here/roff.awk" -f "$here/daemon.awk" |
        page "$name.8"
done
