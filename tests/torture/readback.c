/* Asks for the keys of the ledger, in passes and at random, through each router. */
#include "tests/torture/readback.h"

#include "tests/support/random.h"
#include "tests/torture/journal.h"

enum { IDLE_MS = 5, ENDLESS_PAUSE_MS = 5, EASED_PAUSE_MS = 200, SAMPLE = 4, NEVER = 8 };

enum stage { STAGE_NEWEST, STAGE_NEWEST_SETS, STAGE_RANDOM, STAGES };

/* What a pass has still to ask. */
struct pass {
    struct readback_thread *thread;
    uint32_t index; /* of the filter */
    enum stage stage;
    bool begun;
    uint64_t from;
    uint64_t left;  /* keys of this stage */
    uint64_t share; /* keys of each filter */
    uint32_t turn;  /* which set of replicas comes next */
};

static uint32_t next_set(uint32_t *turn)
{
    return torture_sets[(*turn)++ % TORTURE_SETS];
}

static void begin_stage(struct pass *self, const struct ledger_filter *filter)
{
    self->begun = true;
    self->from = atomic_load(&filter->next);
    self->left = self->stage == STAGE_NEWEST_SETS ? self->share / SAMPLE : self->share;
}

static uint32_t fill_stage(struct pass *self, struct checks_batch *batch)
{
    if (self->stage != STAGE_RANDOM) {
        batch->slots = self->stage == STAGE_NEWEST_SETS ? next_set(&self->turn) : 0;
        return ledger_descend(batch->filter, &self->from, batch->numbers, CHECKS_BATCH);
    }
    self->turn++;
    batch->slots = self->turn % SAMPLE == 0 ? torture_sets[self->turn / SAMPLE % TORTURE_SETS] : 0;
    return ledger_random(batch->filter, &self->thread->random, batch->numbers, CHECKS_BATCH);
}

static void next_stage(struct pass *self)
{
    self->begun = false;
    self->stage = self->stage + 1 < STAGES ? self->stage + 1 : STAGE_NEWEST;
    self->index += self->stage == STAGE_NEWEST;
}

static bool fill_pass(void *context, struct checks_batch *batch)
{
    struct pass *self = context;

    batch->filter = ledger_take_nth(&self->thread->torture->ledger, self->index);
    if (batch->filter == NULL) {
        return false;
    }
    if (!self->begun) {
        begin_stage(self, batch->filter);
    }
    batch->count = fill_stage(self, batch);
    batch->insist = batch->slots == 0;
    self->left -= batch->count < self->left ? batch->count : self->left;
    if (batch->count == 0 || self->left == 0) {
        next_stage(self);
    }
    return true;
}

static void run_pass(struct readback_thread *thread, struct checks *checks)
{
    struct pass pass = {.thread = thread};
    struct ledger_filter *filter;
    uint32_t nfilters = 0;

    while ((filter = ledger_take_nth(&thread->torture->ledger, nfilters)) != NULL) {
        ledger_put(&thread->torture->ledger, filter);
        nfilters++;
    }
    if (nfilters > 0) {
        pass.share = thread->torture->options.verify_keys / nfilters;
        checks_run(checks, fill_pass, &pass);
    }
    atomic_fetch_add(&thread->torture->tally.passes, 1);
}

/* ---- everything ---- */

struct scan {
    struct torture *torture;
    struct ledger_filter *filter;
    uint64_t from;
    uint32_t round; /* all replicas, then each set */
};

static bool fill_scan(void *context, struct checks_batch *batch)
{
    struct scan *self = context;

    batch->count = 0;
    while (batch->count == 0) {
        batch->count = ledger_ascend(self->filter, &self->from, batch->numbers, CHECKS_BATCH);
        if (batch->count == 0) {
            self->from = 0;
            if (++self->round > TORTURE_SETS) {
                return false;
            }
        }
    }
    batch->filter = self->filter;
    ledger_share(&self->torture->ledger, self->filter);
    batch->slots = self->round == 0 ? 0 : torture_sets[self->round - 1];
    /* At the end every replica is FULL: every set must answer. */
    batch->insist = self->round == 0 || atomic_load(&self->torture->ending);
    return true;
}

void readback_filter(struct checks *checks, struct ledger_filter *filter)
{
    struct scan scan = {.torture = checks->torture, .filter = filter};

    checks_run(checks, fill_scan, &scan);
}

static void run_all(struct readback_thread *thread, struct checks *checks)
{
    struct ledger *ledger = &thread->torture->ledger;
    struct ledger_filter *filter;

    for (uint32_t i = 0; (filter = ledger_take_nth(ledger, i)) != NULL; i++) {
        readback_filter(checks, filter);
        ledger_put(ledger, filter);
    }
}

void *readback_thread(void *context)
{
    struct readback_thread *self = context;
    struct checks *checks = checks_open(self->torture, self->router);

    while (checks != NULL && !atomic_load(&self->torture->over)) {
        uint64_t wanted = atomic_load(&self->wanted);

        if (atomic_load(&self->done) == wanted) {
            journal_pause_ms(IDLE_MS);
            continue;
        }
        if (atomic_load(&self->all)) {
            run_all(self, checks);
        } else {
            run_pass(self, checks);
        }
        atomic_store(&self->done, wanted);
    }
    checks_close(&checks);
    return NULL;
}

/* ---- all the time ---- */

static void fill_never(struct readback_thread *self, struct checks_batch *batch)
{
    batch->never = true;
    batch->count = CHECKS_BATCH;
    for (uint32_t i = 0; i < CHECKS_BATCH; i++) {
        batch->numbers[i] = LEDGER_NEVER | random_next(&self->random);
    }
}

static bool fill_endless(void *context, struct checks_batch *batch)
{
    struct readback_thread *self = context;
    uint64_t draw = random_next(&self->random);

    journal_pause_ms(atomic_load(&self->torture->eased) ? EASED_PAUSE_MS : ENDLESS_PAUSE_MS);
    batch->filter = ledger_take(&self->torture->ledger, &self->random);
    if (batch->filter == NULL || atomic_load(&self->torture->ending)) {
        if (batch->filter != NULL) {
            ledger_put(&self->torture->ledger, batch->filter);
        }
        return false;
    }
    if (draw % NEVER == 0) {
        fill_never(self, batch);
        return true;
    }
    batch->count = ledger_random(batch->filter, &self->random, batch->numbers, CHECKS_BATCH);
    batch->slots = draw / NEVER % 2 == 0 ? torture_sets[draw / NEVER / 2 % TORTURE_SETS] : 0;
    batch->insist = batch->slots == 0;
    return true;
}

void *readback_endless(void *context)
{
    struct readback_thread *self = context;
    struct checks *checks = checks_open(self->torture, self->torture->routers);

    while (checks != NULL && !atomic_load(&self->torture->ending) &&
           !atomic_load(&self->torture->tally.failed)) {
        checks_run(checks, fill_endless, self);
    }
    checks_close(&checks);
    return NULL;
}
