/* Looks whether a torture must stop, waits until the cluster is calm, and reads all back at the
 * end. */
#include "tests/torture/run.h"

#include "tests/torture/journal.h"
#include "tests/torture/report.h"

#include <inttypes.h>

enum {
    EXAMINE_MS = 10000,
    FINAL_MS = 1800000,
    PROGRESS_MS = 10000,
    CALM_MARGIN_MS = 1000, /* reports are that old at most */
    LEAST_ROOM_BYTES = 1 << 30,
};

volatile sig_atomic_t run_interrupted;

bool run_must_stop(const struct run *self)
{
    return atomic_load(&self->torture.tally.failed);
}

/* One that is starting would end of it. */
static void hang_up(struct torture *torture)
{
    uint64_t wanted = atomic_load(&torture->hangups);

    for (uint32_t i = 0; i < torture->cluster.ndaemons; i++) {
        if ((wanted >> i & 1) != 0 && torture->cluster.daemons[i].state == DAEMON_RUNNING) {
            atomic_fetch_and(&torture->hangups, ~(UINT64_C(1) << i));
            daemon_signal(&torture->cluster.daemons[i], SIGHUP);
        }
    }
}

void run_tick(struct run *self, uint64_t pause_ms)
{
    uint64_t now_ms = journal_now_ms();

    faults_tick(&self->faults);
    hang_up(&self->torture);
    if (run_interrupted != 0) {
        tally_fail(&self->torture.tally, "interrupted");
    }

    if (now_ms - self->progress_ms >= PROGRESS_MS) {
        self->progress_ms = now_ms;
        if (folder_room(self->torture.cluster.dir) < LEAST_ROOM_BYTES) {
            tally_fail(&self->torture.tally, "less than 1 GiB left on the disk of %s",
                       self->torture.cluster.dir);
        }
        journal_tell("%" PRIu64 " faults, %" PRIu64 " adds, %" PRIu64 " read back, %" PRIu64
                     " healed",
                     self->faults.coverage.faults, atomic_load(&self->torture.ledger.acked),
                     atomic_load(&self->torture.tally.read_back), self->faults.heals);
    }
    journal_pause_ms(pause_ms);
}

void run_claim_falsely(struct run *self)
{
    struct ledger_handout out;
    struct ledger_filter *filter = ledger_take_batch(&self->torture.ledger, &self->faults.random,
                                                     &out);

    if (filter == NULL) {
        return;
    }
    if (!out.again && filter->window_ms == 0) {
        journal_tell("keys from %016" PRIx64 " of %s are claimed, on purpose", out.first,
                     filter->name);
        for (uint32_t word = 0; word < LEDGER_BATCH / 64; word++) {
            ledger_acknowledge(&self->torture.ledger, filter, &out, word, UINT64_MAX);
        }
        self->sabotaged = true;
    }
    ledger_put(&self->torture.ledger, filter);
}

/* Lost keys are asked for once more, and that of processes that answer. */
static void examine_losses(struct run *self)
{
    uint64_t limit_ms = journal_now_ms() + EXAMINE_MS;

    if (self->torture.tally.nlosses > 0) {
        while (faults_count_active(&self->faults) > 0 && journal_now_ms() < limit_ms) {
            run_tick(self, RUN_TICK_MS);
        }
        report_losses(&self->torture);
    }
}

/* Until nothing is under way and every replica is FULL. */
static void settle(struct run *self)
{
    while (!run_must_stop(self) &&
           (faults_count_active(&self->faults) > 0 || self->faults.unhealed)) {
        run_tick(self, RUN_TICK_MS);
    }
}

/* The cluster key that is being replaced is: that thread needs this one. */
static void end_rotation(struct run *self)
{
    atomic_store(&self->rotate.enough, true);
    while (self->rotates && !atomic_load(&self->rotate.idle)) {
        run_tick(self, RUN_TICK_MS);
    }
}

/* Until nothing grows and nothing moves: no longer than the cluster's patience. */
static void await_calm(struct run *self)
{
    uint64_t start_ms = journal_now_ms();
    uint64_t limit_ms = start_ms + atomic_load(&self->torture.patience_ms);

    while (!run_must_stop(self) && atomic_load(&self->watch.calm_ms) <= start_ms + CALM_MARGIN_MS) {
        run_tick(self, RUN_TICK_MS);
        if (journal_now_ms() > limit_ms) {
            tally_fail(&self->torture.tally,
                       "STUCK: filters grow or replicas move still, %d s after "
                       "all faults and all commands",
                       (int)((limit_ms - start_ms) / 1000));
        }
    }
}

static void read_all_back(struct run *self)
{
    uint64_t limit_ms = journal_now_ms() + FINAL_MS;

    while (!run_must_stop(self) && !run_readers_idle(self)) {
        run_tick(self, RUN_TICK_MS);
    }
    journal_tell("read everything back");
    run_read_back(self, true);
    while (!run_must_stop(self) && !run_readers_idle(self)) {
        run_tick(self, RUN_TICK_MS);
        if (journal_now_ms() > limit_ms) {
            tally_fail(&self->torture.tally, "STUCK: reading everything back takes too long");
        }
    }
}

void run_finish(struct run *self)
{
    struct torture *torture = &self->torture;

    settle(self);
    journal_tell("the faults are over");
    end_rotation(self);
    run_end_workers(self);
    await_calm(self);
    read_all_back(self);
    run_end_others(self);
    report_judge_rate(torture);
    examine_losses(self);
    if (!run_must_stop(self) && !cluster_stop(&torture->cluster)) {
        tally_fail(&torture->tally, "a daemon did not end well on SIGTERM");
    }
}
