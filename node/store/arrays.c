/* Sets of filters without key log: from where on each needs the log, and which snapshot counts. */
#include "base/heap.h"
#include "node/store/private.h"

#include <assert.h>

static bool is_of(const struct storage_array *array, const struct storage_set *set)
{
    return array->counts.filter_id == set->filter_id && array->counts.slice == set->slice &&
           array->counts.keyset == set->keyset;
}

struct storage_array *storage_arrays_find(const struct storage_arrays *self,
                                          const struct storage_set *set)
{
    for (size_t i = 0; i < self->count; i++) {
        if (is_of(&self->items[i], set)) {
            return &self->items[i];
        }
    }
    return NULL;
}

struct storage_array *storage_arrays_put(struct storage_arrays *self, const struct storage_set *set,
                                         uint64_t from)
{
    struct storage_array *array = storage_arrays_find(self, set);

    if (array != NULL) {
        return array;
    }
    if (!heap_grow(&self->items, &self->capacity, self->count + 1, sizeof *self->items)) {
        return NULL;
    }
    array = &self->items[self->count++];
    *array = (struct storage_array){.counts = {.filter_id = set->filter_id,
                                               .slice = set->slice,
                                               .keyset = set->keyset,
                                               .from = from},
                                    .pending = UINT64_MAX};
    return array;
}

void storage_arrays_drop(struct storage_arrays *self, struct storage_array *array)
{
    *array = self->items[--self->count];
}

void storage_arrays_note(struct storage_array *array, uint64_t offset)
{
    array->last = offset;
    array->pending = offset < array->pending ? offset : array->pending;
}

/* Of what came before `from`, only whether anything came after is known: that much of the log is
 * taken for needed. */
static void settle(struct storage_array *array, const struct record_snapshot *snapshot)
{
    array->bytes = snapshot->number == array->counts.number ? array->bytes : 0;
    array->counts = *snapshot;
    if (array->last == 0 || array->last < snapshot->from) {
        array->pending = UINT64_MAX;
    } else if (array->pending < snapshot->from) {
        array->pending = snapshot->from;
    }
}

bool storage_arrays_apply(struct storage_arrays *self, const struct record_snapshot *snapshot)
{
    const struct storage_set set = {
        .filter_id = snapshot->filter_id, .slice = snapshot->slice, .keyset = snapshot->keyset};
    struct storage_array *array;

    if (snapshot->from == UINT64_MAX) {
        array = storage_arrays_find(self, &set);
        if (array != NULL) {
            storage_arrays_drop(self, array);
        }
        return true;
    }
    array = storage_arrays_put(self, &set, snapshot->from);
    if (array != NULL) {
        settle(array, snapshot);
        array->fresh = true;
    }
    return array != NULL;
}

uint64_t storage_arrays_from(const struct storage_arrays *self)
{
    uint64_t from = UINT64_MAX;

    for (size_t i = 0; i < self->count; i++) {
        from = self->items[i].counts.from < from ? self->items[i].counts.from : from;
    }
    return from;
}

void storage_arrays_fini(struct storage_arrays *self)
{
    heap_free(self->items);
    *self = (struct storage_arrays){0};
}

bool storage_array(const struct storage *self, const struct storage_set *set,
                   struct record_snapshot *out)
{
    const struct storage_array *array = storage_arrays_find(&self->arrays, set);

    if (array != NULL) {
        *out = array->counts;
    }
    return array != NULL;
}

/* ---- in the log ---- */

static enum status log_snapshot(struct storage *self, const struct record_snapshot *snapshot)
{
    uint8_t *body;
    uint64_t end;
    enum status status = storage_append(self, RECORD_SNAPSHOT, true, RECORD_SNAPSHOT_BYTES, &body,
                                        &end);

    if (status == STATUS_OK) {
        record_snapshot_put(body - RECORD_HEADER_BYTES, snapshot);
        log_writer_want_sync(self->writer);
        self->manifest_end = end;
    }
    return status;
}

/* A set that nothing was added to since needs less of the log with every checkpoint. */
enum status storage_log_arrays(struct storage *self)
{
    uint64_t now = log_writer_end(self->writer);
    enum status status = STATUS_OK;

    for (size_t i = 0; i < self->arrays.count && status == STATUS_OK; i++) {
        struct storage_array *array = &self->arrays.items[i];

        array->counts.from = array->pending < now ? array->pending : now;
        status = log_snapshot(self, &array->counts);
    }
    return status;
}

static bool make_room(struct storage *self)
{
    return heap_grow(&self->old_snapshots, &self->old_snapshots_capacity, self->nold_snapshots + 1,
                     sizeof *self->old_snapshots);
}

enum status storage_edit_array(struct storage *self, const struct record_snapshot *snapshot)
{
    const struct storage_set set = {
        .filter_id = snapshot->filter_id, .slice = snapshot->slice, .keyset = snapshot->keyset};
    struct storage_array *array = storage_arrays_find(&self->arrays, &set);
    uint64_t old;
    enum status status;

    assert(array != NULL);
    old = array->counts.number;
    /* First what may fail: what is logged has to be applied. */
    if (!make_room(self)) {
        return STATUS_NOMEM;
    }
    status = log_snapshot(self, snapshot);
    if (status != STATUS_OK) {
        return status;
    }
    if (old != 0 && old != snapshot->number) {
        self->old_snapshots[self->nold_snapshots++] = old;
    }
    return storage_arrays_apply(&self->arrays, snapshot) ? STATUS_OK : STATUS_NOMEM;
}
