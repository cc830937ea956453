/* The cluster key of a larger cluster that speaks CURVE is replaced, step by step: two
 * coordinators, two routers, three nodes, each told by SIGHUP. Clients add and check all the time;
 * none of them sees an error, and nothing is lost. */
#include "client/orbloom.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LIMIT_S = 300,
    TEXT_BYTES = 1024,
    LOG_BYTES = 1 << 20,
    CLIENTS = 2,
    BATCH = 50,
    KEY_BYTES = 24,
    MOST_BATCHES = 100000,
    PAUSE_US = 2000,
};

static struct playground playground;
static struct command other; /* the second coordinator */
static char both[2 * PLAYGROUND_ENDPOINT_BYTES];
static char key_path[128];
static char credential[128];

/* Other is the last to be told: it signs what is left. */
static const char *const daemons[] = {"coordinator", "node-1", "node-2",
                                      "node-3",      "router", "router-2"};

enum { NDAEMONS = sizeof daemons / sizeof daemons[0] };

static void shell(const char *text)
{
    cr_assert_eq(system(text), 0, "%s", text);
}

/* ---- clients, each a thread that asserts nothing ---- */

struct client {
    pthread_t thread;
    unsigned number;
    atomic_bool stop;
    atomic_uint batches; /* acknowledged */
    unsigned failed;
    char first_error[256];
};

static struct client clients[CLIENTS];

struct batch {
    char bytes[BATCH * KEY_BYTES];
    uint32_t lengths[BATCH];
    struct orbloom_keys keys;
    uint8_t answers[BATCH];
};

static void fill(struct batch *batch, unsigned client, unsigned number)
{
    size_t used = 0;

    for (unsigned i = 0; i < BATCH; i++) {
        batch->lengths[i] = (uint32_t)snprintf(batch->bytes + used, KEY_BYTES, "%u-%u-%u", client,
                                               number, i);
        used += batch->lengths[i];
    }
    batch->keys = (struct orbloom_keys){
        .bytes = batch->bytes, .lengths = batch->lengths, .count = BATCH};
}

static void note(struct client *self, struct orbloom *handle, const char *what, int code)
{
    if (code != ORBLOOM_OK && self->failed++ == 0) {
        (void)snprintf(self->first_error, sizeof self->first_error, "%s: %s: %s", what,
                       orbloom_code_name(code), orbloom_error(handle));
    }
}

/* Checks what it has added in any of the batches before. */
static void check_earlier(struct client *self, struct orbloom *handle, unsigned number)
{
    struct batch batch;
    int code;

    fill(&batch, self->number, number);
    code = orbloom_check(handle, "seen", &batch.keys, batch.answers);
    note(self, handle, "check", code);
    for (unsigned i = 0; i < BATCH && code == ORBLOOM_OK; i++) {
        if (batch.answers[i] != ORBLOOM_PRESENT && self->failed++ == 0) {
            (void)snprintf(self->first_error, sizeof self->first_error,
                           "key %u of batch %u is answered %u", i, number, batch.answers[i]);
        }
    }
}

static void *run(void *context)
{
    struct client *self = context;
    struct orbloom *handle = NULL;
    unsigned number = 0;
    struct batch batch;

    if (orbloom_connect(NULL, &handle) != ORBLOOM_OK) {
        self->failed++;
        return NULL;
    }
    for (; number < MOST_BATCHES && !atomic_load(&self->stop); number++) {
        fill(&batch, self->number, number);
        note(self, handle, "add", orbloom_add(handle, "seen", &batch.keys, batch.answers));
        check_earlier(self, handle, number / 2);
        atomic_store(&self->batches, number + 1);
        (void)usleep(PAUSE_US);
    }
    for (unsigned i = 0; i < number; i++) {
        check_earlier(self, handle, i);
    }
    orbloom_close(&handle);
    return NULL;
}

static void start_clients(void)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i].number = i;
        cr_assert_eq(pthread_create(&clients[i].thread, NULL, run, &clients[i]), 0);
    }
}

/* All of them have come on since: so what was done meanwhile has not stopped them. */
static void wait_progress(void)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;

    for (unsigned i = 0; i < CLIENTS; i++) {
        unsigned before = atomic_load(&clients[i].batches);

        while (atomic_load(&clients[i].batches) < before + 3) {
            cr_assert_lt(command_now_ms(), deadline_ms, "client %u stands still: %s", i,
                         clients[i].first_error);
            (void)usleep(PAUSE_US);
        }
    }
}

static void end_clients(void)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        atomic_store(&clients[i].stop, true);
        cr_assert_eq(pthread_join(clients[i].thread, NULL), 0);
        cr_assert_eq(clients[i].failed, 0, "client %u: %u failures in %u batches, the first: %s", i,
                     clients[i].failed, atomic_load(&clients[i].batches), clients[i].first_error);
    }
}

/* ---- the cluster ---- */

/* The first one's configuration under another name, on a port of its own. */
static void start_other(void)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    char first[PLAYGROUND_ENDPOINT_BYTES];
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    char line[PLAYGROUND_ENDPOINT_BYTES + 8] = "";
    char conf[TEXT_BYTES / 4];
    char text[TEXT_BYTES];

    (void)snprintf(conf, sizeof conf, "%s/other.conf", playground.dir);
    (void)snprintf(text, sizeof text,
                   "sed -e 's/^name = .*/name = \"other\";/' -e 's,^listen = .*,listen = "
                   "\"tcp://127.0.0.1:*\";,' %s/coordinator/conf >%s",
                   playground.dir, conf);
    shell(text);
    command_start(&other, span_text(""), SIGKILL, "orbloom-coordinator",
                  (const char *const[]){"--config", conf, NULL});
    while (strchr(line, '\n') == NULL) {
        cr_assert_lt(command_now_ms(), deadline_ms, "it is not ready in time");
        cr_assert_not(command_ended(&other, 5), "it has ended");
        cr_assert_geq(pread(other.output_fd, line, sizeof line - 1, 0), 0);
    }
    cr_assert_eq(sscanf(line, "ready %255s", endpoint), 1, "%s", line);
    playground_endpoint(&playground, "coordinator", first);
    (void)snprintf(both, sizeof both, "%s,%s", first, endpoint);
}

/* They ask both coordinators, by CURVE. */
static void configure(const char *daemon)
{
    const char *comma = strchr(both, ',');
    char text[TEXT_BYTES];

    playground_kill(&playground, daemon);
    (void)snprintf(text, sizeof text,
                   "sed -i 's|^coordinators = .*|coordinators = [\"%.*s\"\\, \"%s\"];|' %s/%s/conf",
                   (int)(comma - both), both, comma + 1, playground.dir, daemon);
    shell(text);
    playground_restart(&playground, daemon);
    playground_configure(&playground, daemon, "transport = \"curve\";\n");
}

static void start(void)
{
    (void)unsetenv("ORBLOOM_CREDENTIAL");
    playground_start(&playground, &(struct playground_plan){.routers = 2});
    (void)snprintf(key_path, sizeof key_path, "%s/key", playground.dir);
    (void)snprintf(credential, sizeof credential, "%s/admin.cred", playground.dir);
    playground_configure(&playground, "coordinator", "transport = \"curve\";\n");
    start_other();
    for (size_t i = 1; i < NDAEMONS; i++) {
        configure(daemons[i]);
    }
    PLAYGROUND_DO("", "user", "create", "boss", "--role", "admin", "--credential", credential,
                  "--cluster-key", key_path, "--timeout", "20s");
    cr_assert_eq(setenv("ORBLOOM_CREDENTIAL", credential, 1), 0);
    playground_wait_status("node-3");
    PLAYGROUND_DO("", "create", "seen", "--capacity", "1M", "--fpr", "0.01%", "--timeout", "30s");
}

static void stop_other(void)
{
    cr_assert_eq(kill(other.pid, SIGTERM), 0);
    command_finish(&other, PLAYGROUND_STOP_MS);
    cr_assert_null(command_find_defect(other.errors), "%s", other.errors);
    command_forget(&other);
}

/* ---- the steps ---- */

static bool has_read(const struct command *daemon, unsigned times)
{
    static const char line[] = "SIGHUP: cluster_key_file holds other keys";
    char *log = calloc(1, LOG_BYTES);
    unsigned found = 0;

    cr_assert_not_null(log);
    cr_assert_geq(pread(daemon->errors_fd, log, LOG_BYTES - 1, 0), 0);
    for (const char *at = log; (at = strstr(at, line)) != NULL; at++) {
        found++;
    }
    free(log);
    return found >= times;
}

static void hang_up(const struct command *daemon, unsigned times)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;

    cr_assert_eq(kill(daemon->pid, SIGHUP), 0);
    while (!has_read(daemon, times)) {
        cr_assert_lt(command_now_ms(), deadline_ms, "a process has not read its key");
        (void)usleep(20000);
    }
    wait_progress();
}

static const struct command *process_of(const char *daemon)
{
    for (size_t i = 0; i < playground.ndaemons; i++) {
        if (strcmp(playground.daemons[i].name, daemon) == 0) {
            return playground.daemons[i].started;
        }
    }
    cr_assert_fail("%s", daemon);
    return NULL;
}

static void hang_up_all(void)
{
    static unsigned times;

    times++;
    for (size_t i = 0; i < NDAEMONS; i++) {
        hang_up(process_of(daemons[i]), times);
    }
    hang_up(&other, times);
}

/* Both coordinators say so. */
static void wait_signed(void)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    const char *comma = strchr(both, ',');
    char first[PLAYGROUND_ENDPOINT_BYTES];
    const char *const endpoints[] = {first, comma + 1};

    (void)snprintf(first, sizeof first, "%.*s", (int)(comma - both), both);
    for (size_t i = 0; i < sizeof endpoints / sizeof endpoints[0];) {
        struct command status;

        cr_assert_lt(command_now_ms(), deadline_ms, "records are left");
        command_run(&status, span_text(""), "orbloom", "status", "--json", "--coordinator",
                    endpoints[i], NULL);
        i += status.exit_status == 0 && strstr(status.output, "\"records_left\": 0") != NULL;
        command_forget(&status);
    }
}

/* It is refused until each process has told both that it serves with the new key. */
static void retire(void)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    struct command command;
    bool done = false;

    while (!done) {
        command_run(&command, span_text(""), "orbloom", "key", "retire", key_path, "--coordinator",
                    both, NULL);
        done = command.exit_status == 0;
        cr_assert(done || strstr(command.errors, "CONFLICT") != NULL, "%s", command.errors);
        cr_assert(done || command_now_ms() < deadline_ms, "%s", command.errors);
        command_forget(&command);
    }
}

Test(key_ring_curve, two_coordinators_and_two_routers_change_keys_and_nobody_notices,
     .timeout = LIMIT_S)
{
    start();
    start_clients();
    wait_progress();

    PLAYGROUND_DO("", "key", "add", key_path);
    hang_up_all();
    PLAYGROUND_DO("", "user", "renew", "--credential", credential, "--coordinator", both);
    PLAYGROUND_DO("", "key", "promote", key_path, "--coordinator", both);
    hang_up_all();
    wait_signed();
    PLAYGROUND_DO("", "user", "renew", "--credential", credential, "--coordinator", both);
    retire();
    hang_up_all();

    PLAYGROUND_DO("", "create", "more", "--capacity", "10k", "--fpr", "1%", "--timeout", "20s");
    end_clients();
    stop_other();
    playground_stop(&playground);
}
