#!/bin/bash
# What a backup and a restore take, and what they do to the checks of others meanwhile.
#   bench/backup.sh BUILD     BACKUP_KEYS=10000000; BACKUP_SECONDS=10 for each row of checks
# Three nodes with disks. The checks, 20,000 keys a second in batches of 100, are of another filter of
# the same nodes. Prints a table, and lines "name: value" about the machine.
set -u

build=$(cd "$1" && pwd) || exit 2
keys=${BACKUP_KEYS:-10000000} seconds=${BACKUP_SECONDS:-10}
orbloom=$build/bin/orbloom
here=$(cd "$(dirname "$0")" && pwd)

case $keys$seconds in
*[!0-9]*)
    echo "bench: BACKUP_KEYS=$keys BACKUP_SECONDS=$seconds are no numbers" >&2
    exit 2
    ;;
esac

if [ -z "${ORBLOOM_DIR:-}" ]; then
    # 25 bytes a key of each of three replicas while their runs are merged, and the file.
    need_mib=$((keys * 90 / 1048576 + 1000))
    free_mib=$(df -Pm "${TMPDIR:-/tmp}" | awk 'NR == 2 { print $4 }')
    if [ "$free_mib" -lt "$need_mib" ]; then
        echo "bench: takes $need_mib MiB of disk, $free_mib are left; BACKUP_KEYS=$((keys / 2)) takes half" >&2
        exit 1
    fi
    "$here/head.sh" "$orbloom" "" | grep -v -i redis
    exec "$orbloom" playground --nodes 3 --base-port 0 --memory "$((keys * 6 / 1048576 + 1000))MiB" \
        --run bash "$here/backup.sh" "$build"
fi

cd "$ORBLOOM_DIR" || exit 1
jobs=()
stop() {
    [ "${#jobs[@]}" -eq 0 ] || kill "${jobs[@]}" 2>/dev/null
    wait
}
trap stop EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT

# field NAME FILE: of one line of JSON.
field() {
    sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" "$2"
}

checks() {
    "$orbloom" bench --op check --filter other --filled --size 500000 --pace 20000 --batch 100 \
        --keys 100G --for "${seconds}s" --json >"$1"
}

# rate_of FILE: keys a second, the middle one of all lines that tell them.
rate_of() {
    sed -n 's/.*, \([0-9,]*\) keys\/s.*/\1/p' "$1" | tr -d , | sort -n |
        awk '{ rates[NR] = $1 } END { print rates[int((NR + 1) / 2)] }'
}

# row NAME RATE FILE
row() {
    printf '| %-22s | %14s | %10s | %10s |\n' "$1" "$2" "$(field p50_us "$3")" "$(field p99_us "$3")"
}

# while_checked FILE COMMAND...: again and again until the checks are over, once at least.
while_checked() {
    local file=$1
    shift
    : >"$file.log"
    checks "$file" &
    jobs=($!)
    while :; do
        "$@" >>"$file.log" 2>&1 || {
            tail -n 3 "$file.log" >&2
            exit 1
        }
        kill -0 "${jobs[0]}" 2>/dev/null || break
    done
    wait "${jobs[0]}" || exit 1
    jobs=()
}

number=0
restore_one() {
    number=$((number + 1))
    "$orbloom" restore big.orb --as "again-$number" --timeout 5m &&
        "$orbloom" drop "again-$number" --timeout 60s
}

echo "bench: filling three nodes with $keys keys" >&2
"$orbloom" bench --op fill --filter other --size 500000 --keys 2 --json >/dev/null || exit 1
"$orbloom" bench --op fill --filter big --size "$keys" --keys 2 --timeout 60s --json >/dev/null || exit 1
sleep 5 # Nodes merge what has come.
checks without || exit 1
while_checked backup "$orbloom" backup big big.orb --timeout 5m
"$orbloom" backup verify big.orb --json >verified || exit 1
"$orbloom" drop big --timeout 60s >/dev/null || exit 1
while_checked restore restore_one

echo
printf '| %-22s | %14s | %10s | %10s |\n' "$keys keys" "keys/s" "p50, us" "p99, us"
printf '|---|---|---|---|\n'
row "checks alone" "" without
row "... during backups" "$(rate_of backup.log)" backup
row "... during restores" "$(rate_of restore.log)" restore
awk -v bytes="$(stat -c %s big.orb)" -v keys="$keys" \
    'BEGIN { printf "\nbytes a key: %.2f\n", bytes / keys }'
