#!/bin/sh
# Is a defect in these programs hard to use? tools/check-hardening.sh FOLDER...
#
# Every program and shared library there must have, as readelf tells:
#   PIE              it is loaded wherever the kernel likes, as libraries always are
#   RELRO            what the loader has filled in is read-only from then on ...
#   BIND_NOW         ... which is all of it, as every symbol is looked up at the start
#   stack protector  a function that has written past its arrays does not return
#   FORTIFY          calls such as memcpy that know the size of what they write to look at it
#   noexec stack     nothing that was written to the stack is run
# Exit 1 naming what which program lacks, 2 without readelf.
set -u

readelf=${READELF:-readelf}
seen=0
wrong=0

if [ $# -eq 0 ]; then
    echo "usage: tools/check-hardening.sh FOLDER..." >&2
    exit 2
fi
if ! command -v "$readelf" >/dev/null 2>&1; then
    echo "no $readelf here, which tells how programs are linked: it is in the package binutils" >&2
    exit 2
fi

complain() {
    echo "$*"
    wrong=1
}

# has PATTERN: does a line of what readelf tells match?
has() {
    printf '%s\n' "$told" | grep -qE -e "$1"
}

# wants PROPERTY PATTERN
wants() {
    has "$2" || complain "$program lacks $1"
}

check() {
    if ! told=$("$readelf" -W -l -d --dyn-syms "$program" 2>/dev/null) || ! has 'LOAD'; then
        complain "$program is no program that $readelf can read"
        return
    fi
    has '\(SONAME\)' || wants PIE '\(FLAGS_1\).* PIE( |$)'
    wants RELRO '^ *GNU_RELRO '
    wants BIND_NOW '\(FLAGS_1\).* NOW( |$)|\(FLAGS\).* BIND_NOW( |$)|\(BIND_NOW\)'
    wants "stack protector" ' __stack_chk_fail(@|$)'
    wants FORTIFY ' __[a-z0-9_]+_chk(@|$)'
    wants "noexec stack" '^ *GNU_STACK .* RW +0x'
}

for folder in "$@"; do
    for program in "$folder"/*; do
        if [ -f "$program" ] && [ -x "$program" ]; then
            seen=$((seen + 1))
            check
        fi
    done
done
if [ "$seen" -eq 0 ]; then
    complain "no programs in $*"
fi
[ "$wrong" -eq 0 ] && echo "$seen programs have it all"
exit "$wrong"
