/* The table of orbloom-node's options, and what it takes for several of them to go together. */
#include "node/shell_options.h"

#include "node/shell_machine.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FIELD(name)  offsetof(struct node_settings, name)
#define BYTES(name)  sizeof(((struct node_settings *)NULL)->name)
#define MIB          (UINT64_C(1) << 20)
#define TIB          (UINT64_C(1) << 40)
#define MEMORY_SHARE 0.8 /* of what is available at start, for memory_limit = "auto" */

enum { RETAIN_DELAYS = 10 /* gossip delays: a node that follows is never so far behind */ };

static const struct option options[] = {
    DAEMON_OPTION_NAME("name", FIELD(config.name), BYTES(config.name), true, NULL,
                       "this node's identity, unique in the cluster and kept for good"),
    DAEMON_OPTION_LISTEN("tcp://127.0.0.1:7410", "where this node serves routers and coordinators"),
    {
        .name = "advertise",
        .kind = OPTION_ENDPOINT,
        .offset = FIELD(config.endpoint),
        .size = BYTES(config.endpoint),
        .unit = "endpoint",
        .range = "tcp://HOST:PORT",
        .help = "where others reach this node, if that is not where it listens",
    },
    DAEMON_OPTION_NAME(
        "host", FIELD(config.host), BYTES(config.host), false, NULL,
        "the machine, by default its host name, as replicas of a shard avoid sharing one"),
    DAEMON_OPTION_NAME("zone", FIELD(config.zone), BYTES(config.zone), true, "default",
                       "the datacentre that this node is in"),
    DAEMON_OPTION_SITE(FIELD(config.site), BYTES(config.site),
                       "which datacentre's cluster this node belongs to; coordinators of another "
                       "site refuse it"),
    DAEMON_OPTION_COORDINATORS(FIELD(config.coordinators), BYTES(config.coordinators[0]),
                               FIELD(config.ncoordinators),
                               "the coordinators to ask for documents and to report to"),
    DAEMON_OPTION_CLUSTER_KEY_FILE,
    {
        .name = "memory_limit",
        .kind = OPTION_BYTES,
        .offset = FIELD(config.memory_limit_bytes),
        .min = MIB,
        .max = 16 * TIB,
        .unit = "bytes",
        .range = "auto, or 1 MiB to 16 TiB",
        .value = "auto",
        .help = "memory for filters, auto being 80 % of what is available at start",
    },
    {
        .name = "data_dir",
        .kind = OPTION_TEXT,
        .offset = FIELD(data_dir),
        .size = BYTES(data_dir),
        .unit = "path",
        .range = "a folder, made if its parent exists",
        .help = "where this node keeps its data; without it all ends with the process",
    },
    {
        .name = "log_segment",
        .kind = OPTION_BYTES,
        .offset = FIELD(config.segment_bytes),
        .min = MIB,
        .max = 1024 * MIB,
        .unit = "bytes",
        .range = "1 MiB to 1 GiB",
        .value = "32MiB",
        .help = "size of a file of the log; up to four of them are reserved on the disk",
    },
    {
        .name = "log_retain",
        .kind = OPTION_BYTES,
        .offset = FIELD(config.retain_bytes),
        .max = 16 * TIB,
        .unit = "bytes",
        .range = "0 to 16 TiB",
        .value = "32MiB",
        .help = "files of the log that are kept for nodes that catch up, once they are merged into "
                "runs; while there is room, also all that is younger than 10 gossip_delay",
    },
    {
        .name = "site_retain",
        .kind = OPTION_BYTES,
        .offset = FIELD(config.site_retain_bytes),
        .max = 16 * TIB,
        .unit = "bytes",
        .range = "0 to 16 TiB",
        .value = "1GiB",
        .help = "files of the log that are kept for other sites, once they are merged into runs, "
                "as long as one of these has not taken what is in them",
    },
    {
        .name = "disk_reserve",
        .kind = OPTION_BYTES,
        .offset = FIELD(config.reserve_bytes),
        .max = 16 * TIB,
        .unit = "bytes",
        .range = "0 to 16 TiB",
        .value = "64MiB",
        .help = "room on the disk that background work leaves for adds",
    },
    {
        .name = "imprint_size",
        .kind = OPTION_BYTES,
        .offset = FIELD(config.imprint_bytes),
        .max = 16 * TIB,
        .unit = "bytes",
        .range = "0 to 16 TiB",
        .value = "16MiB",
        .help = "arrays of filters with key log that take so much memory here, or more, are copied "
                "to data_dir from time to time, so that a start reads them and not all keys; 0: "
                "none",
    },
    DAEMON_OPTION_DURATION("gossip_delay", FIELD(config.gossip_delay_us), 100 * DAEMON_MS,
                           3600 * DAEMON_SECOND, "100ms to 1h", "1s",
                           "how old an add gets before other nodes are told of it, routers having "
                           "brought it to all; also how often other nodes are asked"),
    DAEMON_OPTION_DURATION("catch_up_wait", FIELD(config.catch_up_wait_us), 0, 60 * DAEMON_SECOND,
                           "0s to 60s", "2s",
                           "after a kill or a power loss, how long to wait for other nodes that do "
                           "not answer before this one counts again; 0s: it does not ask them"),
    {
        .name = "gossip_rate",
        .kind = OPTION_BYTES,
        .offset = FIELD(config.gossip_rate),
        .min = 4 * MIB,
        .max = 16 * TIB,
        .unit = "bytes",
        .range = "4 MiB to 16 TiB",
        .value = "200MiB",
        .help = "bytes a second for each node that copies from this one or catches up",
    },
    DAEMON_OPTION_DURATION("scrub_interval", FIELD(config.scrub_interval_us), 0,
                           24 * 3600 * DAEMON_SECOND, "0s to 24h", "15m",
                           "how often each replica here is compared with each other one of its "
                           "keys, to take over what it lacks; 0s: only after a long absence"),
    {
        .name = "growth_rate",
        .kind = OPTION_COUNT,
        .offset = FIELD(config.growth_rate),
        .max = UINT64_C(1000000000),
        .unit = "keys",
        .range = "0 to 1G",
        .value = "5M",
        .help = "keys a second that are read back while a filter grows, twice for each key, less "
                "what requests take, down to a sixteenth; 0: as many as possible",
    },
    {
        .name = "probe_rate",
        .kind = OPTION_COUNT,
        .offset = FIELD(config.probe_rate),
        .max = UINT64_C(1000000),
        .unit = "keys",
        .range = "0 to 1M",
        .value = "10k",
        .help = "absent keys a second that are looked up here, filter by filter, to measure their "
                "rates; 0: none",
    },
    {
        .name = "retry_memory",
        .kind = OPTION_BYTES,
        .offset = FIELD(config.retry_memory_bytes),
        .min = 64 << 10,
        .max = 16384 * MIB,
        .unit = "bytes",
        .range = "64 KiB to 16 GiB",
        .value = "16MiB",
        .help = "memory of recent adds, so that a retried one repeats its verdict; beyond it "
                "MAYBE_NEW",
    },
    DAEMON_OPTION_DURATION("retry_memory_age", FIELD(config.retry_memory_us), DAEMON_SECOND,
                           24 * 3600 * DAEMON_SECOND, "1s to 24h", "60s",
                           "how long an add is remembered at most"),
    DAEMON_OPTION_DURATION("sync_interval", FIELD(config.sync_interval_us), 10 * DAEMON_MS,
                           60 * DAEMON_SECOND, "10ms to 60s", "1s",
                           "how often this node asks a coordinator for news and reports to it"),
    {
        .name = "report_groups",
        .kind = OPTION_COUNT,
        .offset = FIELD(config.report_groups),
        .min = 1,
        .max = 4096,
        .unit = "groups",
        .range = "1 to 4096",
        .value = "4096",
        .help =
            "how many slot groups a report to a coordinator tells of; the others follow at once",
    },
    DAEMON_OPTION_TRANSPORT,
    DAEMON_OPTION_ALLOW_PLAIN,
    DAEMON_OPTION_IO_THREADS,
    DAEMON_OPTIONS_HTTP,
    DAEMON_OPTIONS_LOG,
};

static const struct option_table table = {
    .program = "orbloom-node",
    .summary = "holds replicas of filters and answers routers",
    .options = options,
    .count = sizeof options / sizeof options[0],
};

const struct option_table *node_option_table(void)
{
    return &table;
}

static enum status check_addresses(const struct node_settings *settings,
                                   const struct option_origins *origins)
{
    const char *advertise = settings->config.endpoint;

    if (advertise[0] != '\0' && options_endpoint_is_wildcard(advertise)) {
        return options_refuse(
            &table, origins, "advertise",
            "advertise must name a real host and port, as others are to connect to it");
    }
    if (advertise[0] == '\0' && options_endpoint_is_any_host(settings->daemon.listen)) {
        return options_refuse(
            &table, origins, "listen",
            "listen is on all hosts, so others cannot be told where this node is; give "
            "advertise = \"tcp://HOST:PORT\" too");
    }
    return STATUS_OK;
}

enum status node_settings_finish(void *context, const struct option_origins *origins)
{
    struct node_settings *settings = context;
    struct node_config *config = &settings->config;
    enum status status = check_addresses(settings, origins);

    if (status != STATUS_OK) {
        return status;
    }
    if (config->host[0] == '\0') {
        machine_host(config->host, sizeof config->host);
    }
    config->curve = daemon_listens_curve(&settings->daemon);
    config->retain_us = RETAIN_DELAYS * config->gossip_delay_us;
    if (config->memory_limit_bytes == 0) {
        config->memory_limit_bytes = (uint64_t)((double)machine_memory_available() * MEMORY_SHARE);
    }
    if (config->memory_limit_bytes == 0) {
        return options_refuse(
            &table, origins, "memory_limit",
            "memory_limit is auto, and this machine does not tell its available memory; give bytes "
            "such as \"8GiB\"");
    }
    return STATUS_OK;
}
