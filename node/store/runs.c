/* The set of sorted runs that counts: as the log's records edit it when they are read back, and
 * edited, in the log first, then here. */
#include "base/heap.h"
#include "node/store/private.h"

#include <assert.h>

enum { RUNS_A_RECORD = 512 /* 20 KiB: far from what a record or segment takes */ };

/* ---- read back: putting one twice changes nothing ---- */

static void drop(struct record_run *runs, size_t *nruns, uint64_t number)
{
    for (size_t i = 0; i < *nruns; i++) {
        if (runs[i].number == number) {
            runs[i] = runs[--*nruns];
            return;
        }
    }
}

static void put(struct record_run *runs, size_t *nruns, const struct record_run *run)
{
    for (size_t i = 0; i < *nruns; i++) {
        if (runs[i].number == run->number) {
            return;
        }
    }
    runs[(*nruns)++] = *run;
}

bool storage_runs_apply(struct record_run **runs, size_t *nruns, size_t *capacity,
                        const struct record_manifest *manifest)
{
    if (!heap_grow(runs, capacity, *nruns + manifest->nadded, sizeof **runs)) {
        return false;
    }
    for (uint32_t i = 0; i < manifest->nadded; i++) {
        const struct record_run run = record_manifest_added(manifest, i);

        put(*runs, nruns, &run);
    }
    for (uint32_t i = 0; i < manifest->nremoved; i++) {
        drop(*runs, nruns, record_manifest_removed(manifest, i));
    }
    return true;
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

static void apply(struct storage *self, const struct storage_edit *edit)
{
    assert(edit->merged >= self->merged); /* Batches that are in runs stay in some. */
    for (size_t i = 0; i < edit->nadded; i++) {
        self->runs[self->nruns++] = edit->added[i];
    }
    for (size_t i = 0; i < edit->nremoved; i++) {
        for (size_t k = 0; k < self->nruns; k++) {
            if (self->runs[k].number == edit->removed[i]) {
                self->runs[k] = self->runs[--self->nruns];
                break;
            }
        }
        self->trash[self->ntrash++] = edit->removed[i];
    }
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
