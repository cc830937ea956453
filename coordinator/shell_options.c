#include "coordinator/shell_options.h"

#include "cluster/growth.h"

#include <stddef.h>

#define FIELD(name) offsetof(struct coordinator_settings, name)
#define BYTES(name) sizeof(((struct coordinator_settings *)NULL)->name)

static const struct option options[] = {
    DAEMON_OPTION_NAME("name", FIELD(config.name), BYTES(config.name), 1, "coordinator-1",
                       "how this coordinator is called in logs and status"),
    DAEMON_OPTION_LISTEN("tcp://127.0.0.1:7400",
                         "where this coordinator serves nodes, routers and operators"),
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
    DAEMON_OPTION_CLUSTER_KEY_FILE,
    DAEMON_OPTION_DURATION("max_timeout", FIELD(config.max_timeout_us), 10 * DAEMON_MS,
                           3600 * DAEMON_SECOND, "10ms to 1h", "60s",
                           "the longest deadline that an operator may ask for"),
    DAEMON_OPTION_DURATION(
        "node_timeout", FIELD(config.node_timeout_us), 100 * DAEMON_MS, 3600 * DAEMON_SECOND,
        "100ms to 1h", "5s",
        "a node not heard of for this long takes no new replicas, and may start elsewhere"),
    DAEMON_OPTION_DURATION("fence_retry", FIELD(config.fence_retry_us), 10 * DAEMON_MS,
                           60 * DAEMON_SECOND, "10ms to 60s", "100ms",
                           "a node that has not confirmed a fence is asked again after this"),
    {
        .name = "growth_hosts",
        .kind = OPTION_COUNT,
        .offset = FIELD(config.growth_hosts),
        .min = 1,
        .max = GROWTH_MAX_HOSTS,
        .unit = "hosts",
        .range = "1 to 64",
        .value = "1",
        .help = "so many hosts at a time build another geometry of one filter",
    },
    {
        .name = "growth_factor",
        .kind = OPTION_FACTOR,
        .offset = FIELD(config.growth_factor),
        .min = 110,
        .max = 6400,
        .unit = "factor",
        .range = "1.1 to 64",
        .value = "2",
        .help = "by itself a filter grows to so many times its capacity, at most its max-capacity",
    },
    DAEMON_OPTION_LOG_LEVEL,
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
