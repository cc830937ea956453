/* How a window is cut, which slice takes adds, how many are read, and what the next one waits
 * for. */
#include "cli/show/window.h"

#include "base/number.h"

#include <inttypes.h>

void window_info_text(const struct filter_summary *filter)
{
    char window[NUMBER_TEXT_BYTES];
    char slice[NUMBER_TEXT_BYTES];

    if (filter->nslices > 0) {
        (void)printf("window        %s in %" PRIu32 " slices of %s; adds go to slice %" PRIu64
                     ", checks read %" PRIu32 "\n",
                     number_show_duration(filter->window_us, window), filter->nslices,
                     number_show_duration(filter->window_us / filter->nslices, slice),
                     filter->newest_slice, window_slices_read(filter));
    }
}

uint32_t window_slices_read(const struct filter_summary *filter)
{
    uint32_t kept = filter->nslices + 1;

    return filter->newest_slice < kept
               ? (uint32_t)filter->newest_slice + (filter->newest_slice == 0)
               : kept;
}

uint64_t window_keys(const struct filter_summary *filter, const struct report_sum *sum)
{
    return filter->nslices > 0 ? sum->keys_kept : sum->keys;
}

void window_text(const struct admin_reply *reply)
{
    for (size_t i = 0; i < reply->nfilters; i++) {
        const struct filter_summary *filter = &reply->filters[i];
        char window[NUMBER_TEXT_BYTES];

        if (filter->nslices > 0) {
            (void)printf("\n%s: window of %s in %" PRIu32 " slices, adds go to slice %" PRIu64
                         "; %s.\n",
                         filter->name, number_show_duration(filter->window_us, window),
                         filter->nslices, filter->newest_slice, filter->window_awaited);
        }
    }
}

void window_json(struct json *json, const struct filter_summary *filter)
{
    json_count(json, "window_us", filter->window_us);
    json_count(json, "slices", filter->nslices);
    json_count(json, "newest_slice", filter->newest_slice);
}

void window_coordinator_json(struct json *json, const struct filter_summary *filter)
{
    json_text(json, "window_awaited", filter->window_awaited);
}
