/* Takes numbers from the ledger, adds them, and notes which were acknowledged. */
#include "tests/torture/adds.h"

#include "client/orbloom.h"
#include "tests/support/random.h"
#include "tests/torture/healing.h"
#include "tests/torture/journal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 16, TIMEOUT_MS = 4000, ATTEMPT_MS = 300, WAIT_MS = 20, MAX_ATTEMPTS = 3 };

struct add_batch {
    struct ledger_filter *filter;
    struct ledger_handout out;
    uint32_t attempts; /* made of it */
    bool busy;
    char keys[LEDGER_BATCH * LEDGER_KEY_BYTES];
};

struct adds {
    struct adds_thread *thread;
    struct torture *torture;
    struct orbloom *handle;
    uint32_t lengths[LEDGER_BATCH];
    struct add_batch batches[DEPTH];
    uint64_t pace; /* keys a second, of this thread */
    uint64_t start_ms;
    uint64_t sent;
};

static void submit(struct adds *self, struct add_batch *batch)
{
    struct orbloom_request request = {
        .filter = batch->filter->name,
        .operation = ORBLOOM_ADD,
        .keys = {batch->keys, self->lengths, LEDGER_BATCH},
        .user = batch,
    };

    batch->attempts++;
    batch->busy = true;
    if (orbloom_submit(self->handle, &request) != ORBLOOM_OK) {
        tally_fail(&self->torture->tally, "an add was refused: %s", orbloom_error(self->handle));
    }
    atomic_fetch_add(&self->torture->adding, 1);
}

/* What was answered is acknowledged, key by key. */
static uint64_t note(struct adds *self, const struct add_batch *batch,
                     const struct orbloom_completion *done)
{
    uint64_t open = 0;

    for (uint32_t word = 0; word < LEDGER_BATCH / 64; word++) {
        uint64_t bits = 0;

        for (uint32_t i = 0; i < 64; i++) {
            bits |= (uint64_t)(done->answers[word * 64 + i] != ORBLOOM_UNKNOWN) << i;
        }
        open += 64 - (uint64_t)__builtin_popcountll(bits);
        if (bits != 0) {
            ledger_acknowledge(&self->torture->ledger, batch->filter, &batch->out, word, bits);
            atomic_store(&batch->filter->full_since_ms, 0);
        }
    }
    return open;
}

/* Keys came faster than arrays: others have a turn first. */
static void rest(struct adds *self, struct ledger_filter *filter, uint64_t keys)
{
    uint64_t now_ms = journal_now_ms();
    uint64_t since_ms;

    ledger_rest(filter, now_ms);
    since_ms = atomic_load(&filter->full_since_ms);
    atomic_fetch_add(&self->torture->tally.full, keys);
    if (since_ms != 0 && now_ms > since_ms + atomic_load(&self->torture->patience_ms)) {
        tally_fail(&self->torture->tally, "STUCK: %s grows by itself and is FULL for %" PRIu64 " s",
                   filter->name, (now_ms - since_ms) / 1000);
    }
}

/* An unanswered batch is sent again now and then: adding again must be safe. */
static void take(struct adds *self, const struct orbloom_completion *done)
{
    struct add_batch *batch = done->user;
    uint64_t open = note(self, batch, done);

    atomic_fetch_sub(&self->torture->adding, 1);
    if (done->code == ORBLOOM_UNAUTHENTIC) {
        tally_refused(&self->torture->tally, "an add", done->message);
    }
    if (done->code == ORBLOOM_FULL && batch->filter->grows) {
        rest(self, batch->filter, open);
        batch->attempts = MAX_ATTEMPTS;
    } else if (done->code == ORBLOOM_NOT_FOUND || done->code == ORBLOOM_DROPPED ||
               done->code == ORBLOOM_FULL) {
        tally_fail(&self->torture->tally, "%s about an add to %s, which exists and has room: %s",
                   orbloom_code_name(done->code), batch->filter->name, done->message);
    }
    if (open > 0 && batch->attempts < MAX_ATTEMPTS && random_below(&self->thread->random, 2) == 0 &&
        !atomic_load(&self->torture->ending)) {
        submit(self, batch);
        return;
    }
    atomic_fetch_add(&self->torture->tally.unacknowledged, open);
    ledger_put(&self->torture->ledger, batch->filter);
    batch->busy = false;
}

static bool is_ahead(const struct adds *self)
{
    return self->sent * 1000 > self->pace * (journal_now_ms() - self->start_ms + 1);
}

/* After a pause what was missed is not made up for. */
static void catch_up(struct adds *self)
{
    uint64_t now_ms = journal_now_ms();
    uint64_t due = self->pace * (now_ms - self->start_ms) / 1000;
    uint64_t pace = atomic_load(&self->torture->pace) / ADDS_THREADS;

    pace = healing_pace(pace, atomic_load(&self->torture->eased));
    if (pace != self->pace || self->sent + self->pace < due) {
        self->pace = pace;
        self->start_ms = now_ms;
        self->sent = 0;
    }
}

/* Start one more batch, if there is a place, something to add, and it is time. */
static bool start_one(struct adds *self)
{
    if (is_ahead(self) || atomic_load(&self->torture->ending)) {
        return false;
    }
    for (size_t i = 0; i < DEPTH; i++) {
        struct add_batch *batch = &self->batches[i];

        if (batch->busy) {
            continue;
        }
        batch->filter = ledger_take_batch(&self->torture->ledger, &self->thread->random,
                                          &batch->out);
        if (batch->filter == NULL) {
            return false;
        }
        for (uint32_t key = 0; key < LEDGER_BATCH; key++) {
            ledger_key(batch->out.first + key, batch->keys + (size_t)key * LEDGER_KEY_BYTES);
        }
        batch->attempts = 0;
        self->sent += LEDGER_BATCH;
        submit(self, batch);
        return true;
    }
    return false;
}

static void run(struct adds *self)
{
    struct orbloom_completion done;

    self->start_ms = journal_now_ms();
    self->pace = atomic_load(&self->torture->pace) / ADDS_THREADS;
    while (!atomic_load(&self->torture->ending) || orbloom_in_flight(self->handle) > 0) {
        while (start_one(self)) {
        }
        if (orbloom_in_flight(self->handle) == 0) {
            journal_pause_ms(2);
        } else if (orbloom_wait(self->handle, WAIT_MS, &done) != 0) {
            take(self, &done);
        }
        catch_up(self);
    }
}

void *adds_thread(void *context)
{
    struct adds_thread *thread = context;
    struct torture *torture = thread->torture;
    struct orbloom_options options = {.routers = torture->routers,
                                      .coordinators = torture->coordinators,
                                      .timeout_ms = TIMEOUT_MS,
                                      .attempt_ms = ATTEMPT_MS,
                                      .max_in_flight = DEPTH};
    struct adds *self = calloc(1, sizeof *self);

    if (self == NULL || orbloom_connect(&options, &self->handle) != ORBLOOM_OK) {
        tally_fail(&torture->tally, "no handle for adds");
    } else {
        self->thread = thread;
        self->torture = torture;
        for (uint32_t i = 0; i < LEDGER_BATCH; i++) {
            self->lengths[i] = LEDGER_KEY_BYTES;
        }
        run(self);
    }
    if (self != NULL) {
        orbloom_close(&self->handle);
    }
    free(self);
    return NULL;
}
