/* Sorted by series and number, batches in a row are one interval; what was met twice counts once.
 */
#include "node/pull/pull_intervals.h"

#include <stdlib.h>

static int by_series(const void *a, const void *b)
{
    const struct pull_batch *x = a;
    const struct pull_batch *y = b;

    if (x->producer_id != y->producer_id) {
        return x->producer_id < y->producer_id ? -1 : 1;
    }
    if (x->epoch != y->epoch) {
        return x->epoch < y->epoch ? -1 : 1;
    }
    return x->number < y->number ? -1 : x->number > y->number;
}

size_t pull_intervals_make(struct pull_batch *batches, size_t count,
                           struct pull_interval *intervals)
{
    size_t used = 0;

    qsort(batches, count, sizeof *batches, by_series);
    for (size_t i = 0; i < count; i++) {
        const struct pull_batch *batch = &batches[i];
        struct pull_interval *last = used > 0 ? &intervals[used - 1] : NULL;

        if (last != NULL && last->producer_id == batch->producer_id &&
            last->epoch == batch->epoch && batch->number - last->first <= last->count) {
            last->count += batch->number - last->first == last->count;
            last->offset = batch->offset < last->offset ? batch->offset : last->offset;
        } else {
            intervals[used++] = (struct pull_interval){
                .producer_id = batch->producer_id,
                .epoch = batch->epoch,
                .first = batch->number,
                .count = 1,
                .offset = batch->offset,
            };
        }
    }
    return used;
}

bool pull_wants(const struct pull_interval *wanted, size_t nwanted, uint64_t boot, uint64_t epoch,
                uint64_t number)
{
    if (nwanted == 0) {
        return true;
    }
    for (size_t i = 0; i < nwanted; i++) {
        if (wanted[i].producer_id == boot && wanted[i].epoch == epoch &&
            number >= wanted[i].first && number - wanted[i].first < wanted[i].count) {
            return true;
        }
    }
    return false;
}
