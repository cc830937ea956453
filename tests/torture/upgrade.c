/* Restarts process after process as the other release, and judges what clients saw of it. */
#include "tests/torture/upgrade.h"

#include "tests/support/random.h"
#include "tests/torture/journal.h"
#include "tests/torture/mixed.h"
#include "tests/torture/operator.h"
#include "tests/torture/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    ORDERS = 6,
    BACK = 4,          /* orders further: the way back is never the way there, or its reverse */
    REFUSAL_MS = 30000 /* until a process that is refused has said so */
};

static const enum daemon_kind orders[ORDERS][DAEMON_KINDS] = {
    {DAEMON_COORDINATOR, DAEMON_NODE, DAEMON_ROUTER},
    {DAEMON_ROUTER, DAEMON_COORDINATOR, DAEMON_NODE},
    {DAEMON_NODE, DAEMON_ROUTER, DAEMON_COORDINATOR},
    {DAEMON_COORDINATOR, DAEMON_ROUTER, DAEMON_NODE},
    {DAEMON_NODE, DAEMON_COORDINATOR, DAEMON_ROUTER},
    {DAEMON_ROUTER, DAEMON_NODE, DAEMON_COORDINATOR},
};

static struct torture *torture_of(const struct upgrade *self)
{
    return &self->run->torture;
}

/* ---- one process ---- */

/* Until everything runs and every replica is FULL. */
static void await_whole(struct upgrade *self)
{
    struct faults *faults = &self->run->faults;

    while (!run_must_stop(self->run) && faults_count_active(faults) > 0) {
        run_tick(self->run, RUN_TICK_MS);
    }
    faults_expect_healing(faults);
    while (!run_must_stop(self->run) && (faults->unhealed || faults_count_active(faults) > 0)) {
        run_tick(self->run, RUN_TICK_MS);
    }
}

static void end(struct upgrade *self, struct daemon *daemon)
{
    if (random_below(&self->random, 2) == 0) {
        self->killed++;
        daemon_kill(daemon);
    } else if (!daemon_end(daemon)) {
        tally_fail(&torture_of(self)->tally, "%s did not end well on SIGTERM", daemon->name);
    }
}

static void restart(struct upgrade *self, struct daemon *daemon, const char *programs)
{
    end(self, daemon);
    daemon->programs = programs;
    daemon_start(daemon, &torture_of(self)->cluster.network);
    daemon->ready_ms = journal_now_ms(); /* How long it takes counts from here. */
    self->restarts++;
    await_whole(self);
}

/* ---- all of them ---- */

static void kill_any(struct upgrade *self)
{
    const struct cluster *cluster = &torture_of(self)->cluster;
    uint32_t target = (uint32_t)random_below(&self->random, cluster->ndaemons);

    if (!run_must_stop(self->run)) {
        faults_begin(&self->run->faults, coverage_row(FAULT_KILL, cluster->daemons[target].kind),
                     target);
        await_whole(self);
    }
}

/* NULL: the programs of this build. */
static void become(struct upgrade *self, const char *programs,
                   const enum daemon_kind order[DAEMON_KINDS])
{
    struct daemon *daemon;

    for (uint32_t turn = 0; turn < DAEMON_KINDS; turn++) {
        journal_tell("%ss become %s", daemon_kind_name(order[turn]),
                     programs != NULL ? "older" : "newer");
        for (uint32_t i = 0;
             !run_must_stop(self->run) &&
             (daemon = cluster_next(&torture_of(self)->cluster, order[turn], &i)) != NULL;) {
            restart(self, daemon, programs);
        }
        kill_any(self);
    }
}

static void read_back(struct upgrade *self)
{
    run_read_back(self->run, false);
    while (!run_must_stop(self->run) && !run_readers_idle(self->run)) {
        run_tick(self->run, RUN_TICK_MS);
    }
}

static void go_round(struct upgrade *self)
{
    const char *older = torture_of(self)->options.upgrade;

    become(self, NULL, orders[self->rounds % ORDERS]);
    read_back(self);
    become(self, older, orders[(self->rounds + BACK) % ORDERS]);
    read_back(self);
    self->rounds++;
}

/* ---- what clients saw ---- */

/* A FULL filter that grows is no error. */
static void judge_clients(struct upgrade *self)
{
    struct tally *tally = &torture_of(self)->tally;
    uint64_t unanswered = atomic_load(&tally->unacknowledged) - atomic_load(&tally->full);

    if (unanswered > 0 || atomic_load(&tally->again) > 0) {
        tally_fail(tally,
                   "CLIENT ERROR: %" PRIu64 " keys not acknowledged, %" PRIu64
                   " checks not answered, with one process after the other away",
                   unanswered, atomic_load(&tally->again));
    }
}

/* ---- no way back ---- */

static void finalize(struct upgrade *self)
{
    const char *words[OPERATOR_MAX_WORDS] = {"upgrade", "finalize", "--coordinator",
                                             torture_of(self)->coordinators};

    if (operator_run(&torture_of(self)->cluster, words) != 0) {
        tally_fail(&torture_of(self)->tally,
                   "`orbloom upgrade finalize` is refused: see %s/operator",
                   torture_of(self)->cluster.dir);
    }
}

/* Does its log say that it lacks what the cluster uses, behind what it said in earlier lives? */
static bool says_refused(const struct daemon *daemon, long from)
{
    char path[DAEMON_PATH_BYTES];
    char line[1024];
    bool found = false;
    FILE *log = fopen(daemon_path(daemon, "log", path), "re");

    if (log == NULL) {
        return false;
    }
    (void)fseek(log, from, SEEK_SET);
    while (!found && fgets(line, sizeof line, log) != NULL) {
        found = strstr(line, "does not know") != NULL && strstr(line, "run a version") != NULL;
    }
    (void)fclose(log);
    return found;
}

static long size_of_log(const struct daemon *daemon)
{
    char path[DAEMON_PATH_BYTES];
    FILE *log = fopen(daemon_path(daemon, "log", path), "re");
    long size = log != NULL && fseek(log, 0, SEEK_END) == 0 ? ftell(log) : 0;

    if (log != NULL) {
        (void)fclose(log);
    }
    return size;
}

/* Whose log says so: coordinators of the older release told only those that asked. */
static const struct daemon *teller_for(struct upgrade *self, const struct daemon *daemon)
{
    uint32_t i = 0;

    return daemon->kind == DAEMON_COORDINATOR
               ? cluster_next(&torture_of(self)->cluster, DAEMON_NODE, &i)
               : daemon;
}

/* Not looked after by run_tick(), as it may end by itself. That it prints `ready` is no matter:
 * nodes that others know did so, once. */
static void start_refused(struct upgrade *self, struct daemon *daemon)
{
    const struct daemon *teller = teller_for(self, daemon);
    uint64_t limit_ms = journal_now_ms() + REFUSAL_MS;
    long from = size_of_log(teller);
    int status;

    daemon->programs = torture_of(self)->options.upgrade;
    daemon_start(daemon, &torture_of(self)->cluster.network);
    while (!says_refused(teller, from) && journal_now_ms() < limit_ms &&
           !daemon_ended(daemon, &status)) {
        journal_pause_ms(RUN_TICK_MS);
    }
    if (!says_refused(teller, from)) {
        tally_fail(&torture_of(self)->tally,
                   "an older %s was not refused after `upgrade finalize`; see %s/log",
                   daemon_kind_name(daemon->kind), teller->dir);
    }
    self->refused++;
}

static void try_older(struct upgrade *self, struct daemon *daemon)
{
    daemon_kill(daemon);
    start_refused(self, daemon);
    daemon_kill(daemon);
    daemon->programs = NULL;
    daemon_start(daemon, &torture_of(self)->cluster.network);
    daemon->ready_ms = journal_now_ms();
    await_whole(self);
}

static void try_all_older(struct upgrade *self)
{
    for (enum daemon_kind kind = 0; kind < DAEMON_KINDS; kind++) {
        uint32_t i = 0;
        struct daemon *daemon = cluster_next(&torture_of(self)->cluster, kind, &i);

        if (!run_must_stop(self->run)) {
            journal_tell("an older %s is to be refused", daemon_kind_name(kind));
            try_older(self, daemon);
        }
    }
}

/* ---- the course ---- */

void upgrade_run(struct upgrade *self, struct run *run)
{
    const struct options *options = &run->torture.options;

    *self = (struct upgrade){.run = run, .random = options->seed};
    mixed_begin(run);
    while (!run_must_stop(run) && self->rounds < options->rounds) {
        go_round(self);
    }
    become(self, NULL, orders[options->seed % ORDERS]);
    if (!run_must_stop(run)) {
        finalize(self);
        try_all_older(self);
    }
    run_finish(run);
    judge_clients(self);
}

int upgrade_report(const struct upgrade *self, uint64_t took_ms)
{
    (void)printf("\nrounds             %16" PRIu64 "   there and back, of %d orders\n",
                 self->rounds, ORDERS);
    (void)printf("restarts           %16" PRIu64 "   as the other release; by kill -9 %" PRIu64
                 ", refused after finalize %" PRIu64 "\n",
                 self->restarts, self->killed, self->refused);
    return report_end(&self->run->torture, &self->run->faults, took_ms);
}
