/* Ranges of batch numbers in buckets by hash; where there is no room the one used longest ago is
 * forgotten, which only costs a fetch. */
#include "node/pull/batch_set.h"

#include "base/heap.h"

#include <assert.h>
#include <string.h>

/* With two buckets of eight for each series hardly any bucket gets more than it holds. */
enum { FEWEST_BITS = 7, BUCKETS_A_SERIES = 2 };

_Static_assert(BATCH_SET_BUCKETS == 1 << FEWEST_BITS, "the fewest buckets");

static bool same(const struct batch_series_key *a, const struct batch_series_key *b)
{
    return a->producer_id == b->producer_id && a->filter_id == b->filter_id &&
           a->epoch == b->epoch && a->slice == b->slice && a->keyset == b->keyset &&
           a->group == b->group;
}

static uint64_t hash(const struct batch_series_key *key)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mix = key->producer_id;

    mix = (mix ^ key->filter_id) * odd;
    mix = (mix ^ key->epoch ^ key->slice << 32) * odd;
    return (mix ^ key->group ^ (uint64_t)key->keyset << 32) * odd;
}

static size_t nbuckets(const struct batch_set *self)
{
    return self->series != NULL ? (size_t)1 << self->bits : 0;
}

/* NULL: there are none. */
static struct batch_series **bucket_of(const struct batch_set *self,
                                       const struct batch_series_key *key)
{
    return self->series != NULL ? &self->series[(hash(key) >> (64 - self->bits)) * BATCH_SET_WAYS]
                                : NULL;
}

void batch_set_clear(struct batch_set *self)
{
    for (size_t i = 0; i < nbuckets(self) * BATCH_SET_WAYS; i++) {
        heap_free(self->series[i]);
        self->series[i] = NULL;
    }
}

void batch_set_fini(struct batch_set *self)
{
    if (self == NULL) {
        return;
    }
    batch_set_clear(self);
    heap_free(self->series);
    *self = (struct batch_set){0};
}

/* The place of the one that is free, or was used longest ago. */
static struct batch_series **oldest_of(struct batch_series **bucket)
{
    struct batch_series **oldest = &bucket[0];

    for (unsigned i = 1; i < BATCH_SET_WAYS && *oldest != NULL; i++) {
        oldest = bucket[i] == NULL || bucket[i]->used < (*oldest)->used ? &bucket[i] : oldest;
    }
    return oldest;
}

/* Buckets are split: nothing is forgotten. */
static void move_all(struct batch_set *from, struct batch_set *to)
{
    for (size_t i = 0; i < nbuckets(from) * BATCH_SET_WAYS; i++) {
        if (from->series[i] != NULL) {
            *oldest_of(bucket_of(to, &from->series[i]->key)) = from->series[i];
            from->series[i] = NULL;
        }
    }
}

enum status batch_set_reserve(struct batch_set *self, size_t nseries)
{
    struct batch_set larger = {.clock = self->clock, .bits = FEWEST_BITS};

    while (((size_t)1 << larger.bits) < nseries * BUCKETS_A_SERIES) {
        larger.bits++;
    }
    if (self->series != NULL && larger.bits <= self->bits) {
        return STATUS_OK;
    }
    larger.series = heap_zalloc(((size_t)1 << larger.bits) * BATCH_SET_WAYS,
                                sizeof(struct batch_series *));
    if (larger.series == NULL) {
        return STATUS_NOMEM;
    }
    move_all(self, &larger);
    batch_set_fini(self);
    *self = larger;
    return STATUS_OK;
}

static struct batch_series *find(struct batch_set *self, const struct batch_series_key *key)
{
    struct batch_series **bucket = bucket_of(self, key);

    for (unsigned i = 0; bucket != NULL && i < BATCH_SET_WAYS; i++) {
        if (bucket[i] != NULL && same(&bucket[i]->key, key)) {
            bucket[i]->used = ++self->clock;
            return bucket[i];
        }
    }
    return NULL;
}

/* NULL: out of memory. */
static struct batch_series *make(struct batch_set *self, const struct batch_series_key *key)
{
    struct batch_series **place;

    if (self->series == NULL && batch_set_reserve(self, 0) != STATUS_OK) {
        return NULL;
    }
    place = oldest_of(bucket_of(self, key));
    if (*place == NULL) {
        *place = heap_alloc(1, sizeof **place);
    }
    if (*place != NULL) {
        **place = (struct batch_series){.key = *key, .used = ++self->clock};
    }
    return *place;
}

/* The first range that ends at `number` or above; nranges when there is none. Looked for from
 * above, as numbers rise. */
static uint32_t place_of(const struct batch_series *series, uint64_t number)
{
    uint32_t at = series->nranges;

    while (at > 0 && series->ranges[at - 1].last >= number) {
        at--;
    }
    return at;
}

static void insert(struct batch_series *series, uint32_t at, uint64_t number)
{
    if (series->nranges == BATCH_SET_RANGES) {
        if (at == 0) {
            return; /* Lower than all that is remembered. */
        }
        memmove(&series->ranges[0], &series->ranges[1],
                (BATCH_SET_RANGES - 1) * sizeof series->ranges[0]);
        series->nranges--;
        at--;
    }
    memmove(&series->ranges[at + 1], &series->ranges[at],
            (series->nranges - at) * sizeof series->ranges[0]);
    series->ranges[at] = (struct number_range){number, number};
    series->nranges++;
}

static void join(struct batch_series *series, uint32_t at)
{
    series->ranges[at].last = series->ranges[at + 1].last;
    memmove(&series->ranges[at + 1], &series->ranges[at + 2],
            (series->nranges - at - 2) * sizeof series->ranges[0]);
    series->nranges--;
}

void batch_set_add(struct batch_set *self, const struct batch_series_key *key, uint64_t number)
{
    struct batch_series *series = find(self, key);
    struct number_range *ranges;
    bool follows;
    bool precedes;
    uint32_t at;

    if (series == NULL) {
        series = make(self, key);
    }
    if (series == NULL) {
        return;
    }
    ranges = series->ranges;
    at = place_of(series, number);
    if (at < series->nranges && ranges[at].first <= number) {
        return;
    }
    follows = at > 0 && ranges[at - 1].last + 1 == number;
    precedes = at < series->nranges && number + 1 == ranges[at].first;
    if (follows) {
        ranges[at - 1].last = number;
        if (precedes) {
            join(series, at - 1);
        }
    } else if (precedes) {
        ranges[at].first = number;
    } else {
        insert(series, at, number);
    }
}

bool batch_set_has(struct batch_set *self, const struct batch_series_key *key, uint64_t number)
{
    const struct batch_series *series = find(self, key);
    uint32_t at = series != NULL ? place_of(series, number) : 0;

    return series != NULL && at < series->nranges && series->ranges[at].first <= number;
}

size_t batch_set_lacking(struct batch_set *self, const struct batch_series_key *key, uint64_t first,
                         uint64_t last, struct number_range *out, size_t room)
{
    const struct batch_series *series = find(self, key);
    uint32_t at = series != NULL ? place_of(series, first) : 0;
    uint32_t end = series != NULL ? series->nranges : 0;
    size_t count = 0;

    /* `first` is always the lowest number not looked at yet. */
    for (; at < end && series->ranges[at].first <= last; at++) {
        const struct number_range *held = &series->ranges[at];

        if (held->first > first) {
            assert(count < room);
            out[count++] = (struct number_range){first, held->first - 1};
        }
        if (held->last >= last) {
            return count;
        }
        first = held->last + 1;
    }
    assert(count < room);
    out[count++] = (struct number_range){first, last};
    return count;
}
