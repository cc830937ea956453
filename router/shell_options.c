/* The table of orbloom-router's options, and what it takes for several of them to go together. */
#include "router/shell_options.h"

#include "router/shell_core_options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FIELD(name) offsetof(struct router_settings, name)
#define BYTES(name) sizeof(((struct router_settings *)NULL)->name)
#define MIB         (UINT64_C(1) << 20)
#define LEAST_RATE  1e-6

static const struct option options[] = {
    DAEMON_OPTION_NAME("name", FIELD(config.name), BYTES(config.name), true, "router-1",
                       "how this router is called in logs and status"),
    DAEMON_OPTION_LISTEN("tcp://127.0.0.1:7401", "where this router serves clients"),
    DAEMON_OPTION_COORDINATORS(FIELD(config.coordinators), BYTES(config.coordinators[0]),
                               FIELD(config.ncoordinators),
                               "the coordinators to ask for documents"),
    DAEMON_OPTION_CLUSTER_KEY_FILE,
    ROUTER_OPTION_MAX_INFLIGHT(FIELD(config.max_inflight_bytes)),
    DAEMON_OPTION_DURATION("hedge_delay", FIELD(config.hedge_us), DAEMON_MS, 60 * DAEMON_SECOND,
                           "auto, or 1ms to 60s", "auto",
                           "a check asks the remaining replicas after this, auto being the time "
                           "within which nodes answered 99 of 100 checks lately"),
    ROUTER_OPTION_RETRY_INTERVAL(FIELD(config.retry_us)),
    DAEMON_OPTION_DURATION("spin", FIELD(spin_us), 0, DAEMON_MS, "0us to 1ms", "100us",
                           "look for answers so long before sleeping, while requests are in "
                           "flight: shorter latency for CPU time"),
    DAEMON_OPTION_DURATION("max_timeout", FIELD(config.max_timeout_us), 10 * DAEMON_MS,
                           3600 * DAEMON_SECOND, "10ms to 1h", "60s",
                           "the longest deadline that a client may ask for"),
    ROUTER_OPTION_SYNC_INTERVAL(FIELD(config.sync_interval_us)),
    DAEMON_OPTION_LIVE_DURATION("drain_timeout", FIELD(drain_timeout_us), 0, 3600 * DAEMON_SECOND,
                                "0s to 1h", "5s",
                                "SIGTERM: what clients have under way is answered within this, "
                                "before the end"),
    {
        .name = "kept_file",
        .kind = OPTION_TEXT,
        .offset = FIELD(kept_file),
        .size = BYTES(kept_file),
        .unit = "path",
        .range = "a file in an existing folder, of mode 600",
        .help = "where this router keeps what it knows of filters, nodes and users, to serve by "
                "that after a start while no coordinator answers; none: nowhere",
    },
    {
        .name = "resp_listen",
        .kind = OPTION_ENDPOINT,
        .offset = FIELD(resp_listen),
        .size = BYTES(resp_listen),
        .unit = "endpoint",
        .range = "tcp://HOST:PORT, * for all hosts or a free port",
        .help = "where this router serves Redis clients (RESP); none: it does not",
    },
    {
        .name = "resp_socket",
        .kind = OPTION_TEXT,
        .offset = FIELD(resp_socket),
        .size = 108, /* what a socket's address has room for */
        .unit = "path",
        .range = "a path of at most 107 bytes",
        .help = "... and a unix-domain socket for those on this machine",
    },
    {
        .name = "resp_tls_listen",
        .kind = OPTION_ENDPOINT,
        .offset = FIELD(resp_tls_listen),
        .size = BYTES(resp_tls_listen),
        .unit = "endpoint",
        .range = "tcp://HOST:PORT, * for all hosts or a free port",
        .help = "where this router serves Redis clients by TLS, with or without resp_listen beside "
                "it; none: it does not",
        .needs = "tls_cert_file tls_key_file",
    },
    {
        .name = "tls_cert_file",
        .kind = OPTION_TEXT,
        .offset = FIELD(tls_cert_file),
        .size = BYTES(tls_cert_file),
        .unit = "path",
        .range = "a file in PEM form",
        .help =
            "the certificate that TLS clients are shown, and then those that vouch for it; it is "
            "looked at every minute, as tls_key_file and tls_ca_file are",
        .needs = "resp_tls_listen",
        .live = true,
    },
    {
        .name = "tls_key_file",
        .kind = OPTION_TEXT,
        .offset = FIELD(tls_key_file),
        .size = BYTES(tls_key_file),
        .unit = "path",
        .range = "a file of mode 600 in PEM form",
        .help = "its private key, without a passphrase",
        .needs = "resp_tls_listen",
        .live = true,
    },
    {
        .name = "tls_ca_file",
        .kind = OPTION_TEXT,
        .offset = FIELD(tls_ca_file),
        .size = BYTES(tls_ca_file),
        .unit = "path",
        .range = "a file in PEM form",
        .help = "the authorities that sign certificates of TLS clients",
        .needs = "resp_tls_listen",
        .live = true,
    },
    {
        .name = "tls_clients",
        .kind = OPTION_CHOICE,
        .offset = FIELD(tls_clients),
        .size = BYTES(tls_clients),
        .unit = "",
        .range = "none | optional | required",
        .value = "none",
        .help =
            "are TLS clients asked for a certificate? optional: one that is shown must be good; "
            "required: nobody gets in without",
        .live = true,
    },
    {
        .name = "resp_password_file",
        .kind = OPTION_TEXT,
        .offset = FIELD(resp_password_file),
        .size = BYTES(resp_password_file),
        .unit = "path",
        .range = "a file of mode 600",
        .help = "the password of the RESP user default, who may do everything, on one line; none: "
                "while there are no users, nobody needs one",
        .live = true,
    },
    {
        .name = "resp_users",
        .kind = OPTION_CHOICE,
        .offset = FIELD(resp_users),
        .size = BYTES(resp_users),
        .unit = "",
        .range = "auto | required",
        .value = "auto",
        .help = "required: a RESP client must be a user (orbloom user), or give the password, also "
                "while no user is known; auto: as long as there are no users nobody need be one",
        .live = true,
    },
    {
        .name = "resp_open",
        .kind = OPTION_CHOICE,
        .offset = FIELD(resp_open),
        .size = BYTES(resp_open),
        .unit = "",
        .range = "off | on",
        .value = "off",
        .help = "on: whoever reaches RESP off loopback needs no password; off: without "
                "resp_password_file or resp_users = required (or tls_clients = required) such a "
                "router does not start",
        .live = true,
    },
    {
        .name = "audit_log",
        .kind = OPTION_TEXT,
        .offset = FIELD(audit_log),
        .size = BYTES(audit_log),
        .unit = "path",
        .range = "a file in an existing folder, of mode 600",
        .help = "where each login and each command that RESP clients are refused is noted, a line "
                "of JSON each; none: nowhere",
    },
    DAEMON_OPTION_LIVE_DURATION("resp_auth_timeout", FIELD(resp.auth_us), DAEMON_SECOND,
                                3600 * DAEMON_SECOND, "1s to 1h", "10s",
                                "a RESP connection that has not given the password within this is "
                                "closed"),
    {
        .name = "resp_max_clients",
        .kind = OPTION_COUNT,
        .offset = FIELD(resp_max_clients),
        .min = 1,
        .max = 1000000,
        .unit = "connections",
        .range = "1 to 1M",
        .value = "10k",
        .help = "RESP connections at once; further ones are closed",
        .live = true,
    },
    DAEMON_OPTION_LIVE_DURATION(
        "resp_idle_timeout", FIELD(resp.idle_us), 0, 24 * 3600 * DAEMON_SECOND, "0s to 24h", "0s",
        "a RESP connection that is silent for so long is closed; 0s: never"),
    DAEMON_OPTION_LIVE_DURATION(
        "resp_request_timeout", FIELD(resp.request_us), 0, 24 * 3600 * DAEMON_SECOND, "0s to 24h",
        "30s",
        "a RESP connection that has sent a part of a request, and not the rest of it within this, "
        "is closed; 0s: never"),
    {
        .name = "resp_memory",
        .kind = OPTION_BYTES,
        .offset = FIELD(resp.max_memory),
        .min = 128 * MIB, /* the largest request, in a buffer that doubles, and keys under way */
        .max = 1024 * 1024 * MIB,
        .unit = "bytes",
        .range = "128 MiB to 1 TiB",
        .value = "256MiB",
        .help = "of requests and answers that all RESP connections may hold, beyond which the one "
                "that holds the most is closed",
        .live = true,
    },
    {
        .name = "resp_max_unread",
        .kind = OPTION_BYTES,
        .offset = FIELD(resp.max_unread),
        .min = MIB,
        .max = 1024 * MIB,
        .unit = "bytes",
        .range = "1 MiB to 1 GiB",
        .value = "32MiB",
        .help = "of answers that wait for one RESP client to read them; from half of it on nothing "
                "more is taken from that client, beyond it the connection is closed",
        .live = true,
    },
    DAEMON_OPTION_LIVE_DURATION("resp_timeout", FIELD(resp.timeout_us), 10 * DAEMON_MS,
                                60 * DAEMON_SECOND, "10ms to 60s", "5s",
                                "a RESP command is answered within this, if need be with an error"),
    {
        .name = "resp_capacity",
        .kind = OPTION_COUNT,
        .offset = FIELD(resp.capacity),
        .min = 1,
        .max = UINT64_C(1073741824),
        .unit = "keys",
        .range = "1 to 1073741824",
        .value = "1M",
        .help = "capacity of a filter that is made because BF.ADD finds none; it grows",
        .live = true,
    },
    {
        .name = "resp_error_rate",
        .kind = OPTION_FACTOR,
        .offset = FIELD(resp.rate),
        .min = 0,
        .max = OPTION_FACTOR_ONE / 4,
        .unit = "share",
        .range = "0.000001 to 0.25",
        .value = "0.01",
        .help = "its error rate",
        .live = true,
    },
    {
        .name = "resp_max_capacity",
        .kind = OPTION_COUNT,
        .offset = FIELD(resp.max_capacity),
        .min = 1,
        .max = UINT64_C(1000000000000),
        .unit = "keys",
        .range = "1 to 1T",
        .value = "1G",
        .help = "how far filters that RESP clients make may grow",
        .live = true,
    },
    {
        .name = "resp_missing",
        .kind = OPTION_CHOICE,
        .offset = FIELD(resp_missing),
        .size = BYTES(resp_missing),
        .unit = "",
        .range = "zero | error",
        .value = "zero",
        .help = "what BF.EXISTS says of a filter that does not exist",
        .live = true,
    },
    {
        .name = "resp_flush",
        .kind = OPTION_CHOICE,
        .offset = FIELD(resp_flush),
        .size = BYTES(resp_flush),
        .unit = "",
        .range = "off | on",
        .value = "off",
        .help = "on: FLUSHALL and FLUSHDB drop every filter of the cluster; off: they are errors",
        .live = true,
    },
    DAEMON_OPTION_LIVE_DURATION("slowlog_slower_than", FIELD(resp.slow_us), 0, FRONT_SLOW_NEVER_US,
                                "0us to 1h", "10ms",
                                "RESP commands that take so long are in SLOWLOG; 0us: all are, 1h: "
                                "none is"),
    {
        .name = "slowlog_items",
        .kind = OPTION_CHOICE,
        .offset = FIELD(slowlog_items),
        .size = BYTES(slowlog_items),
        .unit = "",
        .range = "hidden | shown",
        .value = "hidden",
        .help = "whether SLOWLOG tells items, or only how long they are",
        .live = true,
    },
    DAEMON_OPTION_TRANSPORT,
    DAEMON_OPTION_ALLOW_PLAIN,
    DAEMON_OPTION_IO_THREADS,
    DAEMON_OPTIONS_HTTP,
    DAEMON_OPTIONS_LOG,
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

/* A certificate that is asked for in vain, or one that is not asked for, is a door left open. */
static enum status finish_tls(struct router_settings *settings,
                              const struct option_origins *origins)
{
    bool authority = settings->tls_ca_file[0] != '\0';
    bool asked = strcmp(settings->tls_clients, "none") != 0;

    settings->tls = (struct tls_files){
        .certificate = settings->tls_cert_file,
        .key = settings->tls_key_file,
        .authority = settings->tls_ca_file,
        .clients = strcmp(settings->tls_clients, "required") == 0 ? TLS_CLIENTS_REQUIRED
                   : asked                                        ? TLS_CLIENTS_OPTIONAL
                                                                  : TLS_CLIENTS_NONE,
    };
    if (settings->resp_tls_listen[0] == '\0') {
        return !asked || settings->tls_cert_file[0] != '\0' /* It listens after a restart. */
                   ? STATUS_OK
                   : options_refuse(&table, origins, "tls_clients",
                                    "tls_clients asks for certificates, and there is no TLS; add "
                                    "resp_tls_listen, or leave tls_clients out");
    }
    if (settings->tls_cert_file[0] == '\0' || settings->tls_key_file[0] == '\0') {
        return options_refuse(
            &table, origins, "resp_tls_listen",
            "resp_tls_listen needs tls_cert_file and tls_key_file until a restart; name them");
    }
    if (asked && !authority) {
        return options_refuse(
            &table, origins, "tls_clients",
            "tls_clients asks for certificates, and nobody can vouch for them; name the "
            "tls_ca_file that has signed them, or set tls_clients to none");
    }
    if (!asked && authority) {
        return options_refuse(
            &table, origins, "tls_ca_file",
            "tls_ca_file is of no use while tls_clients is none: nobody would be asked for a "
            "certificate; set tls_clients to required or optional, or leave tls_ca_file out");
    }
    return STATUS_OK;
}

/* Each of the doors has a port of its own, or only one of them could be opened. */
static enum status check_ports(const struct router_settings *settings,
                               const struct option_origins *origins)
{
    const struct {
        const char *names; /* the first is to blame, if it was given */
        const char *a;
        const char *b;
    } pairs[] = {
        {"resp_listen listen", settings->resp_listen, settings->daemon.listen},
        {"resp_tls_listen listen", settings->resp_tls_listen, settings->daemon.listen},
        {"resp_tls_listen resp_listen", settings->resp_tls_listen, settings->resp_listen},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const char *second = strchr(pairs[i].names, ' ');

        if (options_endpoints_clash(pairs[i].a, pairs[i].b)) {
            return options_refuse(&table, origins, pairs[i].names,
                                  "%.*s, %s, and %s, %s, are one address; each needs a port of "
                                  "its own",
                                  (int)(second - pairs[i].names), pairs[i].names, pairs[i].a,
                                  second + 1, pairs[i].b);
        }
    }
    return STATUS_OK;
}

/* Whoever reaches `endpoint`, the option's, gets in without a word; so it must be meant. */
static enum status check_door(const struct router_settings *settings,
                              const struct option_origins *origins, const char *option,
                              const char *endpoint)
{
    if (endpoint[0] == '\0' || options_endpoint_is_loopback(endpoint) || settings->resp.guarded ||
        settings->resp.users_only || strcmp(settings->resp_open, "on") == 0) {
        return STATUS_OK;
    }
    return options_refuse(
        &table, origins, option,
        "%s %s is not loopback, and without a password whoever reaches it "
        "may read and drop every filter: name a file with one as resp_password_file, "
        "let nobody in but users with resp_users = \"required\" (orbloom user), "
        "listen on loopback, or say resp_open = \"on\" if that is meant",
        option, endpoint);
}

static enum status check_doors(const struct router_settings *settings,
                               const struct option_origins *origins)
{
    enum status status = check_door(settings, origins, "resp_listen", settings->resp_listen);

    /* A certificate that must be shown is as good as a password. */
    return status == STATUS_OK && settings->tls.clients != TLS_CLIENTS_REQUIRED
               ? check_door(settings, origins, "resp_tls_listen", settings->resp_tls_listen)
               : status;
}

enum status router_options_finish(void *context, const struct option_origins *origins)
{
    struct router_settings *settings = context;
    enum status status;

    settings->resp.guarded = settings->resp_password_file[0] != '\0';
    settings->resp.users_only = strcmp(settings->resp_users, "required") == 0;
    settings->resp.slow_items = strcmp(settings->slowlog_items, "shown") == 0;
    settings->resp.flush = strcmp(settings->resp_flush, "on") == 0;
    settings->resp.strict_missing = strcmp(settings->resp_missing, "error") == 0;
    if (settings->resp.rate < LEAST_RATE) {
        return options_refuse(&table, origins, "resp_error_rate",
                              "resp_error_rate must be 0.000001 to 0.25");
    }
    if (settings->resp.max_capacity < settings->resp.capacity) {
        return options_refuse(&table, origins, "resp_max_capacity resp_capacity",
                              "resp_max_capacity must not be less than resp_capacity");
    }
    status = finish_tls(settings, origins);
    status = status == STATUS_OK ? check_ports(settings, origins) : status;
    return status == STATUS_OK ? check_doors(settings, origins) : status;
}
