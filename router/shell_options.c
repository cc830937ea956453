#include "router/shell_options.h"

#include <stddef.h>

#define FIELD(name) offsetof(struct router_settings, name)
#define BYTES(name) sizeof(((struct router_settings *)NULL)->name)
#define MIB         (UINT64_C(1) << 20)

static const struct option options[] = {
    DAEMON_OPTION_NAME("name", FIELD(config.name), BYTES(config.name), 1, "router-1",
                       "how this router is called in logs and status"),
    DAEMON_OPTION_LISTEN("tcp://127.0.0.1:7401", "where this router serves clients"),
    DAEMON_OPTION_COORDINATORS(FIELD(config.coordinators), BYTES(config.coordinators[0]),
                               FIELD(config.ncoordinators),
                               "the coordinators to ask for documents"),
    DAEMON_OPTION_CLUSTER_KEY_FILE,
    {
        .name = "max_inflight",
        .kind = OPTION_BYTES,
        .offset = FIELD(config.max_inflight_bytes),
        .min = MIB,
        .max = 16384 * MIB,
        .unit = "bytes",
        .range = "1 MiB to 16 GiB",
        .value = "64MiB",
        .help = "of requests not yet answered, beyond which they are OVERLOADED",
    },
    DAEMON_OPTION_DURATION("hedge_delay", FIELD(config.hedge_us), DAEMON_MS, 60 * DAEMON_SECOND,
                           "auto, or 1ms to 60s", "auto",
                           "a check asks the remaining replicas after this, auto being the time "
                           "within which nodes answered 99 of 100 checks lately"),
    DAEMON_OPTION_DURATION(
        "retry_interval", FIELD(config.retry_us), DAEMON_MS, 60 * DAEMON_SECOND, "1ms to 60s",
        "250ms",
        "a node that has not answered is asked again after this, then after up to "
        "four times as long"),
    DAEMON_OPTION_DURATION("spin", FIELD(spin_us), 0, DAEMON_MS, "0us to 1ms", "100us",
                           "look for answers so long before sleeping, while requests are in "
                           "flight: shorter latency for CPU time"),
    DAEMON_OPTION_DURATION("max_timeout", FIELD(config.max_timeout_us), 10 * DAEMON_MS,
                           3600 * DAEMON_SECOND, "10ms to 1h", "60s",
                           "the longest deadline that a client may ask for"),
    DAEMON_OPTION_DURATION("sync_interval", FIELD(config.sync_interval_us), 10 * DAEMON_MS,
                           60 * DAEMON_SECOND, "10ms to 60s", "1s",
                           "how often this router asks a coordinator for news"),
    DAEMON_OPTION_LOG_LEVEL,
};

static const struct option_table table = {
    .program = "orbloom-router",
    .summary = "hashes keys, asks nodes and answers clients",
    .options = options,
    .count = sizeof options / sizeof options[0],
};

const struct option_table *router_option_table(void)
{
    return &table;
}
