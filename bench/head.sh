#!/bin/bash
# What a reader must know about the machine: bench/head.sh ORBLOOM REDIS-SERVER
# Lines "name: value", and "warning: ..." where the machine is not fit for measuring.
set -u

orbloom=$1
redis=$2

# busy_percent: of all cores, over one second.
busy_percent() {
    { head -n 1 /proc/stat && sleep 1 && head -n 1 /proc/stat; } |
        awk '{ all = 0; for (i = 2; i <= 9; i++) all += $i; idle = $5 + $6 }
            NR == 1 { all1 = all; idle1 = idle }
            END { d = all - all1; printf "%.0f", (d > 0 ? 100 * (d - (idle - idle1)) / d : 0) }'
}

memory() {
    awk '$1 == "MemTotal:" { total = $2 } $1 == "MemAvailable:" { free = $2 }
        END { printf "%.1f GiB, %.1f GiB available\n", total / 1048576, free / 1048576 }' \
        /proc/meminfo
}

governor() {
    cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor 2>/dev/null || echo "not readable"
}

redis_version() {
    if [ -z "$redis" ]; then
        echo "none found"
        return
    fi
    "$redis" --version 2>/dev/null | sed 's/.* v=\([^ ]*\) .*/\1/'
}

busy=$(busy_percent)
commit=$(git -C "$(dirname "$0")" describe --always --dirty 2>/dev/null)
huge=$(cat /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null || echo "not readable")

echo "date: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
echo "CPU: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, shared by clients, router, nodes and Redis"
echo "governor: $(governor)"
echo "memory: $(memory); transparent huge pages: $huge"
echo "kernel: $(uname -s) $(uname -r) $(uname -m)"
echo "compiler: $("${CC:-gcc}" --version 2>/dev/null | head -n 1)"
echo "orbloom: $("$orbloom" version 2>/dev/null | head -n 1)${commit:+, git $commit}"
echo "libzmq: $(pkg-config --modversion libzmq 2>/dev/null || echo unknown)"
echo "redis-server: $(redis_version), one of our own on a loopback port, no persistence"
echo "RedisBloom: ${REDISBLOOM_SO:-not measured; REDISBLOOM_SO names no module}"
echo "load average at start: $(cut -d' ' -f1-3 /proc/loadavg); cores busy: $busy %"
if [ "$busy" -gt 10 ]; then
    echo "warning: the machine is not quiet, $busy % of its cores are busy with other work"
fi
