/* The laws of coordinator/store/store.h for several processes, and for one that is killed. */
#include "coordinator_store_backends.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(coordinator_store_processes, .init = set_up, .fini = tear_down, .timeout = 120);

enum { RACERS = 4, RACES = 50 };

/* 0 when there is none. */
static enum status read_sum(struct store *store, uint64_t *sum, uint64_t *version)
{
    char text[24] = "0";
    enum status status;
    struct buffer got;

    *version = 0;
    buffer_init(&got, sizeof text - 1);
    status = store->get(store->self, "sum", &got, version);
    if (got.size > 0) {
        memcpy(text, got.data, got.size);
        text[got.size] = '\0';
    }
    buffer_fini(&got);
    *sum = strtoull(text, NULL, 10);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

static enum status add_one(struct store *store)
{
    uint64_t version;
    uint64_t change;
    char text[24];
    uint64_t sum;
    enum status status = read_sum(store, &sum, &version);

    if (status != STATUS_OK) {
        return status;
    }
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)(sum + 1));
    return swap_one(store, "sum", version, text, &change);
}

/* Each process adds one RACES times. A forked process may use no cr_assert: even one that holds
 * waits for an answer of the test runner that never comes. */
static int race(const struct backend *backend)
{
    struct store *store = NULL;
    enum status status = try_open(backend, &store);

    for (unsigned won = 0; won < RACES && (status == STATUS_OK || status == STATUS_CONFLICT);) {
        status = add_one(store);
        won += status == STATUS_OK;
    }
    backend->close(&store);
    return status == STATUS_OK ? 0 : 1;
}

/* Processes that race, from the making of the file on, lose no write and win none twice. */
static void processes_lose_nothing(const struct backend *backend)
{
    struct store *store = NULL;
    pid_t racers[RACERS];
    uint64_t version = 0;
    uint64_t sum = 0;
    int exit_status = 0;

    for (unsigned i = 0; i < RACERS; i++) {
        racers[i] = fork();
        if (racers[i] == 0) {
            _exit(race(backend));
        }
        cr_assert_gt(racers[i], 0);
    }
    for (unsigned i = 0; i < RACERS; i++) {
        cr_assert_eq(waitpid(racers[i], &exit_status, 0), racers[i]);
        cr_assert(WIFEXITED(exit_status) && WEXITSTATUS(exit_status) == 0);
    }
    store = open_store(backend);
    cr_assert_eq(read_sum(store, &sum, &version), STATUS_OK);
    cr_assert_eq(sum, RACERS * RACES);
    cr_assert_geq(version, RACERS * RACES);
    cr_assert_eq(change_of(store), version);
    backend->close(&store);
}

/* Adds one for ever, and tells of each that was acknowledged. */
static int tell_of_sums(const struct backend *backend, int told)
{
    struct store *store = NULL;
    enum status status = try_open(backend, &store);

    for (uint64_t done = 1; status == STATUS_OK; done++) {
        status = add_one(store);
        if (status == STATUS_OK && write(told, &done, sizeof done) != (ssize_t)sizeof done) {
            break;
        }
    }
    return 1;
}

/* What a killed process had been told is written, is. */
static void a_kill_loses_nothing(const struct backend *backend)
{
    uint64_t acknowledged = 0;
    struct store *store;
    uint64_t version = 0;
    uint64_t sum = 0;
    int pipes[2];
    pid_t child;

    cr_assert_eq(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        _exit(tell_of_sums(backend, pipes[1]));
    }
    cr_assert_gt(child, 0);
    cr_assert_eq(close(pipes[1]), 0);
    for (unsigned i = 0; i < 20; i++) {
        cr_assert_eq(read(pipes[0], &acknowledged, sizeof acknowledged),
                     (ssize_t)sizeof acknowledged);
    }
    cr_assert_eq(kill(child, SIGKILL), 0);
    cr_assert_eq(waitpid(child, NULL, 0), child);
    store = open_store(backend);
    cr_assert_eq(read_sum(store, &sum, &version), STATUS_OK);
    cr_assert_geq(sum, acknowledged);
    cr_assert_eq(change_of(store), version);
    backend->close(&store);
    cr_assert_eq(close(pipes[0]), 0);
}

LAW(coordinator_store_processes, processes_lose_nothing)
LAW(coordinator_store_processes, a_kill_loses_nothing)
