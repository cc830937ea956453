#include "tests/torture_sites/load.h"

#include "client/orbloom.h"
#include "tests/support/random.h"
#include "tests/torture/journal.h"
#include "tests/torture_sites/verdict.h"

#include <stdlib.h>

enum {
    TIMEOUT_MS = 2000,
    ATTEMPT_MS = 500,
    CHECKED = 256,
    NEVER = 64,
    PAUSE_MS = 2,
    SITE_BIT = 56
};

/* Of one batch, of adds or checks. */
struct batch {
    struct orbloom *handle;
    uint64_t numbers[LEDGER_BATCH];
    char keys[LEDGER_BATCH * LEDGER_KEY_BYTES];
    uint32_t lengths[LEDGER_BATCH];
    uint8_t answers[LEDGER_BATCH];
};

struct orbloom *load_connect(const struct sites *sites, uint32_t site)
{
    struct orbloom_options options = {.routers = sites->endpoints[site].router,
                                      .coordinators = sites->endpoints[site].coordinator,
                                      .timeout_ms = TIMEOUT_MS,
                                      .attempt_ms = ATTEMPT_MS,
                                      .credential = "none"};
    struct orbloom *handle = NULL;

    if (orbloom_connect(&options, &handle) != ORBLOOM_OK) {
        verdict_fail("no client: %s", handle != NULL ? orbloom_error(handle) : "no memory");
        orbloom_close(&handle);
    }
    return handle;
}

void load_key(uint32_t site, uint64_t number, char key[LEDGER_KEY_BYTES])
{
    ledger_key(number | (uint64_t)(site + 1) << SITE_BIT, key);
}

static struct orbloom_keys write_keys(const struct load *self, struct batch *batch, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        load_key(self->site, batch->numbers[i], batch->keys + (size_t)i * LEDGER_KEY_BYTES);
        batch->lengths[i] = LEDGER_KEY_BYTES;
        batch->answers[i] = ORBLOOM_UNKNOWN;
    }
    return (struct orbloom_keys){batch->keys, batch->lengths, count};
}

/* How many of the batch were not acknowledged. */
static uint64_t acknowledge(struct load *self, const struct ledger_handout *out,
                            const struct batch *batch)
{
    uint64_t open = 0;

    for (uint32_t word = 0; word < LEDGER_BATCH / 64; word++) {
        uint64_t bits = 0;

        for (uint32_t i = 0; i < 64; i++) {
            bits |= (uint64_t)(batch->answers[word * 64 + i] != ORBLOOM_UNKNOWN) << i;
        }
        open += 64 - (uint64_t)__builtin_popcountll(bits);
        ledger_acknowledge(&self->ledger, self->filter, out, word, bits);
    }
    return open;
}

/* FULL comes while the filter grows; NOT_FOUND, of a filter that exists, never. */
static void add_some(struct load *self, struct batch *batch)
{
    struct ledger_handout out;
    struct orbloom_keys keys;
    int code;

    if (ledger_take_batch(&self->ledger, &self->random, &out) == NULL) {
        return;
    }
    for (uint32_t i = 0; i < LEDGER_BATCH; i++) {
        batch->numbers[i] = out.first + i;
    }
    keys = write_keys(self, batch, LEDGER_BATCH);
    code = orbloom_add(batch->handle, SITES_FILTER, &keys, batch->answers);
    atomic_fetch_add(&self->unacknowledged, acknowledge(self, &out, batch));
    ledger_put(&self->ledger, self->filter);
    if (code == ORBLOOM_FULL) {
        ledger_rest(self->filter, journal_now_ms());
    } else if (code == ORBLOOM_NOT_FOUND || code == ORBLOOM_DROPPED) {
        verdict_fail("site-%u has forgotten the filter: %s", self->site + 1,
                     orbloom_error(batch->handle));
    }
}

/* Keys that this very site has acknowledged. */
static void check_some(struct load *self, struct batch *batch)
{
    uint32_t count = ledger_random(self->filter, &self->random, batch->numbers, CHECKED);
    struct orbloom_keys keys = write_keys(self, batch, count);

    (void)orbloom_check(batch->handle, SITES_FILTER, &keys, batch->answers);
    for (uint32_t i = 0; i < count; i++) {
        atomic_fetch_add(&self->checked, batch->answers[i] == ORBLOOM_PRESENT);
        if (batch->answers[i] == ORBLOOM_ABSENT) {
            verdict_fail("LOST: %.16s of %s was acknowledged at site-%u and is called absent there",
                         batch->keys + (size_t)i * LEDGER_KEY_BYTES, SITES_FILTER, self->site + 1);
        }
    }
}

/* Of too few replicas "present" comes, and "absent" not: only whole answers count. */
static void check_never(struct load *self, struct batch *batch)
{
    struct orbloom_keys keys;
    uint64_t present = 0;

    for (uint32_t i = 0; i < NEVER; i++) {
        batch->numbers[i] = LEDGER_NEVER | random_next(&self->random) >> (64 - SITE_BIT);
    }
    keys = write_keys(self, batch, NEVER);
    if (orbloom_check(batch->handle, SITES_FILTER, &keys, batch->answers) == ORBLOOM_OK) {
        for (uint32_t i = 0; i < NEVER; i++) {
            present += batch->answers[i] == ORBLOOM_PRESENT;
        }
        atomic_fetch_add(&self->never.asked, NEVER);
        atomic_fetch_add(&self->never.present, present);
    }
}

static void run(struct load *self, struct batch *batch)
{
    uint64_t step_ms = LEDGER_BATCH * 1000 / self->sites->options->pace;
    uint64_t next_ms = journal_now_ms();

    while (!atomic_load(&self->ending) && !verdict_failed()) {
        uint64_t now_ms = journal_now_ms();

        if (now_ms < next_ms) {
            journal_pause_ms(PAUSE_MS);
            continue;
        }
        next_ms = (next_ms + step_ms > now_ms ? next_ms : now_ms) + step_ms;
        add_some(self, batch);
        check_some(self, batch);
        check_never(self, batch);
    }
}

static void *thread_body(void *context)
{
    struct load *self = context;
    struct batch *batch = calloc(1, sizeof *batch);

    if (batch == NULL) {
        verdict_fail("no memory for a client");
        return NULL;
    }
    batch->handle = load_connect(self->sites, self->site);
    if (batch->handle != NULL) {
        run(self, batch);
        orbloom_close(&batch->handle);
    }
    free(batch);
    return NULL;
}

bool load_start(struct load *self, const struct sites *sites, uint32_t site)
{
    uint64_t keys = sites->options->keys_max / LEDGER_BATCH * LEDGER_BATCH;

    self->sites = sites;
    self->site = site;
    self->random = sites->options->seed + 1 + site;
    ledger_init(&self->ledger);
    self->filter = ledger_open(&self->ledger, SITES_FILTER, keys, true, true, 0);
    if (self->filter == NULL || pthread_create(&self->thread, NULL, thread_body, self) != 0) {
        verdict_fail("cannot start a client");
        ledger_fini(&self->ledger);
        self->filter = NULL;
        return false;
    }
    atomic_store(&self->filter->repeats, true);
    return true;
}

void load_stop(struct load *self)
{
    if (self->filter != NULL && !atomic_exchange(&self->ending, true)) {
        (void)pthread_join(self->thread, NULL);
    }
}

void load_free(struct load *self)
{
    if (self->filter != NULL) {
        load_stop(self);
        ledger_fini(&self->ledger);
    }
}
