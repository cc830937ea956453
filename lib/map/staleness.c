/* Bounds of checks in words and within their range. */
#include "map/staleness.h"

#include <assert.h>
#include <stdio.h>

uint64_t staleness_of(uint64_t bound_us)
{
    assert(bound_us <= STALENESS_MAX_US);
    return bound_us + 1;
}

uint64_t staleness_bound(uint64_t max_staleness)
{
    return max_staleness == 0 ? UINT64_MAX : max_staleness - 1;
}

bool staleness_valid(uint64_t max_staleness)
{
    return max_staleness <= STALENESS_MAX_US + 1;
}

const char *staleness_show(uint64_t max_staleness, char text[NUMBER_TEXT_BYTES])
{
    if (max_staleness > 1) {
        return number_show_duration(staleness_bound(max_staleness), text);
    }
    (void)snprintf(text, NUMBER_TEXT_BYTES, "%s", max_staleness == 0 ? "none" : "0");
    return text;
}
