/* A line to each link that lives, and what came by it last. */
#include "coordinator/web/lags.h"

#include "base/heap.h"
#include "coordinator/links.h"
#include "proto/site/lag.h"

#include <stdlib.h>
#include <string.h>

struct asked {
    char address[NODE_ADDRESS_BYTES]; /* "": nobody */
    uint32_t link;
    struct site_lag *lags; /* in order of filters and sites */
    size_t count;
    uint64_t heard_us;
};

struct lags {
    struct asked asked[COORDINATOR_MAX_LINKS];
    uint64_t wanted_us; /* until then */
    uint64_t next_us;
};

struct lags *lags_create(void)
{
    return heap_zalloc(1, sizeof(struct lags));
}

void lags_destroy(struct lags *self)
{
    for (size_t i = 0; self != NULL && i < COORDINATOR_MAX_LINKS; i++) {
        heap_free(self->asked[i].lags);
    }
    heap_free(self);
}

/* ---- asking ---- */

void lags_want(struct lags *self, uint64_t now_us)
{
    if (now_us >= self->wanted_us) {
        self->next_us = now_us;
    }
    self->wanted_us = now_us + LAGS_WANTED_US;
}

static void close_line(struct coordinator *self, struct asked *one)
{
    self->effects.link_close(self->effects.context, one->link);
    heap_free(one->lags);
    *one = (struct asked){0};
}

static bool is_among(const char *address, const struct link_place *places, size_t count)
{
    char text[NODE_ADDRESS_BYTES];
    bool found = false;

    for (size_t i = 0; i < count && !found; i++) {
        found = strcmp(process_address(places[i].endpoint, places[i].curve, text), address) == 0;
    }
    return found;
}

/* NULL: all are taken. */
static struct asked *line_to(struct coordinator *self, const struct link_place *place)
{
    char text[NODE_ADDRESS_BYTES];
    const char *address = process_address(place->endpoint, place->curve, text);
    struct asked *none = NULL;

    for (size_t i = 0; i < COORDINATOR_MAX_LINKS; i++) {
        struct asked *one = &self->lags->asked[i];

        if (strcmp(one->address, address) == 0) {
            return one;
        }
        none = none == NULL && one->address[0] == '\0' ? one : none;
    }
    if (none != NULL) {
        none->link = self->effects.link_open(self->effects.context, address);
        memcpy(none->address, address, strlen(address) + 1);
    }
    return none;
}

static void ask(struct coordinator *self, const struct asked *one)
{
    const struct frame frame = {.kind = FRAME_SITE_LAG_REQUEST};

    buffer_clear(&self->out);
    if (codec_encode(&frame, &self->out) == STATUS_OK) { /* Not connected yet: soon again. */
        (void)self->effects.send(self->effects.context, one->link, buffer_span(&self->out));
    }
}

static void ask_all(struct coordinator *self, uint64_t now_us)
{
    struct link_place places[COORDINATOR_MAX_LINKS];
    size_t count = now_us < self->lags->wanted_us ? links_places(self, now_us, places) : 0;

    for (size_t i = 0; i < COORDINATOR_MAX_LINKS; i++) {
        struct asked *one = &self->lags->asked[i];

        if (one->address[0] != '\0' && !is_among(one->address, places, count)) {
            close_line(self, one);
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct asked *one = line_to(self, &places[i]);

        if (one != NULL) {
            ask(self, one);
        }
    }
}

void lags_turn(struct coordinator *self, uint64_t now_us)
{
    struct lags *lags = self->lags;

    if (lags == NULL || lags->next_us == 0 || now_us < lags->next_us) {
        return;
    }
    ask_all(self, now_us);
    lags->next_us = now_us < lags->wanted_us ? now_us + LAGS_EACH_US : 0;
}

uint64_t lags_next_us(const struct coordinator *self)
{
    return self->lags != NULL && self->lags->next_us != 0 ? self->lags->next_us : ACTOR_NEVER;
}

/* ---- what they say ---- */

static int compare(const void *one, const void *other)
{
    const struct site_lag *a = one;
    const struct site_lag *b = other;

    if (a->filter_id != b->filter_id) {
        return a->filter_id < b->filter_id ? -1 : 1;
    }
    if (a->id.high != b->id.high) {
        return a->id.high < b->id.high ? -1 : 1;
    }
    return a->id.low < b->id.low ? -1 : a->id.low > b->id.low;
}

bool lags_hear(struct lags *self, uint64_t now_us, uint32_t link,
               const struct site_lag_reply *reply)
{
    for (size_t i = 0; i < COORDINATOR_MAX_LINKS; i++) {
        struct asked *one = &self->asked[i];
        struct site_lag *lags;

        if (one->address[0] == '\0' || one->link != link) {
            continue;
        }
        lags = heap_realloc(one->lags, reply->nlags + 1, sizeof *lags);
        if (lags != NULL && reply->nlags > 0) {
            memcpy(lags, reply->lags, reply->nlags * sizeof *lags);
            qsort(lags, reply->nlags, sizeof *lags, compare);
        }
        if (lags != NULL) {
            one->lags = lags;
            one->count = reply->nlags;
            one->heard_us = now_us;
        }
        return true;
    }
    return false;
}

static bool is_known(const struct asked *self, uint64_t now_us)
{
    return self->count > 0 && now_us < self->heard_us + LAGS_KNOWN_US;
}

/* By what the first `nlinks` lines have brought. */
static bool join(const struct lags *self, uint64_t now_us, size_t nlinks,
                 const struct site_lag *key, struct site_lag *out)
{
    bool found = false;

    for (size_t i = 0; i < nlinks; i++) {
        const struct asked *one = &self->asked[i];
        const struct site_lag *lag = is_known(one, now_us)
                                         ? bsearch(key, one->lags, one->count, sizeof *key, compare)
                                         : NULL;

        if (lag != NULL && found) {
            site_lag_join(out, lag);
        } else if (lag != NULL) {
            *out = *lag;
            found = true;
        }
    }
    return found;
}

bool lags_of(const struct lags *self, uint64_t now_us, uint64_t filter_id, const struct site_id *id,
             struct site_lag *out)
{
    const struct site_lag key = {.filter_id = filter_id, .id = *id};

    return join(self, now_us, COORDINATOR_MAX_LINKS, &key, out);
}

static void add(struct lags_sum *sum, const struct site_lag *lag, bool first)
{
    sum->told = lag->sends && (first || sum->told);
    sum->pending_keys += lag->pending_keys;
    sum->pending_us = lag->pending_us > sum->pending_us ? lag->pending_us : sum->pending_us;
}

/* A filter that several links tell of counts with the first one. */
struct lags_sum lags_sum(const struct lags *self, uint64_t now_us, const struct site_id *id)
{
    struct lags_sum sum = {0};
    bool first = true;

    for (size_t i = 0; i < COORDINATOR_MAX_LINKS; i++) {
        const struct asked *one = &self->asked[i];

        for (size_t k = 0; is_known(one, now_us) && k < one->count; k++) {
            const struct site_lag *key = &one->lags[k];
            struct site_lag lag;

            if (site_id_equal(&key->id, id) && !join(self, now_us, i, key, &lag) &&
                join(self, now_us, COORDINATOR_MAX_LINKS, key, &lag)) {
                add(&sum, &lag, first);
                first = false;
            }
        }
    }
    return sum;
}
