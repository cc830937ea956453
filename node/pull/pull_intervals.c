/* Makes intervals of single batches, sorted by series: many batches in a row are told in a few
 * bytes. */
#include "map/pull_message.h"

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
