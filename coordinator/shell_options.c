#include "coordinator/shell_options.h"

#include <stddef.h>

#define FIELD(name) offsetof(struct coordinator_settings, name)
#define BYTES(name) sizeof(((struct coordinator_settings *)NULL)->name)
#define MS          UINT64_C(1000)
#define SECOND      UINT64_C(1000000)

static const struct option options[] = {
    {
        .name = "name",
        .kind = OPTION_NAME,
        .offset = FIELD(config.name),
        .size = BYTES(config.name),
        .min = 1,
        .unit = "",
        .range = "1 to 128 of A-Z a-z 0-9 . _ : -",
        .value = "coordinator-1",
        .help = "how this coordinator is called in logs and status",
    },
    {
        .name = "listen",
        .kind = OPTION_ENDPOINT,
        .offset = FIELD(listen),
        .size = BYTES(listen),
        .min = 1,
        .unit = "endpoint",
        .range = "tcp://HOST:PORT, * for all hosts or a free port",
        .value = "tcp://127.0.0.1:7400",
        .help = "where this coordinator serves nodes, routers and operators",
    },
    {
        .name = "store",
        .kind = OPTION_TEXT,
        .offset = FIELD(store),
        .size = BYTES(store),
        .min = 1,
        .unit = "path",
        .range = "a file in an existing folder",
        .help = "the SQLite file with all documents and hash secrets, to be backed up",
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
        .name = "max_timeout",
        .kind = OPTION_DURATION,
        .offset = FIELD(config.max_timeout_us),
        .min = 10 * MS,
        .max = 3600 * SECOND,
        .unit = "duration",
        .range = "10ms to 1h",
        .value = "60s",
        .help = "the longest deadline that an operator may ask for",
    },
    {
        .name = "node_timeout",
        .kind = OPTION_DURATION,
        .offset = FIELD(config.node_timeout_us),
        .min = 100 * MS,
        .max = 3600 * SECOND,
        .unit = "duration",
        .range = "100ms to 1h",
        .value = "5s",
        .help = "a node not heard of for this long takes no new replicas",
    },
    {
        .name = "fence_retry",
        .kind = OPTION_DURATION,
        .offset = FIELD(config.fence_retry_us),
        .min = 10 * MS,
        .max = 60 * SECOND,
        .unit = "duration",
        .range = "10ms to 60s",
        .value = "100ms",
        .help = "a node that has not confirmed a fence is asked again after this",
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
    .program = "orbloom-coordinator",
    .summary = "keeps the documents of the cluster and changes them",
    .options = options,
    .count = sizeof options / sizeof options[0],
};

const struct option_table *coordinator_option_table(void)
{
    return &table;
}
