#include "router/shell_options.h"

#include <stddef.h>

#define FIELD(name) offsetof(struct router_settings, name)
#define BYTES(name) sizeof(((struct router_settings *)NULL)->name)
#define MS          UINT64_C(1000)
#define SECOND      UINT64_C(1000000)
#define MIB         (UINT64_C(1) << 20)

static const struct option options[] = {
    {
        .name = "name",
        .kind = OPTION_NAME,
        .offset = FIELD(config.name),
        .size = BYTES(config.name),
        .min = 1,
        .unit = "",
        .range = "1 to 128 of A-Z a-z 0-9 . _ : -",
        .value = "router-1",
        .help = "how this router is called in logs and status",
    },
    {
        .name = "listen",
        .kind = OPTION_ENDPOINT,
        .offset = FIELD(listen),
        .size = BYTES(listen),
        .min = 1,
        .unit = "endpoint",
        .range = "tcp://HOST:PORT, * for all hosts or a free port",
        .value = "tcp://127.0.0.1:7401",
        .help = "where this router serves clients",
    },
    {
        .name = "coordinators",
        .kind = OPTION_LIST,
        .offset = FIELD(config.coordinators),
        .size = BYTES(config.coordinators[0]),
        .count_offset = FIELD(config.ncoordinators),
        .max_count = ROUTER_MAX_COORDINATORS,
        .min = 1,
        .unit = "endpoints",
        .range = "1 to 8 of tcp://HOST:PORT",
        .value = "tcp://127.0.0.1:7400",
        .help = "the coordinators to ask for documents",
    },
    {
        .name = "cluster_key_file",
        .kind = OPTION_TEXT,
        .offset = FIELD(cluster_key_file),
        .size = BYTES(cluster_key_file),
        .min = 1,
        .unit = "path",
        .range = "a file of mode 600",
        .help = "the cluster's shared secret, made by: orbloom keygen FILE",
    },
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
    {
        .name = "hedge_delay",
        .kind = OPTION_DURATION,
        .offset = FIELD(config.hedge_us),
        .min = MS,
        .max = 60 * SECOND,
        .unit = "duration",
        .range = "1ms to 60s",
        .value = "20ms",
        .help = "a check asks the remaining replicas after this",
    },
    {
        .name = "retry_interval",
        .kind = OPTION_DURATION,
        .offset = FIELD(config.retry_us),
        .min = MS,
        .max = 60 * SECOND,
        .unit = "duration",
        .range = "1ms to 60s",
        .value = "250ms",
        .help = "a node that has not answered is asked again after this",
    },
    {
        .name = "max_timeout",
        .kind = OPTION_DURATION,
        .offset = FIELD(config.max_timeout_us),
        .min = 10 * MS,
        .max = 3600 * SECOND,
        .unit = "duration",
        .range = "10ms to 1h",
        .value = "60s",
        .help = "the longest deadline that a client may ask for",
    },
    {
        .name = "sync_interval",
        .kind = OPTION_DURATION,
        .offset = FIELD(config.sync_interval_us),
        .min = 10 * MS,
        .max = 60 * SECOND,
        .unit = "duration",
        .range = "10ms to 60s",
        .value = "1s",
        .help = "how often this router asks a coordinator for news",
    },
    {
        .name = "log_level",
        .kind = OPTION_CHOICE,
        .offset = FIELD(log_level),
        .size = BYTES(log_level),
        .unit = "",
        .range = "error | warn | info | debug",
        .value = "info",
        .help = "how much is written to stderr",
    },
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
