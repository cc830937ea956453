/* How much of the dump is in, which follows from its iterator. */
#include "cli/show/load.h"

bool load_is_on(const struct filter_summary *filter)
{
    return document_load_open(filter->load_source, filter->loaded);
}

static double percent(const struct filter_summary *filter)
{
    return 100 * (double)(filter->loaded - DOCUMENT_LOAD_FIRST) /
           (double)(DOCUMENT_LOAD_END - DOCUMENT_LOAD_FIRST);
}

void load_info_text(const struct filter_summary *filter)
{
    if (load_is_on(filter)) {
        (void)printf("load          %.1f %% of a dump are there; it serves nobody before all is\n",
                     percent(filter));
    }
}

void load_text(const struct admin_reply *reply)
{
    for (size_t i = 0; i < reply->nfilters; i++) {
        const struct filter_summary *filter = &reply->filters[i];

        if (load_is_on(filter)) {
            (void)printf("\n%s: is being loaded from a dump, %.1f %% are there. It serves nobody "
                         "before all is; where no\nchunk comes for the coordinator's "
                         "load_timeout it is dropped.\n",
                         filter->name, percent(filter));
        }
    }
}

void load_json(struct json *json, const struct filter_summary *filter)
{
    json_bool(json, "loading", load_is_on(filter));
}
