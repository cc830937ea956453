/* Reads all acknowledged keys at each site, again and again until none is absent. */
#include "tests/torture_sites/equal.h"

#include "client/orbloom.h"
#include "tests/torture/journal.h"
#include "tests/torture_sites/verdict.h"

#include <inttypes.h>
#include <stdlib.h>

enum { BATCH = 8192, AGAIN_MS = 50 };

struct reader {
    const struct sites *sites;
    uint32_t asked; /* the site that is asked ... */
    uint32_t owner; /* ... for keys that this one has acknowledged */
    bool fresh;     /* ... by fresh checks */
    struct orbloom *handle;
    uint32_t count;
    uint64_t numbers[BATCH];
    char keys[BATCH * LEDGER_KEY_BYTES];
    uint32_t lengths[BATCH];
    uint8_t answers[BATCH];
};

/* Those that are not present stay, in their order. */
static void drop_present(struct reader *self)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < self->count; i++) {
        if (self->answers[i] != ORBLOOM_PRESENT) {
            self->answers[kept] = self->answers[i];
            self->numbers[kept++] = self->numbers[i];
        }
    }
    self->count = kept;
}

static void ask(struct reader *self)
{
    struct orbloom_keys keys = {self->keys, self->lengths, self->count};

    for (uint32_t i = 0; i < self->count; i++) {
        load_key(self->owner, self->numbers[i], self->keys + (size_t)i * LEDGER_KEY_BYTES);
        self->lengths[i] = LEDGER_KEY_BYTES;
        self->answers[i] = ORBLOOM_UNKNOWN;
    }
    if (self->fresh) {
        (void)orbloom_check_within(self->handle, SITES_FILTER, 0, &keys, self->answers);
    } else {
        (void)orbloom_check(self->handle, SITES_FILTER, &keys, self->answers);
    }
}

/* The first of those that are missing; is it lost, or may it come? */
static void judge(struct reader *self, bool late)
{
    char key[LEDGER_KEY_BYTES];
    uint32_t absent = 0;
    uint32_t first = 0;

    for (uint32_t i = self->count; i-- > 0;) {
        if (self->answers[i] == ORBLOOM_ABSENT) {
            absent++;
            first = i;
        }
    }
    load_key(self->owner, self->numbers[first], key);
    if (absent > 0 && (late || self->fresh || self->asked == self->owner)) {
        verdict_fail("LOST: %.16s of %s, and %u more of %u, was acknowledged at site-%u and is "
                     "called absent by site-%u%s%s",
                     key, SITES_FILTER, absent - 1, BATCH, self->owner + 1, self->asked + 1,
                     self->fresh ? ", by a fresh check" : "",
                     late ? ", in spite of all patience" : "");
    } else if (late) {
        verdict_fail("STUCK: site-%u does not answer about %u keys: %s", self->asked + 1,
                     self->count, orbloom_error(self->handle));
    }
}

static void read_batch(struct reader *self)
{
    uint64_t deadline_ms = journal_now_ms() + self->sites->options->patience * 1000;

    while (self->count > 0 && !verdict_failed()) {
        ask(self);
        drop_present(self);
        if (self->count > 0) {
            judge(self, journal_now_ms() > deadline_ms);
            journal_pause_ms(AGAIN_MS);
        }
    }
}

static void read_all(struct reader *self, const struct load *load)
{
    uint64_t from = 0;

    self->handle = load_connect(self->sites, self->asked);
    do {
        self->count = ledger_ascend(load->filter, &from, self->numbers, BATCH);
        if (self->count == 0) {
            break;
        }
        read_batch(self);
    } while (!verdict_failed());
    orbloom_close(&self->handle);
}

static struct reader *make(const struct sites *sites)
{
    struct reader *reader = calloc(1, sizeof *reader);

    if (reader == NULL) {
        verdict_fail("no memory to read keys back");
        return NULL;
    }
    reader->sites = sites;
    return reader;
}

bool equal_heal(const struct sites *sites, struct load *loads, uint32_t site)
{
    struct reader *reader = make(sites);

    if (reader == NULL) {
        return false;
    }
    reader->asked = site;
    reader->fresh = true;
    for (uint32_t i = 0; i < sites->options->sites && !verdict_failed(); i++) {
        reader->owner = i;
        read_all(reader, &loads[i]);
    }
    free(reader);
    return !verdict_failed();
}

bool equal_wait(const struct sites *sites, struct load *loads)
{
    struct reader *reader = make(sites);

    if (reader == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < sites->options->sites * sites->options->sites && !verdict_failed();
         i++) {
        reader->asked = i / (uint32_t)sites->options->sites;
        reader->owner = i % (uint32_t)sites->options->sites;
        read_all(reader, &loads[reader->owner]);
    }
    free(reader);
    return !verdict_failed();
}

/* An estimate of a few per cent, of a filter with false positives. */
static bool count_fits(struct orbloom *handle, uint64_t least, uint64_t most, uint64_t *keys)
{
    struct orbloom_info info;

    if (orbloom_info(handle, SITES_FILTER, &info) != ORBLOOM_OK) {
        return false;
    }
    *keys = info.keys;
    return info.keys >= least - least / 20 && info.keys <= most + most / 20;
}

static void count_site(const struct sites *sites, uint32_t site, uint64_t least, uint64_t most)
{
    uint64_t deadline_ms = journal_now_ms() + sites->options->patience * 1000;
    struct orbloom *handle = load_connect(sites, site);
    uint64_t keys = 0;

    while (handle != NULL && !count_fits(handle, least, most, &keys) && !verdict_failed()) {
        if (journal_now_ms() > deadline_ms) {
            verdict_fail("COUNT: site-%u has %" PRIu64 " keys as it says, and not %" PRIu64
                         " to %" PRIu64,
                         site + 1, keys, least, most);
        }
        journal_pause_ms(AGAIN_MS);
    }
    orbloom_close(&handle);
}

bool equal_count(const struct sites *sites, struct load *loads)
{
    uint64_t least = 0;
    uint64_t most = 0;

    for (uint32_t site = 0; site < sites->options->sites; site++) {
        least += atomic_load(&loads[site].filter->acked);
        most += atomic_load(&loads[site].filter->next);
    }
    for (uint32_t site = 0; site < sites->options->sites && !verdict_failed(); site++) {
        count_site(sites, site, least, most);
    }
    return !verdict_failed();
}
