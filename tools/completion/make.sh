#!/bin/bash
# Make the shells' completion: tools/completion/make.sh BIN OUT
#
# OUT/orbloom for bash and OUT/_orbloom for zsh: the file here with the shell's name, and in it, where "@ROWS@" stands, a case for each command and daemon, of the very tables that make --help (rows.awk says which).
# What a cluster holds, such as names of filters, is not asked for.
set -euo pipefail

bin=$1
out=$2
here=$(dirname "$0")

commands=$("$bin/orbloom" help --names)

rows() {
    for command in $commands; do
        echo "case $command"
        "$bin/orbloom" help --print "$command" | awk -f "$here/rows.awk"
    done
    for daemon in coordinator link node router; do
        printf 'case orbloom-%s\nwords \n' "$daemon"
        printf -- '--%s\n' "config file	the configuration file" "check-config switch	say whether all is well, and exit" \
            "help switch	list options" "version switch	show the version" "print-options switch	list options for programs"
        "$bin/orbloom-$daemon" --print-options | awk -f "$here/rows.awk"
    done
}

# Text within single quotes holds none of them.
quoted() {
    awk -v shell="$1" '
    function close_case() { if (open) { print "        ;;" } open = 1 }
    { gsub(/\047/, "\047\\\047\047") }
    /^case / { close_case(); print "    " $2 ")"; next }
    /^words / { print "        grammar=\047" substr($0, 7) "\047"; next }
    { if (shell == "bash") { sub(/\t.*/, "") } print "        rows+=(\047" $0 "\047)" }
    END { close_case() }'
}

# make_file SHELL FILE
make_file() {
    rows | quoted "$1" >"$out/.rows"
    # shellcheck disable=SC2086 # as a line
    sed -e "s/@COMMANDS@/$(echo $commands)/" -e "/@ROWS@/{
        r $out/.rows
        d
    }" "$here/$1" >"$out/.made"
    rm "$out/.rows"
    mv "$out/.made" "$out/$2"
}

mkdir -p "$out"
make_file bash orbloom
make_file zsh _orbloom
