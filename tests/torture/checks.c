/* Keeps batches of checks in flight, and asks again for what was not answered. */
#include "tests/torture/checks.h"

#include "tests/torture/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIMEOUT_MS = 2000,
    SET_TIMEOUT_MS = 500,
    ATTEMPT_MS = 300,
    AGAIN_MS = 30,
    WAIT_MS = 20,
    AGAIN_DOUBLINGS = 6
};

struct checks *checks_open(struct torture *torture, const char *routers)
{
    struct orbloom_options options = {.routers = routers,
                                      .coordinators = torture->coordinators,
                                      .timeout_ms = TIMEOUT_MS,
                                      .attempt_ms = ATTEMPT_MS,
                                      .max_in_flight = CHECKS_DEPTH};
    struct checks *self = calloc(1, sizeof *self);

    if (self == NULL || orbloom_connect(&options, &self->handle) != ORBLOOM_OK) {
        tally_fail(&torture->tally, "no handle: %s",
                   self != NULL ? orbloom_error(self->handle) : "no memory");
        checks_close(&self);
        return NULL;
    }
    self->torture = torture;
    self->routers = routers;
    for (uint32_t i = 0; i < CHECKS_BATCH; i++) {
        self->lengths[i] = LEDGER_KEY_BYTES;
    }
    return self;
}

void checks_close(struct checks **self)
{
    if (*self != NULL) {
        orbloom_close(&(*self)->handle);
        free(*self);
        *self = NULL;
    }
}

static void submit(struct checks *self, struct checks_batch *batch)
{
    struct orbloom_request request = {
        .filter = batch->filter->name,
        .operation = ORBLOOM_CHECK,
        .keys = {batch->keys, self->lengths, batch->count},
        .replicas = batch->slots,
        .timeout_ms = batch->slots != 0 && !batch->insist ? SET_TIMEOUT_MS : 0,
        .user = batch,
    };

    batch->waiting = false;
    if (orbloom_submit(self->handle, &request) != ORBLOOM_OK) {
        tally_fail(&self->torture->tally, "a check was refused: %s", orbloom_error(self->handle));
    }
    atomic_fetch_add(&self->torture->checking, 1);
}

static void lose(struct checks *self, const struct checks_batch *batch, uint32_t index)
{
    struct tally_loss loss = {.number = batch->numbers[index], .slots = batch->slots};

    (void)snprintf(loss.filter, sizeof loss.filter, "%s", batch->filter->name);
    (void)snprintf(loss.router, sizeof loss.router, "%.60s", self->routers);
    tally_lose(&self->torture->tally, &loss);
}

struct verdicts {
    uint32_t present;
    uint32_t absent;
};

static struct verdicts judge(struct checks *self, const struct checks_batch *batch,
                             const struct orbloom_completion *done)
{
    struct verdicts verdicts = {0};
    bool bound = !batch->never && journal_now_ms() <= batch->expiry_ms;

    for (uint32_t i = 0; i < done->count; i++) {
        verdicts.present += done->answers[i] == ORBLOOM_PRESENT;
        if (done->answers[i] == ORBLOOM_ABSENT) {
            verdicts.absent++;
            if (bound) {
                lose(self, batch, i);
            } else if (!batch->never) {
                atomic_fetch_add(&self->torture->tally.expired, 1);
            }
        }
    }
    return verdicts;
}

static void finish(struct checks *self, struct checks_batch *batch)
{
    ledger_put(&self->torture->ledger, batch->filter);
    batch->busy = false;
}

/* No answer about some keys: ask again, unless it has been too long. */
static void insist(struct checks *self, struct checks_batch *batch, uint32_t open,
                   const struct orbloom_completion *done)
{
    struct tally *tally = &self->torture->tally;
    uint64_t now_ms = journal_now_ms();

    atomic_fetch_add(&tally->again, open);
    if (now_ms - batch->first_ms > atomic_load(&self->torture->patience_ms)) {
        tally_fail(tally,
                   "NOT READY: %u keys of %s not answered for %" PRIu64 " s through %s: %s: %s",
                   open, batch->filter->name, (now_ms - batch->first_ms) / 1000, self->routers,
                   orbloom_code_name(done->code), done->message);
        finish(self, batch);
        return;
    }
    batch->waiting = true;
    batch->again_ms = now_ms + ((uint64_t)AGAIN_MS << batch->times);
    batch->times += batch->times < AGAIN_DOUBLINGS;
}

static void take(struct checks *self, const struct orbloom_completion *done)
{
    struct checks_batch *batch = done->user;
    struct verdicts verdicts = judge(self, batch, done);
    struct tally *tally = &self->torture->tally;
    uint32_t open = batch->count - verdicts.present - verdicts.absent;

    atomic_fetch_sub(&self->torture->checking, 1);
    if (done->code == ORBLOOM_UNAUTHENTIC) {
        tally_refused(tally, "a check", done->message);
    }
    if (done->code == ORBLOOM_NOT_FOUND || done->code == ORBLOOM_DROPPED) {
        tally_fail(tally, "%s about filter %s, which exists, from %s: %s",
                   orbloom_code_name(done->code), batch->filter->name, self->routers,
                   done->message);
    }
    if (batch->never && open == 0) { /* Of too few replicas "present" comes, and "absent" not. */
        atomic_fetch_add(&tally->never[batch->state].asked, verdicts.present + verdicts.absent);
        atomic_fetch_add(&tally->never[batch->state].present, verdicts.present);
    } else if (!batch->never) {
        atomic_fetch_add(&tally->read_back, verdicts.present);
    }
    if (open > 0 && batch->insist) {
        insist(self, batch, open, done);
        return;
    }
    atomic_fetch_add(&tally->unsure, open);
    finish(self, batch);
}

static bool fill(struct checks *self, struct checks_batch *batch, checks_fill_fn fill_batch,
                 void *context)
{
    batch->slots = 0;
    batch->insist = batch->never = false;
    if (!fill_batch(context, batch)) {
        return false;
    }
    if (batch->count == 0) { /* Nothing of this filter, but perhaps of the next. */
        ledger_put(&self->torture->ledger, batch->filter);
        return true;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        ledger_key(batch->numbers[i], batch->keys + (size_t)i * LEDGER_KEY_BYTES);
    }
    batch->expiry_ms = batch->never ? UINT64_MAX
                                    : ledger_expiry_ms(batch->filter, batch->numbers, batch->count);
    batch->state = atomic_load(&batch->filter->state);
    batch->busy = true;
    batch->times = 0;
    batch->first_ms = journal_now_ms();
    submit(self, batch);
    return true;
}

static void submit_waiting(struct checks *self)
{
    for (size_t i = 0; i < CHECKS_DEPTH; i++) {
        struct checks_batch *batch = &self->batches[i];

        if (batch->busy && batch->waiting && journal_now_ms() >= batch->again_ms) {
            submit(self, batch);
        }
    }
}

static struct checks_batch *find_idle(struct checks *self, bool *any_busy)
{
    struct checks_batch *idle = NULL;

    *any_busy = false;
    for (size_t i = 0; i < CHECKS_DEPTH; i++) {
        *any_busy |= self->batches[i].busy;
        idle = self->batches[i].busy ? idle : &self->batches[i];
    }
    return idle;
}

/* The torture has failed: what is in flight is of no interest any more. */
static void abandon(struct checks *self)
{
    struct orbloom_completion done;

    while (orbloom_in_flight(self->handle) > 0) {
        if (orbloom_wait(self->handle, WAIT_MS, &done) != 0) {
            atomic_fetch_sub(&self->torture->checking, 1);
        }
    }
    for (size_t i = 0; i < CHECKS_DEPTH; i++) {
        if (self->batches[i].busy) {
            finish(self, &self->batches[i]);
        }
    }
}

void checks_run(struct checks *self, checks_fill_fn fill_batch, void *context)
{
    bool more = true;
    bool any_busy = true;

    while ((more || any_busy) && !atomic_load(&self->torture->tally.failed)) {
        struct checks_batch *idle = find_idle(self, &any_busy);
        struct orbloom_completion done;

        if (more && idle != NULL) {
            more = fill(self, idle, fill_batch, context);
            continue;
        }
        if (orbloom_in_flight(self->handle) == 0) {
            journal_pause_ms(any_busy ? AGAIN_MS / 2 : 0);
        } else if (orbloom_wait(self->handle, WAIT_MS, &done) != 0) {
            take(self, &done);
        }
        submit_waiting(self);
    }
    abandon(self);
}
