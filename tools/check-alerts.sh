#!/bin/sh
# Compare alerts with their runbook and their tests: tools/check-alerts.sh BIN-DIRECTORY [ROOT]
#
# Each alert of deploy/prometheus/rules.yml has a severity, words, a row in docs/operations.md, and a section of its
# name in docs/runbook.md, to which it leads; rules_test.yml sees it fire, and sees it stay quiet. Each section is of
# an alert, and has its four parts; the commands that sections name exist. Whether the series are told by a daemon
# tests/integration/metrics.c looks at, whether rules are right promtool.
set -u

bin=${1:?usage: tools/check-alerts.sh BIN-DIRECTORY [ROOT]}
root=${2:-$(dirname "$0")/..}
rules=$root/deploy/prometheus/rules.yml
tests=$root/deploy/prometheus/rules_test.yml
runbook=$root/docs/runbook.md
operations=$root/docs/operations.md
wrong=0

complain() {
    echo "$*"
    wrong=1
}

# alert NAME: what stands in its rule.
alert() {
    sed -n "/- alert: $1\$/,/- alert: /{/- alert: $1\$/p;/- alert: /!p;}" "$rules"
}

# section NAME: what stands below its heading.
section() {
    awk -v heading="## $1" '/^## /{ inside = $0 == heading; next } inside' "$runbook"
}

check_alert() {
    page=runbook.md#$(echo "$1" | tr '[:upper:]' '[:lower:]')
    for member in 'for:' 'severity: \(critical\|warning\)$' 'summary: .' 'description: .' "runbook: docs/$page\$"; do
        alert "$1" | grep -q "^ *$member" || complain "rules.yml: $1 has no $member"
    done
    severity=$(alert "$1" | sed -n 's/^ *severity: //p')
    grep -qF "| [\`$1\`]($page) | $severity | " "$operations" ||
        complain "docs/operations.md has no row of $1 with its severity"
    grep -qx "## $1" "$runbook" || complain "docs/runbook.md has no section $1"
    grep -q "alertname: $1, exp_alerts: \[\]}" "$tests" || complain "rules_test.yml does not see $1 stay quiet"
    grep -A 1 "^ *alertname: $1\$" "$tests" | grep -q 'exp_alerts:$' || complain "rules_test.yml does not see $1 fire"
}

check_section() {
    if ! echo "$alerts" | grep -qx "$1"; then
        complain "docs/runbook.md: no alert is called $1"
    fi
    for part in Means Look Mend 'Wake someone'; do
        section "$1" | grep -q "^\*\*$part" || complain "docs/runbook.md: $1 does not say: $part"
    done
}

check_commands() {
    names=$("$bin/orbloom" help --names) || complain "orbloom help --names fails"
    for command in $(grep -oE '(^|`)orbloom [a-z]+' "$runbook" | sed 's/.* //' | sort -u); do
        if ! echo "$names" | grep -qx "$command"; then
            complain "docs/runbook.md: there is no orbloom $command"
        fi
    done
}

for file in "$rules" "$tests" "$runbook" "$operations"; do
    if [ ! -s "$file" ]; then
        echo "$file does not exist"
        exit 1
    fi
done
alerts=$(sed -n 's/^ *- alert: *//p' "$rules")
[ -n "$alerts" ] || complain "rules.yml has no alert"
for name in $(echo "$alerts" | sort | uniq -d); do
    complain "rules.yml: there are two $name"
done
for name in $alerts; do
    check_alert "$name"
done
for name in $(sed -n 's/^## //p' "$runbook"); do
    check_section "$name"
done
check_commands
exit "$wrong"
