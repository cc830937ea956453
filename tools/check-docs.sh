#!/bin/sh
# Do the programs and their documents agree? tools/check-docs.sh BIN-DIRECTORY [ROOT]
#
# - Every option that a daemon prints with --print-options (name, unit, range, default, help
#   between tabs) has a row in a table of docs/configuration.md, with the same default; and a
#   table below a heading that names the daemon has no other rows.
# - deploy/node.conf, router.conf, link.conf and coordinator.conf pass --check-config, with keys and
#   folders that are there.
# - Every command of `orbloom help --names` is named in README.md or docs/cli.md, and every flag
#   of its help there or in docs/benchmark.md.
# - Sources name no `orbloom COMMAND` in backticks that is not in that list, and no BF.NAME that is
#   not in router/resp/command_table.c.
# - Every family of metrics that sources name ("orbloom_...") is named in docs/operations.md, and every
#   family in a table there below "With labels" by a source.
# - Every example of client/examples has fewer than 100 lines and a heading in docs/examples.md.
# - docs/clients/node.md shows client/examples/resp_seen.js as it is.
# - The walks through the code in docs/architecture.md name files that are there, and in their first
#   column functions that the file before them defines.
# - Every .c file begins with a comment that says what it is for.
#
# In configuration.md a table of options has a column "option" first and one named "default";
# a default is written in backticks or plain, and as "-" or nothing where there is none. Rows
# below a heading that names no daemon count for all of them.
set -u

bin=${1:?usage: tools/check-docs.sh BIN-DIRECTORY [ROOT]}
root=${2:-$(dirname "$0")/..}
configuration=$root/docs/configuration.md
options=$(mktemp) || exit 2
samples=$(mktemp -d) || exit 2
mkdir "$samples/coordinator" "$samples/router" || exit 2
trap 'rm -rf "$options" "$samples"' EXIT
(umask 077 && printf '%064d\n' 1 >"$samples/cluster.key" &&
    printf 'orbloom-site-secret %064d\n' 1 >"$samples/site.key")
compared=0
wrong=0

complain() {
    echo "$*"
    wrong=1
}

# has_program NAME DIR: is it built? It must be when it has a main.c.
has_program() {
    if [ -x "$bin/$1" ]; then
        compared=1
        return 0
    fi
    if [ -e "$root/$2/main.c" ]; then
        complain "$bin/$1 is not built"
    fi
    return 1
}

compare_options() {
    awk -v program="$1" -v applies=1 '
    function trim(text) {
        gsub(/^[ \t`]+|[ \t`]+$/, "", text)
        gsub(/\001/, "|", text)
        return text
    }
    function complain(text) {
        print place text
        bad = 1
    }
    FNR == 1 {
        file++
    }
    file == 1 {
        if (split($0, field, "\t") != 5) {
            complain(program " --print-options: not five fields in: " $0)
        }
        order[++count] = field[1]
        value[field[1]] = field[4]
        next
    }
    {
        line = $0
        gsub(/\\\|/, "\001", line)
    }
    /^#/ {
        applies = /orbloom-/ ? index($0 " ", program) > 0 : 1
        ours = applies && /orbloom-/
    }
    !/^[ \t]*\|/ {
        table = 0
        next
    }
    {
        cells = split(line, cell, "|")
    }
    !table {
        table = 1
        column = 0
        is_options = tolower(trim(cell[2])) == "option"
        for (i = 3; i < cells; i++) {
            if (tolower(trim(cell[i])) == "default") {
                column = i
            }
        }
        next
    }
    !is_options || !applies || cell[2] ~ /^[ :-]+$/ {
        next
    }
    {
        name = trim(cell[2])
        place = FILENAME ":" FNR ": "
        if (!(name in value)) {
            if (ours) {
                complain(program " has no option " name)
            }
            next
        }
        seen[name] = 1
        default_here = column ? trim(cell[column]) : "(no column)"
        if (default_here == "-") {
            default_here = ""
        }
        if (default_here != (value[name] == "-" ? "" : value[name])) {
            complain(program " " name ": default \"" default_here "\" here, \"" value[name] "\" in the program")
        }
    }
    END {
        place = ""
        if (count == 0) {
            complain(program " --print-options prints nothing")
        }
        for (i = 1; i <= count; i++) {
            if (!(order[i] in seen)) {
                complain("docs/configuration.md has no row for " program " " order[i])
            }
        }
        exit bad
    }' "$options" "$configuration" || wrong=1
}

check_daemon() {
    has_program "orbloom-$1" "$1" || return 0
    if ! "$bin/orbloom-$1" --print-options >"$options"; then
        complain "orbloom-$1 --print-options fails"
    elif [ ! -s "$options" ]; then
        complain "orbloom-$1 --print-options prints nothing"
    elif [ ! -e "$configuration" ]; then
        complain "docs/configuration.md does not exist"
    else
        compare_options "orbloom-$1"
    fi
    if [ ! -e "$root/deploy/$1.conf" ]; then
        complain "deploy/$1.conf does not exist"
    fi
}

# check_sample FILE: named after its daemon, and accepted by it.
check_sample() {
    program=orbloom-$(basename "$1" .conf)
    case $program in
    orbloom-node | orbloom-router | orbloom-link | orbloom-coordinator) ;;
    *)
        complain "$1: no daemon of that name"
        return
        ;;
    esac
    sed "s|\"/etc/orbloom/|\"$samples/|; s|\"/var/lib/orbloom/|\"$samples/|" "$1" >"$samples/conf"
    if [ -x "$bin/$program" ] && ! "$bin/$program" --config "$samples/conf" --check-config >/dev/null; then
        complain "$1: refused by $program --check-config"
    fi
}

# sources PATTERN: what of it stands in the programs' sources, each once.
sources() {
    for dir in cli client coordinator node router link lib proto; do
        if [ -d "$root/$dir" ]; then
            grep -rhoE --include='*.[ch]' -e "$1" "$root/$dir"
        fi
    done | sort -u
}

# Texts that tell a user what to do name commands that exist.
check_texts() {
    for command in $(sources '`orbloom [a-z]+' | sed 's/.* //'); do
        if ! "$bin/orbloom" help --names | grep -qx -e "$command"; then
            complain "a text names orbloom $command, which does not exist"
        fi
    done
    for command in $(sources '\bBF\.[A-Z]+' | tr '[:upper:]' '[:lower:]'); do
        if ! grep -qF -e "\"$command\"" "$root/router/resp/command_table.c"; then
            complain "a text names $command, which does not exist"
        fi
    done
}

check_flags() {
    for flag in $("$bin/orbloom" help "$1" 2>/dev/null | grep -oE '^ +--[a-z-]+' | sort -u); do
        if ! grep -qF -e "$flag" "$root/README.md" "$root/docs/cli.md" \
            "$root/docs/benchmark.md" 2>/dev/null; then
            complain "no document names orbloom $1 $flag"
        fi
    done
}

check_commands() {
    has_program orbloom client || return 0
    names=$("$bin/orbloom" help --names) || complain "orbloom help --names fails"
    [ -n "$names" ] || complain "orbloom help --names prints nothing"
    for name in $names; do
        if ! cat "$root/README.md" "$root/docs/cli.md" 2>/dev/null |
            grep -Eq "(orbloom |\`)$name([^a-z-]|\$)"; then
            complain "neither README.md nor docs/cli.md names orbloom $name"
        fi
        check_flags "$name"
    done
}

# check_example FILE: short enough to be read at once, and described.
check_example() {
    lines=$(wc -l <"$1")
    if [ "$lines" -ge 100 ]; then
        complain "$1: $lines lines; an example has fewer than 100"
    fi
    name=$(basename "$1")
    name=${name%.*}
    if ! grep -q "^## $name\$" "$root/docs/examples.md" 2>/dev/null; then
        complain "docs/examples.md has no heading \"## $name\""
    fi
}

# check_shown PAGE FILE: the page's code in JavaScript is the file, which is tested.
check_shown() {
    [ -e "$root/$1" ] || return 0
    sed -n '/^```js$/,/^```$/p' "$root/$1" | sed '/^```/d' >"$samples/shown"
    if ! cmp -s "$samples/shown" "$root/$2"; then
        complain "$1 does not show $2 as it is"
    fi
}

# What rows of the walks name, a line each: "path NAME" and "function NAME PATH".
walked() {
    awk -F '|' '
    /^## / { walks = /walks through the code/ }
    walks && /^\|/ {
        for (column = 2; column < NF; column++) {
            n = split($column, part, "`")
            for (i = 2; i <= n; i += 2) {
                if (part[i] ~ /^[a-z_\/]+\/[a-z_]+[.][ch]$/) {
                    path = part[i]
                    print "path", path
                } else if (column == 2) {
                    print "function", part[i], path
                }
            }
        }
    }' "$root/docs/architecture.md"
}

check_walks() {
    [ -e "$root/docs/architecture.md" ] || return 0
    walked >"$samples/walked"
    while read -r kind name path; do
        if [ "$kind" = path ] && [ ! -e "$root/$name" ]; then
            complain "docs/architecture.md: a walk names $name, which does not exist"
        elif [ "$kind" = function ] && [ -e "$root/$path" ] &&
            ! grep -E "^[a-z].*[ *]$name\(" "$root/$path" | grep -qv ';$'; then
            complain "docs/architecture.md: a walk names $name of $path, which does not define it"
        fi
    done <"$samples/walked"
}

# What a file is for stands in its first line, before anybody reads on.
check_heads() {
    for dir in bench cli client coordinator lib link node proto router tests; do
        if [ -d "$root/$dir" ]; then
            find "$root/$dir" -name '*.c' -type f -exec awk '
            FNR == 1 && !/^\/\* *[^ *]/ { print substr(FILENAME, length(root) + 2) }
            { nextfile }' root="$root" {} +
        fi
    done | sort >"$samples/headless"
    while read -r file; do
        complain "$file: no comment at its head says what it is for"
    done <"$samples/headless"
}

# Families with labels have names of their own, which stand in sources as texts of one word.
check_families() {
    operations=$root/docs/operations.md
    [ -e "$operations" ] || return 0
    families=$(sources '"orbloom_[a-z_]*[a-z]"' | tr -d '"')
    for family in $families; do
        if ! grep -qF -e "\`$family\`" "$operations"; then
            complain "docs/operations.md does not name the family $family"
        fi
    done
    for family in $(sed -n '/^#### With labels/,/^#### Some/s/^| `\(orbloom_[a-z_]*\)`.*/\1/p' "$operations"); do
        if ! echo "$families" | grep -qx -e "$family"; then
            complain "docs/operations.md names the family $family, which nobody tells"
        fi
    done
}

for daemon in node router link coordinator; do
    check_daemon "$daemon"
done
for sample in "$root"/deploy/*.conf; do
    if [ -e "$sample" ]; then
        check_sample "$sample"
    fi
done
check_commands
check_walks
check_heads
if [ -x "$bin/orbloom" ]; then
    check_texts
fi
check_families
check_shown docs/clients/node.md client/examples/resp_seen.js
for example in "$root"/client/examples/*.c "$root"/client/examples/*.js "$root"/client/examples/*.py; do
    if [ -e "$example" ]; then
        check_example "$example"
    fi
done
if [ "$compared" -eq 0 ] && [ "$wrong" -eq 0 ]; then
    echo "options: no programs yet, nothing to compare"
fi
exit "$wrong"
