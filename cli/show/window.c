/* How a window is cut, which slice takes adds, how many are read, and what the next one waits
 * for. */
#include "cli/show/window.h"

#include "base/number.h"
#include "proto/rate.h"

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
                     filter->newest_slice, rate_slices_read(filter));
    }
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
