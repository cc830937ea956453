/* Sorted intervals in one array; those that touch are joined at once, so that every set has one
 * form. */
#include "map/id_set.h"

#include "base/heap.h"

#include <assert.h>
#include <string.h>

void id_set_fini(struct id_set *self)
{
    heap_free(self->intervals);
    *self = (struct id_set){0};
}

/* The first interval that does not end before `id`. */
static size_t position_of(const struct id_set *self, uint64_t id)
{
    size_t low = 0;
    size_t high = self->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (self->intervals[middle].last < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool id_set_has(const struct id_set *self, uint64_t id)
{
    size_t at = position_of(self, id);

    return at < self->count && self->intervals[at].first <= id;
}

uint64_t id_set_highest(const struct id_set *self)
{
    return self->count > 0 ? self->intervals[self->count - 1].last : 0;
}

uint64_t id_set_size(const struct id_set *self)
{
    uint64_t size = 0;

    for (size_t i = 0; i < self->count; i++) {
        size += self->intervals[i].last - self->intervals[i].first + 1;
    }
    return size;
}

static enum status reserve(struct id_set *self, size_t count)
{
    if (count > ID_SET_MAX_INTERVALS) {
        return STATUS_TOO_LARGE;
    }
    return heap_grow(&self->intervals, &self->capacity, count, sizeof *self->intervals)
               ? STATUS_OK
               : STATUS_NOMEM;
}

/* Put `count` intervals in place of those in [from, to). */
static void replace(struct id_set *self, size_t from, size_t to, struct id_interval interval)
{
    memmove(&self->intervals[from + 1], &self->intervals[to], (self->count - to) * sizeof interval);
    self->intervals[from] = interval;
    self->count = self->count - (to - from) + 1;
}

/* Those that it overlaps or touches become one with it. */
enum status id_set_add_interval(struct id_set *self, struct id_interval interval)
{
    size_t from;
    size_t to;
    enum status status;

    assert(interval.first != 0 && interval.first <= interval.last);
    from = to = position_of(self, interval.first - 1);
    while (to < self->count && self->intervals[to].first - 1 <= interval.last) {
        interval.first = self->intervals[to].first < interval.first ? self->intervals[to].first
                                                                    : interval.first;
        interval.last = self->intervals[to].last > interval.last ? self->intervals[to].last
                                                                 : interval.last;
        to++;
    }
    status = to == from ? reserve(self, self->count + 1) : STATUS_OK;
    if (status == STATUS_OK) {
        replace(self, from, to, interval);
    }
    return status;
}

enum status id_set_add(struct id_set *self, uint64_t id)
{
    assert(id != 0);
    return id_set_add_interval(self, (struct id_interval){.first = id, .last = id});
}

/* From the middle of an interval: two are left. */
enum status id_set_remove(struct id_set *self, uint64_t id)
{
    size_t at = position_of(self, id);
    struct id_interval held;
    enum status status;

    if (!id_set_has(self, id)) {
        return STATUS_OK;
    }
    held = self->intervals[at];
    if (held.first == held.last) {
        memmove(&self->intervals[at], &self->intervals[at + 1],
                (self->count - at - 1) * sizeof held);
        self->count--;
        return STATUS_OK;
    }
    if (held.first == id || held.last == id) {
        self->intervals[at].first += held.first == id;
        self->intervals[at].last -= held.last == id;
        return STATUS_OK;
    }
    status = reserve(self, self->count + 1);
    if (status == STATUS_OK) {
        memmove(&self->intervals[at + 1], &self->intervals[at], (self->count - at) * sizeof held);
        self->intervals[at].last = id - 1;
        self->intervals[at + 1].first = id + 1;
        self->count++;
    }
    return status;
}

uint64_t id_set_next_gap(const struct id_set *self, uint64_t id)
{
    size_t at = position_of(self, id);

    return at < self->count && self->intervals[at].first <= id ? self->intervals[at].last + 1 : id;
}

enum status id_set_join(struct id_set *self, const struct id_set *other)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < other->count && status == STATUS_OK; i++) {
        status = id_set_add_interval(self, other->intervals[i]);
    }
    return status;
}

enum status id_set_copy(const struct id_set *self, struct id_set *out)
{
    *out = (struct id_set){0};
    return id_set_join(out, self);
}

bool id_set_covers(const struct id_set *self, const struct id_set *other)
{
    for (size_t i = 0; i < other->count; i++) {
        size_t at = position_of(self, other->intervals[i].first);

        if (at == self->count || self->intervals[at].first > other->intervals[i].first ||
            self->intervals[at].last < other->intervals[i].last) {
            return false;
        }
    }
    return true;
}

bool id_set_valid(const struct id_set *self)
{
    uint64_t before = 0;

    for (size_t i = 0; i < self->count; i++) {
        const struct id_interval *interval = &self->intervals[i];

        if (interval->first == 0 || interval->last < interval->first ||
            interval->last == UINT64_MAX || (i > 0 && interval->first - 1 <= before)) {
            return false;
        }
        before = interval->last;
    }
    return self->count <= ID_SET_MAX_INTERVALS;
}
