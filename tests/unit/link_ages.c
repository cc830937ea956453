/* What a link tells routers of its site that ask how much of other sites' keys is here: two sites
 * of real nodes with their links. */
#include "tests/unit/link_questions.h"

TestSuite(link_ages, .timeout = 120);

static uint64_t nasked; /* marks that US has asked for */

static bool watch(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    nasked += to == EU && frame->kind == FRAME_SITE_MARK;
    return true;
}

static bool is_site(const struct site_age *age, uint32_t site)
{
    const struct site_id id = sample_site_id(site);

    return site_id_equal(&age->id, &id);
}

static struct inflow *inflow(void)
{
    struct inflow *one = inflow_find(us(), SITE_PAIR_FILTER, 0);

    cr_assert_not_null(one);
    return one;
}

static void begin(void)
{
    nasked = 0;
    begin_with(watch);
}

static uint64_t ask_about(uint64_t filter_id, uint32_t wait_ms)
{
    return ask_for(&(struct site_age_request){.filter_id = filter_id, .wait_ms = wait_ms});
}

static uint64_t ask(uint32_t wait_ms)
{
    return ask_about(SITE_PAIR_FILTER, wait_ms);
}

/* What is told at once of the only other site. */
static struct site_age tell(void)
{
    const struct heard *one = &heard[ask(0)];

    cr_assert(one->answered);
    cr_assert_eq(one->reply.status, STATUS_OK);
    cr_assert_eq(one->reply.nsites, 1);
    return one->sites[0];
}

static void cut(bool is_cut)
{
    pair->cut[EU] = pair->cut[US] = is_cut;
}

/* ---- at once ---- */

Test(link_ages, what_an_answer_is_about)
{
    const struct heard *one;

    begin();
    one = &heard[ask(0)];
    cr_assert(one->answered);
    cr_assert_eq(one->reply.status, STATUS_OK);
    cr_assert_eq(one->reply.filter_id, SITE_PAIR_FILTER);
    cr_assert_eq(one->reply.own_life.number, 1);
    cr_assert_eq(one->reply.own_life.tag, 10 + US);
    cr_assert_eq(one->reply.keyset, inflow()->keyset);
    cr_assert_eq(one->reply.nsites, 1);
    cr_assert(site_id_equal(&one->sites[0].id,
                            &(struct site_id){sample_site_id(EU).high, sample_site_id(EU).low}));
    cr_assert_eq(one->sites[0].life.number, 1);
    cr_assert_eq(one->sites[0].life.tag, 10 + EU);
    cr_assert_eq(site_pair_counter(pair, US, "site_ages_total"), 1);
    end();
}

Test(link_ages, nothing_is_known_before_a_mark_and_then_the_age_of_the_newest)
{
    begin();
    cr_assert_not(tell().known);
    site_pair_run(pair, SECOND);
    for (int i = 0; i < 10; i++) {
        struct site_age age = tell();

        cr_assert(age.known);
        cr_assert_not(age.after, "it was there before the question");
        cr_assert_eq(age.age_us, now() - inflow()->evidence.noted_us + 1);
        cr_assert_lt(age.age_us, SECOND);
        site_pair_run(pair, 2 * SECOND);
    }
    end();
}

Test(link_ages, marks_run_as_long_as_somebody_asks)
{
    uint64_t before;

    begin();
    site_pair_run(pair, SECOND);
    cr_assert_eq(nasked, 0);
    (void)ask(0);
    site_pair_run(pair, 10 * SECOND);
    cr_assert_geq(nasked, 10);
    cr_assert_leq(nasked, 14, "three seconds, each 250 ms");
    before = nasked;
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(nasked, before);
    end();
}

/* Those that run will do for whoever does not wait. */
Test(link_ages, a_question_that_does_not_wait_begins_no_mark_out_of_turn)
{
    begin();
    us()->config.mark_interval_us = 60 * SECOND;
    for (int i = 0; i < 20; i++) {
        (void)ask(0);
        site_pair_run(pair, 100 * MS);
    }
    cr_assert_eq(nasked, 1);
    (void)ask(100);
    site_pair_run(pair, 100 * MS);
    cr_assert_eq(nasked, 2);
    end();
}

Test(link_ages, the_age_grows_while_sites_are_cut)
{
    struct site_age before;
    struct site_age after;
    uint64_t at_us;

    begin();
    (void)ask(0);
    site_pair_run(pair, 2 * SECOND);
    cut(true);
    site_pair_run(pair, SECOND);
    before = tell();
    at_us = now();
    site_pair_run(pair, 7 * SECOND);
    after = tell();
    cr_assert(before.known && after.known);
    cr_assert_eq(after.age_us - before.age_us, now() - at_us);
    cut(false);
    site_pair_run(pair, 15 * SECOND);
    (void)tell();
    site_pair_run(pair, SECOND);
    cr_assert_lt(tell().age_us, SECOND);
    end();
}

static uint64_t later_clock(void *context)
{
    (void)context;
    return now() + 5 * SECOND;
}

/* An event's time may be from before the question came. */
Test(link_ages, the_age_is_told_by_the_time_of_the_answer)
{
    uint64_t at_us;

    begin();
    (void)ask(0);
    site_pair_run(pair, SECOND);
    us()->inner.clock_us = later_clock;
    at_us = inflow()->evidence.noted_us;
    cr_assert_eq(tell().age_us, now() + 5 * SECOND - at_us + 1);
    us()->inner.clock_us = NULL;
    end();
}

/* ---- what is not told ---- */

Test(link_ages, of_a_filter_that_is_not_in_sites_nothing_is_told)
{
    struct site_set *set;
    const struct heard *one;

    begin();
    one = &heard[ask_about(99, 0)];
    cr_assert(one->answered);
    cr_assert_eq(one->reply.status, STATUS_NOT_FOUND);
    cr_assert_eq(one->reply.filter_id, 99);
    cr_assert_eq(one->reply.nsites, 0);
    one = &heard[ask_about(99, 5000)];
    cr_assert(one->answered, "there is nothing to wait for");
    set = pair->sides[US].document.content.sites;
    set->entries[set->own].state = SITE_GONE;
    set->takes_adds = set->says_absent = false;
    document_epoch_advance(&pair->sides[US].document);
    site_pair_hand(pair, US);
    site_pair_run(pair, 4 * SECOND);
    one = &heard[ask(0)];
    cr_assert(one->answered);
    cr_assert_eq(one->reply.status, STATUS_NOT_FOUND);
    cr_assert_eq(one->reply.nsites, 0);
    end();
}

static void advance(void)
{
    for (uint32_t where = 0; where < 2; where++) {
        document_epoch_advance(&pair->sides[where].document);
        site_pair_hand(pair, where);
    }
}

/* Both know it. */
static void add_site(uint32_t site, enum site_state state)
{
    struct site_entry entry = {.id = sample_site_id(site), .life = {1, 10 + site}, .state = state};

    strcpy(entry.name, "ap");
    for (uint32_t where = 0; where < 2; where++) {
        cr_assert_eq(site_set_add(pair->sides[where].document.content.sites, &entry), STATUS_OK);
    }
    advance();
}

/* The links have no line with its key; so it tells them nothing of their sites either, which may
 * have been put back. */
Test(link_ages, of_a_site_that_nothing_comes_from_nothing_is_known)
{
    const struct heard *one;

    begin();
    add_site(AP, SITE_COUNTED);
    site_pair_run(pair, 4 * SECOND);
    one = &heard[ask(0)];
    cr_assert(one->answered);
    cr_assert_eq(one->reply.nsites, 2);
    for (size_t i = 0; i < 2; i++) {
        bool is_ap = is_site(&one->sites[i], AP);

        cr_assert_not(one->sites[i].known);
        cr_assert_eq(one->sites[i].life.tag, is_ap ? 10 + AP : 10 + EU);
    }
    end();
}

/* Who is gone is not told of. */
Test(link_ages, joining_and_leaving_sites_are_told_of_and_those_that_are_gone_are_not)
{
    static const enum site_state states[] = {SITE_JOINING, SITE_LEAVING, SITE_GONE};
    struct site_set *set;

    begin();
    set = pair->sides[US].document.content.sites;
    for (int i = 0; i < 3; i++) {
        const struct heard *one;

        set->entries[1 - set->own].state = states[i];
        document_epoch_advance(&pair->sides[US].document);
        site_pair_hand(pair, US);
        site_pair_run(pair, 4 * SECOND);
        one = &heard[ask(0)];
        cr_assert(one->answered);
        cr_assert_eq(one->reply.status, STATUS_OK);
        cr_assert_eq(one->reply.nsites, states[i] != SITE_GONE);
    }
    end();
}

static uint64_t known_epoch(void)
{
    return document_cache_find(router_documents(us()->router), SITE_PAIR_FILTER)->document.epoch;
}

/* From when the document is known, not only from the next look through all of them. */
Test(link_ages, marks_of_another_set_of_sites_do_not_count)
{
    begin();
    (void)ask(0);
    site_pair_run(pair, SECOND);
    cr_assert(tell().known);
    add_site(AP, SITE_GONE);
    for (int steps = 0; known_epoch() != pair->sides[US].document.epoch; steps++) {
        cr_assert_lt(steps, 3000);
        site_pair_run(pair, MS);
    }
    cr_assert_not(heard[ask(0)].sites[0].known);
    (void)ask(5000);
    run_until_answered(last, 3 * SECOND);
    cr_assert(heard[last].sites[0].known);
    end();
}

Test(link_ages, marks_of_other_lives_keysets_or_of_before_a_loss_do_not_count)
{
    struct inflow *one;

    begin();
    (void)ask(0);
    site_pair_run(pair, SECOND);
    one = inflow();
    cr_assert(tell().known);
    one->source_life.tag++;
    cr_assert_not(tell().known);
    one->source_life.tag--;
    one->own_life.number++;
    cr_assert_not(tell().known);
    one->own_life.number--;
    one->keyset++;
    cr_assert_not(tell().known);
    one->keyset--;
    one->loss_epoch = one->judged = 0; /* As if a document had just come that has one. */
    one->loss++;
    cr_assert_not(tell().known);
    one->loss--;
    cr_assert(tell().known);
    end();
}

static bool lose_ends(struct circle *circle, struct circle_frame *frame, struct frame *decoded)
{
    (void)circle;
    (void)frame;
    return decoded->kind != FRAME_NODE_REQUEST ||
           decoded->body.node_request.subrequests[0].operation != OPERATION_ENDS;
}

/* What it had may be lost; whoever waits hears of it once it has told that it is not. */
Test(link_ages, nothing_is_told_while_a_node_here_is_doubted)
{
    struct circle *circle;
    uint64_t question;

    begin();
    circle = &pair->sides[US].circle;
    (void)ask(0);
    site_pair_run(pair, 2 * SECOND);
    cr_assert(tell().known);
    circle->spy = lose_ends;
    circle_stop(circle, 2);
    circle_start(circle, 2);
    for (int steps = 0; !inflow()->own.suspect; steps++) {
        cr_assert_lt(steps, 100);
        site_pair_run(pair, 50 * MS);
    }
    cr_assert_not(tell().known);
    question = ask(10000);
    site_pair_run(pair, SECOND);
    cr_assert_not(heard[question].answered);
    circle->spy = NULL;
    run_until_answered(question, 9 * SECOND);
    cr_assert(heard[question].sites[0].known);
    cr_assert(heard[question].sites[0].after);
    end();
}

/* ---- waiting ---- */

Test(link_ages, a_question_that_waits_is_answered_by_a_mark_that_was_begun_after_it)
{
    begin();
    us()->config.mark_interval_us = 60 * SECOND;
    for (int i = 0; i < 5; i++) {
        uint64_t begun = marks_begun(&inflow()->marked.marks);
        uint64_t at_us = now();
        uint64_t question = ask(5000);
        const struct heard *one = &heard[question];

        cr_assert_not(one->answered);
        run_until_answered(question, SECOND);
        cr_assert(one->sites[0].known && one->sites[0].after);
        cr_assert_gt(one->confirmed, begun);
        cr_assert_leq(one->sites[0].age_us, one->at_us - at_us + 1);
        site_pair_run(pair, 300 * MS);
    }
    cr_assert_eq(nasked, 5);
    cr_assert_eq(us()->ages.nwaiting, 0);
    end();
}

/* What was acknowledged there since that one was begun may be missing. */
Test(link_ages, a_mark_that_is_under_way_does_not_do)
{
    uint64_t first;
    uint64_t second;

    begin();
    us()->config.mark_interval_us = 60 * SECOND;
    first = ask(5000);
    site_pair_run(pair, 20 * MS);
    cr_assert_eq(nasked, 1);
    cr_assert_eq(marks_begun(&inflow()->marked.marks), 1);
    second = ask(5000);
    run_until_answered(first, SECOND);
    cr_assert_eq(heard[first].confirmed, 1);
    cr_assert_not(heard[second].answered);
    run_until_answered(second, SECOND);
    cr_assert_eq(heard[second].confirmed, 2);
    cr_assert(heard[second].sites[0].after);
    end();
}

/* All that come in one turn share a mark, those behind a full pipe the next one. */
Test(link_ages, questions_share_marks)
{
    begin();
    us()->config.mark_interval_us = 60 * SECOND;
    for (int i = 0; i < 30; i++) {
        (void)ask(5000);
        (void)ask(5000);
        site_pair_run(pair, MS);
    }
    for (uint64_t i = 1; i <= last; i++) {
        run_until_answered(i, SECOND);
        cr_assert(heard[i].sites[0].after);
    }
    cr_assert_lt(nasked, 30);
    end();
}

Test(link_ages, after_its_time_a_question_is_answered_by_what_there_is)
{
    static const uint32_t waits[] = {7, 10000, 60000};

    begin();
    (void)ask(0);
    site_pair_run(pair, 2 * SECOND);
    cut(true);
    for (int i = 0; i < 3; i++) {
        uint64_t at_us = now();
        uint64_t wait_us = (waits[i] < 10000 ? waits[i] : 10000) * MS;
        uint64_t question = ask(waits[i]);
        const struct heard *one = &heard[question];

        cr_assert_leq(inner()->next_us(inner()->self), at_us + wait_us);
        run_until_answered(question, 11 * SECOND);
        cr_assert_geq(one->at_us, at_us + wait_us);
        cr_assert_leq(one->at_us, at_us + wait_us + MS);
        cr_assert(one->sites[0].known);
        cr_assert_not(one->sites[0].after);
        cr_assert_gt(one->sites[0].age_us, wait_us);
        cr_assert_gt(inner()->next_us(inner()->self), now());
    }
    cr_assert_eq(us()->ages.nwaiting, 0);
    end();
}

Test(link_ages, each_question_is_answered_at_its_time)
{
    uint64_t at_us;
    uint64_t late;
    uint64_t early;

    begin();
    cut(true);
    at_us = now();
    late = ask(907);
    early = ask(503);
    run_until_answered(early, SECOND);
    cr_assert_lt(heard[early].at_us, at_us + 600 * MS);
    cr_assert_not(heard[late].answered);
    cr_assert_leq(inner()->next_us(inner()->self), at_us + 907 * MS);
    run_until_answered(late, SECOND);
    cr_assert_geq(heard[late].at_us, at_us + 907 * MS);
    cr_assert_lt(heard[late].at_us, at_us + 910 * MS);
    end();
}

/* Plain checks find all of it, but its source may be put back behind it unnoticed, or nodes here
 * may have lost it. */
Test(link_ages, a_mark_that_is_not_confirmed_does_not_do)
{
    uint64_t question;
    uint64_t at_us;

    begin();
    (void)ask(0);
    site_pair_run(pair, 2 * SECOND);
    pair->sides[US].circle.spy = lose_ends;
    at_us = now();
    question = ask(10000);
    (void)ask(2000);
    site_pair_run(pair, 3 * SECOND);
    cr_assert_gt(inflow()->evidence.marked_us, at_us);
    cr_assert_not(heard[question].answered);
    cr_assert(heard[last].sites[0].known);
    cr_assert_not(heard[last].sites[0].after);
    cr_assert_geq(tell().age_us, 3 * SECOND);
    pair->sides[US].circle.spy = NULL;
    run_until_answered(question, 7 * SECOND);
    cr_assert(heard[question].sites[0].after);
    cr_assert_gt(inflow()->evidence.noted_us, at_us);
    end();
}

/* An inflow that is begun anew counts its marks from 1. */
Test(link_ages, a_question_waits_for_marks_of_what_is_begun_anew)
{
    uint64_t question;
    uint64_t tag;

    begin();
    (void)ask(5000);
    site_pair_run(pair, 2 * SECOND);
    cr_assert_gt(marks_begun(&inflow()->marked.marks), 3);
    question = ask(10000);
    tag = inflow()->marked.marks.tag;
    inflow()->own.doubted = true;
    site_pair_run(pair, 2 * MS);
    cr_assert_neq(inflow()->marked.marks.tag, tag);
    us()->config.mark_interval_us = 60 * SECOND;
    run_until_answered(question, 9 * SECOND);
    cr_assert(heard[question].sites[0].after);
    cr_assert_leq(heard[question].confirmed, 2);
    end();
}

Test(link_ages, those_beyond_the_table_do_not_wait)
{
    begin();
    (void)ask(0);
    site_pair_run(pair, SECOND);
    cut(true);
    for (int i = 0; i < AGES_MAX_WAITING; i++) {
        cr_assert_not(heard[ask(1000)].answered);
    }
    cr_assert_eq(us()->ages.nwaiting, AGES_MAX_WAITING);
    cr_assert(heard[ask(1000)].answered);
    cr_assert(heard[last].sites[0].known);
    cr_assert_not(heard[last].sites[0].after);
    site_pair_run(pair, SECOND + MS);
    for (uint64_t i = 1; i <= last; i++) {
        cr_assert(heard[i].answered);
    }
    cr_assert_eq(us()->ages.nwaiting, 0);
    cr_assert_not(heard[ask(1000)].answered, "there is room again");
    end(); /* One waits. */
}

/* A mark of one filter is no news for who waits for another. */
Test(link_ages, marks_of_other_filters_wake_nobody)
{
    begin();
    cut(true);
    (void)ask(5000);
    ages_marked(us(), SITE_PAIR_FILTER + 1);
    cr_assert_not(us()->ages.news);
    ages_marked(us(), SITE_PAIR_FILTER);
    cr_assert(us()->ages.news);
    site_pair_run(pair, MS);
    cr_assert_not(us()->ages.news);
    cr_assert_not(heard[last].answered);
    end();
}
