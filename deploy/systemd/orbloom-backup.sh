#!/bin/sh
# Backs up the store and all filters into a folder, and forgets the oldest there: for
# orbloom-backup.service, or by hand. It is installed as /usr/lib/orbloom/orbloom-backup.
#
#   ORBLOOM_BACKUP_DIR         where to, and a folder that the unit lets it write to (ReadWritePaths= in a
#                              drop-in); else the unit's state directory
#   ORBLOOM_BACKUP_KEEP        so many of each stay, the newest; else 7
#   ORBLOOM_BACKUP_EXCEPT      filters that are left out on purpose, separated by commas
#   ORBLOOM_BACKUP_PASSPHRASE  a file: seal secrets with this passphrase, not with the cluster key
#   ORBLOOM_ROUTER, ORBLOOM_COORDINATOR, ORBLOOM_CREDENTIAL   as for orbloom; an admin's credential
#
# Backups are DIR/TIME.map and DIR/TIME.orb, or DIR/TIME.some.map and .some.orb where filters had to be left
# out that ORBLOOM_BACKUP_EXCEPT does not name; where none could be had there is no .orb. What is interrupted
# of the filters is gone on with by a run within six hours, as by `systemctl start` again; that of the next day
# begins anew. A run that fails forgets nothing but what other such runs have left, of which KEEP stay, too.
# Exit: 0 all is there, else not.
set -u

dir=${ORBLOOM_BACKUP_DIR:-${STATE_DIRECTORY:-}}
keep=${ORBLOOM_BACKUP_KEEP:-7}
orbloom=${ORBLOOM:-orbloom}

if [ -z "$dir" ] || [ ! -d "$dir" ]; then
    echo "orbloom-backup: ORBLOOM_BACKUP_DIR=\"$dir\" is no folder" >&2
    exit 2
fi
case $keep in
'' | 0* | *[!0-9]*)
    echo "orbloom-backup: ORBLOOM_BACKUP_KEEP=\"$keep\" is no number above 0" >&2
    exit 2
    ;;
esac

# Its unit hands over what /etc/orbloom/backup.cred holds, or this word.
if [ -r "${ORBLOOM_CREDENTIAL:-}" ] && [ "$(head -c 5 "$ORBLOOM_CREDENTIAL")" = none ]; then
    ORBLOOM_CREDENTIAL=none
fi

# forget SUFFIX: names are times, so their order is that of age.
forget() {
    find "$dir" -maxdepth 1 -type f -name "????????T??????Z.$1" | sort -r |
        tail -n "+$((keep + 1))" | while read -r old; do
        rm -f "$old"
    done
}

# fail STATUS: what was had of the store is whole, and kept as what is only a part is.
fail() {
    forget some.map
    exit "$1"
}

now=$(date -u +%Y%m%dT%H%M%SZ)
next=$dir/next.orb # The same each time, so that what is interrupted is found.

"$orbloom" map backup "$dir/$now.some.map" || exit 1

set -- --all "$next"
[ -z "${ORBLOOM_BACKUP_EXCEPT:-}" ] || set -- "$@" --except "$ORBLOOM_BACKUP_EXCEPT"
[ -z "${ORBLOOM_BACKUP_PASSPHRASE:-}" ] || set -- "$@" --passphrase-file "$ORBLOOM_BACKUP_PASSPHRASE"
rm -f "$next"
"$orbloom" backup "$@"
status=$?
[ -e "$next" ] || fail "$status" # One that left filters out is whole, too, and is kept.

set -- verify "$next"
[ -z "${ORBLOOM_BACKUP_PASSPHRASE:-}" ] || set -- "$@" --passphrase-file "$ORBLOOM_BACKUP_PASSPHRASE"
"$orbloom" backup "$@" || fail 1
if [ "$status" -ne 0 ]; then
    mv "$next" "$dir/$now.some.orb" && forget some.orb
    fail "$status"
fi
mv "$dir/$now.some.map" "$dir/$now.map" || exit 1
mv "$next" "$dir/$now.orb" || exit 1
forget map
forget orb
