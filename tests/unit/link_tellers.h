/* link_tellers.h - two linked sites whose coordinators are played: what they say of a filter goes
 * to their links, and what the links tell of the other site's word and of their streams is kept.
 * Shared by link_states.c and link_proofs.c only.
 *
 * Errors:  a failed cr_assert.
 */
#ifndef ORBLOOM_TESTS_UNIT_LINK_TELLERS_H
#define ORBLOOM_TESTS_UNIT_LINK_TELLERS_H

#include "base/heap.h"
#include "link/states.h"
#include "proto/site/state.h"
#include "tests/support/sample_cluster.h"
#include "tests/support/site_pair.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EU = 0, US = 1, SECOND = 1000000, BATCH = 200, MOST = 400, TELL_MOST = 50, ALL = 14 };

TestSuite(link_states, .timeout = 120);

/* ---- coordinators ---- */

/* What one of them says, and has heard. */
struct teller {
    struct site_filter states[MOST];
    uint64_t stamps[MOST]; /* when each was said last */
    size_t count;
    uint64_t last_stamp;
    uint64_t of;
    bool unavailable; /* it serves nobody yet, and takes nothing in */
    uint32_t link;    /* by which it is asked; 0: it was not */
    uint64_t asked;   /* so often */

    struct site_filter heard[MOST];
    struct hash_secret secrets[MOST];
    bool has_secret[MOST];
    size_t nheard;
    uint64_t times; /* that anything was heard */
    struct site_evidence evidence;
    uint64_t nevidence;
};

static struct site_pair *pair;
static struct teller tellers[2];
static struct teller seconds[2]; /* of sites of two coordinators */

static inline size_t place_of(const struct site_filter *states, size_t count,
                              const struct filter_uid *uid)
{
    size_t at = 0;

    while (at < count && !filter_uid_equal(&states[at].uid, uid)) {
        at++;
    }
    return at;
}

static inline void hear_one(struct teller *self, const struct site_filter *state)
{
    size_t at = place_of(self->heard, self->nheard, &state->uid);

    cr_assert_null(site_filter_fault(state), "%s", site_filter_fault(state));
    cr_assert_lt(at, MOST);
    self->nheard += at == self->nheard;
    self->heard[at] = *state;
    self->heard[at].filter = "";
    self->heard[at].sealed_secret = span_text("");
    self->has_secret[at] = state->sealed_secret.size > 0;
    if (self->has_secret[at]) {
        cr_assert_eq(seal_secret_open(sample_key(), site_secret_name(&state->uid),
                                      state->sealed_secret, &self->secrets[at]),
                     STATUS_OK);
    }
    self->times++;
}

static inline void tell(struct teller *self, const struct sync_request *request,
                        struct sync_reply *reply)
{
    static struct site_filter page[TELL_MOST];
    uint64_t since = request->states_of == self->of ? request->states_since : 0;

    reply->states = page;
    reply->states_of = self->of;
    reply->states_to = since;
    for (uint64_t stamp = since + 1; stamp <= self->last_stamp; stamp++) {
        size_t at = 0;

        if (reply->nstates == TELL_MOST) {
            reply->states_more = true;
            return;
        }
        while (at < self->count && self->stamps[at] != stamp) {
            at++;
        }
        if (at < self->count) {
            page[reply->nstates++] = self->states[at];
        }
        reply->states_to = stamp;
    }
}

static inline struct teller *who_is_asked(struct teller *first)
{
    uint32_t link = pair->sides[first - tellers].circle.sync_link;

    if (first->link == 0) {
        first->link = link;
    }
    return pair->ncoordinators == 1 || link == first->link ? first : &seconds[first - tellers];
}

static inline void on_sync(void *context, const struct sync_request *request,
                           struct sync_reply *reply)
{
    struct teller *self = who_is_asked(context);

    self->asked++;
    if (self->unavailable) {
        reply->status = STATUS_UNAVAILABLE;
        reply->message = "this coordinator has just started";
        return;
    }
    for (size_t i = 0; i < request->nstates; i++) {
        hear_one(self, &request->states[i]);
    }
    for (size_t i = 0; i < request->nevidence; i++) {
        cr_assert_null(site_evidence_fault(&request->evidence[i]), "%s",
                       site_evidence_fault(&request->evidence[i]));
        self->evidence = request->evidence[i];
        self->nevidence++;
    }
    tell(self, request, reply);
}

/* NULL: it has not heard of it. */
static inline const struct site_filter *heard(uint32_t site, const struct filter_uid *uid)
{
    size_t at = place_of(tellers[site].heard, tellers[site].nheard, uid);

    return at < tellers[site].nheard ? &tellers[site].heard[at] : NULL;
}

/* It has started again: it has heard nothing, and counts anew. */
static inline void restart_teller(uint32_t site)
{
    struct teller *self = &tellers[site];

    self->nheard = self->times = self->nevidence = 0;
    memset(&self->evidence, 0, sizeof self->evidence);
    self->of++;
    self->last_stamp = 0;
    for (size_t i = 0; i < self->count; i++) {
        self->stamps[i] = ++self->last_stamp;
    }
}

/* ---- what they say ---- */

static inline const struct filter_uid *filter(void)
{
    return &pair->sides[EU].document.content.uid;
}

/* Of the filter that is in both sites, as its document there has it. */
static inline struct site_filter state_of(uint32_t site)
{
    const struct filter_document *document = &pair->sides[site].document;

    return (struct site_filter){
        .uid = document->content.uid,
        .filter = document->content.name,
        .site = sample_site_id(site),
        .revision = document->revision,
        .document = *document_sites(document),
        .is_fenced = true,
        .fenced = *document_sites(document),
        .hash = document->hash,
        .shard_bits = document->content.shard_bits,
        .keyset = document->content.keysets[0].id,
        .rate = document->rate,
        .capacity = document->capacity,
        .max_capacity = document->max_capacity,
        .rule = document->content.rule,
        .durability = document->durability,
        .when_unavailable = document->when_unavailable,
        .keys = 77,
        .sealed_secret = span_text(""),
    };
}

static inline void say(uint32_t site, const struct site_filter *state)
{
    struct teller *self = &tellers[site];
    size_t at = place_of(self->states, self->count, &state->uid);

    cr_assert_lt(at, MOST);
    self->count += at == self->count;
    self->states[at] = *state;
    self->stamps[at] = ++self->last_stamp;
}

static inline struct site_entry *entry_of(struct site_set *set, uint32_t site)
{
    return &set->entries[site]; /* Ids rise. */
}

/* Document and what is fenced are changed alike. */
static inline void set_state(struct site_filter *state, uint32_t site, enum site_state to)
{
    entry_of(&state->document, site)->state = to;
    entry_of(&state->fenced, site)->state = to;
}

static inline void set_takes_adds(struct site_filter *state, bool takes)
{
    state->document.takes_adds = state->fenced.takes_adds = takes;
    state->document.says_absent = state->fenced.says_absent = false;
    state->document.settled = state->fenced.settled = takes;
}

static inline void begin(void)
{
    pair = malloc(sizeof *pair);
    cr_assert_not_null(pair);
    memset(tellers, 0, sizeof tellers);
    memset(seconds, 0, sizeof seconds);
    site_pair_init(pair, 3);
    for (uint32_t site = 0; site < 2; site++) {
        tellers[site].of = 1000 + site;
        pair->sides[site].circle.sync_guest = on_sync;
        pair->sides[site].circle.sync_context = &tellers[site];
    }
}

/* Each with a count of its own. */
static inline void begin_with_two(void)
{
    begin();
    pair->ncoordinators = 2;
    for (uint32_t site = 0; site < 2; site++) {
        seconds[site].of = 2000 + site;
        site_pair_link_stop(pair, site);
        site_pair_link_start(pair, site);
    }
}

static inline void end(void)
{
    site_pair_fini(pair);
    free(pair);
}

/* By the connection that site 0 has dialed; to site 1 as whoever has proved to be that user. */
static inline void send_as(uint32_t user, uint32_t site, const struct site_filter *states,
                           size_t count)
{
    struct site_pair_side *side = &pair->sides[site];
    const struct peer from = {.size = 1, .id = {1}, .user = user};
    const struct frame frame = {.kind = FRAME_SITE_FILTERS,
                                .body.site_filters = {.states = states, .nstates = count}};
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    if (site == EU) {
        side->face.on_answer(side->face.self, side->circle.now_us, 7, buffer_span(&bytes));
    } else {
        side->face.on_request(side->face.self, side->circle.now_us, &from, buffer_span(&bytes));
    }
    buffer_fini(&bytes);
}

/* As the link of the other site would. */
static inline void send_to(uint32_t site, const struct site_filter *states, size_t count)
{
    send_as(1, site, states, count);
}

#endif
