#include "coordinator/shell_options.h"

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
    DAEMON_OPTION_DURATION(
        "replace_after", FIELD(config.replace_after_us), 0, 30 * 24 * 3600 * DAEMON_SECOND,
        "0 to 30d", "10m",
        "the replicas of a node not heard of for this long move to others with room; 0: never"),
    {
        .name = "rebalance",
        .kind = OPTION_CHOICE,
        .offset = FIELD(config.rebalance),
        .size = BYTES(config.rebalance),
        .unit = "-",
        .range = "manual | auto",
        .value = "manual",
        .help = "whether replicas move to nodes that are less full when asked to, or by themselves",
    },
    {
        .name = "moves_at_once",
        .kind = OPTION_COUNT,
        .offset = FIELD(config.moves_at_once),
        .size = BYTES(config.moves_at_once),
        .min = 1,
        .max = 1024,
        .unit = "groups",
        .range = "1 to 1024",
        .value = "2",
        .help = "how many slot groups are on their way between nodes at a time",
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
