/* Sites, filters that are in several, and how far they are, field by field. */
#include "cli/show/sites.h"

const struct site_standing *sites_standing_of(const struct filter_sites *filter,
                                              const struct site_id *id)
{
    for (size_t i = 0; i < filter->nothers; i++) {
        if (site_id_equal(&filter->others[i].id, id)) {
            return &filter->others[i];
        }
    }
    return NULL;
}

static void put_id(struct json *json, const struct site_id *id)
{
    char text[SITE_ID_TEXT_BYTES];

    json_text(json, "id", site_id_show(id, text));
}

static void put_site(struct json *json, const struct site_summary *site)
{
    json_begin(json, NULL, '{');
    json_text(json, "name", site->name);
    put_id(json, &site->id);
    json_bool(json, "own", site->own);
    json_bool(json, "connected", site->own || site->links > 0);
    json_count(json, "links", site->links);
    json_count(json, "round_trip_us", site->round_trip_us);
    json_bool(json, "paused", site->paused);
    json_end(json, '}');
}

static void put_standing(struct json *json, const struct site_standing *standing)
{
    json_bool(json, "told", standing->told);
    json_bool(json, "takes_adds", standing->takes_adds);
    json_bool(json, "says_absent", standing->says_absent);
    json_bool(json, "settled", standing->settled);
    json_count(json, "keys", standing->keys);
}

static void put_entry(struct json *json, const struct site_entry *entry, bool own,
                      const struct site_standing *standing, const struct site_lag *lag)
{
    json_begin(json, NULL, '{');
    json_text(json, "name", entry->name);
    put_id(json, &entry->id);
    json_text(json, "state", site_state_name(entry->state));
    json_count(json, "life", entry->life.number);
    json_bool(json, "own", own);
    json_bool(json, "paused", entry->paused);
    if (standing != NULL) {
        put_standing(json, standing);
    }
    if (lag != NULL) {
        site_lag_json(json, lag);
    }
    json_end(json, '}');
}

static void put_refusal(struct json *json, const struct site_refusal *refusal)
{
    json_begin(json, NULL, '{');
    json_text(json, "name", refusal->name);
    json_text(json, "site", refusal->site);
    json_text(json, "reason", refusal->reason);
    json_end(json, '}');
}

static void put_filter(struct json *json, const struct filter_sites *filter,
                       const struct site_lags *lags)
{
    const struct site_set *sites = &filter->sites;

    json_begin(json, NULL, '{');
    json_text(json, "name", filter->name);
    json_count(json, "filter_id", filter->filter_id);
    json_bool(json, "takes_adds", sites->takes_adds);
    json_bool(json, "says_absent", sites->says_absent);
    json_bool(json, "settled", sites->settled);
    json_begin(json, "sites", '[');
    for (uint32_t i = 0; i < sites->count; i++) {
        put_entry(json, &sites->entries[i], i == sites->own,
                  sites_standing_of(filter, &sites->entries[i].id),
                  site_lags_find(lags, filter->filter_id, &sites->entries[i].id));
    }
    json_end(json, ']');
    json_text(json, "awaited", filter->awaited);
    json_end(json, '}');
}

void sites_json(struct json *json, const char *name, const struct site_page *page,
                const struct site_lags *lags)
{
    json_begin(json, name, '{');
    json_text(json, "site", page->site);
    json_begin(json, "sites", '[');
    for (size_t i = 0; i < page->nsites; i++) {
        put_site(json, &page->sites[i]);
    }
    json_end(json, ']');
    json_begin(json, "filters", '[');
    for (size_t i = 0; i < page->nfilters; i++) {
        put_filter(json, &page->filters[i], lags);
    }
    json_end(json, ']');
    json_count(json, "filters_left", page->filters_left);
    json_begin(json, "refusals", '[');
    for (size_t i = 0; i < page->nrefusals; i++) {
        put_refusal(json, &page->refusals[i]);
    }
    json_end(json, ']');
    json_end(json, '}');
}
