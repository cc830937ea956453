/* `orbloom shadow`: its flags, its help, and the secret by which it is let in at the new server. */
#include "cli/cmd.h"
#include "cli/shadow/proxy.h"
#include "runtime/file.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct shadow_settings {
    const char *listen;
    const char *old_server;
    const char *new_server;
    const char *new_auth;
    const char *listen_ca;
    const char *listen_cert;
    const char *listen_key;
    const char *old_ca;
    const char *old_cert;
    const char *old_key;
    const char *new_ca;
    const char *new_cert;
    const char *new_key;
    const char *answers;
    bool show_keys;
    uint64_t database;
    uint64_t queue_bytes;
    uint64_t new_timeout_us;
    uint64_t every_us;
    uint64_t max_clients;
};

#define FIELD(name) offsetof(struct shadow_settings, name)

#define CERTIFICATES "certificates in PEM form"
#define KEY          "a private key in PEM form, of mode 600"

#define FILE_OF_TLS(option, field, others, form, text)                                   \
    {                                                                                    \
        .name = (option), .kind = OPTION_TEXT, .offset = FIELD(field), .sample = "FILE", \
        .range = (form), .needs = (others), .help = (text)                               \
    }

static const struct option options[] = {
    {
        .name = "listen",
        .kind = OPTION_TEXT,
        .offset = FIELD(listen),
        .required = true,
        .sample = "HOST:PORT",
        .help = "where clients find it, in the place of the old server",
    },
    {
        .name = "old",
        .kind = OPTION_TEXT,
        .offset = FIELD(old_server),
        .required = true,
        .sample = "HOST:PORT",
        .help = "the Redis server with RedisBloom, to which all goes as it is",
    },
    {
        .name = "new",
        .kind = OPTION_TEXT,
        .offset = FIELD(new_server),
        .required = true,
        .sample = "HOST:PORT",
        .help = "a router's resp_listen",
    },
    {
        .name = "new-auth",
        .kind = OPTION_TEXT,
        .offset = FIELD(new_auth),
        .sample = "FILE",
        .range = "a file of mode 600",
        .help = "what the new one is told of who asks: \"PASSWORD\" or \"USER TOKEN\" in a line",
    },
    FILE_OF_TLS("old-ca-file", old_ca, NULL, CERTIFICATES,
                "the old server speaks TLS, and has to prove that it is the host of --old by a "
                "certificate that one of these vouches for"),
    FILE_OF_TLS("old-cert-file", old_cert, "old-key-file old-ca-file", CERTIFICATES,
                "what it is shown, where it asks for a certificate of clients"),
    FILE_OF_TLS("old-key-file", old_key, "old-cert-file", KEY, "the key of that"),
    FILE_OF_TLS("new-ca-file", new_ca, NULL, CERTIFICATES,
                "likewise the new server, at its resp_tls_listen"),
    FILE_OF_TLS("new-cert-file", new_cert, "new-key-file new-ca-file", CERTIFICATES, "likewise"),
    FILE_OF_TLS("new-key-file", new_key, "new-cert-file", KEY, "likewise"),
    FILE_OF_TLS("tls-cert-file", listen_cert, "tls-key-file", CERTIFICATES,
                "clients speak TLS, and are shown this; read again when it changes"),
    FILE_OF_TLS("tls-key-file", listen_key, "tls-cert-file", KEY, "the key of that"),
    FILE_OF_TLS("tls-ca-file", listen_ca, "tls-cert-file", CERTIFICATES,
                "clients must show a certificate that one of these vouches for"),
    {
        .name = "answers",
        .kind = OPTION_CHOICE,
        .offset = FIELD(answers),
        .sample = "WHOSE",
        .range = "old | new",
        .value = "old",
        .help = "whose answers about keys clients get; both servers get adds either way",
    },
    {
        .name = "database",
        .kind = OPTION_COUNT,
        .offset = FIELD(database),
        .max = 1000000,
        .sample = "N",
        .range = "0 to 1M",
        .value = "0",
        .help = "whose filters go to both, as clients SELECT it; those of others are counted",
    },
    {
        .name = "queue",
        .kind = OPTION_BYTES,
        .offset = FIELD(queue_bytes),
        .min = UINT64_C(1) << 20,
        .max = UINT64_C(1) << 36,
        .sample = "BYTES",
        .range = "1MiB to 64GiB",
        .value = "64MiB",
        .help = "commands noted for the new one; what comes beyond is missed, and counted",
    },
    {
        .name = "new-timeout",
        .kind = OPTION_DURATION,
        .offset = FIELD(new_timeout_us),
        .min = 1000,
        .max = UINT64_C(60000000),
        .sample = "TIME",
        .range = "1ms to 1m",
        .value = "1s",
        .help = "--answers new: later than this the old one's answer is taken",
    },
    {
        .name = "every",
        .kind = OPTION_DURATION,
        .offset = FIELD(every_us),
        .min = UINT64_C(1000000),
        .max = UINT64_C(86400000000),
        .sample = "TIME",
        .range = "1s to 1d",
        .value = "1m",
        .help = "a report on stdout; also at SIGUSR1 and at the end",
    },
    {
        .name = "max-clients",
        .kind = OPTION_COUNT,
        .offset = FIELD(max_clients),
        .min = 1,
        .max = 100000,
        .sample = "N",
        .range = "1 to 100k",
        .value = "1000",
        .help = "connections at once; each takes one to the old server, too",
    },
    {
        .name = "show-keys",
        .kind = OPTION_SWITCH,
        .offset = FIELD(show_keys),
        .help = "reports show keys that the two differ about as they are, not their XXH3",
    },
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "shadow",
    .words = "",
    .summary = "Stand in front of a RedisBloom server while you move in, and compare.",
    .notes =
        "Clients speak to it as to the old server, which gets all they send and answers. What it\n"
        "has done of BF.ADD, BF.MADD, BF.INSERT, BF.EXISTS, BF.MEXISTS and BF.RESERVE the new\n"
        "server gets, too, also inside MULTI; what the two say of each key is compared. A new\n"
        "server that is slow or away never delays an answer: commands wait for it within\n"
        "--queue. Nothing else reaches it: scripts, DEL, RENAME, EXPIRE and BF.LOADCHUNK are the\n"
        "old one's alone. Connections that SUBSCRIBE or MONITOR pass unseen, and are counted;\n"
        "adds on them are missed.\n\n"
        "Make the filters at the new one first, in the size and rate that you want. With\n"
        "--answers new clients get its answers, but for those inside MULTI, and the old one's\n"
        "where it gives none in time; adds still go to both, so that you can go back.\n\n"
        "Example:\n"
        "  orbloom shadow --listen 127.0.0.1:6378 --old 127.0.0.1:6379 --new 127.0.0.1:6380\n\n"
        "Exit: 0 ended by a signal, 1 adds did not reach the new one, or it could not begin,\n"
        "2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
};

/* "AUTH" with the one or two words of the line. */
static enum status make_greeting(void *context, struct span content, char *reason, size_t size)
{
    struct buffer *greeting = context;
    struct span line = span_trim(content);
    const uint8_t *blank = line.size > 0 ? memchr(line.data, ' ', line.size) : NULL;
    size_t user = blank != NULL ? (size_t)(blank - line.data) : 0;
    struct span secret = span_trim(span_of(line.data + user, line.size - user));
    char text[64];

    (void)reason;
    (void)size;
    if (secret.size == 0 || memchr(line.data, '\n', line.size) != NULL) {
        return STATUS_MALFORMED;
    }
    (void)snprintf(text, sizeof text, "*%d\r\n$4\r\nAUTH\r\n", user > 0 ? 3 : 2);
    if (buffer_append(greeting, span_text(text)) != STATUS_OK) {
        return STATUS_NOMEM;
    }
    if (user > 0) {
        (void)snprintf(text, sizeof text, "$%zu\r\n", user);
        if (buffer_append(greeting, span_text(text)) != STATUS_OK ||
            buffer_append(greeting, span_of(line.data, user)) != STATUS_OK ||
            buffer_append(greeting, span_text("\r\n")) != STATUS_OK) {
            return STATUS_NOMEM;
        }
    }
    (void)snprintf(text, sizeof text, "$%zu\r\n", secret.size);
    if (buffer_append(greeting, span_text(text)) != STATUS_OK ||
        buffer_append(greeting, secret) != STATUS_OK ||
        buffer_append(greeting, span_text("\r\n")) != STATUS_OK) {
        return STATUS_NOMEM;
    }
    return STATUS_OK;
}

static enum status read_greeting(const char *path, struct buffer *greeting)
{
    static const struct file_secret secret = {
        .what = "the --new-auth file",
        .form = "it must hold one line, \"PASSWORD\" or \"USER TOKEN\"",
        .remedy = "write it with an editor, and chmod 600",
    };

    return path != NULL ? file_read_secret(&secret, path, make_greeting, greeting) : STATUS_OK;
}

/* "": none. */
static struct tls_files files_of(const char *ca, const char *cert, const char *key)
{
    return (struct tls_files){
        .authority = ca != NULL ? ca : "",
        .certificate = cert != NULL ? cert : "",
        .key = key != NULL ? key : "",
        .clients = ca != NULL ? TLS_CLIENTS_REQUIRED : TLS_CLIENTS_NONE,
    };
}

static int run(int argc, char **argv)
{
    enum { GREETING_BYTES = 4096 };
    struct shadow_settings settings = {0};
    struct option_words words;
    struct buffer greeting;
    int code = CMD_USAGE;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    buffer_init(&greeting, GREETING_BYTES);
    if (read_greeting(settings.new_auth, &greeting) == STATUS_OK) {
        code = proxy_run(&(struct proxy_options){
            .listen = settings.listen,
            .old_server = settings.old_server,
            .new_server = settings.new_server,
            .listen_tls = files_of(settings.listen_ca, settings.listen_cert, settings.listen_key),
            .old_tls = files_of(settings.old_ca, settings.old_cert, settings.old_key),
            .new_tls = files_of(settings.new_ca, settings.new_cert, settings.new_key),
            .greeting = buffer_span(&greeting),
            .answers_new = strcmp(settings.answers, "new") == 0,
            .show_keys = settings.show_keys,
            .database = settings.database,
            .queue_bytes = settings.queue_bytes,
            .new_timeout_us = settings.new_timeout_us,
            .every_us = settings.every_us,
            .max_clients = settings.max_clients,
        });
    }
    buffer_fini(&greeting);
    return code;
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_shadow(void)
{
    return &command;
}
