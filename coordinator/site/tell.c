/* One counter for all filters: who has all up to a number lacks what has a higher one. */
#include "coordinator/site/tell.h"

#include "coordinator/sites.h"
#include "map/history/rebuild.h"

#include <string.h>

/* ---- what is new ---- */

static uint32_t find_done(const struct sites_view *view, struct site_id done[SITE_SET_MAX_LIVE])
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < view->document->count && count < SITE_SET_MAX_LIVE; i++) {
        if (sites_done(view, &view->document->entries[i].id)) {
            done[count++] = view->document->entries[i].id;
        }
    }
    return count;
}

void tell_again(struct coordinator *self, struct in_sites *note)
{
    if (self->sites_count == 0) {
        self->sites_count = self->effects.random(self->effects.context) | 1;
    }
    note->told = ++self->sites_told;
}

bool tell_note(struct coordinator *self, struct in_sites *note,
               const struct filter_document *document, const struct sites_view *view)
{
    struct site_id done[SITE_SET_MAX_LIVE] = {{0}};
    uint32_t ndone = find_done(view, done);
    bool same = note->told != 0 && note->revision == document->revision && note->ndone == ndone &&
                memcmp(note->done, done, sizeof done) == 0;

    if (same) {
        return false;
    }
    memcpy(note->done, done, sizeof done);
    note->ndone = ndone;
    note->revision = document->revision;
    tell_again(self, note);
    return true;
}

/* ---- telling ---- */

/* Of all keys, about: each replica of a slot group has those of its shards. */
static uint64_t count_keys(const struct coordinator *self, const struct filter_document *document)
{
    uint64_t keys = 0;

    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        keys += heard_most_keys(self, document->id, group);
    }
    return keys;
}

/* What was fenced in another life of this site's data says nothing of this one. */
static void fill(const struct coordinator *self, const struct in_sites *note,
                 const struct filter_document *document, struct site_filter *out)
{
    const struct epoch_content *content = &document->content;
    const struct site_entry *own = site_set_own(document_sites(document));
    bool is_fenced = note->is_fenced &&
                     site_life_compare(&site_set_own(&note->fenced)->life, &own->life) == 0;

    *out = (struct site_filter){
        .uid = content->uid,
        .filter = content->name,
        .site = own->id,
        .revision = document->revision,
        .document = *document_sites(document),
        .is_fenced = is_fenced,
        .ndone = note->ndone,
        .hash = document->hash,
        .shard_bits = content->shard_bits,
        .keyset = rebuild_serving(document),
        .rule = content->rule,
        .rate = document->rate,
        .capacity = document->capacity,
        .max_capacity = document->max_capacity,
        .durability = document->durability,
        .when_unavailable = document->when_unavailable,
        .max_staleness = document->max_staleness,
        .acks = document->acks,
        .keys = count_keys(self, document),
        .needs = features_of_sites(document),
    };
    if (is_fenced) {
        out->fenced = note->fenced;
    }
    memcpy(out->done, note->done, sizeof out->done);
}

static void fill_tombstone(const struct filter_document *document, struct site_filter *out)
{
    *out = (struct site_filter){
        .uid = document->content.uid,
        .filter = "",
        .site = site_set_own(document_sites(document))->id,
        .revision = document->revision,
        .dropped = true,
        .last_return = site_life_return(site_set_own(document_sites(document))->life.number),
    };
}

/* False: there is nothing to tell of it. */
static bool describe(const struct coordinator *self, const struct note *note,
                     struct site_filter *out)
{
    const struct document_entry *entry = document_cache_find(&self->documents, note->filter_id);

    if (entry == NULL || entry->conflict || !document_has_sites(&entry->document)) {
        return false;
    }
    if (sites_dropped_everywhere(&entry->document)) {
        fill_tombstone(&entry->document, out);
        return true;
    }
    if (entry->document.content.state != FILTER_ACTIVE) {
        return false;
    }
    fill(self, note->about, &entry->document, out);
    return true;
}

/* The next higher number; NULL: none has one. */
static const struct note *find_next(const struct coordinator *self, uint64_t after)
{
    const struct note *next = NULL;

    for (size_t i = 0; i < notes_count(&self->notes, NOTE_SITES); i++) {
        const struct note *note = notes_at(&self->notes, NOTE_SITES, i);
        uint64_t told = ((const struct in_sites *)note->about)->told;

        if (told > after && (next == NULL || told < ((const struct in_sites *)next->about)->told)) {
            next = note;
        }
    }
    return next;
}

struct tell_page tell_since(const struct coordinator *self, uint64_t since, uint64_t of,
                            struct site_filter out[TELL_MAX])
{
    struct tell_page page = {.to = of == self->sites_count ? since : 0, .of = self->sites_count};
    const struct note *note = page.to < self->sites_told ? find_next(self, page.to) : NULL;

    while (note != NULL && page.count < TELL_MAX) {
        page.to = ((const struct in_sites *)note->about)->told;
        page.count += describe(self, note, &out[page.count]);
        note = find_next(self, page.to);
    }
    page.more = note != NULL;
    return page;
}
