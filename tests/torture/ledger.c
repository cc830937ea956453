/* A bitmap of acknowledged keys a filter, grown as numbers are handed out. */
#include "tests/torture/ledger.h"

#include "tests/support/random.h"
#include "tests/torture/journal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIES = 64,
    REST_MS = 100,
    WINDOW_PAUSE_MS = 40, /* between two batches: what is remembered is more than a window has */
    AGAIN_ODDS = 4,
};

void ledger_init(struct ledger *self)
{
    memset(self, 0, sizeof *self);
    (void)pthread_mutex_init(&self->lock, NULL);
}

void ledger_fini(struct ledger *self)
{
    for (size_t i = 0; i < LEDGER_MAX_FILTERS; i++) {
        free((void *)self->filters[i].bits);
        free((void *)self->filters[i].sent_ms);
    }
    (void)pthread_mutex_destroy(&self->lock);
}

struct ledger_filter *ledger_open(struct ledger *self, const char *name, uint64_t keys, bool adding,
                                  bool grows, uint64_t window_ms)
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
        filter->sent_ms = window_ms != 0 ? calloc(keys / 64, sizeof *filter->sent_ms) : NULL;
        filter->keys = keys;
        filter->window_ms = window_ms;
        atomic_store(&filter->limit, window_ms != 0 ? UINT64_MAX : keys);
        filter->adding = adding;
        filter->grows = grows;
        filter->used = filter->open = filter->bits != NULL &&
                                      (window_ms == 0 || filter->sent_ms != NULL);
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
    free((void *)filter->sent_ms);
    filter->bits = filter->sent_ms = NULL;
    filter->used = false;
    (void)pthread_mutex_unlock(&self->lock);
}

static bool may_add(const struct ledger_filter *filter)
{
    return filter->adding &&
           (filter->next < atomic_load(&filter->limit) || atomic_load(&filter->repeats)) &&
           atomic_load(&filter->rests_ms) <= journal_now_ms();
}

/* Under the lock: a filter at random that suits. */
static struct ledger_filter *choose(struct ledger *self, uint64_t *random, bool adding)
{
    uint64_t first = random_next(random);

    for (size_t i = 0; i < LEDGER_MAX_FILTERS; i++) {
        struct ledger_filter *filter = &self->filters[(first + i) % LEDGER_MAX_FILTERS];
        bool suits = adding ? may_add(filter) : atomic_load(&filter->acked) > 0;

        if (filter->used && filter->open && suits) {
            filter->users++;
            return filter;
        }
    }
    return NULL;
}

/* The place of a word of numbers. */
static uint64_t place(const struct ledger_filter *filter, uint64_t word)
{
    return word % (filter->keys / 64);
}

/* The lowest number that is remembered. */
static uint64_t lowest(const struct ledger_filter *filter)
{
    uint64_t next = atomic_load(&filter->next);

    return next > filter->keys ? next - filter->keys : 0;
}

static void hand_out_new(struct ledger_filter *filter, struct ledger_handout *out)
{
    out->first = filter->next;
    for (uint64_t word = out->first / 64;
         filter->window_ms != 0 && word < out->first / 64 + LEDGER_BATCH / 64; word++) {
        atomic_store(&filter->bits[place(filter, word)], 0);
        atomic_store(&filter->sent_ms[place(filter, word)], out->sent_ms);
    }
    filter->next += LEDGER_BATCH;
}

/* One that is in the window, or anywhere. */
static void hand_out_again(const struct ledger_filter *filter, uint64_t *random,
                           struct ledger_handout *out)
{
    uint64_t nbatches = filter->next / LEDGER_BATCH;
    uint64_t newest = filter->window_ms != 0 ? filter->window_ms / WINDOW_PAUSE_MS : nbatches;

    newest = newest < nbatches ? newest : nbatches;
    out->again = true;
    out->first = (nbatches - 1 - random_below(random, newest)) * LEDGER_BATCH;
}

struct ledger_filter *ledger_take_batch(struct ledger *self, uint64_t *random,
                                        struct ledger_handout *out)
{
    struct ledger_filter *filter;

    *out = (struct ledger_handout){.sent_ms = journal_now_ms()};
    (void)pthread_mutex_lock(&self->lock);
    filter = choose(self, random, true);
    if (filter != NULL) {
        bool again = filter->next >= atomic_load(&filter->limit) ||
                     (filter->window_ms != 0 && random_below(random, AGAIN_ODDS) == 0);

        if (again && filter->next > 0) {
            hand_out_again(filter, random, out);
        } else {
            hand_out_new(filter, out);
        }
        if (filter->window_ms != 0) {
            atomic_store(&filter->rests_ms, out->sent_ms + WINDOW_PAUSE_MS);
        }
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

void ledger_acknowledge(struct ledger *self, struct ledger_filter *filter,
                        const struct ledger_handout *out, uint32_t word, uint64_t bits)
{
    uint64_t at = place(filter, out->first / 64 + word);
    uint64_t before = atomic_fetch_or(&filter->bits[at], bits);
    uint64_t count = (uint64_t)__builtin_popcountll(bits & ~before);

    if (filter->window_ms != 0 && out->again && bits == UINT64_MAX) {
        uint64_t sent_ms = atomic_load(&filter->sent_ms[at]);

        while (sent_ms < out->sent_ms &&
               !atomic_compare_exchange_weak(&filter->sent_ms[at], &sent_ms, out->sent_ms)) {
        }
    }
    atomic_fetch_add(&filter->acked, count);
    atomic_fetch_add(&self->acked, count);
}

/* ---- reading ---- */

static uint64_t expiry_ms(const struct ledger_filter *filter, uint64_t word)
{
    return filter->window_ms != 0
               ? atomic_load(&filter->sent_ms[place(filter, word)]) + filter->window_ms
               : UINT64_MAX;
}

/* The acknowledged ones of 64 numbers, which fit; none that may be gone. */
static uint32_t expand(const struct ledger_filter *filter, uint64_t word, uint64_t *out)
{
    uint64_t bits = atomic_load(&filter->bits[place(filter, word)]);
    uint32_t count = 0;

    if (bits != 0 && expiry_ms(filter, word) <= journal_now_ms()) {
        return 0;
    }
    while (bits != 0) {
        out[count++] = word * 64 + (uint64_t)__builtin_ctzll(bits);
        bits &= bits - 1;
    }
    return count;
}

uint32_t ledger_random(const struct ledger_filter *filter, uint64_t *random, uint64_t *out,
                       uint32_t room)
{
    uint64_t first = lowest(filter) / 64;
    uint64_t nwords = filter->next / 64 - first;
    uint32_t count = 0;

    for (uint32_t i = 0; nwords > 0 && i < TRIES * room / 64 && count + 64 <= room; i++) {
        count += expand(filter, first + random_below(random, nwords), out + count);
    }
    return count;
}

uint32_t ledger_ascend(const struct ledger_filter *filter, uint64_t *from, uint64_t *out,
                       uint32_t room)
{
    uint32_t count = 0;

    *from = *from > lowest(filter) ? *from : lowest(filter);
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
    for (; *from > lowest(filter) && count + 64 <= room; *from -= 64) {
        count += expand(filter, *from / 64 - 1, out + count);
    }
    return count;
}

uint64_t ledger_expiry_ms(const struct ledger_filter *filter, const uint64_t *numbers,
                          uint32_t count)
{
    uint64_t least_ms = UINT64_MAX;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t at_ms = expiry_ms(filter, numbers[i] / 64);

        least_ms = at_ms < least_ms ? at_ms : least_ms;
    }
    return least_ms;
}

void ledger_key(uint64_t number, char key[LEDGER_KEY_BYTES])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = LEDGER_KEY_BYTES - 1; i >= 0; i--) {
        key[i] = digits[number & 15];
        number >>= 4;
    }
}

/* ---- expansion ---- */

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
