/* Starts the playground, takes its processes over, and gives commands to its sites. */
#include "tests/torture_sites/sites.h"

#include "bench/wan/conf.h"
#include "tests/support/random.h"
#include "tests/torture/folder.h"
#include "tests/torture/journal.h"
#include "tests/torture_sites/verdict.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    START_MS = 60000,
    STOP_MS = 30000,
    POLL_MS = 50,
    SITE_PORTS = 100,  /* as the playground gives them ... */
    HTTP_PORTS = 1000, /* ... and for metrics so far above these */
    FIRST_PORT = 10000,
    PORT_CHOICES = 200,
    PORT_TRIES = 100,
    SAID_BYTES = 65536,
};

/* ---- folder and ports ---- */

static bool make_folder(struct sites *self)
{
    const char *parent = getenv("TMPDIR");
    const char *dir = self->options->dir;

    if (dir == NULL) {
        (void)snprintf(self->dir, sizeof self->dir, "%s/orbloom-torture-sites-XXXXXX",
                       parent != NULL && parent[0] == '/' ? parent : "/tmp");
        dir = mkdtemp(self->dir);
    } else if ((mkdir(dir, 0700) != 0 && errno != EEXIST) || !folder_is_empty(dir) ||
               !folder_absolute(dir, self->dir, sizeof self->dir)) {
        dir = NULL;
    }
    if (dir == NULL) {
        verdict_fail("%s: %s", self->options->dir != NULL ? self->options->dir : self->dir,
                     strerror(errno));
    }
    return dir != NULL;
}

static bool port_is_free(uint32_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_free = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0;

    if (fd >= 0) {
        (void)close(fd);
    }
    return is_free;
}

static bool are_free(uint32_t base, uint32_t count)
{
    bool all = true;

    for (uint32_t i = 0; all && i < count; i++) {
        all = port_is_free(base + i);
    }
    return all;
}

static bool choose_ports(struct sites *self)
{
    uint64_t random = (uint64_t)getpid();
    uint32_t count = (uint32_t)self->options->sites * SITE_PORTS;

    for (int i = 0; i < PORT_TRIES; i++) {
        self->base_port = FIRST_PORT + SITE_PORTS * (uint32_t)random_below(&random, PORT_CHOICES);
        if (are_free(self->base_port, count) && are_free(self->base_port + HTTP_PORTS, count)) {
            return true;
        }
    }
    verdict_fail("there are no %u free ports in a row", count);
    return false;
}

/* ---- processes ---- */

static bool adopt(struct sites *self, uint32_t site, enum role role, uint32_t node)
{
    struct process *process = &self->processes[self->count++];
    char name[PROCESS_NAME_BYTES];
    char number[16] = "";

    if (role == ROLE_NODE) {
        (void)snprintf(number, sizeof number, "-%u", node);
    }
    (void)snprintf(name, sizeof name, "site-%u/%s%s", site + 1, process_role_name(role), number);
    *process = (struct process){.role = role, .site = site};
    (void)snprintf(process->name, sizeof process->name, "%s", name);
    (void)snprintf(process->dir, sizeof process->dir, "%s/%s", self->dir, name);
    return process_adopt(process);
}

static bool adopt_site(struct sites *self, uint32_t site)
{
    uint32_t port = self->base_port + site * SITE_PORTS;
    bool good = adopt(self, site, ROLE_LINK, 0) && adopt(self, site, ROLE_ROUTER, 0) &&
                adopt(self, site, ROLE_COORDINATOR, 0);

    for (uint32_t node = 1; good && node <= self->options->nodes; node++) {
        good = adopt(self, site, ROLE_NODE, node);
    }
    (void)snprintf(self->endpoints[site].coordinator, SITES_ENDPOINT_BYTES, "tcp://127.0.0.1:%u",
                   port);
    (void)snprintf(self->endpoints[site].router, SITES_ENDPOINT_BYTES, "tcp://127.0.0.1:%u",
                   port + 1);
    return good;
}

static bool start_playground(struct sites *self)
{
    char program[PROCESS_PATH_BYTES];
    char text[3][16];
    char *words[] = {program,
                     (char[]){"playground"},
                     (char[]){"--dir"},
                     self->dir,
                     (char[]){"--base-port"},
                     text[0],
                     (char[]){"--sites"},
                     text[1],
                     (char[]){"--nodes"},
                     text[2],
                     NULL};

    (void)snprintf(program, sizeof program, "%s/orbloom",
                   self->options->upgrade != NULL ? self->options->upgrade : process_bin_dir());
    (void)snprintf(text[0], sizeof text[0], "%u", self->base_port);
    (void)snprintf(text[1], sizeof text[1], "%" PRIu64, self->options->sites);
    (void)snprintf(text[2], sizeof text[2], "%" PRIu64, self->options->nodes);
    self->playground = (struct process){.role = ROLE_PLAYGROUND, .name = "playground"};
    (void)snprintf(self->playground.dir, sizeof self->playground.dir, "%s", self->dir);
    return process_start_words(&self->playground, words);
}

/* It writes DIR/env when everything answers. */
static bool await_playground(struct sites *self)
{
    uint64_t deadline_ms = journal_now_ms() + START_MS;
    char path[PROCESS_PATH_BYTES];
    int status;

    (void)process_path(&self->playground, "env", path);
    while (access(path, R_OK) != 0) {
        if (process_ended(&self->playground, POLL_MS, &status) || journal_now_ms() > deadline_ms) {
            verdict_fail("no playground: see %s/log", self->dir);
            return false;
        }
    }
    self->playground.state = PROCESS_RUNNING;
    return true;
}

struct process *sites_find(struct sites *self, uint32_t site, enum role role, uint32_t index)
{
    for (uint32_t i = 0; i < self->count; i++) {
        struct process *process = &self->processes[i];

        if (process->site == site && process->role == role && index-- == 0) {
            return process;
        }
    }
    return NULL;
}

/* ---- commands ---- */

/* What the shell's command says is in `said`. Returns its exit status, or -1. */
static int run(const char *text, char said[SAID_BYTES])
{
    FILE *output = popen(text, "re");
    size_t size;
    int status;

    said[0] = '\0';
    if (output == NULL) {
        return -1;
    }
    size = fread(said, 1, SAID_BYTES - 1, output);
    said[size] = '\0';
    status = pclose(output);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* `orbloom WORDS` at a site, of the programs in that folder; NULL: of this build. */
static int command_of(const struct sites *self, uint32_t site, const char *programs,
                      const char *words, char said[SAID_BYTES])
{
    char text[1024];

    (void)snprintf(text, sizeof text, "'%s/orbloom' %s --coordinator %s --router %s 2>&1",
                   programs != NULL ? programs : process_bin_dir(), words,
                   self->endpoints[site].coordinator, self->endpoints[site].router);
    return run(text, said);
}

static int command(const struct sites *self, uint32_t site, const char *words,
                   char said[SAID_BYTES])
{
    return command_of(self, site, NULL, words, said);
}

bool sites_command_of(const struct sites *self, uint32_t site, const char *programs,
                      const char *words)
{
    char *said = calloc(1, SAID_BYTES);
    bool good = said != NULL && command_of(self, site, programs, words, said) == 0;

    journal_say("%s%s at site-%u: %s", programs != NULL ? "older " : "", words, site + 1,
                said != NULL ? said : "no memory");
    free(said);
    return good;
}

bool sites_command(const struct sites *self, uint32_t site, const char *words)
{
    return sites_command_of(self, site, NULL, words);
}

/* Where it listens, as its configuration says. */
static bool read_endpoint(const struct process *process, char endpoint[SITES_ENDPOINT_BYTES])
{
    char path[PROCESS_PATH_BYTES];
    char line[512];
    bool found = false;
    FILE *conf = fopen(process_path(process, "conf", path), "re");

    while (conf != NULL && !found && fgets(line, sizeof line, conf) != NULL) {
        found = sscanf(line, "listen = \"%63[^\"]", endpoint) == 1;
    }
    if (conf != NULL) {
        (void)fclose(conf);
    }
    return found;
}

uint64_t sites_count(const struct process *process, const char *counter)
{
    char *said = calloc(1, SAID_BYTES);
    char endpoint[SITES_ENDPOINT_BYTES];
    char text[1024];
    char word[64];
    uint64_t value = 0;
    const char *at;

    (void)snprintf(word, sizeof word, "\"%s\": ", counter);
    if (said != NULL && read_endpoint(process, endpoint)) {
        (void)snprintf(text, sizeof text, "'%s/orbloom' stats %s --json 2>&1", process_bin_dir(),
                       endpoint);
        at = run(text, said) == 0 ? strstr(said, word) : NULL;
        value = at != NULL ? strtoull(at + strlen(word), NULL, 10) : 0;
    }
    free(said);
    return value;
}

/* What a site is to say of itself, and of the others. */
struct saying {
    const char *words;
    bool (*is_said)(const char *said);
    const char *what;
    bool fails; /* the command, and says so */
};

static bool is_so(const struct sites *self, uint32_t site, const struct saying *saying,
                  char said[SAID_BYTES])
{
    int status = command(self, site, saying->words, said);

    return (saying->fails ? status > 0 : status == 0) && saying->is_said(said);
}

static bool await_said(const struct sites *self, uint32_t site, const struct saying *saying,
                       char said[SAID_BYTES])
{
    uint64_t deadline_ms = journal_now_ms() + self->options->patience * 1000;

    while (!is_so(self, site, saying, said)) {
        if (journal_now_ms() > deadline_ms) {
            journal_say("%s", said);
            verdict_fail("STUCK: site-%u %s after %" PRIu64 " s; what it says is in the journal",
                         site + 1, saying->what, self->options->patience);
            return false;
        }
        journal_pause_ms(POLL_MS);
    }
    return true;
}

/* All but one. */
static bool await_but(const struct sites *self, uint32_t but, const struct saying *saying)
{
    char *said = calloc(1, SAID_BYTES);
    bool good = said != NULL;

    for (uint32_t site = 0; good && site < self->options->sites; site++) {
        good = site == but || await_said(self, site, saying, said);
    }
    free(said);
    return good;
}

static bool await_all(const struct sites *self, const struct saying *saying)
{
    return await_but(self, UINT32_MAX, saying);
}

/* What a site says of itself comes before what it says of the others. */
static bool says_absent_itself(const char *said)
{
    static const char word[] = "\"says_absent\": ";
    const char *at = strstr(said, word);

    return at != NULL && strncmp(at + sizeof word - 1, "true", 4) == 0;
}

static bool says_absent(const char *said)
{
    return says_absent_itself(said) && strstr(said, "\"state\": \"joining\"") == NULL;
}

bool sites_wait_absent_of(const struct sites *self, const char *filter)
{
    char words[128];
    const struct saying saying = {words, says_absent, "does not say \"absent\"", false};

    (void)snprintf(words, sizeof words, "site %s --json", filter);
    return await_all(self, &saying);
}

bool sites_wait_absent(const struct sites *self)
{
    return sites_wait_absent_of(self, SITES_FILTER);
}

/* Whoever can't be asked does not say it. */
static bool says_unknown(const char *said)
{
    return strstr(said, "NOT_FOUND") != NULL;
}

bool sites_wait_dropped(const struct sites *self, const char *filter)
{
    char words[128];
    const struct saying saying = {words, says_unknown, "still has a filter that was dropped", true};

    (void)snprintf(words, sizeof words, "info %s", filter);
    return await_all(self, &saying);
}

bool sites_wait_others(const struct sites *self, uint32_t site)
{
    const struct saying saying = {"site " SITES_FILTER " --json", says_absent_itself,
                                  "does not say \"absent\"", false};

    return await_but(self, site, &saying);
}

static bool is_connected(const char *said)
{
    return strstr(said, "\"connected\": true") != NULL &&
           strstr(said, "\"connected\": false") == NULL;
}

bool sites_wait_connected(const struct sites *self)
{
    const struct saying saying = {"site --json", is_connected, "is not connected", false};

    return await_all(self, &saying);
}

/* Small, so that it grows again and again while keys travel. */
bool sites_create_filter(const struct sites *self)
{
    uint64_t keys = self->options->keys_max * self->options->sites;
    uint64_t replicas = self->options->nodes < 3 ? self->options->nodes : 3;
    char words[512];
    char *said = calloc(1, SAID_BYTES);
    size_t used;
    bool good;

    used = (size_t)snprintf(words, sizeof words,
                            "create %s --capacity 20k --fpr %g --max-capacity %" PRIu64
                            " --replicas %" PRIu64 " --timeout 60s --sites site-1",
                            SITES_FILTER, SITES_RATE, 2 * keys, replicas);
    for (uint32_t site = 2; site <= self->options->sites; site++) {
        used += (size_t)snprintf(words + used, sizeof words - used, ",site-%u", site);
    }
    good = said != NULL && command(self, 0, words, said) == 0;
    if (!good) {
        verdict_fail("no filter: %s", said != NULL ? said : "no memory");
    }
    free(said);
    return good && sites_wait_absent(self);
}

/* ---- the beginning ---- */

static bool await_ready(struct process *process)
{
    uint64_t deadline_ms = journal_now_ms() + START_MS;
    int status;

    while (!process_is_ready(process)) {
        if (process_ended(process, POLL_MS, &status) || journal_now_ms() > deadline_ms) {
            verdict_fail("%s does not start: see its log", process->name);
            return false;
        }
    }
    process->state = PROCESS_RUNNING;
    return true;
}

/* Links as the playground has started them listen and dial on loopback. */
static bool relink(struct sites *self)
{
    char paths[OPTIONS_MAX_SITES][PROCESS_PATH_BYTES];
    const char *confs[OPTIONS_MAX_SITES] = {NULL};
    uint32_t nsites = (uint32_t)self->options->sites;

    for (uint32_t site = 0; site < nsites; site++) {
        process_kill(sites_find(self, site, ROLE_LINK, 0));
        confs[site] = process_path(sites_find(self, site, ROLE_LINK, 0), "conf", paths[site]);
    }
    if (!wan_conf_write(confs, confs, nsites)) {
        verdict_fail("the links' configurations can't be changed");
        return false;
    }
    for (uint32_t site = 0; site < nsites; site++) {
        struct process *link = sites_find(self, site, ROLE_LINK, 0);

        if (!process_start(link) || !await_ready(link)) {
            return false;
        }
    }
    return sites_wait_connected(self);
}

bool sites_open(struct sites *self, const struct options *options, bool by_wan)
{
    bool good;

    *self = (struct sites){.options = options};
    if (!make_folder(self)) {
        return false;
    }
    journal_open(self->dir);
    journal_tell("seed %" PRIu64 ", %" PRIu64 " sites of %" PRIu64 " nodes, in %s", options->seed,
                 options->sites, options->nodes, self->dir);
    good = choose_ports(self) && start_playground(self) && await_playground(self);
    for (uint32_t site = 0; good && site < options->sites; site++) {
        good = adopt_site(self, site);
    }
    return good && (!by_wan || relink(self));
}

/* ---- the end ---- */

static void end(struct process *process)
{
    int status;

    if (process->state == PROCESS_DEAD) {
        return;
    }
    process_signal(process, SIGTERM);
    if (!process_ended(process, STOP_MS, &status)) {
        verdict_fail("%s does not end on SIGTERM", process->name);
    } else if (status != 0) {
        verdict_fail("%s ended with status %#x on SIGTERM: see its log", process->name,
                     (unsigned)status);
    }
}

static void look_for_defects(const struct process *process)
{
    static const char *const signs[] = {"Sanitizer", "runtime error: ", "Assertion `"};
    char path[PROCESS_PATH_BYTES];
    char line[1024];
    FILE *log = fopen(process_path(process, "log", path), "re");

    while (log != NULL && fgets(line, sizeof line, log) != NULL) {
        for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
            if (strstr(line, signs[i]) != NULL) {
                verdict_fail("DEFECT: %s: %.*s", path, (int)strcspn(line, "\n"), line);
            }
        }
    }
    if (log != NULL) {
        (void)fclose(log);
    }
}

/* Our own ones first: the playground then ends the others. */
void sites_end(struct sites *self)
{
    int status;

    for (uint32_t i = 0; i < self->count; i++) {
        process_signal(&self->processes[i], SIGCONT);
        if (self->processes[i].ours) {
            end(&self->processes[i]);
        }
    }
    end(&self->playground);
    for (uint32_t i = 0; i < self->count; i++) {
        struct process *process = &self->processes[i];

        if (process->state != PROCESS_DEAD && !process_ended(process, 0, &status)) {
            verdict_fail("%s outlives its playground", process->name);
        }
        look_for_defects(process);
    }
    sites_kill(self);
}

void sites_kill(struct sites *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        process_signal(&self->processes[i], SIGCONT);
        process_kill(&self->processes[i]);
    }
    process_kill(&self->playground); /* What it had started and was not adopted dies with it. */
}
