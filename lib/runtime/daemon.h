/* daemon.h - the life of a server program: options, key, socket, actor, "ready", signals, end.
 *
 *   options_load -> finish -> cluster key -> files -> server socket
 *        -> start -> "http ENDPOINT" on stdout -> it serves: "ready ENDPOINT" -> until SIGTERM,
 * SIGINT or the actor is over
 *        -> lanes stopped -> stop
 *
 * --check-config: options_load -> finish -> cluster key -> check_files -> "FILE: ok" on stdout.
 *
 * SIGTERM: where there is drain(), the first one only asks for the end, and the actor says when it
 *          is over(); the second one ends at once.
 * SIGHUP:  the file is read again, and those that it names, the cluster key's included; all is
 *          refused as a whole where anything in it is wrong. Options
 *          that are `live` take effect; others that have changed are named in the log.
 * Whoever supervises it is told all of that, if it has set $NOTIFY_SOCKET: see supervision.h.
 * Shape:   a program's settings begin with a struct daemon_settings.
 * Errors:  whatever fails is logged or printed where it is known; the exit code tells
 *          PROCESS_EXIT_USAGE (options) from PROCESS_EXIT_FAILURE (everything else).
 * Threads: none of its own.
 */
#ifndef ORBLOOM_RUNTIME_DAEMON_H
#define ORBLOOM_RUNTIME_DAEMON_H

#include "base/actor.h"
#include "base/link_ring.h"
#include "runtime/file.h"
#include "runtime/http/pages.h"
#include "runtime/hub.h"
#include "runtime/options/options.h"
#include "runtime/transport.h"

#include <stddef.h>

enum { DAEMON_ENDPOINT_BYTES = 256, DAEMON_PATH_BYTES = 4096, DAEMON_LEVEL_BYTES = 8 };

struct daemon_settings {
    char listen[DAEMON_ENDPOINT_BYTES];
    char cluster_key_file[DAEMON_PATH_BYTES];
    char log_level[DAEMON_LEVEL_BYTES];
    char log_format[DAEMON_LEVEL_BYTES];
    char transport[8];
    char allow_plain[4];
    uint64_t io_threads;
    char http_listen[DAEMON_ENDPOINT_BYTES]; /* "": nowhere */
    char http_token_file[DAEMON_PATH_BYTES];
    char http_cert_file[DAEMON_PATH_BYTES];
    char http_key_file[DAEMON_PATH_BYTES];
    char http_open[4];
};

struct daemon {
    const struct option_table *options;
    void *settings;
    size_t settings_bytes;
    file_parse_fn read_key; /* makes `key` of the cluster key file's content */
    void *key;
    size_t key_bytes; /* what differs there is another key */

    /* Key pairs by CURVE: which kind of process this is, and what makes them of `key`. */
    enum curve_kind kind;
    transport_pairs_fn *pairs;

    /* Where coordinators are: an array of texts in the settings; NULL: it asks none. */
    const char *coordinators;
    size_t coordinator_bytes;
    const uint32_t *ncoordinators;

    /* Beside processes of the cluster: see hub_curve.h. NULL: nobody else gets in; whoever is in
     * may send anything. Asked while the actor is there. */
    transport_who_fn *who;
    transport_admits_fn *admits;

    uint64_t max_frame_bytes;

    /* What one option alone does not show; NULL: nothing. STATUS_USAGE after options_refuse(). */
    enum status (*finish)(void *settings, const struct option_origins *origins);

    /* Read the files that options name, at the start and on each SIGHUP, as they may hold something
     * else by then; NULL: there are none. Not OK, after saying why: nothing was changed. */
    enum status (*read_files)(void *settings);

    /* For --check-config: what read_files() reads and start() opens, judged as they judge it, and
     * nothing is bound, made or written; NULL: there is nothing. Not OK after saying why. */
    enum status (*check_files)(void *settings);

    /* Make the actor; the server socket listens already. On error say why and keep nothing. */
    enum status (*start)(void *settings, struct hub *hub, struct actor *actor);

    /* Is it of use to others? "ready" is not said before. NULL: from the start on. */
    bool (*serves)(void);

    /* End by and by; then the actor is over(). NULL: at once. */
    void (*drain)(void *settings, uint64_t now_us);

    /* What is told of it by HTTP. */
    const char *name;
    bool logs; /* what it commits is a log */
    void (*judge)(struct health *health);
    size_t (*count)(struct counter_set sets[PAGES_MAX_SETS]);
    void (*tell)(struct metrics *metrics); /* NULL: nothing more */
    size_t (*certificates)(struct pages_certificate out[PAGES_MAX_CERTIFICATES]); /* NULL: none */
    const struct http_page *pages; /* of its own; see pages.h */
    size_t npages;

    /* Live options have changed. NULL: nobody cares, but for the log. */
    void (*reload)(void *settings);

    /* The cluster key file holds other keys now, which are in `key`: the actor is to use them. */
    void (*rekey)(void *settings);

    /* The loop has ended: jobs that may take long are to end soon. NULL: none of them does. */
    void (*interrupt)(void);

    /* No job runs any more. Not OK, after saying why: the program has failed. */
    enum status (*stop)(void);
};

/* Does the daemon's server socket speak CURVE? */
bool daemon_listens_curve(const struct daemon_settings *settings);

/* The whole of main(). */
int daemon_main(const struct daemon *self, int argc, char **argv);

/* Rows that every daemon's option table has. */
#define DAEMON_OPTION_LISTEN(default_endpoint, text)                                             \
    {                                                                                            \
        .name = "listen", .kind = OPTION_ENDPOINT,                                               \
        .offset = offsetof(struct daemon_settings, listen), .size = DAEMON_ENDPOINT_BYTES,       \
        .required = true, .unit = "endpoint",                                                    \
        .range = "tcp://HOST:PORT, * for all hosts or a free port", .value = (default_endpoint), \
        .help = (text),                                                                          \
    }

#define DAEMON_OPTION_CLUSTER_KEY_FILE                                                           \
    {                                                                                            \
        .name = "cluster_key_file", .kind = OPTION_TEXT,                                         \
        .offset = offsetof(struct daemon_settings, cluster_key_file), .size = DAEMON_PATH_BYTES, \
        .required = true, .unit = "path", .range = "a file of mode 600",                         \
        .help = "the cluster's shared secret, made by: orbloom keygen FILE",                     \
    }

/* How processes speak to each other. */
#define DAEMON_OPTION_TRANSPORT                                                                   \
    {                                                                                             \
        .name = "transport", .kind = OPTION_CHOICE,                                               \
        .offset = offsetof(struct daemon_settings, transport), .size = 8, .unit = "",             \
        .range = "auto | curve | plain", .value = "auto",                                         \
        .help = "curve: all is encrypted, and only who has a known key gets in; plain: neither; " \
                "auto: plain on loopback, curve elsewhere",                                       \
    }

#define DAEMON_OPTION_ALLOW_PLAIN                                                               \
    {                                                                                           \
        .name = "allow_plain", .kind = OPTION_CHOICE,                                           \
        .offset = offsetof(struct daemon_settings, allow_plain), .size = 4, .unit = "",         \
        .range = "off | on", .value = "off",                                                    \
        .help =                                                                                 \
            "on: transport = plain is meant also where others than this machine reach listen; " \
            "off: such a process does not start",                                               \
    }

#define DAEMON_OPTION_IO_THREADS                                                       \
    {                                                                                  \
        .name = "io_threads", .kind = OPTION_COUNT,                                    \
        .offset = offsetof(struct daemon_settings, io_threads), .min = 1,              \
        .max = HUB_MAX_IO_THREADS, .unit = "threads", .range = "1 to 8", .value = "1", \
        .help = "threads that send, receive, encrypt and decrypt for this process",    \
    }

/* Two rows. */
#define DAEMON_OPTIONS_LOG                                                                     \
    {                                                                                          \
        .name = "log_level",                                                                   \
        .kind = OPTION_CHOICE,                                                                 \
        .offset = offsetof(struct daemon_settings, log_level),                                 \
        .size = DAEMON_LEVEL_BYTES,                                                            \
        .unit = "",                                                                            \
        .range = "error | warn | info | debug",                                                \
        .value = "info",                                                                       \
        .help = "how much is written to stderr",                                               \
        .live = true,                                                                          \
    },                                                                                         \
    {                                                                                          \
        .name = "log_format", .kind = OPTION_CHOICE,                                           \
        .offset = offsetof(struct daemon_settings, log_format), .size = DAEMON_LEVEL_BYTES,    \
        .unit = "", .range = "text | json", .value = "text",                                   \
        .help = "how each line is written: for people, or as an object of JSON", .live = true, \
    }

/* What is told of it by HTTP, where, how, and to whom: five rows. */
#define DAEMON_OPTIONS_HTTP                                                                      \
    {                                                                                            \
        .name = "http_listen",                                                                   \
        .kind = OPTION_ENDPOINT,                                                                 \
        .offset = offsetof(struct daemon_settings, http_listen),                                 \
        .size = DAEMON_ENDPOINT_BYTES,                                                           \
        .unit = "endpoint",                                                                      \
        .range = "tcp://HOST:PORT, * for all hosts or a free port",                              \
        .help = "where metrics and health are told by HTTP; none: nowhere",                      \
    },                                                                                           \
        {                                                                                        \
            .name = "http_token_file",                                                           \
            .kind = OPTION_TEXT,                                                                 \
            .offset = offsetof(struct daemon_settings, http_token_file),                         \
            .size = DAEMON_PATH_BYTES,                                                           \
            .unit = "path",                                                                      \
            .range = "a file of mode 600",                                                       \
            .help = "what whoever asks there must give, as a bearer token or as a password",     \
            .needs = "http_listen",                                                              \
        },                                                                                       \
        {                                                                                        \
            .name = "http_cert_file",                                                            \
            .kind = OPTION_TEXT,                                                                 \
            .offset = offsetof(struct daemon_settings, http_cert_file),                          \
            .size = DAEMON_PATH_BYTES,                                                           \
            .unit = "path",                                                                      \
            .range = "a file in PEM form",                                                       \
            .help = "the certificate that is shown there by TLS, and then those that vouch for " \
                    "it; none: plain HTTP",                                                      \
            .needs = "http_key_file http_listen",                                                \
        },                                                                                       \
        {                                                                                        \
            .name = "http_key_file",                                                             \
            .kind = OPTION_TEXT,                                                                 \
            .offset = offsetof(struct daemon_settings, http_key_file),                           \
            .size = DAEMON_PATH_BYTES,                                                           \
            .unit = "path",                                                                      \
            .range = "a file of mode 600 in PEM form",                                           \
            .help = "the private key of http_cert_file",                                         \
            .needs = "http_cert_file",                                                           \
        },                                                                                       \
    {                                                                                            \
        .name = "http_open", .kind = OPTION_CHOICE,                                              \
        .offset = offsetof(struct daemon_settings, http_open), .size = 4, .unit = "",            \
        .range = "off | on", .value = "off",                                                     \
        .help = "on: http_listen without a token is meant also where others than this machine "  \
                "reach it; off: such a process does not start",                                  \
        .needs = "http_listen",                                                                  \
    }

/* "name", "host", "zone": a text that others see. `must`: it may not be empty. */
#define DAEMON_OPTION_NAME(option, at, bytes, must, default_text, text)             \
    {                                                                               \
        .name = (option), .kind = OPTION_NAME, .offset = (at), .size = (bytes),     \
        .required = (must), .unit = "", .range = "1 to 128 of A-Z a-z 0-9 . _ : -", \
        .value = (default_text), .help = (text),                                    \
    }

/* Which of several sites the process is of; "": none. */
#define DAEMON_OPTION_SITE(at, bytes, text)                                               \
    {                                                                                     \
        .name = "site", .kind = OPTION_SITE, .offset = (at), .size = (bytes), .unit = "", \
        .range = "1 to 32 of a-z 0-9 -", .help = (text),                                  \
    }

/* Endpoints at `at`, of `bytes` each, their uint32_t count at `count_at`. */
#define DAEMON_OPTION_COORDINATORS(at, bytes, count_at, text)                         \
    {                                                                                 \
        .name = "coordinators", .kind = OPTION_LIST, .offset = (at), .size = (bytes), \
        .count_offset = (count_at), .max_count = LINK_RING_MAX, .required = true,     \
        .unit = "endpoints", .range = "1 to 8 of tcp://HOST:PORT",                    \
        .value = "tcp://127.0.0.1:7400", .help = (text),                              \
    }

/* A duration in the settings, between two bounds in microseconds. */
#define DAEMON_OPTION_DURATION(option, at, least, most, bounds, default_text, text)               \
    {                                                                                             \
        .name = (option), .kind = OPTION_DURATION, .offset = (at), .min = (least), .max = (most), \
        .unit = "duration", .range = (bounds), .value = (default_text), .help = (text),           \
    }

/* ... that may change while the program runs. */
#define DAEMON_OPTION_LIVE_DURATION(option, at, least, most, bounds, default_text, text)          \
    {                                                                                             \
        .name = (option), .kind = OPTION_DURATION, .offset = (at), .min = (least), .max = (most), \
        .unit = "duration", .range = (bounds), .value = (default_text), .help = (text),           \
        .live = true,                                                                             \
    }

#define DAEMON_MS     UINT64_C(1000)
#define DAEMON_SECOND UINT64_C(1000000)

#endif
