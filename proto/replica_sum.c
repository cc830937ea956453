/* Keys are counted once for each slot group, by its fullest replica; states are counted for each
 * replica. */
#include "proto/replica_sum.h"

static bool is_of(const struct replica_report *report, uint64_t filter_id)
{
    return filter_id == 0 || report->filter_id == filter_id;
}

/* The fullest replica of a group speaks for it: once, at the first place it is listed. */
static bool speaks_for_group(const struct replica_report *reports, size_t count, size_t index,
                             uint64_t filter_id)
{
    const struct replica_report *self = &reports[index];

    for (size_t i = 0; i < count; i++) {
        if (i == index || !is_of(&reports[i], filter_id) || reports[i].group != self->group) {
            continue;
        }
        if (reports[i].keys > self->keys || (reports[i].keys == self->keys && i < index)) {
            return false;
        }
    }
    return true;
}

struct report_sum report_summarize(const struct replica_report *reports, size_t count,
                                   uint64_t filter_id)
{
    struct report_sum sum = {0};

    for (size_t i = 0; i < count; i++) {
        if (!is_of(&reports[i], filter_id)) {
            continue;
        }
        sum.full += reports[i].state == REPLICA_FULL;
        sum.joining += reports[i].state == REPLICA_JOINING;
        sum.building += reports[i].state == REPLICA_BUILDING;
        if (speaks_for_group(reports, count, i, filter_id)) {
            sum.keys += reports[i].keys;
            sum.keys_kept += reports[i].keys_kept;
        }
    }
    return sum;
}
