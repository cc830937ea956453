/* The set of sorted runs that counts: edited in the log first, then here. */
#include "base/heap.h"
#include "node/store/private.h"

#include <assert.h>
#include <stdlib.h>

enum { RUNS_A_RECORD = 512 /* 20 KiB: far from what a record or segment takes */ };

/* ---- in order ---- */

static int by_set(const void *a, const void *b)
{
    const struct record_run *one = a;
    const struct record_run *other = b;

    if (one->filter_id != other->filter_id) {
        return one->filter_id < other->filter_id ? -1 : 1;
    }
    if (one->keyset != other->keyset) {
        return one->keyset < other->keyset ? -1 : 1;
    }
    return (one->slice > other->slice) - (one->slice < other->slice);
}

void storage_runs_sort(struct record_run *runs, size_t nruns)
{
    if (nruns > 0) {
        qsort(runs, nruns, sizeof *runs, by_set);
    }
}

size_t storage_runs_end(const struct record_run *runs, size_t nruns, size_t first)
{
    size_t end = first + 1;

    while (end < nruns && by_set(&runs[first], &runs[end]) == 0) {
        end++;
    }
    return end;
}

uint64_t storage_filter_bytes(const struct storage *self, uint64_t filter_id)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < self->nruns; i++) {
        bytes += self->runs[i].filter_id == filter_id ? run_bytes(self->runs[i].count) : 0;
    }
    return bytes;
}

/* ---- edited ---- */

bool storage_may_wait(enum status status)
{
    return status == STATUS_NO_SPACE || status == STATUS_OVERLOADED || status == STATUS_NOMEM;
}

/* What can't be applied must not be logged. */
static bool make_room(struct storage *self, const struct storage_edit *edit)
{
    size_t runs = self->nruns + edit->nadded;
    size_t trash = self->ntrash + edit->nremoved;

    return heap_grow(&self->runs, &self->runs_capacity, runs, sizeof *self->runs) &&
           heap_grow(&self->trash, &self->trash_capacity, trash, sizeof *self->trash);
}

static enum status log_edit(struct storage *self, uint64_t merged, const uint64_t *removed,
                            size_t nremoved, const struct record_run *added, size_t nadded)
{
    uint8_t *body;
    uint64_t end;
    size_t size = record_manifest_size((uint32_t)nremoved, (uint32_t)nadded);
    enum status status = storage_append(self, RECORD_MANIFEST, true, size, &body, &end);

    if (status == STATUS_OK) {
        record_manifest_put(body - RECORD_HEADER_BYTES, merged, removed, (uint32_t)nremoved, added,
                            (uint32_t)nadded);
        log_writer_want_sync(self->writer);
        self->manifest_end = end;
    }
    return status;
}

static bool is_removed(const struct storage_edit *edit, uint64_t number)
{
    for (size_t i = 0; i < edit->nremoved; i++) {
        if (edit->removed[i] == number) {
            return true;
        }
    }
    return false;
}

static void take_out(struct storage *self, const struct storage_edit *edit)
{
    size_t kept = 0;

    for (size_t i = 0; edit->nremoved > 0 && i < self->nruns; i++) {
        if (!is_removed(edit, self->runs[i].number)) {
            self->runs[kept++] = self->runs[i];
        }
    }
    self->nruns = edit->nremoved > 0 ? kept : self->nruns;
    for (size_t i = 0; i < edit->nremoved; i++) {
        self->trash[self->ntrash++] = edit->removed[i];
    }
}

/* From the end, so that each has its place at once. There may be a hundred thousand, and who looks
 * for what is due looks at all of them: sorted when they are looked at they took 23 ms of the
 * node's own thread. */
static void put_in(struct storage *self, const struct storage_edit *edit)
{
    size_t before = self->nruns;
    size_t left = edit->nadded;
    size_t at = before + left;

    storage_runs_sort(edit->added, left);
    self->nruns = at;
    while (left > 0) {
        bool behind = before > 0 && by_set(&self->runs[before - 1], &edit->added[left - 1]) > 0;

        self->runs[--at] = behind ? self->runs[--before] : edit->added[--left];
    }
}

static void apply(struct storage *self, const struct storage_edit *edit)
{
    assert(edit->merged >= self->merged); /* Batches that are in runs stay in some. */
    take_out(self, edit);
    put_in(self, edit);
    self->merged = edit->merged;
    self->runs_changed = true;
    self->imprints.looked = false;
}

enum status storage_edit_runs(struct storage *self, const struct storage_edit *edit)
{
    enum status status = STATUS_NOMEM;

    if (make_room(self, edit)) {
        status = log_edit(self, edit->merged, edit->removed, edit->nremoved, edit->added,
                          edit->nadded);
    }
    if (status == STATUS_OK) {
        apply(self, edit);
    }
    return status;
}

enum status storage_log_runs(struct storage *self)
{
    enum status status = STATUS_OK;
    size_t done = 0;

    /* Be there no run: the record says how far batches are merged, too. */
    do {
        size_t left = self->nruns - done;
        size_t count = left < RUNS_A_RECORD ? left : RUNS_A_RECORD;

        status = log_edit(self, self->merged, NULL, 0, self->runs + done, count);
        done += count;
    } while (status == STATUS_OK && done < self->nruns);
    return status;
}
