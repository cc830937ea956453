#!/bin/sh
# Debian's packages that the libraries of programs are from, with commas between: tools/library-packages.sh PROGRAM...
# Exit 1, and nothing on stdout, if a program can't be looked at, or if a library is missing or of no package.
set -eu

: "${1:?usage: tools/library-packages.sh PROGRAM...}"

refuse() {
    echo "library-packages: $*" >&2
    exit 1
}

# package_of LIBRARY: what ldd names may be below /usr, and be known without it, or the other way round.
package_of() {
    dpkg -S "$1" 2>/dev/null || dpkg -S "/usr$1" 2>/dev/null || dpkg -S "${1#/usr}" 2>/dev/null ||
        refuse "$1 is of no package"
}

# No pipes here: of a pipe's commands only the last one's end counts.
linked=
for program in "$@"; do
    libraries=$(ldd "$program") || refuse "ldd cannot tell what $program is linked with"
    case $libraries in
    *"not found"*) refuse "$program lacks $(echo "$libraries" | sed -n 's/^[[:space:]]*\(.*\) => not found.*/\1/p' | paste -sd ' ')" ;;
    esac
    linked="$linked$libraries
"
done
packages=
for library in $(echo "$linked" | sed -n 's|.*=> \(/[^ ]*\) .*|\1|p' | sort -u); do
    found=$(package_of "$library")
    packages="$packages${found%%[:,]*}
"
done
printf %s "$packages" | sort -u | paste -sd, -
