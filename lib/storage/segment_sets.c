#include "storage/segment_sets.h"

#include "base/heap.h"

#include <string.h>

enum {
    FIRST_KEYS = 64, /* room of a piece, to begin with */
    FIRST_SETS = 16,
    PIECES_ALIKE = 16 /* of one length */
};

static int compare(const struct record_run *a, const struct record_run *b)
{
    if (a->filter_id != b->filter_id) {
        return a->filter_id < b->filter_id ? -1 : 1;
    }
    if (a->lineage != b->lineage) {
        return a->lineage < b->lineage ? -1 : 1;
    }
    return a->slice == b->slice ? 0 : a->slice < b->slice ? -1 : 1;
}

static enum status insert(struct segment_sets *self, size_t at, const struct record_run *run)
{
    struct segment_set *set;

    if (self->count == self->capacity) {
        size_t capacity = self->capacity > 0 ? 2 * self->capacity : FIRST_SETS;
        struct segment_set **sets = heap_realloc(self->sets, capacity, sizeof *sets);

        if (sets == NULL) {
            return STATUS_NOMEM;
        }
        self->sets = sets;
        self->capacity = capacity;
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
    }
    self->npieces = 0;
    self->nsorted = 0;
}

/* The piece with room for one more at least, in `out`. */
static enum status make_room(struct segment_set *self, struct segment_piece **out)
{
    size_t index = self->npieces > 0 ? self->npieces - 1 : 0;
    struct segment_piece *piece = &self->pieces[index];
    size_t capacity;
    uint64_t *fingerprints;

    if (piece->count == (size_t)SEGMENT_PIECE_KEYS << index / PIECES_ALIKE) {
        index++;
        piece++;
    }
    if (index == RUN_MERGE_MAX) {
        return STATUS_TOO_LARGE;
    }
    if (piece->count == piece->capacity) {
        capacity = piece->capacity > 0 ? 2 * piece->capacity : FIRST_KEYS;
        fingerprints = heap_realloc(piece->fingerprints, capacity, sizeof *fingerprints);
        if (fingerprints == NULL) {
            return STATUS_NOMEM;
        }
        piece->fingerprints = fingerprints;
        piece->capacity = capacity;
    }
    self->npieces = index + 1;
    *out = piece;
    return STATUS_OK;
}

enum status segment_set_append(struct segment_set *self, const uint64_t *fingerprints, size_t count)
{
    while (count > 0) {
        struct segment_piece *piece = NULL;
        enum status status = make_room(self, &piece);
        size_t taken;

        if (status != STATUS_OK) {
            return status;
        }
        taken = piece->capacity - piece->count;
        taken = taken < count ? taken : count;
        memcpy(piece->fingerprints + piece->count, fingerprints, taken * sizeof *fingerprints);
        piece->count += taken;
        fingerprints += taken;
        count -= taken;
    }
    return STATUS_OK;
}
