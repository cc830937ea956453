/* What sites say of their filters, from coordinator to coordinator, and what streams prove: two
 * sites of nodes with links, and coordinators that say what a test has them say. */
#include "base/heap.h"
#include "link/states.h"
#include "proto/site_state.h"
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

static size_t place_of(const struct site_filter *states, size_t count, const struct filter_uid *uid)
{
    size_t at = 0;

    while (at < count && !filter_uid_equal(&states[at].uid, uid)) {
        at++;
    }
    return at;
}

static void hear_one(struct teller *self, const struct site_filter *state)
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

static void tell(struct teller *self, const struct sync_request *request, struct sync_reply *reply)
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

static struct teller *who_is_asked(struct teller *first)
{
    uint32_t link = pair->sides[first - tellers].circle.sync_link;

    if (first->link == 0) {
        first->link = link;
    }
    return pair->ncoordinators == 1 || link == first->link ? first : &seconds[first - tellers];
}

static void on_sync(void *context, const struct sync_request *request, struct sync_reply *reply)
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
static const struct site_filter *heard(uint32_t site, const struct filter_uid *uid)
{
    size_t at = place_of(tellers[site].heard, tellers[site].nheard, uid);

    return at < tellers[site].nheard ? &tellers[site].heard[at] : NULL;
}

/* It has started again: it has heard nothing, and counts anew. */
static void restart_teller(uint32_t site)
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

static const struct filter_uid *filter(void)
{
    return &pair->sides[EU].document.content.uid;
}

/* Of the filter that is in both sites, as its document there has it. */
static struct site_filter state_of(uint32_t site)
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

static void say(uint32_t site, const struct site_filter *state)
{
    struct teller *self = &tellers[site];
    size_t at = place_of(self->states, self->count, &state->uid);

    cr_assert_lt(at, MOST);
    self->count += at == self->count;
    self->states[at] = *state;
    self->stamps[at] = ++self->last_stamp;
}

static struct site_entry *entry_of(struct site_set *set, uint32_t site)
{
    return &set->entries[site]; /* Ids rise. */
}

/* Document and what is fenced are changed alike. */
static void set_state(struct site_filter *state, uint32_t site, enum site_state to)
{
    entry_of(&state->document, site)->state = to;
    entry_of(&state->fenced, site)->state = to;
}

static void set_takes_adds(struct site_filter *state, bool takes)
{
    state->document.takes_adds = state->fenced.takes_adds = takes;
    state->document.says_absent = state->fenced.says_absent = false;
    state->document.settled = state->fenced.settled = takes;
}

static void begin(void)
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

static void end(void)
{
    site_pair_fini(pair);
    free(pair);
}

/* By the connection that site 0 has dialed; to site 1 as whoever has proved to be that user. */
static void send_as(uint32_t user, uint32_t site, const struct site_filter *states, size_t count)
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
static void send_to(uint32_t site, const struct site_filter *states, size_t count)
{
    send_as(1, site, states, count);
}

/* ---- states travel ---- */

Test(link_states, what_one_site_says_the_coordinators_of_the_other_hear)
{
    for (uint32_t site = 0; site < 2; site++) {
        struct site_filter state;
        const struct site_filter *other;

        begin();
        state = state_of(site);
        state.revision = 9;
        state.ndone = 1;
        state.done[0] = sample_site_id(1 - site);
        say(site, &state);
        site_pair_run(pair, 4 * SECOND);
        other = heard(1 - site, filter());
        cr_assert_not_null(other);
        cr_assert_eq(other->revision, 9);
        cr_assert(site_id_equal(&other->site, &state.site));
        cr_assert(site_set_agrees(&other->document, &state.document));
        cr_assert_eq(other->document.own, site);
        cr_assert(other->is_fenced && other->fenced.takes_adds);
        cr_assert_eq(other->ndone, 1);
        cr_assert_eq(other->capacity, state.capacity);
        cr_assert_eq(other->keys, 77);
        cr_assert_eq(tellers[site].nheard, 0, "nobody is told what he said");
        end();
    }
}

/* Without a wait: by the round trip to a coordinator, and the way between the sites. */
Test(link_states, what_changes_is_told_at_once)
{
    struct site_filter state;

    begin();
    state = state_of(EU);
    say(EU, &state);
    site_pair_run(pair, 4 * SECOND);
    state.revision += 3;
    say(EU, &state);
    site_pair_run(pair, SECOND + 2 * pair->delay_us); /* one interval of its questions */
    cr_assert_eq(heard(US, filter())->revision, state.revision);
    end();
}

Test(link_states, an_older_state_never_replaces_a_newer_one)
{
    struct site_filter state;
    struct site_filter older;

    begin();
    state = state_of(EU);
    state.revision = 20;
    say(EU, &state);
    site_pair_run(pair, 4 * SECOND);
    older = state;
    older.revision = 19;
    send_to(US, &older, 1);
    older = state;
    older.is_fenced = false; /* a coordinator that has just started */
    older.fenced.count = 0;
    send_to(US, &older, 1);
    restart_teller(US);
    site_pair_run(pair, 2 * SECOND);
    cr_assert_eq(heard(US, filter())->revision, 20);
    cr_assert(heard(US, filter())->is_fenced);

    state.revision = 3; /* of another life */
    entry_of(&state.document, EU)->life = (struct site_life){2, 5};
    state.fenced = state.document;
    send_to(US, &state, 1);
    site_pair_run(pair, 2 * SECOND);
    cr_assert_eq(heard(US, filter())->revision, 3);
    end();
}

Test(link_states, a_tombstone_is_the_last_word)
{
    struct site_filter state;
    struct site_filter tombstone;

    begin();
    state = state_of(EU);
    say(EU, &state);
    tombstone = (struct site_filter){
        .uid = state.uid, .filter = "", .site = state.site, .revision = 4, .dropped = true};
    site_pair_run(pair, 4 * SECOND);
    say(EU, &tombstone);
    site_pair_run(pair, 2 * SECOND);
    cr_assert(heard(US, filter())->dropped);
    state.revision = 1000;
    send_to(US, &state, 1);
    site_pair_run(pair, 2 * SECOND);
    cr_assert(heard(US, filter())->dropped);
    end();
}

/* ---- who may say what ---- */

Test(link_states, a_site_speaks_for_itself_only)
{
    struct site_filter states[8];
    size_t count = 0;

    begin();
    site_pair_run(pair, 3 * SECOND);
    states[count++] = state_of(US); /* the receiver itself */
    states[count] = state_of(EU);
    states[count++].site = (struct site_id){500, 500}; /* a third one */
    states[count] = state_of(EU);
    states[count].document.own = states[count].fenced.own = US; /* its own set is another's */
    count++;
    states[count] = state_of(EU);
    states[count++].revision = 0;
    states[count] = state_of(EU);
    states[count++].uid = (struct filter_uid){0, 0};
    states[count] = state_of(EU); /* of a filter that is not the receiver's */
    entry_of(&states[count].document, US)->id = (struct site_id){700, 700};
    entry_of(&states[count].fenced, US)->id = (struct site_id){700, 700};
    count++;
    states[count] = state_of(EU);
    states[count++].sealed_secret = span_of("0123456789012345678901234567890123456789"
                                            "012345678901234567890123",
                                            SEAL_SECRET_BYTES);
    states[count] = state_of(EU);
    states[count++].fenced.count = 0;
    send_to(US, states, count);
    site_pair_run(pair, 2 * SECOND);
    cr_assert_eq(site_pair_counter(pair, US, "site_states_refused_total"), count);
    cr_assert_eq(tellers[US].nheard, 0);
    states[0] = state_of(EU); /* and one that is right, to see that this is what was missing */
    send_to(US, states, 1);
    site_pair_run(pair, 2 * SECOND);
    cr_assert_eq(tellers[US].nheard, 1);
    end();
}

/* The name of its connection is one that has greeted us, as another site. */
Test(link_states, who_has_proved_another_key_is_not_the_one_who_greeted)
{
    struct site_filter state;

    begin();
    site_pair_run(pair, 3 * SECOND);
    state = state_of(EU);
    send_as(2, US, &state, 1);
    site_pair_run(pair, 2 * SECOND);
    cr_assert_eq(tellers[US].nheard, 0);
    send_as(1, US, &state, 1);
    site_pair_run(pair, 2 * SECOND);
    cr_assert_eq(tellers[US].nheard, 1);
    end();
}

/* One that is wrong does not keep the others of its frame away. */
Test(link_states, a_wrong_state_harms_no_other)
{
    struct site_filter states[2];

    begin();
    site_pair_run(pair, 3 * SECOND);
    states[0] = state_of(EU);
    states[0].rate = 7;
    states[1] = state_of(EU);
    send_to(US, states, 2);
    site_pair_run(pair, 2 * SECOND);
    cr_assert_not_null(heard(US, filter()));
    end();
}

/* A coordinator of another site, by a wrong key file: not told on. */
Test(link_states, a_coordinator_that_is_of_another_site_is_not_believed)
{
    struct site_filter state;

    begin();
    state = state_of(US);
    say(EU, &state);
    site_pair_run(pair, 4 * SECOND);
    cr_assert_eq(site_pair_counter(pair, EU, "site_states_refused_total"), 1);
    cr_assert_eq(site_pair_counter(pair, EU, "site_states_told_total"), 0);
    end();
}

/* More than can be taken at once is refused, and told again later. */
Test(link_states, a_flood_of_states_is_bounded)
{
    enum { FRAMES = 40, EACH = 200 };
    static struct site_filter states[EACH];

    begin();
    site_pair_run(pair, 3 * SECOND);
    for (unsigned i = 0; i < FRAMES; i++) {
        for (unsigned k = 0; k < EACH; k++) {
            states[k] = state_of(EU);
            states[k].uid = (struct filter_uid){i + 1, k + 1};
        }
        send_to(US, states, EACH);
    }
    cr_assert_lt(site_pair_counter(pair, US, "site_states_heard_total"), 2000);
    cr_assert_gt(site_pair_counter(pair, US, "site_states_refused_total"), 6000);
    end();
}

static void answer_own(const struct site_filter *state)
{
    struct site_pair_side *side = &pair->sides[EU];
    const struct sync_reply reply = {
        .message = "", .states = state, .nstates = 1, .states_of = tellers[EU].of, .states_to = 1};

    states_answered(side->link, side->circle.now_us, &reply, true);
}

/* Where memory was short the coordinator is asked for it once more. */
Test(link_states, what_could_not_be_taken_is_asked_for_again)
{
    struct site_filter state;

    begin();
    site_pair_run(pair, 3 * SECOND);
    state = state_of(EU);
    say(EU, &state);
    heap_fault_after(0);
    answer_own(&state);
    heap_fault_clear();
    cr_assert_eq(site_pair_counter(pair, EU, "site_states_refused_total"), 1);
    site_pair_run(pair, 4 * SECOND);
    cr_assert_not_null(heard(US, filter()));
    end();
}

/* What says less than is known costs as much as what says more. */
Test(link_states, a_flood_of_old_states_is_bounded)
{
    enum { FRAMES = 40, EACH = 200 };
    static struct site_filter states[EACH];

    begin();
    site_pair_run(pair, 3 * SECOND);
    states[0] = state_of(EU);
    states[0].revision = 50;
    send_to(US, states, 1);
    for (unsigned k = 0; k < EACH; k++) {
        states[k] = state_of(EU);
        states[k].revision = 7;
    }
    for (unsigned i = 0; i < FRAMES; i++) {
        send_to(US, states, EACH);
    }
    cr_assert_eq(site_pair_counter(pair, US, "site_states_heard_total"), 1);
    cr_assert_gt(site_pair_counter(pair, US, "site_states_refused_total"), 6000);
    end();
}

/* ---- many, and once more ---- */

static void say_many(uint32_t site, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct site_filter state = state_of(site);

        state.uid = (struct filter_uid){i + 1, 5};
        say(site, &state);
    }
}

static uint64_t nframes;
static uint64_t nstates;
static uint64_t nlost;
static bool lose;

static bool watch(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    if (frame->kind != FRAME_SITE_FILTERS || to != US) {
        return true;
    }
    nlost += lose;
    nframes++;
    nstates += frame->body.site_filters.nstates;
    cr_assert_leq(frame->body.site_filters.nstates, 64);
    return !lose;
}

Test(link_states, many_come_in_pages)
{
    begin();
    pair->spy = watch;
    say_many(EU, 350);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(tellers[US].nheard, 350);
    cr_assert_geq(nframes, 6);
    cr_assert_eq(nstates, 350);
    end();
}

/* Whoever is new is told everything, whoever was told is not told again. */
Test(link_states, a_link_that_starts_is_told_everything)
{
    begin();
    pair->spy = watch;
    say_many(EU, 100);
    site_pair_run(pair, 4 * SECOND);
    cr_assert_eq(nstates, 100);
    site_pair_link_stop(pair, US);
    site_pair_run(pair, SECOND);
    site_pair_link_start(pair, US);
    restart_teller(US);
    site_pair_run(pair, 7 * SECOND);
    cr_assert_eq(nstates, 200);
    cr_assert_eq(tellers[US].nheard, 100);

    site_pair_link_stop(pair, EU);
    site_pair_run(pair, SECOND);
    site_pair_link_start(pair, EU);
    restart_teller(US);
    site_pair_run(pair, 4 * SECOND);
    cr_assert_eq(tellers[US].nheard, 100);
    end();
}

Test(link_states, a_coordinator_that_counts_anew_is_told_everything)
{
    begin();
    say_many(EU, 100);
    site_pair_run(pair, 4 * SECOND);
    cr_assert_eq(tellers[US].times, 100, "each of them once");
    restart_teller(US);
    site_pair_run(pair, 4 * SECOND);
    cr_assert_eq(tellers[US].nheard, 100);
    end();
}

/* The one that was asked is not there: what it did not answer it did not hear. */
Test(link_states, what_was_not_answered_is_told_again)
{
    begin();
    say_many(EU, 3);
    pair->sides[US].circle.silent = true;
    site_pair_run(pair, 6 * SECOND);
    cr_assert_eq(tellers[US].nheard, 0);
    pair->sides[US].circle.silent = false;
    site_pair_run(pair, 4 * SECOND);
    cr_assert_eq(tellers[US].nheard, 3);
    end();
}

/* The answer to the link's first question, which comes only now. */
static void answer_late(uint32_t site)
{
    struct circle *circle = &pair->sides[site].circle;
    struct circle_node *guest = &circle->nodes[CIRCLE_GUEST - 1];
    const struct frame frame = {.correlation = 1,
                                .kind = FRAME_SYNC_REPLY,
                                .body.sync_reply = {.message = "", .states_of = tellers[site].of}};
    struct buffer bytes;
    uint32_t link = 1;

    while (link <= guest->nlinks && guest->links[link - 1] != 0) {
        link++;
    }
    cr_assert_leq(link, guest->nlinks);
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    guest->actor.on_answer(guest->actor.self, circle->now_us, link, buffer_span(&bytes));
    buffer_fini(&bytes);
}

/* Of what was asked before: it says nothing of what was told since. */
Test(link_states, a_late_answer_acknowledges_nothing)
{
    begin();
    site_pair_run(pair, 3 * SECOND);
    pair->sides[US].circle.silent = true;
    say_many(EU, 3);
    site_pair_run(pair, 4 * SECOND);
    answer_late(US);
    pair->sides[US].circle.silent = false;
    site_pair_run(pair, 4 * SECOND);
    cr_assert_eq(tellers[US].nheard, 3);
    end();
}

/* It answers, and has not taken in what it was told. */
Test(link_states, a_coordinator_that_does_not_serve_yet_has_heard_nothing)
{
    begin();
    say_many(EU, 3);
    tellers[US].unavailable = true;
    site_pair_run(pair, 6 * SECOND);
    cr_assert_eq(tellers[US].nheard, 0);
    tellers[US].unavailable = false;
    site_pair_run(pair, 4 * SECOND);
    cr_assert_eq(tellers[US].nheard, 3);
    end();
}

/* ---- several coordinators ---- */

/* Each with a count of its own. */
static void begin_with_two(void)
{
    begin();
    pair->ncoordinators = 2;
    for (uint32_t site = 0; site < 2; site++) {
        seconds[site].of = 2000 + site;
        site_pair_link_stop(pair, site);
        site_pair_link_start(pair, site);
    }
}

static void say_many_twice(uint32_t count)
{
    say_many(EU, count);
    seconds[EU] = tellers[EU];
    seconds[EU].of++;
}

Test(link_states, each_coordinator_hears_everything_once)
{
    uint64_t asked;

    begin_with_two();
    pair->spy = watch;
    say_many_twice(150);
    site_pair_run(pair, 10 * SECOND);
    cr_assert_eq(nstates, 150, "both say the same");
    cr_assert_eq(tellers[US].nheard, 150);
    cr_assert_eq(seconds[US].nheard, 150);
    cr_assert_eq(tellers[US].times, 150);
    cr_assert_eq(seconds[US].times, 150);
    asked = tellers[US].asked + seconds[US].asked;
    site_pair_run(pair, 10 * SECOND);
    cr_assert_leq(tellers[US].asked + seconds[US].asked - asked, 12, "nothing is new");
    end();
}

Test(link_states, one_that_does_not_serve_is_not_hurried)
{
    uint64_t asked;

    begin_with_two();
    seconds[US].unavailable = true;
    say_many_twice(150);
    site_pair_run(pair, 10 * SECOND);
    cr_assert_eq(tellers[US].nheard, 150);
    asked = tellers[US].asked + seconds[US].asked;
    site_pair_run(pair, 10 * SECOND);
    cr_assert_leq(tellers[US].asked + seconds[US].asked - asked, 12);
    seconds[US].unavailable = false;
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(seconds[US].nheard, 150);
    cr_assert_eq(tellers[US].times, 150);
    end();
}

/* ---- what was lost ---- */

/* Nothing tells that a frame was lost; so what waits for other sites is said again soon. */
Test(link_states, what_was_lost_is_said_again)
{
    struct site_filter state;

    begin();
    pair->spy = watch;
    site_pair_run(pair, 3 * SECOND);
    state = state_of(EU);
    set_state(&state, US, SITE_JOINING);
    lose = true;
    say(EU, &state);
    site_pair_run(pair, 2 * SECOND);
    cr_assert_eq(nlost, 1);
    lose = false;
    site_pair_run(pair, 5 * SECOND);
    cr_assert_null(heard(US, filter()));
    site_pair_run(pair, 7 * SECOND);
    cr_assert_not_null(heard(US, filter()));
    end();
}

Test(link_states, idle_filters_say_little)
{
    uint64_t before;

    begin();
    say_many(EU, 390);
    say_many(US, 390);
    site_pair_run(pair, 5 * SECOND);
    before = pair->sent_bytes[EU] + pair->sent_bytes[US];
    site_pair_run(pair, 100 * SECOND);
    cr_assert_lt(pair->sent_bytes[EU] + pair->sent_bytes[US] - before, 100 * 2500);
    cr_assert_gt(pair->sent_bytes[EU] + pair->sent_bytes[US] - before, 100 * 500,
                 "now and then they are said");
    end();
}

/* ---- the secret ---- */

static size_t secret_bytes; /* in the last frame */

static bool watch_secret(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    if (frame->kind == FRAME_SITE_FILTERS && to == US) {
        secret_bytes = frame->body.site_filters.states[0].sealed_secret.size;
    }
    return true;
}

Test(link_states, who_joins_is_given_the_secret_sealed_for_its_cluster)
{
    struct site_filter state;
    struct hash_secret secret;

    begin();
    pair->spy = watch_secret;
    sample_secret(&secret);
    state = state_of(EU);
    set_state(&state, US, SITE_JOINING);
    say(EU, &state);
    site_pair_run(pair, 4 * SECOND);
    cr_assert_eq(secret_bytes, HASH_SECRET_BYTES);
    cr_assert(tellers[US].has_secret[0]);
    cr_assert_arr_eq(tellers[US].secrets[0].bytes, secret.bytes, sizeof secret.bytes);

    state.revision++;
    set_state(&state, US, SITE_COUNTED); /* it has it */
    say(EU, &state);
    site_pair_run(pair, 2 * SECOND);
    cr_assert_eq(secret_bytes, 0);
    cr_assert_not(tellers[US].has_secret[0]);
    end();
}

/* ---- evidence ---- */

static uint64_t nmarks; /* that US has asked for */
static bool lose_batches;
static bool lose_marked;

static bool watch_marks(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    nmarks += frame->kind == FRAME_SITE_MARK && to == EU;
    if (to == US && frame->kind == FRAME_SITE_BATCH && frame->body.site_batch.batch.size > 0) {
        return !lose_batches;
    }
    return !(to == US && frame->kind == FRAME_SITE_MARKED && lose_marked);
}

static void make_keys(uint64_t seed, uint64_t *keys)
{
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

    for (uint32_t i = 0; i < BATCH; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        keys[i] = state ^ state >> 29;
    }
}

static int replicas_with(const uint64_t *keys)
{
    int found = 0;

    for (uint32_t node = 1; node <= 3; node++) {
        found += circle_node(&pair->sides[US].circle, node) != NULL &&
                 site_pair_count(pair, US, node, keys, BATCH) == BATCH;
    }
    return found;
}

/* US joins, and takes adds or does not yet; EU has fenced that it joins. */
static void say_joining(bool takes_adds)
{
    struct site_filter eu = state_of(EU);
    struct site_filter us = state_of(US);

    set_state(&eu, US, SITE_JOINING);
    set_state(&us, US, SITE_JOINING);
    set_takes_adds(&us, takes_adds);
    us.document.settled = us.fenced.settled = false;
    us.revision += takes_adds;
    say(EU, &eu);
    say(US, &us);
}

/* Before it takes adds nothing is copied: what it would prove is not awaited. */
Test(link_states, who_joins_is_copied_once_it_takes_adds)
{
    uint64_t keys[BATCH];
    const struct site_evidence *evidence = &tellers[US].evidence;

    begin();
    pair->spy = watch_marks;
    make_keys(1, keys);
    site_pair_add(pair, EU, ALL, keys, BATCH);
    say_joining(false);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(site_pair_counter(pair, EU, "site_copies_total"), 0);
    cr_assert_eq(tellers[US].nevidence, 0);
    say_joining(true);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    cr_assert(evidence->compared_here.takes_adds);
    cr_assert_eq(evidence->compared.own, EU);
    cr_assert_eq(entry_of((struct site_set *)&evidence->compared, US)->state, SITE_JOINING);
    cr_assert_eq(evidence->marked.own, EU);
    cr_assert(site_life_compare(&evidence->own_life, &(struct site_life){1, 11}) == 0);
    cr_assert_eq(replicas_with(keys), 3);
    cr_assert_eq(site_pair_counter(pair, EU, "site_copies_total"), 3);
    end();
}

Test(link_states, each_coordinator_is_given_the_evidence)
{
    begin_with_two();
    say_joining(true);
    seconds[EU] = tellers[EU];
    seconds[US] = tellers[US];
    seconds[EU].of++;
    seconds[US].of++;
    site_pair_run(pair, 30 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    cr_assert_gt(seconds[US].nevidence, 0);
    cr_assert_lt(tellers[US].nevidence + seconds[US].nevidence, 20);
    end();
}

/* A copy and a mark that are not applied prove nothing. */
Test(link_states, nothing_is_proved_before_it_is_applied)
{
    uint64_t keys[BATCH];

    begin();
    pair->spy = watch_marks;
    lose_batches = true;
    make_keys(1, keys);
    site_pair_add(pair, EU, ALL, keys, BATCH);
    say_joining(true);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_gt(nmarks, 0);
    cr_assert_eq(tellers[US].nevidence, 0);
    cr_assert_eq(replicas_with(keys), 0);
    lose_batches = false;
    nmarks = 0;
    site_pair_run(pair, 20 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    cr_assert_gt(nmarks, 0, "that of a stream that broke was not asked for again");
    cr_assert_eq(replicas_with(keys), 3);
    end();
}

/* The batches are here, and have not found W of the receiver's nodes. */
Test(link_states, nothing_is_proved_without_a_write_quorum)
{
    uint64_t keys[BATCH];
    struct circle *us;

    begin();
    make_keys(1, keys);
    us = &pair->sides[US].circle;
    circle_stop(us, 2);
    circle_stop(us, 3);
    site_pair_add(pair, EU, ALL, keys, BATCH);
    say_joining(true);
    site_pair_run(pair, 10 * SECOND);
    cr_assert_eq(tellers[US].nevidence, 0);
    circle_start(us, 2);
    site_pair_run(pair, 30 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    cr_assert_geq(replicas_with(keys), 2);
    end();
}

Test(link_states, nothing_is_proved_without_an_answer)
{
    begin();
    pair->spy = watch_marks;
    lose_marked = true;
    say_joining(true);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_gt(nmarks, 0);
    cr_assert_eq(tellers[US].nevidence, 0);
    end();
}

/* What was heard before it was asked for, and not what came while it was under way. */
Test(link_states, a_mark_proves_what_was_fenced_when_it_began)
{
    struct site_filter eu;

    begin();
    pair->spy = watch_marks;
    pair->delay_us = 2 * SECOND;
    say_joining(true);
    for (int steps = 0; nmarks == 0; steps++) {
        cr_assert_lt(steps, 2000);
        site_pair_run(pair, 10000);
    }
    eu = state_of(EU); /* by now US counts there */
    eu.revision += 5;
    say(EU, &eu);
    for (int steps = 0; tellers[US].nevidence == 0; steps++) {
        cr_assert_lt(steps, 2000);
        site_pair_run(pair, 10000);
    }
    cr_assert_eq(heard(US, filter())->revision, eu.revision);
    cr_assert_eq(entry_of(&tellers[US].evidence.marked, US)->state, SITE_JOINING);
    site_pair_run(pair, 20 * SECOND);
    cr_assert_eq(entry_of(&tellers[US].evidence.marked, US)->state, SITE_COUNTED);
    cr_assert_eq(entry_of(&tellers[US].evidence.compared, US)->state, SITE_JOINING);
    end();
}

/* Once what is fenced there is proved, nothing is asked for, until more is fenced. */
Test(link_states, no_more_marks_than_there_is_to_prove)
{
    struct site_filter eu;
    uint64_t before;

    begin();
    pair->spy = watch_marks;
    say_joining(true);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_eq(entry_of(&tellers[US].evidence.marked, US)->state, SITE_JOINING);
    before = nmarks;
    site_pair_run(pair, 10 * SECOND);
    cr_assert_eq(nmarks, before);
    eu = state_of(EU);
    eu.revision += 5;
    say(EU, &eu);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_gt(nmarks, before);
    cr_assert_eq(entry_of(&tellers[US].evidence.marked, US)->state, SITE_COUNTED);
    before = nmarks;
    site_pair_run(pair, 20 * SECOND);
    cr_assert_eq(nmarks, before);
    end();
}

/* What the fenced set of another life says is none of this stream's. */
Test(link_states, nothing_is_proved_of_another_life)
{
    struct site_filter eu;

    begin();
    pair->spy = watch_marks;
    say_joining(true);
    eu = state_of(EU);
    set_state(&eu, US, SITE_JOINING);
    entry_of(&eu.document, EU)->life = (struct site_life){2, 99};
    eu.fenced = eu.document;
    say(EU, &eu);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_eq(nmarks, 0);
    cr_assert_eq(tellers[US].nevidence, 0);
    end();
}

static void rise_life(uint32_t site, uint32_t of)
{
    struct filter_document *document = &pair->sides[site].document;

    entry_of(document->content.sites, of)->life = (struct site_life){7, 70};
    document_epoch_advance(document);
    site_pair_hand(pair, site);
}

/* The stream of the new life has proved nothing yet. */
Test(link_states, evidence_goes_with_the_life_that_it_is_of)
{
    begin();
    pair->spy = watch_marks;
    say_joining(true);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    rise_life(EU, US);
    rise_life(US, US);
    site_pair_run(pair, 3 * SECOND); /* the document goes round */
    lose_marked = true;
    restart_teller(US);
    say_joining(true);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(tellers[US].nevidence, 0);
    lose_marked = false;
    site_pair_run(pair, 40 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    cr_assert_eq(tellers[US].evidence.own_life.number, 7);
    end();
}

/* What was here when it was proved may be lost with the boot that has told it. */
Test(link_states, evidence_goes_with_the_boots_of_nodes_here)
{
    begin();
    pair->spy = watch_marks;
    say_joining(true);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    lose_marked = true;
    circle_stop(&pair->sides[US].circle, 2);
    circle_start(&pair->sides[US].circle, 2);
    site_pair_run(pair, 5 * SECOND);
    restart_teller(US);
    say_joining(true);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(tellers[US].nevidence, 0);
    lose_marked = false;
    site_pair_run(pair, 40 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    cr_assert(tellers[US].evidence.compared_here.takes_adds);
    end();
}

/* Fewer than R of the source's nodes promise nothing, and W of them had it. */
Test(link_states, nothing_is_proved_without_a_read_quorum_of_the_source)
{
    begin();
    circle_stop(&pair->sides[EU].circle, 2);
    circle_stop(&pair->sides[EU].circle, 3);
    say_joining(true);
    site_pair_run(pair, 10 * SECOND);
    cr_assert_eq(tellers[US].nevidence, 0);
    end();
}

static uint64_t loss_state;

/* A quarter of all that goes between the sites, once they have greeted. */
static bool lose_a_quarter(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    (void)to;
    loss_state = loss_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return frame->kind == FRAME_SITE_HELLO || loss_state >> 62 != 0;
}

/* In small steps: what was proved has to be so at that very moment. */
static void run_until_marked(enum site_state state)
{
    const struct site_evidence *evidence = &tellers[US].evidence;

    for (int steps = 0; evidence->marked.count == 0 ||
                        entry_of((struct site_set *)&evidence->marked, US)->state != state;
         steps++) {
        cr_assert_lt(steps, 20000, "nothing is proved");
        site_pair_run(pair, 10000);
    }
}

Test(link_states, what_is_proved_is_so_whatever_was_lost)
{
    static const unsigned nodes[] = {6, 12, 10, 14}; /* two of EU's, or all */
    uint64_t before[BATCH];
    uint64_t later[BATCH];

    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct site_filter eu;

        begin();
        memset(tellers[US].heard, 0, sizeof tellers[US].heard);
        loss_state = seed * UINT64_C(0x9e3779b97f4a7c15);
        pair->spy = lose_a_quarter;
        make_keys(seed, before);
        make_keys(seed + 100, later);
        site_pair_add(pair, EU, nodes[seed % 4], before, BATCH);
        say_joining(true);
        run_until_marked(SITE_JOINING);
        cr_assert_geq(replicas_with(before), 2);
        site_pair_run(pair, 20 * SECOND);
        cr_assert(tellers[US].evidence.compared_here.takes_adds);
        site_pair_add(pair, EU, nodes[(seed + 1) % 4], later, BATCH);
        eu = state_of(EU);
        eu.revision += 5;
        say(EU, &eu);
        run_until_marked(SITE_COUNTED);
        cr_assert_geq(replicas_with(later), 2);
        end();
    }
}

/* To one that was restarted, and to others that hear of it for the first time. */
Test(link_states, evidence_is_told_to_a_coordinator_that_counts_anew)
{
    begin();
    say_joining(true);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    restart_teller(US);
    site_pair_run(pair, 3 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    cr_assert_eq(tellers[US].evidence.compared.count, 2);
    end();
}

/* A third site is gone without having left: all that remain are compared once more, and not before
 * both have fenced that. */
Test(link_states, who_remains_is_copied_anew_after_a_removal)
{
    const struct site_entry gone = {
        .id = {900, 900}, .name = "asia", .life = {1, 1}, .state = SITE_GONE};
    struct site_filter eu;
    struct site_filter us;
    uint64_t copies;

    begin();
    site_pair_run(pair, 4 * SECOND);
    copies = site_pair_counter(pair, EU, "site_copies_total");
    eu = state_of(EU);
    us = state_of(US);
    cr_assert_eq(site_set_add(&us.document, &gone), STATUS_OK);
    us.document.settled = false;
    us.fenced = us.document;
    say(EU, &eu);
    say(US, &us);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(site_pair_counter(pair, EU, "site_copies_total"), copies);
    cr_assert_eq(tellers[US].evidence.compared.count, 0);
    eu.document = us.document;
    eu.document.own = EU;
    eu.fenced = eu.document;
    eu.revision++;
    say(EU, &eu);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(site_pair_counter(pair, EU, "site_copies_total"), 2 * copies);
    cr_assert_eq(tellers[US].evidence.compared.count, 3);
    cr_assert_eq(tellers[US].evidence.compared_here.count, 3);
    end();
}

/* The other site has fenced that first, and a mark of that is proved already: the copy takes one of
 * its own. */
Test(link_states, a_copy_is_proved_though_marks_were)
{
    const struct site_entry gone = {
        .id = {900, 900}, .name = "asia", .life = {1, 1}, .state = SITE_GONE};
    struct site_filter eu;
    struct site_filter us;

    begin();
    eu = state_of(EU);
    us = state_of(US);
    cr_assert_eq(site_set_add(&eu.document, &gone), STATUS_OK);
    eu.fenced = eu.document;
    us.document.says_absent = us.fenced.says_absent = false;
    say(EU, &eu);
    say(US, &us);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_eq(tellers[US].evidence.marked.count, 3);
    us.document = eu.document;
    us.document.own = US;
    us.document.settled = us.document.says_absent = false;
    us.fenced = us.document;
    us.revision++;
    say(US, &us);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_eq(tellers[US].evidence.compared_here.count, 3);
    end();
}

/* Where nothing is awaited nothing is proved. */
Test(link_states, settled_filters_have_no_evidence)
{
    struct site_filter states[2];

    begin();
    pair->spy = watch_marks;
    states[0] = state_of(EU);
    states[1] = state_of(US);
    say(EU, &states[0]);
    say(US, &states[1]);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(nmarks, 0);
    cr_assert_eq(tellers[US].nevidence, 0);
    end();
}
