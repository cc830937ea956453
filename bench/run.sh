#!/bin/bash
# All benchmarks: bench/run.sh [BUILD-DIRECTORY]
#
# First the kernel alone (one core, one array), then a whole cluster on this machine: one
# router, three nodes, N=3 W=2 R=2, URLs of 60 bytes, half of them present. Everything shares
# the machine's cores, the load generator too: compare figures of one run only.
set -u

build=$(cd "${1:-build}" && pwd) || exit 2
orbloom=$build/bin/orbloom

# row OP BATCH IN-FLIGHT KEYS
row() {
    "$orbloom" bench --no-header --op "$1" --batch "$2" --in-flight "$3" --keys "$4" || exit 1
}

# inside: the cluster's part, run by the playground with its endpoints set.
inside() {
    "$orbloom" bench --op check --batch 1 --in-flight 64 --keys 300k || exit 1
    row check 64 64 5M
    row check 1000 32 20M
    row add 1 64 300k
    row add 64 64 5M
    row add 1000 32 20M
    exit 0
}

if [ "${2-}" = inside ]; then
    inside
fi
if [ ! -x "$orbloom" ]; then
    echo "bench: $orbloom is not built; run make" >&2
    exit 2
fi
if [ -x "$build/bench/kernel" ]; then
    echo "== kernel: one core"
    "$build/bench/kernel" || exit 1
    echo
fi
echo "== cluster: $(nproc) cores for router, 3 nodes and client"
exec "$orbloom" playground --base-port 0 --log-level warn --run "$0" "$build" inside
