#!/bin/sh
# Can a backup be restored, and is in it what should be? tools/restore-drill.sh FILE FILTER [KEYS]
#
# Looks through FILE, restores FILTER of it under a name of its own beside the one that serves, looks
# whether a key of the file KEYS, one a line, is absent there, tells how many keys it has, and drops it
# again. Needs an admin, and room for a second copy of the filter. ORBLOOM_BACKUP_PASSPHRASE: a file with
# the passphrase of FILE. Exit: 0 all is well, else not.
set -u

orbloom=${ORBLOOM:-orbloom}
file=${1:-} filter=${2:-} keys=${3:-}
if [ -z "$filter" ]; then
    echo "usage: restore-drill.sh FILE FILTER [KEYS]" >&2
    exit 2
fi
name=drill-$(date -u +%Y%m%dT%H%M%SZ)-$$

# with_passphrase COMMAND...: and the flag, if there is one.
with_passphrase() {
    if [ -n "${ORBLOOM_BACKUP_PASSPHRASE:-}" ]; then
        "$@" --passphrase-file "$ORBLOOM_BACKUP_PASSPHRASE"
    else
        "$@"
    fi
}

drop() {
    "$orbloom" drop "$name" --timeout 1m >/dev/null 2>&1
}

fail() {
    echo "restore-drill: failed: $1" >&2
    exit 1
}

begun=$(date +%s)
with_passphrase "$orbloom" backup verify "$file" || fail "$file is not whole"
trap drop EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT
with_passphrase "$orbloom" restore "$file" --only "$filter" --as "$name" ||
    fail "$filter can't be restored of $file"
if [ -n "$keys" ]; then
    absent=$("$orbloom" check "$name" --only absent "$keys") || fail "not all keys could be asked for"
    [ -z "$absent" ] || fail "keys are absent, the first one: $(printf '%s' "$absent" | head -n 1)"
fi
"$orbloom" info "$name" | grep '^keys' || fail "$name does not say what it is"
echo "restore-drill: $filter of $file is good, $(($(date +%s) - begun)) s"
