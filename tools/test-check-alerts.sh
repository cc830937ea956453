#!/bin/sh
# Can the comparison of alerts and runbook fail? One alert that agrees with all, then one that does not.
# shellcheck disable=SC2016 # backticks of Markdown in single quotes
set -u

check=$(cd "$(dirname "$0")" && pwd)/check-alerts.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
wrong=0

# agree: an alert, its section, its tests, a command.
agree() {
    rm -rf "${dir:?}"/*
    mkdir -p "$dir/bin" "$dir/docs" "$dir/deploy/prometheus"
    printf '#!/bin/sh\nprintf "status\\ninfo\\n"\n' >"$dir/bin/orbloom"
    chmod +x "$dir/bin/orbloom"
    cat >"$dir/deploy/prometheus/rules.yml" <<'END'
      - alert: NodeSilent
        expr: up == 0
        for: 1m
        labels:
          severity: warning
        annotations:
          summary: 'a node is silent'
          description: 'it is'
          runbook: docs/runbook.md#nodesilent
END
    cat >"$dir/deploy/prometheus/rules_test.yml" <<'END'
      - {eval_time: 1m, alertname: NodeSilent, exp_alerts: []}
      - eval_time: 5m
        alertname: NodeSilent
        exp_alerts:
          - exp_labels: {}
END
    printf '%s\n\n' '# Runbook' '## NodeSilent' '**Means:** it is.' '**Look:** `orbloom status`' '**Mend:** start it.' \
        '**Wake someone:** no.' >"$dir/docs/runbook.md"
    echo '| [`NodeSilent`](runbook.md#nodesilent) | warning | it is |' >"$dir/docs/operations.md"
}

# refuses TEXT: the check must fail and say TEXT; then everything agrees again.
refuses() {
    if "$check" "$dir/bin" "$dir" >"$dir/output" 2>&1 || ! grep -qF -e "$1" "$dir/output"; then
        echo "check-alerts.sh does not say '$1':"
        sed 's/^/    /' "$dir/output"
        wrong=1
    fi
    agree
}

# edit FILE SED-SCRIPT
edit() {
    sed "$2" "$dir/$1" >"$dir/edited" && mv "$dir/edited" "$dir/$1"
}

agree
if ! "$check" "$dir/bin" "$dir"; then
    echo "check-alerts.sh refuses what agrees"
    wrong=1
fi

edit docs/runbook.md 's/## NodeSilent/## NodeSilnt/'
refuses "docs/runbook.md has no section NodeSilent"
echo '## NodeLoud' >>"$dir/docs/runbook.md"
refuses "docs/runbook.md: no alert is called NodeLoud"
edit docs/runbook.md '/Mend/d'
refuses "docs/runbook.md: NodeSilent does not say: Mend"
edit docs/runbook.md 's/orbloom status/orbloom sttaus/'
refuses "docs/runbook.md: there is no orbloom sttaus"
edit deploy/prometheus/rules.yml 's/#nodesilent/#nodesilnt/'
refuses "rules.yml: NodeSilent has no runbook: docs/runbook.md#nodesilent"
edit deploy/prometheus/rules.yml 's/severity: warning/severity: page/'
refuses "rules.yml: NodeSilent has no severity"
edit deploy/prometheus/rules.yml '/summary/d'
refuses "rules.yml: NodeSilent has no summary"
edit deploy/prometheus/rules.yml '/for:/d'
refuses "rules.yml: NodeSilent has no for:"
cat "$dir/deploy/prometheus/rules.yml" >"$dir/once" && cat "$dir/once" >>"$dir/deploy/prometheus/rules.yml"
refuses "rules.yml: there are two NodeSilent"
edit deploy/prometheus/rules_test.yml '/exp_alerts: \[\]/d'
refuses "rules_test.yml does not see NodeSilent stay quiet"
edit deploy/prometheus/rules_test.yml '/eval_time: 5m/,$d'
refuses "rules_test.yml does not see NodeSilent fire"
edit docs/operations.md 's/warning/critical/'
refuses "docs/operations.md has no row of NodeSilent with its severity"
rm "$dir/docs/runbook.md"
refuses "docs/runbook.md does not exist"

[ "$wrong" -eq 0 ] && echo "alerts without a runbook, or tests, are named"
exit "$wrong"
