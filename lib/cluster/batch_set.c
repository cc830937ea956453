#include "cluster/batch_set.h"

#include <assert.h>
#include <string.h>

static bool same(const struct batch_series_key *a, const struct batch_series_key *b)
{
    return a->boot == b->boot && a->filter_id == b->filter_id && a->epoch == b->epoch &&
           a->slice == b->slice && a->lineage == b->lineage && a->group == b->group;
}

static struct batch_series *bucket_of(struct batch_set *self, const struct batch_series_key *key)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mix = key->boot;

    mix = (mix ^ key->filter_id) * odd;
    mix = (mix ^ key->epoch ^ key->slice << 32) * odd;
    mix = (mix ^ key->group ^ (uint64_t)key->lineage << 32) * odd;
    return self->series[mix >> 57];
}

_Static_assert(BATCH_SET_BUCKETS == 1 << 7, "the top 7 bits choose a bucket");

static struct batch_series *find(struct batch_set *self, const struct batch_series_key *key)
{
    struct batch_series *bucket = bucket_of(self, key);

    for (unsigned i = 0; i < BATCH_SET_WAYS; i++) {
        if (bucket[i].used != 0 && same(&bucket[i].key, key)) {
            bucket[i].used = ++self->clock;
            return &bucket[i];
        }
    }
    return NULL;
}

static struct batch_series *make(struct batch_set *self, const struct batch_series_key *key)
{
    struct batch_series *bucket = bucket_of(self, key);
    struct batch_series *oldest = &bucket[0];

    for (unsigned i = 1; i < BATCH_SET_WAYS; i++) {
        oldest = bucket[i].used < oldest->used ? &bucket[i] : oldest;
    }
    *oldest = (struct batch_series){.key = *key, .used = ++self->clock};
    return oldest;
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
