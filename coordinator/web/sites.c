/* Sites, as links and documents tell of them, and how far they are, as links say when they are
 * asked: so the first answer knows nothing of that yet. */
#include "coordinator/view/view.h"
#include "coordinator/web/lags.h"
#include "coordinator/web/web.h"
#include "proto/site/lag.h"

#include <assert.h>

/* What all parts of the answer need. */
struct teller {
    const struct lags *lags;
    uint64_t now_us;
    struct json *json;
};

static void put_id(struct json *json, const struct site_id *id)
{
    char text[SITE_ID_TEXT_BYTES];

    json_text(json, "id", site_id_show(id, text));
}

/* What is added here and not there yet, of all filters. */
static void put_behind(const struct teller *self, const struct site_id *id)
{
    struct lags_sum sum = lags_sum(self->lags, self->now_us, id);

    if (sum.told) {
        json_count(self->json, "out_behind_us", sum.pending_us);
        json_count(self->json, "out_pending_keys", sum.pending_keys);
    } else {
        json_none(self->json, "out_behind_us");
        json_none(self->json, "out_pending_keys");
    }
}

static void put_site(const struct teller *self, const struct site_summary *site)
{
    struct json *json = self->json;

    json_begin(json, NULL, '{');
    json_text(json, "name", site->name);
    put_id(json, &site->id);
    json_bool(json, "own", site->own);
    json_bool(json, "connected", site->own || site->links > 0);
    json_count(json, "links", site->links);
    json_count(json, "round_trip_us", site->round_trip_us);
    json_bool(json, "paused", site->paused);
    put_behind(self, &site->id);
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

static void put_entry(const struct teller *self, const struct filter_sites *filter,
                      const struct site_entry *entry, bool own)
{
    const struct site_standing *standing = standing_of(filter, &entry->id);
    struct json *json = self->json;
    struct site_lag lag;

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
    if (lags_of(self->lags, self->now_us, filter->filter_id, &entry->id, &lag)) {
        site_lag_json(json, &lag);
    }
    json_end(json, '}');
}

static void put_filter(const struct teller *self, const struct filter_sites *filter)
{
    struct json *json = self->json;
    const struct site_set *sites = &filter->sites;

    json_begin(json, NULL, '{');
    json_text(json, "name", filter->name);
    json_bool(json, "takes_adds", sites->takes_adds);
    json_bool(json, "says_absent", sites->says_absent);
    json_bool(json, "settled", sites->settled);
    json_begin(json, "sites", '[');
    for (uint32_t i = 0; i < sites->count; i++) {
        put_entry(self, filter, &sites->entries[i], i == sites->own);
    }
    json_end(json, ']');
    json_text(json, "awaited", filter->awaited);
    json_end(json, '}');
}

/* Those that wait for something first. */
static size_t put_filters(const struct teller *self, const struct site_page *page)
{
    size_t told = 0;

    json_begin(self->json, "filters", '[');
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < page->nfilters && told < WEB_MAX_SITE_FILTERS; i++) {
            if ((page->filters[i].awaited[0] == '\0') == (round == 1)) {
                put_filter(self, &page->filters[i]);
                told++;
            }
        }
    }
    json_end(self->json, ']');
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
    const struct teller teller = {.lags = coordinator->lags, .now_us = now_us, .json = &json};
    struct site_page page;
    size_t told;

    (void)question;
    assert(coordinator->lags != NULL);
    lags_want(coordinator->lags, now_us);
    if (listing == NULL) {
        return STATUS_NOMEM;
    }
    view_sites_page(listing, &page);
    json_begin(&json, NULL, '{');
    json_text(&json, "site", page.site);
    json_begin(&json, "sites", '[');
    for (size_t i = 0; i < page.nsites; i++) {
        put_site(&teller, &page.sites[i]);
    }
    json_end(&json, ']');
    told = put_filters(&teller, &page);
    json_count(&json, "filters_left", page.filters_left + page.nfilters - told);
    put_refusals(&json, &page);
    json_end(&json, '}');
    view_sites_free(listing);
    return json.status;
}
