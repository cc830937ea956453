/* Two threads of adds and checks a site, and the ledgers of what was acknowledged. */
#include "tests/torture_sites/load.h"

#include "client/orbloom.h"
#include "tests/support/random.h"
#include "tests/torture/journal.h"
#include "tests/torture_sites/verdict.h"

#include <stdlib.h>

enum {
    TIMEOUT_MS = 2000,
    UPGRADE_MS = 30000,
    ATTEMPT_MS = 500,
    CHECKED = 256,
    NEVER = 64,
    PROMISE_MS = 10000, /* so long other sites are waited for */
    PAUSE_MS = 2,
    PROMISE_PAUSE_MS = 100,
    SITE_BIT = 56
};

/* Of one batch, of adds or checks. */
struct batch {
    struct orbloom *handle;
    struct orbloom *next; /* of the next site */
    uint64_t random;
    uint64_t numbers[LEDGER_BATCH];
    char keys[LEDGER_BATCH * LEDGER_KEY_BYTES];
    uint32_t lengths[LEDGER_BATCH];
    uint8_t answers[LEDGER_BATCH];
};

static struct orbloom *connect_for(const struct sites *sites, uint32_t site, uint32_t timeout_ms)
{
    struct orbloom_options options = {.routers = sites->endpoints[site].router,
                                      .coordinators = sites->endpoints[site].coordinator,
                                      .timeout_ms = timeout_ms,
                                      .attempt_ms = ATTEMPT_MS,
                                      .credential = "none"};
    struct orbloom *handle = NULL;

    if (orbloom_connect(&options, &handle) != ORBLOOM_OK) {
        verdict_fail("no client: %s", handle != NULL ? orbloom_error(handle) : "no memory");
        orbloom_close(&handle);
    }
    return handle;
}

/* While processes are upgraded one after the other no client is to see anything of it. */
struct orbloom *load_connect(const struct sites *sites, uint32_t site)
{
    return connect_for(sites, site, sites->options->upgrade != NULL ? UPGRADE_MS : TIMEOUT_MS);
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

/* Those that were acknowledged; how many they are. */
static uint32_t pack(struct batch *batch)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < LEDGER_BATCH; i++) {
        if (batch->answers[i] != ORBLOOM_UNKNOWN) {
            batch->numbers[count++] = batch->numbers[i];
        }
    }
    return count;
}

/* What each site was to have, and was acknowledged, the next one has by now. */
static void check_next(struct load *self, struct batch *batch)
{
    uint32_t count = pack(batch);
    struct orbloom_keys keys = write_keys(self, batch, count);

    (void)orbloom_check(batch->next, SITES_FILTER, &keys, batch->answers);
    atomic_fetch_add(&self->by_each, count);
    for (uint32_t i = 0; i < count; i++) {
        if (batch->answers[i] == ORBLOOM_ABSENT) {
            verdict_fail(
                "LOST: %.16s of %s was acknowledged at site-%u by each site, and is called "
                "absent at site-%u",
                batch->keys + (size_t)i * LEDGER_KEY_BYTES, SITES_FILTER, self->site + 1,
                self->next->site + 1);
        }
    }
}

/* What the next site had acknowledged before a fresh check is not absent by it. */
static void check_fresh(struct load *self, struct batch *batch)
{
    uint32_t count = ledger_random(self->next->filter, &batch->random, batch->numbers, CHECKED);
    struct orbloom_keys keys = write_keys(self->next, batch, count);

    (void)orbloom_check_within(batch->handle, SITES_FILTER, 0, &keys, batch->answers);
    for (uint32_t i = 0; i < count; i++) {
        atomic_fetch_add(&self->fresh, batch->answers[i] == ORBLOOM_PRESENT);
        if (batch->answers[i] == ORBLOOM_ABSENT) {
            verdict_fail("LOST: %.16s of %s was acknowledged at site-%u before a fresh check at "
                         "site-%u that calls it absent",
                         batch->keys + (size_t)i * LEDGER_KEY_BYTES, SITES_FILTER,
                         self->next->site + 1, self->site + 1);
        }
    }
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

static void count_errors(struct load *self, uint64_t count, const char *what,
                         const struct orbloom *handle)
{
    if (count > 0 && self->sites->options->upgrade != NULL) {
        atomic_fetch_add(&self->errors, count);
        journal_say("%llu %s at site-%u not answered: %s", (unsigned long long)count, what,
                    self->site + 1, orbloom_error(handle));
    }
}

/* FULL comes while the filter grows; NOT_FOUND, of a filter that exists, never. False: nothing is
 * to be added. */
static bool add_some(struct load *self, struct batch *batch, uint32_t acks)
{
    struct ledger_handout out;
    struct orbloom_keys keys;
    uint64_t open;
    int code;

    if (ledger_take_batch(&self->ledger, &batch->random, &out) == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < LEDGER_BATCH; i++) {
        batch->numbers[i] = out.first + i;
    }
    keys = write_keys(self, batch, LEDGER_BATCH);
    code = orbloom_add_in_sites(batch->handle, SITES_FILTER, acks, &keys, batch->answers);
    open = acknowledge(self, &out, batch);
    atomic_fetch_add(&self->unacknowledged, open);
    if (acks == ORBLOOM_ACKS_LOCAL && code != ORBLOOM_FULL) {
        count_errors(self, open, "adds", batch->handle);
    }
    ledger_put(&self->ledger, self->filter);
    if (code == ORBLOOM_FULL) {
        ledger_rest(self->filter, journal_now_ms());
    } else if (code == ORBLOOM_NOT_FOUND || code == ORBLOOM_DROPPED) {
        verdict_fail("site-%u has forgotten the filter: %s", self->site + 1,
                     orbloom_error(batch->handle));
    }
    return true;
}

/* Keys that this very site has acknowledged. */
static void check_some(struct load *self, struct batch *batch)
{
    uint32_t count = ledger_random(self->filter, &batch->random, batch->numbers, CHECKED);
    struct orbloom_keys keys = write_keys(self, batch, count);
    uint64_t unknown = 0;

    (void)orbloom_check(batch->handle, SITES_FILTER, &keys, batch->answers);
    for (uint32_t i = 0; i < count; i++) {
        atomic_fetch_add(&self->checked, batch->answers[i] == ORBLOOM_PRESENT);
        unknown += batch->answers[i] == ORBLOOM_UNKNOWN;
        if (batch->answers[i] == ORBLOOM_ABSENT) {
            verdict_fail("LOST: %.16s of %s was acknowledged at site-%u and is called absent there",
                         batch->keys + (size_t)i * LEDGER_KEY_BYTES, SITES_FILTER, self->site + 1);
        }
    }
    count_errors(self, unknown, "checks", batch->handle);
}

/* Of too few replicas "present" comes, and "absent" not: only whole answers count. */
static void check_never(struct load *self, struct batch *batch)
{
    struct orbloom_keys keys;
    uint64_t present = 0;

    for (uint32_t i = 0; i < NEVER; i++) {
        batch->numbers[i] = LEDGER_NEVER | random_next(&batch->random) >> (64 - SITE_BIT);
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
        (void)add_some(self, batch, ORBLOOM_ACKS_LOCAL);
        check_some(self, batch);
        check_never(self, batch);
    }
}

/* What takes other sites, which may be long away. */
static void run_promises(struct load *self, struct batch *batch)
{
    while (!atomic_load(&self->ending) && !verdict_failed()) {
        if (add_some(self, batch, ORBLOOM_ACKS_EACH)) {
            check_next(self, batch);
        }
        check_fresh(self, batch);
        journal_pause_ms(PROMISE_PAUSE_MS);
    }
}

static void *run_body(void *context)
{
    struct load *self = context;
    struct batch *batch = calloc(1, sizeof *batch);

    if (batch == NULL) {
        verdict_fail("no memory for a client");
        return NULL;
    }
    batch->random = self->random;
    batch->handle = load_connect(self->sites, self->site);
    if (batch->handle != NULL) {
        run(self, batch);
    }
    orbloom_close(&batch->handle);
    free(batch);
    return NULL;
}

static void *promises_body(void *context)
{
    struct load *self = context;
    struct batch *batch = calloc(1, sizeof *batch);

    if (batch == NULL) {
        verdict_fail("no memory for a client");
        return NULL;
    }
    batch->random = ~self->random;
    batch->handle = connect_for(self->sites, self->site, PROMISE_MS);
    batch->next = connect_for(self->sites, self->next->site, PROMISE_MS);
    if (batch->handle != NULL && batch->next != NULL) {
        run_promises(self, batch);
    }
    orbloom_close(&batch->handle);
    orbloom_close(&batch->next);
    free(batch);
    return NULL;
}

bool load_open(struct load *self, const struct sites *sites, uint32_t site, const struct load *next)
{
    uint64_t keys = sites->options->keys_max / LEDGER_BATCH * LEDGER_BATCH;

    self->sites = sites;
    self->site = site;
    self->next = next;
    self->random = sites->options->seed + 1 + site;
    ledger_init(&self->ledger);
    self->filter = ledger_open(&self->ledger, SITES_FILTER, keys, true, true, 0);
    if (self->filter == NULL) {
        verdict_fail("no memory for a client");
        ledger_fini(&self->ledger);
        return false;
    }
    atomic_store(&self->filter->repeats, true);
    return true;
}

static bool start(pthread_t *thread, void *(*body)(void *context), struct load *self)
{
    if (pthread_create(thread, NULL, body, self) != 0) {
        verdict_fail("cannot start a client");
        return false;
    }
    return true;
}

bool load_start(struct load *self)
{
    atomic_store(&self->ending, false);
    self->runs = start(&self->thread, run_body, self);
    self->promises = self->runs && self->next != NULL &&
                     start(&self->promises_thread, promises_body, self);
    return !verdict_failed();
}

void load_stop(struct load *self)
{
    atomic_store(&self->ending, true);
    if (self->runs) {
        (void)pthread_join(self->thread, NULL);
    }
    if (self->promises) {
        (void)pthread_join(self->promises_thread, NULL);
    }
    self->runs = self->promises = false;
}

void load_free(struct load *self)
{
    load_stop(self);
    if (self->filter != NULL) {
        ledger_fini(&self->ledger);
    }
}
