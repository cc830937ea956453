/* What sites say of their filters, from coordinator to coordinator: two
 * sites of nodes with links, and coordinators that say what a test has them say. */
#include "tests/unit/link_tellers.h"

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
    set_state(&state, US, SITE_COUNTED); /* it has it, but may lose all that it has */
    say(EU, &state);
    site_pair_run(pair, 2 * SECOND);
    cr_assert_eq(secret_bytes, HASH_SECRET_BYTES);

    state.revision++;
    set_state(&state, US, SITE_LEAVING);
    tellers[US].has_secret[0] = false;
    say(EU, &state);
    site_pair_run(pair, 2 * SECOND);
    cr_assert_eq(secret_bytes, 0);
    cr_assert_not(tellers[US].has_secret[0]);
    end();
}
