/* The table of orbloom-coordinator's options; the etcd password comes from a file of its own. */
#include "coordinator/shell_options.h"

#include "coordinator/plan/expansion.h"
#include "map/document_cache.h"
#include "runtime/file.h"

#include <stddef.h>
#include <string.h>

#define FIELD(name) offsetof(struct coordinator_settings, name)
#define BYTES(name) sizeof(((struct coordinator_settings *)NULL)->name)

#define ETCD_TEXT(option, at, of, bounds, others, text)                                \
    {                                                                                  \
        .name = (option), .kind = OPTION_TEXT, .offset = FIELD(at), .size = BYTES(at), \
        .unit = (of), .range = (bounds), .help = (text), .needs = (others),            \
    }

static const struct option options[] = {
    DAEMON_OPTION_NAME("name", FIELD(config.name), BYTES(config.name), true, "coordinator-1",
                       "how this coordinator is called in logs and status"),
    DAEMON_OPTION_LISTEN("tcp://127.0.0.1:7400",
                         "where this coordinator serves nodes, routers and operators"),
    {
        .name = "store",
        .kind = OPTION_TEXT,
        .offset = FIELD(store),
        .size = BYTES(store),
        .required = true,
        .unit = "path",
        .range = "a file in an existing folder; or give etcd_endpoints",
        .help = "the SQLite file with all documents and hash secrets, to be backed up",
        .excludes = "etcd_endpoints",
    },
    {
        .name = "etcd_endpoints",
        .kind = OPTION_URLS,
        .offset = FIELD(etcd.endpoints[0]),
        .size = STORE_ETCD_ENDPOINT_BYTES,
        .count_offset = FIELD(etcd.nendpoints),
        .max_count = STORE_ETCD_MAX_ENDPOINTS,
        .unit = "endpoints",
        .range = "1 to 8 of http://HOST:PORT or https://HOST:PORT",
        .help = "etcd, 3.4 or newer, that keeps documents and hash secrets instead of a file",
        .excludes = "store",
    },
    {
        .name = "etcd_prefix",
        .kind = OPTION_TEXT,
        .offset = FIELD(etcd.prefix),
        .size = BYTES(etcd.prefix),
        .required = true,
        .unit = "",
        .range = "a text that ends in /",
        .value = "/orbloom/",
        .help = "what the keys in etcd begin with; each cluster needs its own",
        .needs = "etcd_endpoints",
    },
    {
        .name = "etcd_timeout",
        .kind = OPTION_DURATION,
        .offset = FIELD(etcd.timeout_us),
        .min = 10 * DAEMON_MS,
        .max = 60 * DAEMON_SECOND,
        .unit = "duration",
        .range = "10ms to 60s",
        .value = "2s",
        .help = "how long each endpoint may take to answer; changes wait meanwhile",
        .needs = "etcd_endpoints",
    },
    ETCD_TEXT("etcd_ca_file", etcd.ca_file, "path", "a file in PEM", "etcd_endpoints",
              "the authorities that may vouch for https endpoints, instead of the machine's"),
    ETCD_TEXT("etcd_cert_file", etcd.cert_file, "path", "a file in PEM",
              "etcd_endpoints etcd_key_file", "the certificate shown to https endpoints"),
    ETCD_TEXT("etcd_key_file", etcd.key_file, "path", "a file in PEM",
              "etcd_endpoints etcd_cert_file", "the private key of that certificate"),
    ETCD_TEXT("etcd_user", etcd.user, "", "a user of etcd", "etcd_endpoints etcd_password_file",
              "who may read and write the keys below etcd_prefix"),
    ETCD_TEXT("etcd_password_file", etcd_password_file, "path", "a file of mode 600",
              "etcd_endpoints etcd_user", "that user's password, the file's first line"),
    DAEMON_OPTION_SITE(FIELD(config.site), BYTES(config.site),
                       "which datacentre's cluster this is; nodes and links that say another one "
                       "are refused"),
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
    DAEMON_OPTION_DURATION(
        "load_timeout", FIELD(config.load_timeout_us), 0, 30 * 24 * 3600 * DAEMON_SECOND,
        "0 to 30d", "10m",
        "a filter being loaded from a dump is dropped when nothing came for so long; 0: never"),
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
    {
        .name = "node_groups",
        .kind = OPTION_COUNT,
        .offset = FIELD(config.node_groups),
        .size = BYTES(config.node_groups),
        .min = 1,
        .max = 1000000,
        .unit = "groups",
        .range = "1 to 1M",
        .value = "64k",
        .help = "how many slot groups are placed on a node at most: so many it reports in time",
    },
    {
        .name = "max_filters",
        .kind = OPTION_COUNT,
        .offset = FIELD(config.max_filters),
        .size = BYTES(config.max_filters),
        .min = 1,
        .max = DOCUMENT_MAX_LIVING,
        .unit = "filters",
        .range = "1 to 65536",
        .value = "65536",
        .help = "how many filters may live at once: a create beyond is refused",
    },
    {
        .name = "growth_hosts",
        .kind = OPTION_COUNT,
        .offset = FIELD(config.growth_hosts),
        .min = 1,
        .max = EXPANSION_MAX_HOSTS,
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
    {
        .name = "audit_log",
        .kind = OPTION_TEXT,
        .offset = FIELD(audit_log),
        .size = BYTES(audit_log),
        .unit = "path",
        .range = "a file in an existing folder, of mode 600",
        .help = "where each change by an operator is noted, a line of JSON each; none: nowhere",
    },
    {
        .name = "metrics_filters",
        .kind = OPTION_COUNT,
        .offset = FIELD(config.metrics_filters),
        .size = BYTES(config.metrics_filters),
        .min = 0,
        .max = COORDINATOR_MAX_METRICS_FILTERS,
        .unit = "filters",
        .range = "0 to 4096",
        .value = "1000",
        .help = "so many filters, the largest, /metrics tells one by one, and all others together",
    },
    DAEMON_OPTION_TRANSPORT,
    DAEMON_OPTION_ALLOW_PLAIN,
    DAEMON_OPTION_IO_THREADS,
    DAEMON_OPTIONS_HTTP,
    DAEMON_OPTIONS_LOG,
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

static bool all_are_https(const struct store_etcd_config *etcd)
{
    for (uint32_t i = 0; i < etcd->nendpoints; i++) {
        if (strncmp(etcd->endpoints[i], "https://", 8) != 0) {
            return false;
        }
    }
    return true;
}

enum status coordinator_settings_finish(void *context, const struct option_origins *origins)
{
    const struct coordinator_settings *settings = context;
    const struct store_etcd_config *etcd = &settings->etcd;
    size_t size = strlen(etcd->prefix);

    if (settings->store[0] != '\0') {
        return STATUS_OK;
    }
    if (etcd->nendpoints == 0) {
        return options_refuse(&table, origins, "etcd_endpoints store",
                              "etcd_endpoints is empty; name at least one, or give store");
    }
    if (size == 0 || etcd->prefix[size - 1] != '/') {
        return options_refuse(
            &table, origins, "etcd_prefix",
            "etcd_prefix must end in '/', so that no other prefix begins with it");
    }
    if ((etcd->ca_file[0] != '\0' || etcd->cert_file[0] != '\0') && !all_are_https(etcd)) {
        return options_refuse(
            &table, origins, "etcd_ca_file etcd_cert_file",
            "etcd_ca_file and etcd_cert_file are for https; write https:// in all of "
            "etcd_endpoints, or leave them out");
    }
    return STATUS_OK;
}

/* file_parse_fn: the first line. */
static enum status parse_password(void *password, struct span text, char *reason, size_t size)
{
    struct span line = {0};

    (void)reason;
    (void)size;
    (void)span_take_line(&text, &line);
    while (line.size > 0 && line.data[line.size - 1] == '\r') {
        line.size--;
    }
    if (line.size >= STORE_ETCD_PASSWORD_BYTES) {
        return STATUS_MALFORMED;
    }
    memset(password, 0, STORE_ETCD_PASSWORD_BYTES);
    if (line.size > 0) {
        memcpy(password, line.data, line.size);
    }
    return STATUS_OK;
}

enum status coordinator_settings_read_password(struct coordinator_settings *settings)
{
    static const struct file_secret secret = {
        .what = "etcd_password_file",
        .form = "it must hold a line of at most 255 bytes",
        .remedy = "write into it what etcd knows etcd_user by",
    };

    if (settings->etcd_password_file[0] == '\0') {
        return STATUS_OK;
    }
    return file_read_secret(&secret, settings->etcd_password_file, parse_password,
                            settings->etcd.password);
}
