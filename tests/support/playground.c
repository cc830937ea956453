/* Starts `orbloom playground`, finds its processes by their pid files, and signals them. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_BYTES = 512, POLL_MS = 20, LINE_BYTES = 512, OPEN_FOLDERS = 16 };

static void path_of(const struct playground *self, const char *daemon, const char *file,
                    char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%s/%s/%s", self->dir, daemon, file);
}

/* export NAME='VALUE' into our own environment. */
static void take_export(const char *line)
{
    char name[LINE_BYTES];
    char value[LINE_BYTES];

    if (sscanf(line, "export %511[A-Z_]='%511[^']'", name, value) == 2) {
        cr_assert_eq(setenv(name, value, 1), 0);
    }
}

static bool take_environment(const struct playground *self)
{
    char path[PATH_BYTES];
    char *text;

    (void)snprintf(path, sizeof path, "%s/env", self->dir);
    text = command_read_file(path);
    if (text == NULL) {
        return false;
    }
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        take_export(line);
    }
    free(text);
    return true;
}

static void learn_daemon(struct playground *self, const char *name)
{
    char path[PATH_BYTES];
    char *text;

    path_of(self, name, "pid", path);
    text = command_read_file(path);
    cr_assert_not_null(text, "%s", path);
    cr_assert_lt(self->ndaemons, PLAYGROUND_MAX);
    (void)snprintf(self->daemons[self->ndaemons].name, sizeof self->daemons[0].name, "%s", name);
    self->daemons[self->ndaemons].pid = (pid_t)strtol(text, NULL, 10);
    cr_assert_gt(self->daemons[self->ndaemons].pid, 1);
    self->ndaemons++;
    free(text);
}

/* `site`: "", or "site-1/". */
static void learn_site(struct playground *self, const char *site)
{
    char name[32];

    (void)snprintf(name, sizeof name, "%scoordinator", site);
    learn_daemon(self, name);
    (void)snprintf(name, sizeof name, "%srouter", site);
    learn_daemon(self, name);
    for (uint32_t i = 2; i <= self->plan.routers; i++) {
        (void)snprintf(name, sizeof name, "%srouter-%u", site, i);
        learn_daemon(self, name);
    }
    for (uint32_t i = 1; i <= self->plan.nodes; i++) {
        (void)snprintf(name, sizeof name, "%snode-%u", site, i);
        learn_daemon(self, name);
    }
}

static void learn_daemons(struct playground *self)
{
    char site[16];
    char name[32];

    if (self->plan.sites == 1) {
        learn_site(self, "");
        return;
    }
    for (uint32_t i = 1; i <= self->plan.sites; i++) {
        (void)snprintf(site, sizeof site, "site-%u/", i);
        learn_site(self, site);
        (void)snprintf(name, sizeof name, "%slink", site);
        learn_daemon(self, name);
    }
}

static void launch(struct playground *self)
{
    const struct playground_plan *plan = &self->plan;
    char nodes[16];
    char routers[16];
    char sites[16];
    const char *words[] = {"playground",
                           "--dir",
                           self->dir,
                           "--base-port",
                           "0",
                           "--nodes",
                           nodes,
                           "--routers",
                           routers,
                           "--sites",
                           sites,
                           "--memory",
                           plan->memory != NULL ? plan->memory : "1GiB",
                           plan->in_memory ? "--in-memory" : NULL,
                           NULL};

    (void)snprintf(nodes, sizeof nodes, "%u", plan->nodes);
    (void)snprintf(routers, sizeof routers, "%u", plan->routers);
    (void)snprintf(sites, sizeof sites, "%u", plan->sites);
    command_start(&self->process, span_of("", 0), SIGKILL, "orbloom", words);
}

void playground_start_again(struct playground *self)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_START_MS;
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/env", self->dir);
    (void)remove(path); /* One that was killed has left its own. */
    self->ndaemons = 0;
    launch(self);
    while (!take_environment(self)) {
        if (command_ended(&self->process, POLL_MS) || command_now_ms() > deadline_ms) {
            command_finish(&self->process, 0);
            cr_assert_fail("no cluster: %s%s", self->process.output, self->process.errors);
        }
    }
    learn_daemons(self);
}

void playground_start(struct playground *self, const struct playground_plan *plan)
{
    *self = (struct playground){.dir = "/tmp/orbloom-test-XXXXXX", .plan = *plan};
    self->plan.nodes = plan->nodes > 0 ? plan->nodes : 3;
    self->plan.routers = plan->routers > 0 ? plan->routers : 1;
    self->plan.sites = plan->sites > 0 ? plan->sites : 1;
    cr_assert_not_null(mkdtemp(self->dir), "%s", strerror(errno));
    playground_start_again(self);
}

static size_t find(const struct playground *self, const char *daemon)
{
    size_t i = 0;

    while (i < self->ndaemons && strcmp(self->daemons[i].name, daemon) != 0) {
        i++;
    }
    cr_assert_lt(i, self->ndaemons, "no daemon %s", daemon);
    return i;
}

/* Until its last thread is gone, which holds its port and its folder: the first is a zombie long
 * before. */
static bool runs(pid_t pid)
{
    struct pollfd ended = {.events = POLLIN};
    bool running;

    ended.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    running = ended.fd >= 0 && poll(&ended, 1, 0) == 0;
    if (ended.fd >= 0) {
        (void)close(ended.fd);
    }
    return running;
}

static void wait_gone(pid_t pid, const char *name)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;

    while (runs(pid)) {
        cr_assert_lt(command_now_ms(), deadline_ms, "%s still runs", name);
        (void)poll(NULL, 0, POLL_MS);
    }
}

void playground_signal(struct playground *self, const char *daemon, int signal)
{
    size_t i = find(self, daemon);

    cr_assert_eq(kill(self->daemons[i].pid, signal), 0, "%s: %s", daemon, strerror(errno));
}

static void reap(struct playground *self, size_t i)
{
    struct command *started = self->daemons[i].started;

    if (started != NULL) {
        command_finish(started, PLAYGROUND_STOP_MS);
        command_forget(started);
        free(started);
        self->daemons[i].started = NULL;
    }
}

void playground_kill(struct playground *self, const char *daemon)
{
    size_t i = find(self, daemon);

    playground_signal(self, daemon, SIGKILL);
    wait_gone(self->daemons[i].pid, daemon);
    reap(self, i);
}

int playground_wait_end(struct playground *self, const char *daemon)
{
    size_t i = find(self, daemon);
    int status = -1;

    if (self->daemons[i].started != NULL) {
        command_finish(self->daemons[i].started, PLAYGROUND_WAIT_MS);
        status = self->daemons[i].started->exit_status;
        command_forget(self->daemons[i].started);
        free(self->daemons[i].started);
        self->daemons[i].started = NULL;
    }
    wait_gone(self->daemons[i].pid, daemon);
    return status;
}

void playground_restart(struct playground *self, const char *daemon)
{
    size_t i = find(self, daemon);
    const char *slash = strchr(daemon, '/');
    const char *kind = slash != NULL ? slash + 1 : daemon;
    char conf[PATH_BYTES];
    char program[32];
    const char *words[] = {"--config", conf, NULL};

    cr_assert_not(runs(self->daemons[i].pid), "%s runs", daemon);
    path_of(self, daemon, "conf", conf);
    (void)snprintf(program, sizeof program, "orbloom-%.*s", (int)strcspn(kind, "-"), kind);
    self->daemons[i].started = calloc(1, sizeof(struct command));
    cr_assert_not_null(self->daemons[i].started);
    command_start(self->daemons[i].started, span_of("", 0), SIGKILL, program, words);
    self->daemons[i].pid = self->daemons[i].started->pid;
}

void playground_configure(struct playground *self, const char *daemon, const char *lines)
{
    char conf[PATH_BYTES];
    FILE *file;

    playground_kill(self, daemon);
    path_of(self, daemon, "conf", conf);
    file = fopen(conf, "ae");
    cr_assert_not_null(file);
    cr_assert_geq(fputs(lines, file), 0);
    cr_assert_eq(fclose(file), 0);
    playground_restart(self, daemon);
}

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *place)
{
    (void)stat;
    (void)kind;
    (void)place;
    return remove(path);
}

static void expect_clean_log(const struct playground *self, const char *daemon)
{
    char *log = playground_log(self, daemon);

    cr_assert_not_null(log, "%s has no log", daemon);
    cr_assert_null(command_find_defect(log), "%s says:\n%s", daemon, log);
    free(log);
}

void playground_leave(struct playground *self)
{
    for (size_t i = 0; i < self->ndaemons; i++) {
        (void)kill(self->daemons[i].pid, SIGCONT); /* A stopped one could not stop. */
        if (self->daemons[i].started != NULL) {
            (void)kill(self->daemons[i].pid, SIGTERM);
            reap(self, i);
        }
    }
    cr_assert_eq(kill(self->process.pid, SIGTERM), 0);
    command_finish(&self->process, PLAYGROUND_STOP_MS);
    cr_assert_eq(self->process.exit_status, 0, "the playground ended with %d: %s%s",
                 self->process.exit_status, self->process.output, self->process.errors);
    command_forget(&self->process);
    for (size_t i = 0; i < self->ndaemons; i++) {
        cr_assert_not(runs(self->daemons[i].pid), "%s outlives its playground",
                      self->daemons[i].name);
        expect_clean_log(self, self->daemons[i].name);
    }
}

void playground_kill_all(struct playground *self)
{
    cr_assert_eq(kill(self->process.pid, SIGKILL), 0); /* First: it would tidy up after others. */
    for (size_t i = 0; i < self->ndaemons; i++) {
        (void)kill(self->daemons[i].pid, SIGKILL); /* It may have died with the playground. */
    }
    command_finish(&self->process, PLAYGROUND_STOP_MS);
    command_forget(&self->process);
    for (size_t i = 0; i < self->ndaemons; i++) {
        reap(self, i);
    }
}

void playground_stop(struct playground *self)
{
    playground_leave(self);
    cr_assert_eq(nftw(self->dir, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS), 0);
}

void playground_endpoint(const struct playground *self, const char *daemon,
                         char endpoint[PLAYGROUND_ENDPOINT_BYTES])
{
    char path[PATH_BYTES];
    char *text;
    const char *at;

    path_of(self, daemon, "conf", path);
    text = command_read_file(path);
    cr_assert_not_null(text, "%s", path);
    at = strstr(text, "listen = \"");
    cr_assert_not_null(at);
    cr_assert_eq(sscanf(at, "listen = \"%255[^\"]\"", endpoint), 1);
    free(text);
}

char *playground_log(const struct playground *self, const char *daemon)
{
    char path[PATH_BYTES];

    path_of(self, daemon, "log", path);
    return command_read_file(path);
}

const char *playground_path(const struct playground *self, const char *name)
{
    static char paths[4][PATH_BYTES];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, PATH_BYTES, "%s/%s", self->dir, name);
    return path;
}

uint64_t playground_counter(struct playground *self, const char *daemon, const char *counter)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    char quoted[80];
    struct command command;
    const char *at;
    uint64_t value;

    playground_endpoint(self, daemon, endpoint);
    command_run(&command, span_of("", 0), "orbloom", "stats", endpoint, "--json", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    (void)snprintf(quoted, sizeof quoted, "\"%s\": ", counter);
    at = strstr(command.output, quoted);
    cr_assert_not_null(at, "%s has no counter %s", daemon, counter);
    value = strtoull(at + strlen(quoted), NULL, 10);
    command_forget(&command);
    return value;
}

void playground_wait_counter(struct playground *self, const char *daemon, const char *counter,
                             uint64_t least)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    uint64_t value = playground_counter(self, daemon, counter);

    while (value < least) {
        cr_assert_lt(command_now_ms(), deadline_ms, "%s of %s is %d, not %d", counter, daemon,
                     (int)value, (int)least);
        (void)poll(NULL, 0, POLL_MS);
        value = playground_counter(self, daemon, counter);
    }
}

void playground_wait_status(const char *text)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    bool said = false;

    while (!said) {
        struct command command;

        command_run(&command, span_of("", 0), "orbloom", "status", NULL);
        said = strstr(command.output, text) != NULL;
        cr_assert(said || command_now_ms() < deadline_ms, "status never says %s: %s%s", text,
                  command.output, command.errors);
        command_forget(&command);
        if (!said) {
            (void)poll(NULL, 0, POLL_MS);
        }
    }
}
