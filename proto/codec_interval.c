/* Batches of routers, told apart by their numbers. */
#include "proto/codec_field.h"

enum status codec_put_intervals(struct codec_scratch *scratch,
                                const struct pull_interval *intervals, size_t count,
                                Orbloom__V1__PullInterval ***out)
{
    Orbloom__V1__PullInterval *items = codec_scratch_take(scratch, count, sizeof *items);
    Orbloom__V1__PullInterval **list = codec_scratch_take(scratch, count, sizeof *list);

    if (items == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        items[i] = (Orbloom__V1__PullInterval)ORBLOOM__V1__PULL_INTERVAL__INIT;
        items[i].boot = intervals[i].boot;
        items[i].epoch = intervals[i].epoch;
        items[i].first = intervals[i].first;
        items[i].count = intervals[i].count;
        items[i].offset = intervals[i].offset;
        list[i] = &items[i];
    }
    *out = list;
    return STATUS_OK;
}

enum status codec_get_intervals(struct codec_arena *arena, Orbloom__V1__PullInterval *const *wire,
                                size_t count, const struct pull_interval **out)
{
    struct pull_interval *intervals = arena_take(arena, count, sizeof *intervals);

    if (intervals == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < count; i++) {
        if (wire[i]->count == 0 || wire[i]->count - 1 > UINT64_MAX - wire[i]->first) {
            return STATUS_MALFORMED;
        }
        intervals[i] = (struct pull_interval){
            .boot = wire[i]->boot,
            .epoch = wire[i]->epoch,
            .first = wire[i]->first,
            .count = wire[i]->count,
            .offset = wire[i]->offset,
        };
    }
    *out = intervals;
    return STATUS_OK;
}
