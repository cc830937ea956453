/* Fingerprints of a set lie in one piece while they are few, and by range in many beyond that:
 * each of those is sorted by itself. */
#include "log/segment_sets.h"

#include "base/heap.h"

#include <string.h>

static int compare(const struct record_run *a, const struct record_run *b)
{
    if (a->filter_id != b->filter_id) {
        return a->filter_id < b->filter_id ? -1 : 1;
    }
    if (a->keyset != b->keyset) {
        return a->keyset < b->keyset ? -1 : 1;
    }
    return a->slice == b->slice ? 0 : a->slice < b->slice ? -1 : 1;
}

static enum status insert(struct segment_sets *self, size_t at, const struct record_run *run)
{
    struct segment_set *set;

    if (!heap_grow(&self->sets, &self->capacity, self->count + 1, sizeof *self->sets)) {
        return STATUS_NOMEM;
    }
    set = heap_zalloc(1, sizeof *set);
    if (set == NULL) {
        return STATUS_NOMEM;
    }
    set->run = *run;
    memmove(self->sets + at + 1, self->sets + at, (self->count - at) * sizeof *self->sets);
    self->sets[at] = set;
    self->count++;
    return STATUS_OK;
}

enum status segment_sets_find(struct segment_sets *self, const struct record_run *run,
                              struct segment_set **out)
{
    enum status status = STATUS_OK;
    size_t low = 0;
    size_t high = self->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(&self->sets[middle]->run, run) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == self->count || compare(&self->sets[low]->run, run) != 0) {
        status = insert(self, low, run);
    }
    if (status == STATUS_OK) {
        *out = self->sets[low];
    }
    return status;
}

void segment_sets_fini(struct segment_sets *self)
{
    for (size_t i = 0; i < self->count; i++) {
        segment_set_clear(self->sets[i]);
        heap_free(self->sets[i]);
    }
    heap_free(self->sets);
    *self = (struct segment_sets){0};
}

void segment_set_clear(struct segment_set *self)
{
    for (size_t i = 0; i < self->npieces; i++) {
        heap_free(self->pieces[i].fingerprints);
        self->pieces[i] = (struct segment_piece){0};
    }
    self->count = 0;
    self->npieces = 0;
    self->nsorted = 0;
}

static bool make_room(struct segment_piece *self, size_t more)
{
    return heap_grow(&self->fingerprints, &self->capacity, self->count + more,
                     sizeof *self->fingerprints);
}

static enum status append_whole(struct segment_piece *self, const uint64_t *fingerprints,
                                size_t count)
{
    if (!make_room(self, count)) {
        return STATUS_NOMEM;
    }
    memcpy(self->fingerprints + self->count, fingerprints, count * sizeof *fingerprints);
    self->count += count;
    return STATUS_OK;
}

static enum status append_parts(struct segment_set *self, const uint64_t *fingerprints,
                                size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct segment_piece *piece = &self->pieces[fingerprints[i] >> (64 - SEGMENT_PART_BITS)];

        if (!make_room(piece, 1)) {
            return STATUS_NOMEM;
        }
        piece->fingerprints[piece->count++] = fingerprints[i];
    }
    return STATUS_OK;
}

/* The one piece becomes many. */
static enum status part(struct segment_set *self)
{
    struct segment_piece whole = self->pieces[0];
    enum status status;

    self->pieces[0] = (struct segment_piece){0};
    self->npieces = SEGMENT_PARTS;
    status = append_parts(self, whole.fingerprints, whole.count);
    heap_free(whole.fingerprints);
    return status;
}

enum status segment_set_append(struct segment_set *self, const uint64_t *fingerprints, size_t count)
{
    enum status status = STATUS_OK;

    if (count > SEGMENT_MERGE_KEYS - self->count) {
        return STATUS_TOO_LARGE;
    }
    self->count += count;
    self->npieces = self->npieces > 0 ? self->npieces : 1;
    if (self->npieces == 1 && self->count >= SEGMENT_WHOLE_KEYS) {
        status = part(self);
    }
    if (status != STATUS_OK) {
        return status;
    }
    return self->npieces == 1 ? append_whole(&self->pieces[0], fingerprints, count)
                              : append_parts(self, fingerprints, count);
}
