/* How far sites are from each other, as this link sees it. What comes is told by the age of the
 * newest mark, which is as old as it is where nobody wants marks; what goes by what was read here
 * and is not applied there, which costs nothing to know. No clock is compared with that of another
 * machine. */
#include "link/private.h"
#include "link/received/evidence.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- what goes ---- */

static uint64_t pending_keys(const struct outflow *outflow)
{
    const struct section *section = &outflow->section;
    uint64_t keys = outflow->npending + (section->active ? section->nkeys - section->at : 0);

    for (size_t i = 0; i < outflow->nsent; i++) {
        keys += outflow->sent[i].keys;
    }
    return keys;
}

/* When the oldest of them was read; 0: none is pending. */
static uint64_t oldest_us(const struct outflow *outflow)
{
    for (size_t i = 0; i < outflow->nsent; i++) {
        if (outflow->sent[i].keys > 0) {
            return outflow->sent[i].read_us;
        }
    }
    return outflow->section.active && outflow->section.nkeys > 0 ? outflow->section.read_us
                                                                 : outflow->since_us;
}

static uint64_t since(uint64_t now_us, uint64_t at_us)
{
    return at_us != 0 && now_us > at_us ? now_us - at_us : 0;
}

static uint32_t copies_of(const struct outflow *outflow)
{
    uint32_t copies = 0;

    for (size_t i = 0; i < outflow->nfollows; i++) {
        copies += outflow->follows[i].fills;
    }
    return copies;
}

static enum site_wait hold_of(const struct outflow *outflow)
{
    if (outflow->held_back) {
        return SITE_WAIT_RATE;
    }
    if (!section_may_send(outflow) && (outflow->section.active || outflow->npending > 0)) {
        return SITE_WAIT_TAKEN;
    }
    return copies_of(outflow) > 0 ? SITE_WAIT_COPY : SITE_WAIT_NOTHING;
}

/* Where several links of the other site receive it, what one of them has applied is there. */
static void add_outflow(const struct outflow *outflow, uint64_t now_us, struct site_lag *lag)
{
    uint64_t keys = pending_keys(outflow);

    if (!lag->sends || keys < lag->pending_keys) {
        lag->holds = hold_of(outflow);
        lag->pending_keys = keys;
        lag->pending_us = since(now_us, oldest_us(outflow));
        lag->copies = copies_of(outflow);
    }
    lag->sends = true;
    lag->out_per_s += outflow->pace.per_s;
}

/* ---- what comes ---- */

static bool is_put_off(const struct inflow *inflow)
{
    const struct arrived_batch *arrival;

    TAILQ_FOREACH(arrival, &inflow->arrivals, link)
    {
        if (arrival->failures > 0 && !arrival->applied) {
            return true;
        }
    }
    return false;
}

static enum site_wait wait_of(struct link *self, const struct inflow *inflow)
{
    if (pause_is_on(inflow)) {
        return SITE_WAIT_PAUSED;
    }
    if (inflow->stream != 0) {
        return is_put_off(inflow)      ? SITE_WAIT_APPLY
               : inflow->nsources == 0 ? SITE_WAIT_COPY
                                       : SITE_WAIT_NOTHING;
    }
    if (channel_for(self, inflow->peer, &inflow->uid) == NULL) {
        return SITE_WAIT_CONNECTION;
    }
    if (inflow->places.state != PLACES_KNOWN) {
        return SITE_WAIT_PLACES;
    }
    return evidence_may_open(inflow) ? SITE_WAIT_OPEN : SITE_WAIT_JOIN;
}

static void tell_age(const struct link *self, struct inflow *inflow, struct site_lag *lag)
{
    const struct document_entry *entry = document_cache_find(router_documents(self->router),
                                                             inflow->filter_id);
    const struct site_entry *site = entry != NULL && site_filter_own(self, entry) != NULL
                                        ? site_set_find(document_sites(&entry->document), &lag->id)
                                        : NULL;
    const struct marks_noted noted = ages_note(inflow);

    if (site != NULL) {
        const struct mark_told told = ages_told(self, inflow, entry, site, &noted);

        lag->marked = told.known;
        lag->age_us = told.age_us;
    }
}

static struct site_lag lag_of(struct link *self, struct inflow *inflow)
{
    struct site_lag lag = {
        .filter_id = inflow->filter_id,
        .id = self->config.peers[inflow->peer].id,
        .paused_here = inflow->paused_here,
        .paused_there = inflow->paused_there,
        .waits = wait_of(self, inflow),
        .in_keys = inflow->taken_keys,
        .in_per_s = inflow->pace.per_s,
        .resync = inflow->resync,
        .copied = inflow->evidence.copied,
    };

    tell_age(self, inflow, &lag);
    return lag;
}

/* ---- telling ---- */

static int by_filter(const void *a, const void *b)
{
    const struct site_lag *left = a;
    const struct site_lag *right = b;
    const uint64_t of_left[] = {left->filter_id, left->id.high, left->id.low};
    const uint64_t of_right[] = {right->filter_id, right->id.high, right->id.low};
    int order = 0;

    for (size_t i = 0; i < sizeof of_left / sizeof of_left[0] && order == 0; i++) {
        order = of_left[i] < of_right[i] ? -1 : of_left[i] > of_right[i];
    }
    return order;
}

/* Every filter that is in a site is received from it, whether a stream is open or not. */
static size_t gather(struct link *self, uint64_t now_us, uint64_t filter_id,
                     struct site_lag lags[SITE_MAX_LAGS])
{
    struct inflow *inflow;
    const struct outflow *outflow;
    size_t count = 0;

    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        if ((filter_id == 0 || inflow->filter_id == filter_id) && count < SITE_MAX_LAGS) {
            lags[count++] = lag_of(self, inflow);
        }
    }
    qsort(lags, count, sizeof *lags, by_filter);
    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        const struct site_lag key = {.filter_id = outflow->filter_id,
                                     .id = self->config.peers[outflow->peer].id};
        struct site_lag *lag = bsearch(&key, lags, count, sizeof *lags, by_filter);

        if (lag != NULL && !outflow->over) {
            add_outflow(outflow, now_us, lag);
        }
    }
    return count;
}

void lag_on_request(struct link *self, uint64_t now_us, const struct peer *from,
                    const struct frame *frame)
{
    struct site_lag *lags = heap_alloc(SITE_MAX_LAGS, sizeof *lags);
    struct frame answer = {.correlation = frame->correlation, .kind = FRAME_SITE_LAG_REPLY};
    struct span bytes;

    if (lags == NULL) {
        return; /* It is asked again. */
    }
    answer.body.site_lag_reply.lags = lags;
    answer.body.site_lag_reply.nlags = gather(self, now_us, frame->body.site_lag_request.filter_id,
                                              lags);
    if (codec_encode_out(&answer, &self->inner, &self->out, &bytes) == STATUS_OK) {
        (void)self->inner.reply(self->inner.context, from, bytes);
    }
    heap_free(lags);
}

/* ---- gauges ---- */

static void measure(struct pace *pace, uint64_t now_us)
{
    uint64_t us = now_us - pace->at_us;

    assert(now_us >= pace->at_us && pace->bytes >= pace->before);
    if (us > 0) {
        pace->per_s = (pace->bytes - pace->before) * 1000000 / us;
    }
    pace->before = pace->bytes;
    pace->at_us = now_us;
}

/* A site of which no link is heard, or that is paused, is behind by the time since it was not: what
 * is added meanwhile is not read here. */
static void note_cuts(struct link *self, uint64_t now_us)
{
    struct inflow *inflow;

    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        struct site_behind *site = &self->behind[inflow->peer];
        uint64_t cut_us;

        measure(&inflow->pace, now_us);
        if (channel_for(self, inflow->peer, &inflow->uid) != NULL && !pause_is_on(inflow)) {
            inflow->served_us = now_us;
        }
        cut_us = now_us - inflow->served_us;
        site->lag_us = site->lag_us > cut_us ? site->lag_us : cut_us;
    }
}

static void note_pending(struct link *self, uint64_t now_us)
{
    struct outflow *outflow;

    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        struct site_behind *site = &self->behind[outflow->peer];
        uint64_t behind_us = since(now_us, oldest_us(outflow));

        measure(&outflow->pace, now_us);
        site->pending_keys += pending_keys(outflow);
        site->lag_us = site->lag_us > behind_us ? site->lag_us : behind_us;
    }
}

/* The gauges without a site are of all of them. */
void lag_tick(struct link *self, uint64_t now_us)
{
    uint64_t lag_us = 0;
    uint64_t keys = 0;

    memset(self->behind, 0, sizeof self->behind);
    note_cuts(self, now_us);
    note_pending(self, now_us);
    for (uint32_t i = 0; i < self->config.npeers; i++) {
        lag_us = lag_us > self->behind[i].lag_us ? lag_us : self->behind[i].lag_us;
        keys += self->behind[i].pending_keys;
    }
    self->counters[LINK_site_pending_keys] = keys;
    self->counters[LINK_site_lag_us] = lag_us;
}
