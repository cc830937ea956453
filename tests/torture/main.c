/* torture - real processes under real faults: no acknowledged key may be lost. See docs/torture.md
 */
#include "runtime/process.h"
#include "tests/torture/adds.h"
#include "tests/torture/churn.h"
#include "tests/torture/faults.h"
#include "tests/torture/grow.h"
#include "tests/torture/journal.h"
#include "tests/torture/move.h"
#include "tests/torture/readback.h"
#include "tests/torture/report.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ADDERS = 2,
    MAX_READERS = 6,
    TICK_MS = 5,
    MAX_LAG = 4, /* faults that may end before one more read-back has begun */
    PATIENCE_MS = 120000,
    SABOTAGE_PATIENCE_MS = 6000,
    EXAMINE_MS = 10000,
    FINAL_MS = 1800000,
    PROGRESS_MS = 10000,
    INTERRUPTED = 130,
    CALM_MARGIN_MS = 1000, /* reports are that old at most */
    LEAST_ROOM_BYTES = 1 << 30,
};

const uint32_t torture_sets[TORTURE_SETS] = {3, 5, 6};

/* Nothing grows or moves without a log. A majority can only be wiped in quiet. */
bool torture_may(const struct torture *torture, const char *what)
{
    const struct options *options = &torture->options;

    return !options->in_memory && options->sabotage != SABOTAGE_WIPE_MAJORITY &&
           !options_list_has(options->without, what) &&
           (strcmp(what, "move") != 0 || options->nodes > TORTURE_REPLICAS);
}

struct run {
    struct torture torture;
    struct watch_thread watch;
    struct faults faults;
    struct adds_thread adds[ADDERS];
    struct churn_thread churn;
    struct grow_thread grow;
    struct move_thread move;
    struct readback_thread readers[MAX_READERS];
    struct readback_thread endless;
    uint32_t nreaders;
    pthread_t workers[ADDERS + 4]; /* adds, churn, growth, moves, checks: until torture.ending */
    uint32_t nworkers;
    pthread_t others[MAX_READERS + 1]; /* read-backs, watch: until torture.over */
    uint64_t read_faults;              /* that had ended when the newest read-back began */
    uint64_t start_ms;
    uint64_t progress_ms;
    bool sabotaged;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
}

/* ---- threads ---- */

static void start(pthread_t *thread, void *(*body)(void *), void *context)
{
    if (pthread_create(thread, NULL, body, context) != 0) {
        (void)fprintf(stderr, "torture: cannot start a thread\n");
        exit(1); /* The daemons end with this process. */
    }
}

static void start_readers(struct run *run)
{
    struct torture *torture = &run->torture;
    const struct daemon *router;

    for (uint32_t i = 0; (router = cluster_next(&torture->cluster, DAEMON_ROUTER, &i)) != NULL;) {
        struct readback_thread *reader = &run->readers[run->nreaders];

        reader->torture = torture;
        reader->random = torture->options.seed + 100 + run->nreaders;
        (void)snprintf(reader->router, sizeof reader->router, "%s", router->endpoint);
        start(&run->others[run->nreaders++], readback_thread, reader);
    }
}

static void start_actions(struct run *run)
{
    struct torture *torture = &run->torture;
    uint64_t seed = torture->options.seed;

    if (torture_may(torture, "grow-asked")) {
        run->grow = (struct grow_thread){.torture = torture, .random = seed + 70};
        start(&run->workers[run->nworkers++], grow_thread, &run->grow);
    }
    if (torture_may(torture, "move")) {
        run->move = (struct move_thread){
            .torture = torture, .watch = &run->watch, .random = seed + 80};
        start(&run->workers[run->nworkers++], move_thread, &run->move);
    }
}

static void start_threads(struct run *run)
{
    struct torture *torture = &run->torture;
    uint64_t seed = torture->options.seed;

    for (uint32_t i = 0; i < ADDERS; i++) {
        run->adds[i] = (struct adds_thread){
            .torture = torture, .random = seed + 1 + i, .pace = torture->options.pace / ADDERS};
        start(&run->workers[run->nworkers++], adds_thread, &run->adds[i]);
    }
    run->churn = (struct churn_thread){.torture = torture, .random = seed + 50};
    start(&run->workers[run->nworkers++], churn_thread, &run->churn);
    run->endless.torture = torture;
    run->endless.random = seed + 60;
    start(&run->workers[run->nworkers++], readback_endless, &run->endless);
    start_actions(run);
    start_readers(run);
    run->watch.torture = torture;
    start(&run->others[MAX_READERS], watch_thread, &run->watch);
}

static void end_workers(struct run *run)
{
    atomic_store(&run->torture.ending, true);
    for (uint32_t i = 0; i < run->nworkers; i++) {
        (void)pthread_join(run->workers[i], NULL);
    }
}

static void end_others(struct run *run)
{
    atomic_store(&run->torture.over, true);
    for (uint32_t i = 0; i < run->nreaders; i++) {
        (void)pthread_join(run->others[i], NULL);
    }
    (void)pthread_join(run->others[MAX_READERS], NULL);
}

/* ---- read-backs ---- */

static bool readers_idle(const struct run *run)
{
    for (uint32_t i = 0; i < run->nreaders; i++) {
        if (atomic_load(&run->readers[i].done) != atomic_load(&run->readers[i].wanted)) {
            return false;
        }
    }
    return true;
}

static void read_back(struct run *run, bool all)
{
    run->read_faults = run->faults.ended;
    for (uint32_t i = 0; i < run->nreaders; i++) {
        atomic_store(&run->readers[i].all, all);
        atomic_fetch_add(&run->readers[i].wanted, 1);
    }
}

/* ---- the course of it ---- */

static bool must_stop(const struct run *run)
{
    return atomic_load(&run->torture.tally.failed);
}

/* Every few milliseconds, whatever the main thread waits for. */
static void tick(struct run *run)
{
    uint64_t now_ms = journal_now_ms();

    faults_tick(&run->faults);
    if (interrupted != 0) {
        tally_fail(&run->torture.tally, "interrupted");
    }

    if (now_ms - run->progress_ms >= PROGRESS_MS) {
        run->progress_ms = now_ms;
        if (folder_room(run->torture.cluster.dir) < LEAST_ROOM_BYTES) {
            tally_fail(&run->torture.tally, "less than 1 GiB left on the disk of %s",
                       run->torture.cluster.dir);
        }
        journal_tell("%" PRIu64 " faults, %" PRIu64 " adds, %" PRIu64 " read back, %" PRIu64
                     " healed",
                     run->faults.coverage.faults, atomic_load(&run->torture.ledger.acked),
                     atomic_load(&run->torture.tally.read_back), run->faults.heals);
    }
    journal_pause_ms(TICK_MS);
}

/* Claim a batch that nobody adds. */
static void claim_falsely(struct run *run)
{
    uint64_t first;
    struct ledger_filter *filter = ledger_take_batch(&run->torture.ledger, &run->faults.random,
                                                     &first);

    if (filter != NULL) {
        journal_tell("keys from %016" PRIx64 " of %s are claimed, on purpose", first, filter->name);
        for (uint32_t word = 0; word < LEDGER_BATCH / 64; word++) {
            ledger_acknowledge(&run->torture.ledger, filter, first / 64 + word, UINT64_MAX);
        }
        ledger_put(&run->torture.ledger, filter);
        run->sabotaged = true;
    }
}

static void sabotage(struct run *run)
{
    uint64_t half_ms = run->torture.options.seconds * 500;

    if (run->sabotaged || journal_now_ms() - run->start_ms < half_ms) {
        return;
    }
    if (run->torture.options.sabotage == SABOTAGE_FALSE_CLAIM) {
        claim_falsely(run);
    } else if (run->torture.options.sabotage == SABOTAGE_WIPE_MAJORITY &&
               faults_count_active(&run->faults) == 0 && !run->faults.unhealed) {
        faults_wipe_majority(&run->faults);
        atomic_store(&run->torture.patience_ms, SABOTAGE_PATIENCE_MS);
        run->sabotaged = true;
    }
}

static bool time_is_up(const struct run *run)
{
    const struct options *options = &run->torture.options;

    return journal_now_ms() - run->start_ms > options->seconds * 1000 ||
           (options->faults > 0 && run->faults.coverage.faults >= options->faults);
}

static void inject(struct run *run)
{
    bool wipes = run->torture.options.sabotage == SABOTAGE_WIPE_MAJORITY;
    bool stopped = false; /* A majority can only be wiped in quiet: that is waited for. */

    while (!must_stop(run) && (!time_is_up(run) || (wipes && !run->sabotaged))) {
        tick(run);
        if (readers_idle(run) && run->faults.ended > run->read_faults) {
            read_back(run, false);
        }
        stopped = wipes && journal_now_ms() - run->start_ms > run->torture.options.seconds * 500;
        if (!stopped && run->faults.ended - run->read_faults < MAX_LAG) {
            faults_maybe_begin(&run->faults);
        }
        if (run->torture.options.sabotage != SABOTAGE_NONE) {
            sabotage(run);
        }
    }
}

/* Lost keys are asked for once more, and that of processes that answer. */
static void examine_losses(struct run *run)
{
    uint64_t limit_ms = journal_now_ms() + EXAMINE_MS;

    if (run->torture.tally.nlosses > 0) {
        while (faults_count_active(&run->faults) > 0 && journal_now_ms() < limit_ms) {
            tick(run);
        }
        report_losses(&run->torture);
    }
}

/* Until nothing is under way and every replica is FULL. */
static void settle(struct run *run)
{
    while (!must_stop(run) && (faults_count_active(&run->faults) > 0 || run->faults.unhealed)) {
        tick(run);
    }
}

/* Until nothing grows and nothing moves: no longer than the cluster's patience. */
static void await_calm(struct run *run)
{
    uint64_t start_ms = journal_now_ms();
    uint64_t limit_ms = start_ms + atomic_load(&run->torture.patience_ms);

    while (!must_stop(run) && atomic_load(&run->watch.calm_ms) <= start_ms + CALM_MARGIN_MS) {
        tick(run);
        if (journal_now_ms() > limit_ms) {
            tally_fail(&run->torture.tally,
                       "STUCK: filters grow or replicas move still, %d s after "
                       "all faults and all commands",
                       (int)((limit_ms - start_ms) / 1000));
        }
    }
}

static void read_all_back(struct run *run)
{
    uint64_t limit_ms = journal_now_ms() + FINAL_MS;

    while (!must_stop(run) && !readers_idle(run)) {
        tick(run);
    }
    journal_tell("read everything back");
    read_back(run, true);
    while (!must_stop(run) && !readers_idle(run)) {
        tick(run);
        if (journal_now_ms() > limit_ms) {
            tally_fail(&run->torture.tally, "STUCK: reading everything back takes too long");
        }
    }
}

static void torment(struct run *run)
{
    struct torture *torture = &run->torture;

    start_threads(run);
    run->start_ms = run->progress_ms = journal_now_ms();
    faults_init(&run->faults, torture, &run->watch);
    inject(run);
    settle(run);
    journal_tell("the faults are over");
    end_workers(run);
    await_calm(run);
    read_all_back(run);
    end_others(run);
    report_judge_rate(torture);
    examine_losses(run);
    if (!must_stop(run) && !cluster_stop(&torture->cluster)) {
        tally_fail(&torture->tally, "a daemon did not end well on SIGTERM");
    }
}

static bool prepare(struct run *run)
{
    struct torture *torture = &run->torture;

    tally_init(&torture->tally);
    ledger_init(&torture->ledger);
    atomic_store(&torture->patience_ms, PATIENCE_MS);
    if (!cluster_open(&torture->cluster, &torture->options)) {
        return false;
    }
    journal_tell("seed %" PRIu64 ", %" PRIu64 " nodes, %" PRIu64
                 " routers, %d coordinators, partitions %s, in %s",
                 torture->options.seed, torture->options.nodes, torture->options.routers,
                 CLUSTER_COORDINATORS,
                 torture->cluster.network.namespaces ? "by network namespaces" : "none",
                 torture->cluster.dir);
    if (!cluster_start(&torture->cluster)) {
        return false;
    }
    (void)cluster_list(&torture->cluster, DAEMON_ROUTER, torture->routers);
    (void)cluster_list(&torture->cluster, DAEMON_COORDINATOR, torture->coordinators);
    return churn_begin(torture);
}

int main(int argc, char **argv)
{
    struct run *run = calloc(1, sizeof *run);
    uint64_t start_ms = journal_now_ms();
    int code = 1;

    process_prepare();
    if (run == NULL || options_parse(&run->torture.options, argc, argv, &code) != 0) {
        free(run);
        return code;
    }
    catch_signals();
    if (prepare(run)) {
        torment(run);
        code = report_end(&run->torture, &run->faults, journal_now_ms() - start_ms);
    }
    code = interrupted != 0 ? INTERRUPTED : code;
    cluster_close(&run->torture.cluster, run->torture.options.keep || code == 1);
    ledger_fini(&run->torture.ledger);
    free(run);
    return code;
}
