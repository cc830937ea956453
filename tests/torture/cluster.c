/* Lists the processes of a cluster, writes their configurations, starts and stops them. */
#include "tests/torture/cluster.h"

#include "runtime/file.h"
#include "tests/torture/credentials.h"
#include "tests/torture/folder.h"
#include "tests/torture/journal.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PORT = 7400,
    CONF_BYTES = 4096,
    READY_MS = 60000,
    STOP_MS = 60000,
    POLL_MS = 5,
    MOST_GROWTH_RATE = 5000000
};

static void plan(struct cluster *self, enum daemon_kind kind, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct daemon daemon = {.kind = kind,
                                .host = self->ndaemons + 1,
                                .output = -1,
                                .programs = self->options->upgrade};
        char name[DAEMON_NAME_BYTES];
        char address[NETWORK_ADDRESS_BYTES];

        (void)snprintf(name, sizeof name, "%s-%u", daemon_kind_name(kind), i + 1);
        memcpy(daemon.name, name, sizeof name);
        (void)snprintf(daemon.dir, sizeof daemon.dir, "%s/%s", self->dir, name);
        (void)network_address(&self->network, daemon.host, address);
        if (self->network.namespaces) {
            (void)snprintf(daemon.endpoint, sizeof daemon.endpoint, "tcp://%s:%d", address, PORT);
        } else {
            (void)snprintf(daemon.endpoint, sizeof daemon.endpoint, "tcp://%s:*", address);
        }
        self->daemons[self->ndaemons++] = daemon;
    }
}

struct daemon *cluster_next(struct cluster *self, enum daemon_kind kind, uint32_t *index)
{
    while (*index < self->ndaemons) {
        struct daemon *daemon = &self->daemons[(*index)++];

        if (daemon->kind == kind) {
            return daemon;
        }
    }
    return NULL;
}

static const char *join(struct cluster *self, enum daemon_kind kind, const char *quote,
                        char list[CLUSTER_LIST_BYTES])
{
    const struct daemon *daemon;
    size_t used = 0;

    list[0] = '\0';
    for (uint32_t i = 0; (daemon = cluster_next(self, kind, &i)) != NULL;) {
        used += (size_t)snprintf(list + used, CLUSTER_LIST_BYTES - used, "%s%s%s%s",
                                 used > 0 ? "," : "", quote, daemon->endpoint, quote);
    }
    return list;
}

const char *cluster_list(struct cluster *self, enum daemon_kind kind, char list[CLUSTER_LIST_BYTES])
{
    return join(self, kind, "", list);
}

/* Phases of an expansion last for a moment, also where there are few keys. */
static uint64_t growth_rate(const struct options *options)
{
    uint64_t rate = options->keys * 2;

    return rate < MOST_GROWTH_RATE ? rate : MOST_GROWTH_RATE;
}

/* Small files of the log and short intervals: much happens in little time. */
static void print_node(const struct cluster *self, const struct daemon *daemon, char *text,
                       size_t size)
{
    int used = snprintf(text, size, "memory_limit = \"4GiB\";\nhost = \"%s\";\n", daemon->name);

    if (!self->options->in_memory) {
        (void)snprintf(text + used, size - (size_t)used,
                       "data_dir = \"%s/data\";\nlog_segment = \"8MiB\";\n"
                       "log_retain = \"8MiB\";\n",
                       daemon->dir);
    }
    if (self->options->change != CHANGE_NONE) {
        used = (int)strlen(text);
        (void)snprintf(text + used, size - (size_t)used, "growth_rate = \"%" PRIu64 "\";\n",
                       growth_rate(self->options));
    }
}

static bool write_conf(struct cluster *self, const struct daemon *daemon)
{
    char path[DAEMON_PATH_BYTES];
    char list[CLUSTER_LIST_BYTES];
    char text[CONF_BYTES];
    int used = snprintf(text, sizeof text,
                        "name = \"%s\";\nlisten = \"%s\";\ncluster_key_file = \"%s/key\";\n"
                        "transport = \"%s\";\nallow_plain = \"%s\";\n"
                        "log_level = \"%s\";\n",
                        daemon->name, daemon->endpoint, daemon->dir,
                        self->options->curve ? "curve" : "plain",
                        self->options->curve ? "off" : "on",
                        self->options->change != CHANGE_NONE ? "debug" : "info");
    char *rest = text + used;
    size_t room = sizeof text - (size_t)used;

    if (daemon->kind == DAEMON_COORDINATOR) {
        (void)snprintf(rest, room, "store = \"%s/store.sqlite\";\nnode_timeout = \"2s\";\n",
                       self->dir);
    } else {
        used = snprintf(rest, room, "coordinators = [%s];\nsync_interval = \"200ms\";\n",
                        join(self, DAEMON_COORDINATOR, "\"", list));
        if (daemon->kind == DAEMON_NODE) {
            print_node(self, daemon, rest + used, room - (size_t)used);
        }
    }
    return file_write(daemon_path(daemon, "conf", path), 0600, span_text(text)) == STATUS_OK;
}

static bool make_folder(struct cluster *self)
{
    const char *parent = getenv("TMPDIR");
    char path[sizeof self->dir];

    if (self->options->dir != NULL) {
        (void)snprintf(path, sizeof path, "%s", self->options->dir);
        return file_make_folder(path) == STATUS_OK && folder_is_empty(path) &&
               folder_absolute(path, self->dir, sizeof self->dir);
    }
    (void)snprintf(self->dir, sizeof self->dir, "%.300s/orbloom-torture-XXXXXX",
                   parent != NULL && parent[0] == '/' ? parent : "/tmp");
    self->temporary = mkdtemp(self->dir) != NULL;
    return self->temporary;
}

bool cluster_open(struct cluster *self, const struct options *options)
{
    char path[DAEMON_PATH_BYTES];

    *self = (struct cluster){.options = options};
    if (!make_folder(self)) {
        (void)fprintf(stderr, "torture: %s: %s; give an empty folder\n",
                      options->dir != NULL ? options->dir : self->dir, strerror(errno));
        return false;
    }
    journal_open(self->dir);
    network_open(&self->network,
                 (uint32_t)(1 + CLUSTER_COORDINATORS + options->routers + options->nodes),
                 !options->loopback);
    plan(self, DAEMON_COORDINATOR, CLUSTER_COORDINATORS);
    plan(self, DAEMON_ROUTER, (uint32_t)options->routers);
    plan(self, DAEMON_NODE, (uint32_t)options->nodes);
    for (uint32_t i = 0; i < self->ndaemons; i++) {
        if (file_make_folder(daemon_path(&self->daemons[i], "data", path)) != STATUS_OK) {
            return false;
        }
    }
    return credentials_draw_key(self);
}

void cluster_close(struct cluster *self, bool keep)
{
    for (uint32_t i = 0; i < self->ndaemons; i++) {
        daemon_kill(&self->daemons[i]);
    }
    network_close(&self->network);
    journal_close();
    if (self->temporary && !keep) {
        folder_remove(self->dir);
    }
}

/* A port that the kernel chose stays the daemon's from then on. */
static bool start_kind(struct cluster *self, enum daemon_kind kind, const struct daemon *but)
{
    uint64_t limit_ms = journal_now_ms() + READY_MS;
    struct daemon *daemon;

    for (uint32_t i = 0; (daemon = cluster_next(self, kind, &i)) != NULL;) {
        if (daemon == but) {
            continue;
        }
        if (!write_conf(self, daemon)) {
            return false;
        }
        daemon_start(daemon, &self->network);
        while (daemon->state == DAEMON_STARTING && journal_now_ms() < limit_ms) {
            journal_pause_ms(POLL_MS);
            daemon_poll(daemon);
        }
        if (daemon->state != DAEMON_RUNNING || !write_conf(self, daemon)) {
            journal_tell("%s did not become ready, see %s/log", daemon->name, daemon->dir);
            return false;
        }
    }
    return true;
}

bool cluster_start(struct cluster *self, bool late)
{
    const struct daemon *last = late ? &self->daemons[self->ndaemons - 1] : NULL;

    return start_kind(self, DAEMON_COORDINATOR, NULL) && credentials_make(self) &&
           start_kind(self, DAEMON_ROUTER, NULL) && start_kind(self, DAEMON_NODE, last);
}

const struct daemon *cluster_start_late(struct cluster *self)
{
    struct daemon *last = &self->daemons[self->ndaemons - 1];

    if (!write_conf(self, last)) {
        journal_tell("no configuration for %s", last->name);
        return NULL;
    }
    daemon_start(last, &self->network);
    last->ready_ms = journal_now_ms(); /* How long it takes counts from here. */
    return last;
}

bool cluster_stop(struct cluster *self)
{
    uint64_t limit_ms = journal_now_ms() + STOP_MS;
    bool good = true;

    for (uint32_t i = 0; i < self->ndaemons; i++) {
        daemon_signal(&self->daemons[i], SIGTERM);
    }
    for (uint32_t i = 0; i < self->ndaemons; i++) {
        good &= daemon_await_end(&self->daemons[i], limit_ms);
    }
    return good;
}
