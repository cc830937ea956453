/* The list of sorted runs as the log's records edit it when they are read back; putting one
 * twice changes nothing. */
#include "base/heap.h"
#include "node/store/private.h"

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
