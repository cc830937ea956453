#include "tests/torture/ledger.h"

#include "tests/support/random.h"
#include "tests/torture/journal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 64, REST_MS = 100 };

void ledger_init(struct ledger *self)
{
    memset(self, 0, sizeof *self);
    (void)pthread_mutex_init(&self->lock, NULL);
}

void ledger_fini(struct ledger *self)
{
    for (size_t i = 0; i < LEDGER_MAX_FILTERS; i++) {
        free((void *)self->filters[i].bits);
    }
    (void)pthread_mutex_destroy(&self->lock);
}

struct ledger_filter *ledger_open(struct ledger *self, const char *name, uint64_t keys, bool adding,
                                  bool grows)
{
    struct ledger_filter *filter = NULL;

    assert(keys > 0 && keys % LEDGER_BATCH == 0);

    (void)pthread_mutex_lock(&self->lock);
    for (size_t i = 0; filter == NULL && i < LEDGER_MAX_FILTERS; i++) {
        filter = self->filters[i].used ? NULL : &self->filters[i];
    }
    if (filter != NULL) {
        memset(filter, 0, sizeof *filter);
        filter->bits = calloc(keys / 64, sizeof *filter->bits);
        (void)snprintf(filter->name, sizeof filter->name, "%s", name);
        filter->keys = keys;
        filter->adding = adding;
        filter->grows = grows;
        filter->used = filter->open = filter->bits != NULL;
    }
    (void)pthread_mutex_unlock(&self->lock);
    return filter != NULL && filter->open ? filter : NULL;
}

bool ledger_shut(struct ledger *self, struct ledger_filter *filter)
{
    bool idle;

    (void)pthread_mutex_lock(&self->lock);
    filter->open = false;
    idle = filter->users == 0;
    (void)pthread_mutex_unlock(&self->lock);
    return idle;
}

void ledger_forget(struct ledger *self, struct ledger_filter *filter)
{
    (void)pthread_mutex_lock(&self->lock);
    assert(filter->users == 0 && !filter->open);
    free((void *)filter->bits);
    filter->bits = NULL;
    filter->used = false;
    (void)pthread_mutex_unlock(&self->lock);
}

/* Under the lock: a filter at random that suits. */
static struct ledger_filter *choose(struct ledger *self, uint64_t *random, bool adding)
{
    uint64_t first = random_next(random);

    for (size_t i = 0; i < LEDGER_MAX_FILTERS; i++) {
        struct ledger_filter *filter = &self->filters[(first + i) % LEDGER_MAX_FILTERS];
        bool suits = adding ? filter->adding && filter->next < filter->keys &&
                                  atomic_load(&filter->rests_ms) <= journal_now_ms()
                            : atomic_load(&filter->acked) > 0;

        if (filter->used && filter->open && suits) {
            filter->users++;
            return filter;
        }
    }
    return NULL;
}

struct ledger_filter *ledger_take_batch(struct ledger *self, uint64_t *random, uint64_t *first)
{
    struct ledger_filter *filter;

    (void)pthread_mutex_lock(&self->lock);
    filter = choose(self, random, true);
    if (filter != NULL) {
        *first = filter->next;
        filter->next += LEDGER_BATCH;
    }
    (void)pthread_mutex_unlock(&self->lock);
    return filter;
}

struct ledger_filter *ledger_take(struct ledger *self, uint64_t *random)
{
    struct ledger_filter *filter;

    (void)pthread_mutex_lock(&self->lock);
    filter = choose(self, random, false);
    (void)pthread_mutex_unlock(&self->lock);
    return filter;
}

struct ledger_filter *ledger_take_nth(struct ledger *self, uint32_t index)
{
    struct ledger_filter *found = NULL;

    (void)pthread_mutex_lock(&self->lock);
    for (size_t i = 0; found == NULL && i < LEDGER_MAX_FILTERS; i++) {
        struct ledger_filter *filter = &self->filters[i];

        if (filter->used && filter->open && index-- == 0) {
            found = filter;
            filter->users++;
        }
    }
    (void)pthread_mutex_unlock(&self->lock);
    return found;
}

void ledger_share(struct ledger *self, struct ledger_filter *filter)
{
    (void)pthread_mutex_lock(&self->lock);
    assert(filter->open);
    filter->users++;
    (void)pthread_mutex_unlock(&self->lock);
}

void ledger_put(struct ledger *self, struct ledger_filter *filter)
{
    (void)pthread_mutex_lock(&self->lock);
    assert(filter->users > 0);
    filter->users--;
    (void)pthread_mutex_unlock(&self->lock);
}

void ledger_acknowledge(struct ledger *self, struct ledger_filter *filter, uint64_t word,
                        uint64_t bits)
{
    uint64_t before = atomic_fetch_or(&filter->bits[word], bits);
    uint64_t count = (uint64_t)__builtin_popcountll(bits & ~before);

    atomic_fetch_add(&filter->acked, count);
    atomic_fetch_add(&self->acked, count);
}

/* The acknowledged ones of 64 numbers, which fit. */
static uint32_t expand(const struct ledger_filter *filter, uint64_t word, uint64_t *out)
{
    uint64_t bits = atomic_load(&filter->bits[word]);
    uint32_t count = 0;

    while (bits != 0) {
        out[count++] = word * 64 + (uint64_t)__builtin_ctzll(bits);
        bits &= bits - 1;
    }
    return count;
}

uint32_t ledger_random(const struct ledger_filter *filter, uint64_t *random, uint64_t *out,
                       uint32_t room)
{
    uint64_t nwords = filter->next / 64;
    uint32_t count = 0;

    for (uint32_t i = 0; nwords > 0 && i < TRIES * room / 64 && count + 64 <= room; i++) {
        count += expand(filter, random_below(random, nwords), out + count);
    }
    return count;
}

uint32_t ledger_ascend(const struct ledger_filter *filter, uint64_t *from, uint64_t *out,
                       uint32_t room)
{
    uint32_t count = 0;

    for (; *from < filter->next && count + 64 <= room; *from += 64) {
        count += expand(filter, *from / 64, out + count);
    }
    return count;
}

uint32_t ledger_descend(const struct ledger_filter *filter, uint64_t *from, uint64_t *out,
                        uint32_t room)
{
    uint64_t next = atomic_load(&filter->next);
    uint32_t count = 0;

    *from = *from < next ? *from : next;
    for (; *from > 0 && count + 64 <= room; *from -= 64) {
        count += expand(filter, *from / 64 - 1, out + count);
    }
    return count;
}

void ledger_key(uint64_t number, char key[LEDGER_KEY_BYTES])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = LEDGER_KEY_BYTES - 1; i >= 0; i--) {
        key[i] = digits[number & 15];
        number >>= 4;
    }
}

/* ---- growth ---- */

void ledger_rest(struct ledger_filter *filter, uint64_t now_ms)
{
    uint64_t none = 0;

    (void)atomic_compare_exchange_strong(&filter->full_since_ms, &none, now_ms);
    atomic_store(&filter->rests_ms, now_ms + REST_MS);
}

uint64_t ledger_see(struct ledger *self, const char *name, uint64_t wanted, uint32_t state,
                    bool *done)
{
    uint64_t now_ms = journal_now_ms();
    uint64_t took_ms = 0;

    *done = false;
    (void)pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < LEDGER_MAX_FILTERS; i++) {
        struct ledger_filter *filter = &self->filters[i];

        if (!filter->used || strcmp(filter->name, name) != 0) {
            continue;
        }
        *done = filter->wanted != 0 && wanted == 0;
        if (filter->wanted != wanted) {
            filter->wanted = wanted;
            filter->wanted_ms = now_ms;
        }
        took_ms = wanted != 0 ? now_ms - filter->wanted_ms : 0;
        atomic_store(&filter->state, state);
    }
    (void)pthread_mutex_unlock(&self->lock);
    return took_ms;
}
