#!/bin/bash
# deploy/kubernetes: is it what kubectl makes of it, and what Kubernetes and the daemons take? And can each check
# fail: it has to find a mistake that is made on purpose.
#
# $ORBLOOM_BIN_DIR holds the programs. What is not installed is skipped; a cluster is not asked.
# Last line: "N passed, N failed", with ", N skipped" where any was; exit 1 if any failed.
set -u
. "$(dirname "$0")/verdicts.sh"

bin=$(cd "${ORBLOOM_BIN_DIR:-build/bin}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# look CHECK FILE: its status.
look() {
    /usr/bin/python3 "$root/tools/check-kubernetes.py" "$1" "$bin" "$2" >"$folder/log" 2>&1
}

check() {
    local status
    look "$1" "$folder/manifests.yaml"
    status=$?
    if [ "$status" -eq 3 ]; then
        skip "$1" "$(cat "$folder/log")"
    else
        judge "$1" "$status" "$folder/log"
    fi
}

# finds CHECK SED: a mistake that this makes.
finds() {
    local status
    sed "$2" "$folder/manifests.yaml" >"$folder/mistaken.yaml"
    if cmp -s "$folder/manifests.yaml" "$folder/mistaken.yaml"; then
        echo "$2 changes nothing" >"$folder/log"
        judge "$1 finds: $2" 1 "$folder/log"
        return
    fi
    look "$1" "$folder/mistaken.yaml"
    status=$?
    if [ "$status" -eq 3 ]; then
        skip "$1 finds: $2" "$(cat "$folder/log")"
    elif [ "$status" -eq 1 ] && ! grep -q Traceback "$folder/log"; then
        judge "$1 finds: $2" 0 "$folder/log"
    else
        judge "$1 finds: $2" 1 "$folder/log"
    fi
}

if ! command -v kubectl >/dev/null 2>&1 || [ ! -x /usr/bin/python3 ]; then
    skip manifests "no kubectl, or no python3"
else
    kubectl kustomize "$root/deploy/kubernetes" >"$folder/manifests.yaml" 2>"$folder/log"
    judge "kubectl kustomize" $? "$folder/log"
    for name in schema names security options; do
        check "$name"
    done
    finds schema 's/readOnlyRootFilesystem:/readonlyRootFilesystem:/'
    finds schema 's/^  replicas: 3/  replicas: "3"/'
    finds schema 's/maxUnavailable: 1$/maxUnavailble: 1/'
    finds names 's/serviceName: orbloom-node$/serviceName: orbloom-nodes/'
    finds names 's/^      app.kubernetes.io\/name: orbloom-router$/      app.kubernetes.io\/name: orbloom-ruter/'
    finds names 's/tcp:\/\/orbloom-coordinator-1\./tcp:\/\/orbloom-coordinator-2./'
    finds names 's/port: http$/port: https/'
    finds names 's/- name: HOST_NAME/- name: HOSTNAME/'
    finds security 's/runAsUser: 10001/runAsUser: 0/'
    finds security 's/defaultMode: 288/defaultMode: 420/'
    finds security '/- ALL$/d'
    finds options 's/--advertise=/--advertize=/'
    finds options 's/memory_limit = /memory_limits = /'
    finds options 's/defaultMode: 288/defaultMode: 420/'
fi

conclude
