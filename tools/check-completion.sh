#!/bin/bash
# Do bash and zsh complete what they should? tools/check-completion.sh BUILD
#
# Each line of the table below is typed to a bash, and to a zsh on a pseudo-terminal where there is one; what must
# be offered stands behind it, what must not be after a "!". In a folder that holds the file keys.txt and the folder
# kept. What all commands have is looked at too.
set -u

build=${1:?usage: tools/check-completion.sh BUILD}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
wrong=0
cp "$build"/completion/* "$dir"
mkdir "$dir/place" "$dir/place/kept"
touch "$dir/place/keys.txt"

# typed | offered
table='orbloom ch|check !create
orbloom |add doctor version !playground-child
orbloom check seen --on|--only
orbloom check seen --only |absent present unknown maybe
orbloom check seen --only=ab|absent !present
orbloom check |!keys.txt !absent
orbloom check seen |keys.txt
orbloom check seen keys.txt |keys.txt
orbloom check --only absent seen |keys.txt !absent
orbloom check seen --credential |keys.txt
orbloom check seen --quiet |keys.txt
orbloom check --router tcp://a:7401 |!keys.txt
orbloom check --router=tcp://a:7401,tcp://b:7401 seen |keys.txt
orbloom check seen -- --on|!--only
orbloom node |drain replace remove
orbloom node drain |!drain !keys.txt
orbloom site |add remove pause resume resync
orbloom shard accept-loss seen |all
orbloom expire seen |never
orbloom rebuild seen |begin feed commit abort
orbloom rebuild seen feed |keys.txt
orbloom user apply |keys.txt
orbloom user create |!keys.txt
orbloom user create x --role |client monitor admin
orbloom key add |keys.txt
orbloom map |backup restore
orbloom backup seen |keys.txt
orbloom backup --all |keys.txt verify
orbloom help |dedup
orbloom plan --table |!keys.txt
orbloom playground --dir |kept !keys.txt
orbloom-node --dur|!--only
orbloom-node --log_level |error debug
orbloom-node --log_level=|error debug
orbloom-node --config |keys.txt
orbloom-coordinator --cluster_key_file |keys.txt
orbloom-router --check|--check-config'

in_bash() {
    (
        cd "$dir/place" && bash --norc -c '
        . "$1" || exit
        COMP_LINE=$2
        COMP_POINT=${#COMP_LINE}
        _orbloom "${COMP_LINE%% *}"
        printf "%s\n" "${COMPREPLY[@]}"' bash "$dir/orbloom" "$1"
    ) >"$dir/offered" 2>&1
}

# What its completion adds is written to a file, whatever zsh does with it.
in_zsh() {
    (
        cd "$dir/place" && TERM=dumb zsh -f -c '
        zmodload zsh/zpty
        zpty -b shell "TERM=dumb zsh -f -i"
        # What was typed is answered by a line of its own once it is done.
        zpty -w shell "fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -d $1/dump; PS1="
        zpty -w shell "_try() { compadd() { local -a got; builtin compadd -O got \"\$@\"; print -rl -- \$got >>$1/offered; builtin compadd \"\$@\" }; _main_complete; unfunction compadd; print over >>$1/over; compstate[insert]=; compstate[list]= }; zle -C try complete-word _try; bindkey \"^X\" try"
        zpty -w shell "print -r ready >>$1/over"
        for ((i = 0; i < 1200; i++)); do [[ -s $1/over ]] && break; sleep 0.05; done
        : >$1/over
        zpty -n -w shell "$2"$'"'\\x18'"'
        for ((i = 0; i < 1200; i++)); do [[ -s $1/over ]] && break; sleep 0.05; done
        zpty -d shell' zsh "$dir" "$1"
    ) >/dev/null 2>"$dir/said"
}

# look SHELL LINE WORD...: are the words offered, and those after a "!" not?
look() {
    local shell=$1 line=$2 word
    shift 2
    for word in "$@"; do
        if [ "${word#!}" = "$word" ]; then
            grep -qx -e "$word[ =/]*" "$dir/offered" || complain "$shell offers no $word after \"$line\""
        elif grep -qx -e "${word#!}[ =/]*" "$dir/offered"; then
            complain "$shell offers ${word#!} after \"$line\""
        fi
    done
}

complain() {
    echo "$1"
    sed 's/^/    /' "$dir/offered" | head -n 10
    wrong=1
}

try() {
    local shell=$1 line words
    while IFS='|' read -r line words; do
        : >"$dir/offered"
        : >"$dir/over"
        "in_$shell" "$line"
        # shellcheck disable=SC2086 # a list of words
        look "$shell" "$line" $words
    done
}

# Each flag of each command is offered.
flags() {
    local command flag
    for command in $("$build/bin/orbloom" help --names); do
        echo "orbloom $command -|$("$build/bin/orbloom" help --print "$command" |
            awk -F '\t' '$1 == "flag" { printf " --%s", $2 }')"
    done
}

try bash <<<"$table"
try bash < <(flags)
if command -v zsh >/dev/null 2>&1; then
    try zsh <<<"$table"
else
    echo "no zsh here, so its completion was not tried"
fi
[ "$wrong" -eq 0 ] && echo "what is typed is completed"
exit "$wrong"
