/* Starts the two links anew, and changes, cuts and heals the way between them. */
#include "bench/sites_clusters.h"

#include "base/heap.h"
#include "bench/wan/conf.h"
#include "client/shell_channel.h"
#include "runtime/hub.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CONF_BYTES = 16384,
    FILE_BYTES = PATH_MAX + 64,
    COMMAND_BYTES = PATH_MAX + 1024,
    SAID_BYTES = 4 << 20,
    LIMIT_US = 60000000,
    LOOK_US = 20000,
    END_MS = 10000,
    ANSWER_US = 2000000,
    AT_ONCE = 4, /* commands */
    EXEC_FAILED = 127,
    WAN_SEED = 1,
};

static bool complain(const char *what, const char *why)
{
    (void)fprintf(stderr, "sites: %s: %s\n", what, why);
    return false;
}

/* ---- files of the playground ---- */

static bool read_file(const struct sites_clusters *self, int site, const char *name,
                      char text[CONF_BYTES])
{
    char path[FILE_BYTES];
    FILE *file;
    size_t size;

    (void)snprintf(path, sizeof path, "%s/%s", self->sites[site].dir, name);
    file = fopen(path, "re");
    if (file == NULL) {
        return complain(path, strerror(errno));
    }
    size = fread(text, 1, CONF_BYTES - 1, file);
    text[size] = '\0';
    (void)fclose(file);
    return true;
}

/* The endpoint of a line `NAME = "tcp://...";`. */
static bool read_endpoint(const struct sites_clusters *self, int site, const char *file,
                          const char *name, char endpoint[SITES_ENDPOINT_BYTES])
{
    char text[CONF_BYTES];
    char line[64];
    const char *at;

    (void)snprintf(line, sizeof line, "\n%s = \"", name);
    if (!read_file(self, site, file, text)) {
        return false;
    }
    at = strstr(text, line);
    if (at == NULL || sscanf(at + strlen(line), "%95[^\"]", endpoint) != 1) {
        return complain(file, "no endpoint there");
    }
    return true;
}

static bool read_site(struct sites_clusters *self, int site)
{
    struct sites_cluster *at = &self->sites[site];

    return read_endpoint(self, site, "router/conf", "listen", at->router) &&
           read_endpoint(self, site, "coordinator/conf", "listen", at->coordinator) &&
           read_endpoint(self, site, "link/conf", "listen", at->link);
}

static bool find_sites(struct sites_clusters *self)
{
    const char *dir = getenv("ORBLOOM_DIR");
    const char *slash = dir != NULL ? strrchr(dir, '/') : NULL;

    if (slash == NULL || strcmp(slash, "/site-1") != 0) {
        return complain("ORBLOOM_DIR", "not of a playground of several sites");
    }
    for (int site = 0; site < SITES_CLUSTERS; site++) {
        (void)snprintf(self->sites[site].dir, PATH_MAX, "%.*s/site-%d", (int)(slash - dir), dir,
                       site + 1);
        if (!read_site(self, site)) {
            return false;
        }
    }
    return true;
}

/* ---- links ---- */

/* End the one that the playground has started: it names that, and leaves it. */
static bool end_first_link(const struct sites_clusters *self, int site)
{
    char text[CONF_BYTES];
    struct pollfd waited = {.fd = -1, .events = POLLIN};
    bool ended;

    if (!read_file(self, site, "link/pid", text)) {
        return false;
    }
    waited.fd = (int)syscall(SYS_pidfd_open, atoi(text), 0);
    ended = waited.fd >= 0 && syscall(SYS_pidfd_send_signal, waited.fd, SIGTERM, NULL, 0) == 0 &&
            poll(&waited, 1, END_MS) > 0;
    if (waited.fd >= 0) {
        (void)close(waited.fd);
    }
    return ended || complain(self->sites[site].dir, "its link does not end");
}

static const char *path_of(const struct sites_clusters *self, int site, const char *file,
                           char path[FILE_BYTES])
{
    (void)snprintf(path, FILE_BYTES, "%s/link/%s", self->sites[site].dir, file);
    return path;
}

static bool write_confs(const struct sites_clusters *self)
{
    static char texts[2 * SITES_CLUSTERS][FILE_BYTES];
    const char *read[SITES_CLUSTERS];
    const char *written[SITES_CLUSTERS];

    for (int site = 0; site < SITES_CLUSTERS; site++) {
        read[site] = path_of(self, site, "conf", texts[2 * site]);
        written[site] = path_of(self, site, "conf-wan", texts[2 * site + 1]);
    }
    return wan_conf_write(read, written, SITES_CLUSTERS);
}

/* After fork(): nothing but calls that are safe there. */
static _Noreturn void become(const char *program, const char *conf, int log, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && dup2(log, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0) {
        (void)execl(program, program, "--config", conf, (char *)NULL);
    }
    _exit(EXEC_FAILED);
}

static bool start_link(struct sites_clusters *self, int site)
{
    char program[FILE_BYTES];
    char conf[FILE_BYTES];
    char path[FILE_BYTES];
    pid_t parent = getpid();
    pid_t link;
    int log;

    (void)snprintf(program, sizeof program, "%s/orbloom-link", self->bin);
    (void)path_of(self, site, self->wan != NULL ? "conf-wan" : "conf", conf);
    log = open(path_of(self, site, "log", path), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    link = log >= 0 ? fork() : -1;
    if (link == 0) {
        become(program, conf, log, parent);
    }
    if (log >= 0) {
        (void)close(log);
    }
    self->links[site] = link > 0 ? link : 0;
    return link > 0 || complain(program, strerror(errno));
}

static bool are_connected(const struct sites_clusters *self)
{
    uint64_t channels[SITES_CLUSTERS] = {0};

    for (int site = 0; site < SITES_CLUSTERS; site++) {
        if (!sites_clusters_counter(self, site, "site_channels", &channels[site])) {
            return false;
        }
    }
    return channels[0] > 0 && channels[1] > 0;
}

static bool start_links(struct sites_clusters *self)
{
    uint64_t end_us = hub_now_us() + LIMIT_US;

    for (int site = 0; site < SITES_CLUSTERS; site++) {
        if (!start_link(self, site)) {
            return false;
        }
    }
    while (!are_connected(self)) {
        if (hub_now_us() > end_us) {
            return complain("links", "the sites are not connected; see their logs");
        }
        hub_nap(LOOK_US);
    }
    return true;
}

static void end_link(pid_t link)
{
    uint64_t end_us = hub_now_us() + (uint64_t)END_MS * 1000;

    (void)kill(link, SIGTERM);
    (void)kill(link, SIGCONT);
    while (waitpid(link, NULL, WNOHANG) == 0) {
        if (hub_now_us() > end_us) {
            (void)kill(link, SIGKILL);
        }
        hub_nap(LOOK_US);
    }
}

static void end_links(struct sites_clusters *self)
{
    for (int site = 0; site < SITES_CLUSTERS; site++) {
        if (self->links[site] > 0) {
            end_link(self->links[site]);
            self->links[site] = 0;
        }
    }
}

bool sites_clusters_open(struct sites_clusters *self, const char *bin, bool by_wan)
{
    *self = (struct sites_clusters){0};
    (void)snprintf(self->bin, sizeof self->bin, "%s", bin);
    if (!find_sites(self)) {
        return false;
    }
    self->wan = by_wan ? wan_open(SITES_CLUSTERS, WAN_SEED) : NULL;
    if (self->wan != NULL && !write_confs(self)) {
        return false;
    }
    if (self->wan != NULL && wan_set_congestion(self->wan, "cubic")) {
        self->congestion = "cubic";
    }
    return end_first_link(self, 0) && end_first_link(self, 1) && start_links(self);
}

void sites_clusters_close(struct sites_clusters *self)
{
    end_links(self);
    wan_close(&self->wan);
}

void sites_clusters_stop_link(const struct sites_clusters *self, bool stop)
{
    (void)kill(self->links[1], stop ? SIGSTOP : SIGCONT);
}

/* ---- the wan ---- */

void sites_clusters_set_line(struct sites_clusters *self, const struct line_kind *line)
{
    self->line = *line;
    wan_set_all(self->wan, line);
}

void sites_clusters_cut(const struct sites_clusters *self, bool cut)
{
    struct line_kind line = self->line;

    line.cut = cut;
    wan_set_all(self->wan, &line);
}

bool sites_clusters_set_congestion(struct sites_clusters *self, const char *name)
{
    if (!wan_set_congestion(self->wan, name)) {
        return complain(name, strerror(errno));
    }
    self->congestion = name;
    end_links(self);
    return start_links(self);
}

/* ---- commands ---- */

/* What a command of the shell says first is in `said`. */
static bool run_shell(const char *text, char *said, size_t size)
{
    FILE *output = popen(text, "re");
    char rest[1024];
    size_t used;

    if (output == NULL) {
        return complain("the shell", strerror(errno));
    }
    used = fread(said, 1, size - 1, output);
    said[used] = '\0';
    while (fread(rest, 1, sizeof rest, output) > 0) {
        /* It is to come to its end. */
    }
    return pclose(output) == 0;
}

bool sites_clusters_command(const struct sites_clusters *self, int site, const char *words)
{
    const struct sites_cluster *at = &self->sites[site];
    char text[COMMAND_BYTES];
    char said[1024];

    (void)snprintf(text, sizeof text, "'%s/orbloom' %s --coordinator %s --router %s 2>&1",
                   self->bin, words, at->coordinator, at->router);
    return run_shell(text, said, sizeof said) || complain(words, said);
}

bool sites_clusters_create_many(const struct sites_clusters *self, int filters, const char *words)
{
    const struct sites_cluster *at = &self->sites[0];
    char text[COMMAND_BYTES];
    char said[4096];

    (void)snprintf(text, sizeof text,
                   "seq %d | xargs -P %d -I NUMBER '%s/orbloom' create %s --coordinator %s "
                   "--router %s 2>&1",
                   filters, AT_ONCE, self->bin, words, at->coordinator, at->router);
    return run_shell(text, said, sizeof said) || complain(words, said);
}

static int count_in(const char *text, const char *word)
{
    int count = 0;

    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

/* Each filter says it of this site, and what the other one has told. */
static bool filters_stand(const struct sites_clusters *self, int filters, char *said)
{
    char text[COMMAND_BYTES];

    (void)snprintf(text, sizeof text, "'%s/orbloom' site --json --coordinator %s 2>&1", self->bin,
                   self->sites[0].coordinator);
    return run_shell(text, said, SAID_BYTES) &&
           count_in(said, "\"says_absent\": true") >= SITES_CLUSTERS * filters &&
           strstr(said, "\"joining\"") == NULL;
}

bool sites_clusters_wait_filters(const struct sites_clusters *self, int filters)
{
    uint64_t end_us = hub_now_us() + LIMIT_US;
    char *said = heap_alloc(SAID_BYTES, 1);
    bool stand = false;

    while (said != NULL && !stand && hub_now_us() < end_us) {
        stand = filters_stand(self, filters, said);
        hub_nap(LOOK_US);
    }
    heap_free(said);
    return stand || complain("the filters", "not both sites have them after 60 s");
}

/* ---- counters ---- */

struct question {
    const char *name;
    uint64_t *value;
    bool answered;
};

static void on_answer(void *context, const struct session_result *result)
{
    struct question *question = context;
    const struct stats_reply *reply;

    if (result->status != STATUS_OK) {
        return;
    }
    reply = &result->frame->body.stats_reply;
    for (size_t i = 0; i < reply->nvalues; i++) {
        if (strcmp(reply->values[i].name, question->name) == 0) {
            *question->value = reply->values[i].value;
            question->answered = true;
        }
    }
}

bool sites_clusters_counter(const struct sites_clusters *self, int site, const char *name,
                            uint64_t *value)
{
    const struct channel_options options = {.routers = self->sites[site].link,
                                            .credential = CHANNEL_NO_CREDENTIAL};
    const struct frame frame = {.kind = FRAME_STATS_REQUEST};
    struct question question = {.name = name, .value = value};
    struct channel *channel = NULL;
    char reason[CHANNEL_REASON_BYTES];

    if (channel_open(&options, &channel, reason) != STATUS_OK) {
        return complain(name, reason);
    }
    channel_ask(channel, ANSWER_US, &frame, on_answer, &question);
    channel_close(&channel);
    return question.answered;
}
