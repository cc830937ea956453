/* Creates filters of each kind in turn, reads them back, and drops them. */
#include "tests/torture/churn.h"

#include "client/orbloom.h"
#include "tests/support/random.h"
#include "tests/torture/admin.h"
#include "tests/torture/journal.h"
#include "tests/torture/readback.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    ASK_MS = 5000,
    PAUSE_MS = 50,
    BRIEF_KEYS = 4 * LEDGER_BATCH,
    KEEP_SHARE = 2, /* of keys_max */
    TURN_SHARE = 4,
    KINDS = 3, /* of turns */
    WINDOW_MS = 10000,
    WINDOW_KEYS = 1 << 20, /* remembered */
};

struct churn {
    struct torture *torture;
    struct admin admin;
    struct orbloom *handle;
    struct checks *checks;
    struct ledger_filter *turn;
    uint32_t turns;
    uint32_t briefs;
    uint64_t *random;
};

static uint64_t round_keys(uint64_t keys)
{
    return keys / LEDGER_BATCH * LEDGER_BATCH;
}

static bool must_stop(const struct torture *torture)
{
    return atomic_load(&torture->ending) || atomic_load(&torture->tally.failed);
}

/* Filters whose log is synced and those that leave it to the kernel survive kill -9 alike. */
static bool create(struct admin *admin, const char *name, uint64_t keys,
                   const struct admin_kind *kind)
{
    struct torture *torture = admin->torture;
    uint64_t start_ms = journal_now_ms();
    enum status status;

    atomic_fetch_add(&torture->creating, 1);
    do {
        status = admin_create(admin, name, keys, kind);
        if (status != STATUS_OK) {
            journal_say("create %s: %s", name, admin->error);
            journal_pause_ms(PAUSE_MS);
        }
        if (journal_now_ms() - start_ms > atomic_load(&torture->patience_ms)) {
            tally_fail(&torture->tally, "STUCK: %s can't be created for %" PRIu64 " s: %s", name,
                       (journal_now_ms() - start_ms) / 1000, admin->error);
        }
    } while (status != STATUS_OK && !must_stop(torture));
    atomic_fetch_sub(&torture->creating, 1);
    journal_say("create %s of %" PRIu64 " keys: %s", name, keys, status_code(status));
    return status == STATUS_OK;
}

static void drop(struct churn *self, const char *name)
{
    struct torture *torture = self->torture;
    uint64_t start_ms = journal_now_ms();
    int code;

    atomic_fetch_add(&torture->dropping, 1);
    do {
        code = orbloom_drop(self->handle, name);
        if (code == ORBLOOM_UNAUTHENTIC) {
            tally_refused(&torture->tally, "a drop", orbloom_error(self->handle));
        }
        if (code != ORBLOOM_OK && code != ORBLOOM_NOT_FOUND) {
            journal_say("drop %s: %s", name, orbloom_error(self->handle));
            journal_pause_ms(PAUSE_MS);
        }
        if (journal_now_ms() - start_ms > atomic_load(&torture->patience_ms)) {
            tally_fail(&torture->tally, "STUCK: %s can't be dropped for %" PRIu64 " s: %s", name,
                       (journal_now_ms() - start_ms) / 1000, orbloom_error(self->handle));
        }
    } while (code != ORBLOOM_OK && code != ORBLOOM_NOT_FOUND &&
             !atomic_load(&torture->tally.failed));
    atomic_fetch_sub(&torture->dropping, 1);
    journal_say("drop %s: %s", name, orbloom_code_name(code));
}

/* Read a filter back whole, then drop it. */
static void retire(struct churn *self, struct ledger_filter *filter)
{
    readback_filter(self->checks, filter);
    while (!ledger_shut(&self->torture->ledger, filter)) {
        journal_pause_ms(1); /* Others are at work on it. */
    }
    if (!atomic_load(&self->torture->tally.failed)) {
        drop(self, filter->name);
    }
    ledger_forget(&self->torture->ledger, filter);
}

static struct ledger_filter *begin(struct admin *admin, const char *name, uint64_t keys,
                                   bool adding, const struct admin_kind *kind)
{
    struct ledger_filter *filter;

    if (!create(admin, name, keys, kind)) {
        return NULL;
    }
    filter = ledger_open(&admin->torture->ledger, name, keys, adding, kind->grows, kind->window_ms);
    if (filter == NULL) {
        tally_fail(&admin->torture->tally, "no room for filter %s in the ledger", name);
    }
    return filter;
}

/* ---- those that live for a moment ---- */

static void add_brief(struct churn *self, struct ledger_filter *filter)
{
    char bytes[LEDGER_BATCH * LEDGER_KEY_BYTES];
    uint32_t lengths[LEDGER_BATCH];
    uint8_t answers[LEDGER_BATCH];
    struct orbloom_keys keys = {.bytes = bytes, .lengths = lengths, .count = LEDGER_BATCH};

    for (uint64_t first = 0; first < BRIEF_KEYS && !must_stop(self->torture);
         first += LEDGER_BATCH) {
        const struct ledger_handout out = {.first = first};

        for (uint32_t i = 0; i < LEDGER_BATCH; i++) {
            ledger_key(first + i, bytes + (size_t)i * LEDGER_KEY_BYTES);
            lengths[i] = LEDGER_KEY_BYTES;
        }
        if (orbloom_add(self->handle, filter->name, &keys, answers) == ORBLOOM_UNAUTHENTIC) {
            tally_refused(&self->torture->tally, "an add", orbloom_error(self->handle));
        }
        atomic_store(&filter->next, first + LEDGER_BATCH);
        for (uint32_t i = 0; i < LEDGER_BATCH; i++) {
            if (answers[i] != ORBLOOM_UNKNOWN) {
                ledger_acknowledge(&self->torture->ledger, filter, &out, i / 64,
                                   UINT64_C(1) << i % 64);
            }
        }
    }
}

/* A name has the same parameters each time: a first attempt to create it that a stopped coordinator
 * answers late, when it was dropped already, makes what is to be created next. */
static void churn_brief(struct churn *self)
{
    bool sync = self->briefs++ % 2 == 0;
    const struct admin_kind kind = {.sync = sync};
    struct ledger_filter *filter = begin(&self->admin, sync ? "brief-a" : "brief-b", BRIEF_KEYS,
                                         false, &kind);

    if (filter != NULL) {
        add_brief(self, filter);
        retire(self, filter);
    }
}

/* ---- those that are filled ---- */

/* One that grows without a log of keys, one that grows with one, one that is as it is. */
static struct admin_kind turn_kind(struct churn *self)
{
    bool grows = torture_may(self->torture, "grow") && self->turns % KINDS != 0;

    return (struct admin_kind){.sync = random_below(self->random, 2) == 0,
                               .grows = grows,
                               .bits_only = grows && self->turns % KINDS == 1};
}

static void churn_turn(struct churn *self)
{
    char name[LEDGER_NAME_BYTES];

    if (self->turn != NULL && atomic_load(&self->turn->next) >= self->turn->keys) {
        retire(self, self->turn);
        self->turn = NULL;
    }
    if (self->turn == NULL && !must_stop(self->torture)) {
        struct admin_kind kind;

        (void)snprintf(name, sizeof name, "turn-%u", ++self->turns);
        kind = turn_kind(self);
        self->turn = begin(&self->admin, name,
                           round_keys(self->torture->options.keys_max / TURN_SHARE), true, &kind);
    }
}

static bool connect_churn(struct torture *torture, struct orbloom **handle)
{
    struct orbloom_options options = {.routers = torture->routers,
                                      .coordinators = torture->coordinators,
                                      .timeout_ms = ASK_MS,
                                      .attempt_ms = ASK_MS / 10};

    if (orbloom_connect(&options, handle) != ORBLOOM_OK) {
        tally_fail(&torture->tally, "no handle for filters: %s", orbloom_error(*handle));
        return false;
    }
    return true;
}

bool churn_begin(struct torture *torture)
{
    const struct admin_kind keep = {.sync = true, .grows = torture_may(torture, "grow")};
    const struct admin_kind window = {.grows = true, .window_ms = WINDOW_MS};
    struct admin admin;
    bool good = admin_open(&admin, torture) &&
                begin(&admin, "keep", round_keys(torture->options.keys_max / KEEP_SHARE), true,
                      &keep) != NULL &&
                (!torture_may(torture, "window") ||
                 begin(&admin, "window", WINDOW_KEYS, true, &window) != NULL);

    admin_close(&admin);
    return good;
}

void *churn_thread(void *context)
{
    struct churn_thread *thread = context;
    struct churn self = {.torture = thread->torture, .random = &thread->random};

    self.checks = checks_open(thread->torture, thread->torture->routers);
    if (admin_open(&self.admin, thread->torture) && connect_churn(thread->torture, &self.handle) &&
        self.checks != NULL) {
        while (!must_stop(thread->torture)) {
            churn_turn(&self);
            if (!must_stop(thread->torture)) {
                churn_brief(&self);
            }
            journal_pause_ms(random_below(self.random, PAUSE_MS));
        }
    }
    checks_close(&self.checks);
    orbloom_close(&self.handle);
    admin_close(&self.admin);
    return NULL;
}
