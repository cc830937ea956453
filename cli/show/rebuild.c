/* Which rebuild is open, how much was fed, about how much is in the new set, and what is waited
 * for. */
#include "cli/show/rebuild.h"

#include "base/number.h"

#include <inttypes.h>

void rebuild_info_text(const struct filter_summary *filter)
{
    char fed[NUMBER_TEXT_BYTES];

    if (filter->rebuild_keyset != 0) {
        (void)printf("rebuild       %" PRIu32 " is open: adds go to the new keys too, %s of a list "
                     "fed\n",
                     filter->rebuild_keyset, number_show_count(filter->fed_keys, fed));
    }
}

void rebuild_text(const struct admin_reply *reply)
{
    for (size_t i = 0; i < reply->nfilters; i++) {
        const struct filter_summary *filter = &reply->filters[i];
        char fed[NUMBER_TEXT_BYTES];
        char keys[NUMBER_TEXT_BYTES];

        if (filter->rebuild_keyset != 0) {
            (void)printf("\n%s: rebuild %" PRIu32 " from a list is open: %s keys fed, about %s in "
                         "the new set. It ends with\n`orbloom rebuild %s commit`, or abort.\n",
                         filter->name, filter->rebuild_keyset,
                         number_show_count(filter->fed_keys, fed),
                         number_show_count(filter->rebuild_keys, keys), filter->name);
        }
        if (filter->rebuild_awaited[0] != '\0') {
            (void)printf("%s%s: %s.\n", filter->rebuild_keyset != 0 ? "" : "\n", filter->name,
                         filter->rebuild_awaited);
        }
    }
}

void rebuild_json(struct json *json, const struct filter_summary *filter)
{
    json_count(json, "keyset", filter->keyset);
    json_count(json, "lineage", filter->keyset); /* its name of before, for scripts */
    json_count(json, "rebuild", filter->rebuild_keyset);
    json_count(json, "fed_keys", filter->fed_keys);
}

void rebuild_coordinator_json(struct json *json, const struct filter_summary *filter)
{
    json_count(json, "rebuild_keys", filter->rebuild_keys);
    json_text(json, "rebuild_awaited", filter->rebuild_awaited);
}
