/* Lives and losses first, then source by source. */
#include "site/cursor.h"

#include <assert.h>
#include <string.h>

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

bool site_cursor_valid(const struct record_site_cursor *self)
{
    uint32_t before = 0;
    bool valid = self->nsources > 0 && self->nsources <= RECORD_MAX_SOURCES;

    for (uint32_t i = 0; valid && i < self->nsources; i++) {
        const struct record_site_source *source = &self->sources[i];

        valid = source->node > before && source->incarnation != 0 && source->boot != 0 &&
                source->offset % 8 == 0 && source->offset <= INT64_MAX;
        before = source->node;
    }
    return valid;
}

int site_cursor_compare(const struct record_site_cursor *a, const struct record_site_cursor *b)
{
    const uint64_t of_a[] = {a->filter_id, a->group,   a->keyset,
                             a->site[0],   a->site[1], a->site_group};
    const uint64_t of_b[] = {b->filter_id, b->group,   b->keyset,
                             b->site[0],   b->site[1], b->site_group};
    int order = 0;

    for (size_t i = 0; i < sizeof of_a / sizeof of_a[0] && order == 0; i++) {
        order = compare(of_a[i], of_b[i]);
    }
    return order;
}

static bool source_equal(const struct record_site_source *a, const struct record_site_source *b)
{
    return a->incarnation == b->incarnation && a->boot == b->boot && a->offset == b->offset &&
           a->epoch == b->epoch && a->node == b->node;
}

/* Which life, and which loss, is the newer one? */
static int compare_lives(const struct record_site_cursor *a, const struct record_site_cursor *b)
{
    const uint64_t of_a[] = {a->own_life.number, a->own_life.tag, a->loss, a->site_life.number,
                             a->site_life.tag};
    const uint64_t of_b[] = {b->own_life.number, b->own_life.tag, b->loss, b->site_life.number,
                             b->site_life.tag};
    int order = 0;

    for (size_t i = 0; i < sizeof of_a / sizeof of_a[0] && order == 0; i++) {
        order = compare(of_a[i], of_b[i]);
    }
    return order;
}

bool site_cursor_equal(const struct record_site_cursor *a, const struct record_site_cursor *b)
{
    bool equal = site_cursor_compare(a, b) == 0 && compare_lives(a, b) == 0 &&
                 a->nsources == b->nsources;

    for (uint32_t i = 0; equal && i < a->nsources; i++) {
        equal = source_equal(&a->sources[i], &b->sources[i]);
    }
    return equal;
}

/* Of one incarnation's log both claims hold: below the higher offset all is applied, and what it
 * had by then without logging it was compared under the later epoch. Another incarnation begins
 * under a later one. */
static struct record_site_source join_source(const struct record_site_source *a,
                                             const struct record_site_source *b)
{
    const struct record_site_source *later = a;
    struct record_site_source joined;
    int order = compare(a->epoch, b->epoch);

    if (a->incarnation != b->incarnation) {
        order = order != 0 ? order : compare(a->incarnation, b->incarnation);
        return order > 0 ? *a : *b;
    }
    if (b->offset > a->offset || (b->offset == a->offset && b->boot > a->boot)) {
        later = b;
    }
    joined = *later;
    joined.epoch = a->epoch > b->epoch ? a->epoch : b->epoch;
    return joined;
}

/* The one whose epoch is the oldest; of several the first one. */
static uint32_t find_oldest(const struct record_site_source *sources, uint32_t count)
{
    uint32_t oldest = 0;

    for (uint32_t i = 1; i < count; i++) {
        oldest = sources[i].epoch < sources[oldest].epoch ? i : oldest;
    }
    return oldest;
}

static void join_sources(struct record_site_cursor *self, const struct record_site_cursor *other)
{
    struct record_site_source all[2 * RECORD_MAX_SOURCES];
    uint32_t count = 0;
    uint32_t i = 0;
    uint32_t k = 0;

    while (i < self->nsources || k < other->nsources) {
        const struct record_site_source *a = i < self->nsources ? &self->sources[i] : NULL;
        const struct record_site_source *b = k < other->nsources ? &other->sources[k] : NULL;

        if (a != NULL && b != NULL && a->node == b->node) {
            all[count++] = join_source(a, b);
            i++;
            k++;
        } else if (b == NULL || (a != NULL && a->node < b->node)) {
            all[count++] = *a;
            i++;
        } else {
            all[count++] = *b;
            k++;
        }
    }
    while (count > RECORD_MAX_SOURCES) {
        uint32_t at = find_oldest(all, count--);

        memmove(&all[at], &all[at + 1], (count - at) * sizeof all[0]);
    }
    memset(self->sources, 0, sizeof self->sources);
    memcpy(self->sources, all, count * sizeof all[0]);
    self->nsources = count;
}

void site_cursor_join(struct record_site_cursor *self, const struct record_site_cursor *other)
{
    int order = compare_lives(self, other);

    assert(site_cursor_compare(self, other) == 0);
    assert(self->nsources <= RECORD_MAX_SOURCES && other->nsources <= RECORD_MAX_SOURCES);
    if (order < 0) {
        *self = *other;
    } else if (order == 0) {
        join_sources(self, other);
    }
}
