/* The date that an expiry comes to, which may be later, and what a coordinator says it waits
 * for. */
#include "cli/show/expiry.h"

#include "runtime/date.h"

#include <stdio.h>

void expiry_info_text(const struct filter_summary *filter)
{
    char date[DATE_TEXT_BYTES];

    if (filter->expiry != 0) {
        (void)printf("expires       %s, or later\n", date_show(filter->expires_at_ms, date));
    }
}

void expiry_text(const struct admin_reply *reply)
{
    for (size_t i = 0; i < reply->nfilters; i++) {
        const struct filter_summary *filter = &reply->filters[i];
        char date[DATE_TEXT_BYTES];

        if (filter->expiry != 0 && filter->state == FILTER_ACTIVE) {
            (void)printf("\n%s: expires %s; %s.\n", filter->name,
                         date_show(filter->expires_at_ms, date), filter->expiry_awaited);
        }
    }
}

void expiry_json(struct json *json, const struct filter_summary *filter)
{
    json_bool(json, "expires", filter->expiry != 0);
    json_count(json, "expires_at_ms", filter->expires_at_ms);
    json_count(json, "expires_left_us", filter->expires_left_us);
}

void expiry_coordinator_json(struct json *json, const struct filter_summary *filter)
{
    json_text(json, "expiry_awaited", filter->expiry_awaited);
}
