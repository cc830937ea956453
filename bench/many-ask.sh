#!/bin/bash
# Run by a playground for many.sh, on what many-fill.sh has left, all processes started again: is
# every key of every filter there?
#   bench/many-ask.sh ORBLOOM BUILD ROWS-FILE WORK-DIRECTORY
# With $MANY_BEGAN, the time when the playground was started, and what many-fill.sh knows.
set -u

orbloom=$1 build=$2 rows=$3 work=$4
round=1
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"
# shellcheck source=bench/many-filters.sh
. "$(dirname "$0")/many-filters.sh"

trap '[ -z "$child" ] || kill "$child" 2>/dev/null' EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT

figure "many: time of a restart" "$(value "e - b" e="$EPOCHREALTIME" b="$MANY_BEGAN")" s \
    "coordinator, router and nodes, until the playground says that all answer"
ask_all "restarted"
figure "many: restart until asked" "$(value "e - b" e="$EPOCHREALTIME" b="$MANY_BEGAN")" s \
    "until every key of every filter was answered"
show_memory "restarted"
show_idle "restarted"
filters_rate "creates, restarted" create later- 0 "$((MANY_ALIVE / 20 > 500 ? 500 : MANY_ALIVE / 20 + 1))" \
    "beside $(grouped "$MANY_ALIVE")"
exit 0
