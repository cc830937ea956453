#include "base/heap.h"
#include "node/storage_private.h"

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
    size_t needed = *nruns + manifest->nadded;

    if (needed > *capacity) {
        struct record_run *grown = heap_realloc(*runs, needed * 2, sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        *runs = grown;
        *capacity = needed * 2;
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

bool storage_runs_put(struct storage *self, const struct record_run *run)
{
    if (self->nruns == self->runs_capacity) {
        size_t capacity = self->runs_capacity * 2 + 16;
        struct record_run *grown = heap_realloc(self->runs, capacity, sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        self->runs = grown;
        self->runs_capacity = capacity;
    }
    put(self->runs, &self->nruns, run);
    return true;
}

void storage_runs_drop(struct storage *self, uint64_t number)
{
    drop(self->runs, &self->nruns, number);
}

bool storage_trash_run(struct storage *self, uint64_t number)
{
    if (self->ntrash == self->trash_capacity) {
        size_t capacity = self->trash_capacity * 2 + 16;
        uint64_t *grown = heap_realloc(self->trash, capacity, sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        self->trash = grown;
        self->trash_capacity = capacity;
    }
    self->trash[self->ntrash++] = number;
    return true;
}

bool storage_filters_has(const struct storage_filters *self, uint64_t filter_id)
{
    for (size_t i = self->count; i > 0; i--) {
        if (self->ids[i - 1] == filter_id) {
            return true;
        }
    }
    return false;
}

bool storage_filters_note(struct storage_filters *self, uint64_t filter_id)
{
    if (storage_filters_has(self, filter_id)) {
        return true;
    }
    if (self->count == self->capacity) {
        size_t capacity = self->capacity * 2 + 16;
        uint64_t *grown = heap_realloc(self->ids, capacity, sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        self->ids = grown;
        self->capacity = capacity;
    }
    self->ids[self->count++] = filter_id;
    return true;
}
