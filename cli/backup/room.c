/* What it may grow to is never less than what it is made for. */
#include "cli/backup/room.h"

#include "filter/sizing.h"

enum { SPARE = 20 /* a part in so many */ };

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

bool room_make(struct backup_filter *filter, uint64_t keys, uint64_t asked)
{
    uint64_t before = filter->capacity;
    uint64_t spared = keys < SIZING_CAPACITY_MAX ? keys + keys / SPARE : keys;
    uint64_t wanted = larger(spared, asked);

    wanted = wanted < SIZING_CAPACITY_MAX ? wanted : SIZING_CAPACITY_MAX;
    filter->capacity = larger(before, wanted);
    filter->max_capacity = larger(filter->max_capacity, filter->capacity);
    return filter->capacity > before;
}
