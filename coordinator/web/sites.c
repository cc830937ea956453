/* Sites, as links and documents tell of them. How many seconds they are behind each other only
 * links know: /metrics of those, and `orbloom site`. */
#include "coordinator/view/view.h"
#include "coordinator/web/web.h"

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

static const struct site_standing *standing_of(const struct filter_sites *filter,
                                               const struct site_id *id)
{
    for (size_t i = 0; i < filter->nothers; i++) {
        if (site_id_equal(&filter->others[i].id, id)) {
            return &filter->others[i];
        }
    }
    return NULL;
}

static void put_entry(struct json *json, const struct site_entry *entry, bool own,
                      const struct site_standing *standing)
{
    json_begin(json, NULL, '{');
    json_text(json, "name", entry->name);
    put_id(json, &entry->id);
    json_text(json, "state", site_state_name(entry->state));
    json_bool(json, "own", own);
    json_bool(json, "paused", entry->paused);
    if (standing != NULL) {
        json_bool(json, "told", standing->told);
        json_bool(json, "takes_adds", standing->takes_adds);
        json_bool(json, "says_absent", standing->says_absent);
        json_bool(json, "settled", standing->settled);
        json_count(json, "keys", standing->keys);
    }
    json_end(json, '}');
}

static void put_filter(struct json *json, const struct filter_sites *filter)
{
    const struct site_set *sites = &filter->sites;

    json_begin(json, NULL, '{');
    json_text(json, "name", filter->name);
    json_bool(json, "takes_adds", sites->takes_adds);
    json_bool(json, "says_absent", sites->says_absent);
    json_bool(json, "settled", sites->settled);
    json_begin(json, "sites", '[');
    for (uint32_t i = 0; i < sites->count; i++) {
        put_entry(json, &sites->entries[i], i == sites->own,
                  standing_of(filter, &sites->entries[i].id));
    }
    json_end(json, ']');
    json_text(json, "awaited", filter->awaited);
    json_end(json, '}');
}

/* Those that wait for something first. */
static size_t put_filters(struct json *json, const struct site_page *page)
{
    size_t told = 0;

    json_begin(json, "filters", '[');
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < page->nfilters && told < WEB_MAX_SITE_FILTERS; i++) {
            if ((page->filters[i].awaited[0] == '\0') == (round == 1)) {
                put_filter(json, &page->filters[i]);
                told++;
            }
        }
    }
    json_end(json, ']');
    return told;
}

static void put_refusals(struct json *json, const struct site_page *page)
{
    json_begin(json, "refusals", '[');
    for (size_t i = 0; i < page->nrefusals; i++) {
        json_begin(json, NULL, '{');
        json_text(json, "name", page->refusals[i].name);
        json_text(json, "site", page->refusals[i].site);
        json_text(json, "reason", page->refusals[i].reason);
        json_end(json, '}');
    }
    json_end(json, ']');
}

enum status web_tell_sites(struct coordinator *coordinator, uint64_t now_us,
                           const struct web_question *question, struct buffer *out)
{
    struct view_sites *listing = view_sites_list(coordinator, now_us, "");
    struct json json = json_to(out);
    struct site_page page;
    size_t told;

    (void)question;
    if (listing == NULL) {
        return STATUS_NOMEM;
    }
    view_sites_page(listing, &page);
    json_begin(&json, NULL, '{');
    json_text(&json, "site", page.site);
    json_begin(&json, "sites", '[');
    for (size_t i = 0; i < page.nsites; i++) {
        put_site(&json, &page.sites[i]);
    }
    json_end(&json, ']');
    told = put_filters(&json, &page);
    json_count(&json, "filters_left", page.filters_left + page.nfilters - told);
    put_refusals(&json, &page);
    json_end(&json, '}');
    view_sites_free(listing);
    return json.status;
}
