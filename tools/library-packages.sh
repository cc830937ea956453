#!/bin/sh
# Debian's packages that the libraries of programs are from, with commas between: tools/library-packages.sh PROGRAM...
set -eu

for program in "$@"; do
    ldd "$program"
done | sed -n 's|.*=> \(/[^ ]*\) .*|\1|p' | sort -u | while read -r path; do
    # What ldd names may be below /usr, and be known without it, or the other way round.
    dpkg -S "$path" 2>/dev/null || dpkg -S "/usr$path" 2>/dev/null || dpkg -S "${path#/usr}" 2>/dev/null || {
        echo "$path is of no package" >&2
        exit 1
    }
done | sed 's/[:,].*//' | sort -u | paste -sd, -
