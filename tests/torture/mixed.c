/* Starts the threads of everything, and turns the loop of faults until time is up. */
#include "tests/torture/mixed.h"

#include "tests/torture/journal.h"

enum {
    MAX_LAG = 4, /* faults that may end before one more read-back has begun */
    SABOTAGE_PATIENCE_MS = 6000,
    LATE_PER_MILLE = 100, /* of the run, a node more is started */
};

static void start_actions(struct run *run)
{
    struct torture *torture = &run->torture;
    uint64_t seed = torture->options.seed;

    run->churn = (struct churn_thread){.torture = torture, .random = seed + 50};
    run_start_worker(run, churn_thread, &run->churn);
    if (torture_may(torture, "grow-asked")) {
        run->grow = (struct grow_thread){.torture = torture, .random = seed + 70};
        run_start_worker(run, grow_thread, &run->grow);
    }
    if (torture_may(torture, "move")) {
        run->move = (struct move_thread){
            .torture = torture, .watch = &run->watch, .random = seed + 80};
        run_start_worker(run, move_thread, &run->move);
    }
    if (torture_may(torture, "rotate")) {
        run->rotate = (struct rotate_thread){
            .torture = torture, .watch = &run->watch, .random = seed + 90};
        run->rotates = true;
        run_start_worker(run, rotate_thread, &run->rotate);
    }
}

static void sabotage(struct run *run)
{
    uint64_t half_ms = run->torture.options.seconds * 500;

    if (run->sabotaged || journal_now_ms() - run->start_ms < half_ms) {
        return;
    }
    if (run->torture.options.sabotage == SABOTAGE_FALSE_CLAIM) {
        run_claim_falsely(run);
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

/* A node more, which gets its share by a rebalance. */
static void start_late(struct run *run, bool now)
{
    struct torture *torture = &run->torture;

    if (atomic_load(&torture->late) != 0 &&
        (now || journal_now_ms() - run->start_ms > torture->options.seconds * LATE_PER_MILLE)) {
        if (cluster_start_late(&torture->cluster) == NULL) {
            tally_fail(&torture->tally, "a node that is added can't be started");
        }
        atomic_store(&torture->late, 0);
    }
}

static void inject(struct run *run)
{
    bool wipes = run->torture.options.sabotage == SABOTAGE_WIPE_MAJORITY;
    bool stopped = false; /* A majority can only be wiped in quiet: that is waited for. */

    while (!run_must_stop(run) && (!time_is_up(run) || (wipes && !run->sabotaged))) {
        run_tick(run, RUN_TICK_MS);
        start_late(run, false);
        if (run_readers_idle(run) && run->faults.ended > run->read_faults) {
            run_read_back(run, false);
        }
        stopped = wipes && journal_now_ms() - run->start_ms > run->torture.options.seconds * 500;
        if (!stopped && run->faults.ended - run->read_faults < MAX_LAG) {
            faults_maybe_begin(&run->faults);
        }
        if (run->torture.options.sabotage != SABOTAGE_NONE) {
            sabotage(run);
        }
    }
    start_late(run, !run_must_stop(run));
}

void mixed_begin(struct run *run)
{
    run_start_load(run);
    start_actions(run);
    run->start_ms = run->progress_ms = journal_now_ms();
    faults_init(&run->faults, &run->torture, &run->watch);
}

void mixed_run(struct run *run)
{
    mixed_begin(run);
    inject(run);
    run_finish(run);
}
