/* Whether another site has what is acknowledged here: routers ask a link, that asks the links of
 * other sites. Two sites of real nodes with their links; "us" asks, "eu" confirms. */
#include "tests/unit/link_questions.h"

enum { KEYS = 5 };

TestSuite(link_confirms, .timeout = 120);

static uint64_t nasked;            /* of eu, by us */
static uint64_t number;            /* ... of the last one */
static uint64_t nanswers;          /* of eu */
static uint64_t nyes;              /* ... OK */
static struct site_confirmed said; /* ... the last one */
static uint64_t said_confirmed;    /* ... and the newest mark that counted then */
static uint64_t nmarks;            /* that eu has asked for */
static uint64_t lose_questions;
static uint64_t lose_answers;
static bool lose_marks;

static bool is_lost(uint64_t *left)
{
    bool lost = *left > 0;

    *left -= lost;
    return lost;
}

static struct inflow *inflow(void)
{
    struct inflow *one = inflow_find(pair->sides[EU].link, SITE_PAIR_FILTER, 0);

    cr_assert_not_null(one);
    return one;
}

static bool watch(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    if (frame->kind == FRAME_SITE_CONFIRM) {
        cr_assert_eq(to, EU);
        nasked++;
        number = frame->body.site_confirm.number;
        return !is_lost(&lose_questions);
    }
    if (frame->kind == FRAME_SITE_CONFIRMED) {
        cr_assert_eq(to, US);
        nanswers++;
        said = frame->body.site_confirmed;
        nyes += said.status == STATUS_OK;
        said_confirmed = said.status == STATUS_OK ? inflow()->marked.confirmed : 0;
        return !is_lost(&lose_answers);
    }
    if (frame->kind == FRAME_SITE_MARK && to == US) {
        nmarks++;
        return !lose_marks;
    }
    return true;
}

static void begin(void)
{
    begin_with(watch);
    pair->sides[EU].link->config.mark_interval_us = 60 * SECOND; /* Only those that are needed. */
}

static uint64_t ask(uint32_t wait_ms)
{
    return ask_for(&(struct site_age_request){
        .filter_id = SITE_PAIR_FILTER, .wait_ms = wait_ms, .confirms = true});
}

static void run_until_said(uint64_t by_hand, uint64_t limit_us)
{
    for (uint64_t us = 0; said.number != BY_HAND + by_hand; us += MS) {
        cr_assert_lt(us, limit_us, "nothing is said");
        site_pair_run(pair, MS);
    }
}

static void cut(bool is_cut)
{
    pair->cut[EU] = pair->cut[US] = is_cut;
}

static void add_keys(unsigned nodes, uint64_t keys[KEYS])
{
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = (last * KEYS + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    }
    site_pair_add(pair, US, nodes, keys, KEYS);
}

static uint64_t known_epoch(uint32_t site)
{
    return document_cache_find(router_documents(pair->sides[site].link->router), SITE_PAIR_FILTER)
        ->document.epoch;
}

static void run_until_known(uint32_t site)
{
    for (int steps = 0; known_epoch(site) != pair->sides[site].document.epoch; steps++) {
        cr_assert_lt(steps, 3000);
        site_pair_run(pair, MS);
    }
}

static void advance(uint32_t site)
{
    document_epoch_advance(&pair->sides[site].document);
    site_pair_hand(pair, site);
}

static void add_site(uint32_t where, enum site_state state)
{
    struct site_entry entry = {.id = sample_site_id(AP), .life = {1, 10 + AP}, .state = state};

    strcpy(entry.name, "ap");
    cr_assert_eq(site_set_add(pair->sides[where].document.content.sites, &entry), STATUS_OK);
    advance(where);
}

/* ---- what is confirmed ---- */

Test(link_confirms, what_was_acknowledged_is_there)
{
    begin();
    for (int i = 0; i < 5; i++) {
        uint64_t keys[KEYS];
        uint64_t question;
        const struct heard *one;

        add_keys(1U << (1 + i % 3) | 1U << (1 + (i + 1) % 3), keys);
        question = ask(5000);
        one = &heard[question];
        cr_assert_not(one->answered);
        run_until_answered(question, SECOND);
        cr_assert_geq(site_pair_copies(pair, EU, 0, keys, KEYS), 2);
        cr_assert_eq(one->reply.status, STATUS_OK);
        cr_assert(one->reply.confirms);
        cr_assert_eq(one->reply.filter_id, SITE_PAIR_FILTER);
        cr_assert_eq(one->reply.own_life.tag, 10 + US);
        cr_assert_eq(one->reply.nsites, 1);
        cr_assert_eq(one->sites[0].life.tag, 10 + EU);
        cr_assert(one->sites[0].known && one->sites[0].after);
        cr_assert_eq(one->sites[0].age_us, 0);
        site_pair_run(pair, 300 * MS);
    }
    cr_assert_eq(nmarks, 0, "ends go along with the questions");
    cr_assert_eq(site_pair_counter(pair, EU, "site_confirms_total"), 5);
    cr_assert_eq(us()->ages.nwaiting, 0);
    cr_assert_eq(pair->sides[EU].link->confirms.nwaiting, 0);
    end();
}

Test(link_confirms, a_mark_that_is_under_way_does_not_do)
{
    struct site_confirm first;
    struct site_confirm second;

    begin();
    first = question_of(1);
    second = question_of(2);
    hand(&first);
    site_pair_run(pair, 20 * MS);
    cr_assert_eq(nmarks, 1);
    hand(&second);
    run_until_said(1, SECOND);
    cr_assert_eq(said.status, STATUS_OK);
    cr_assert_eq(said_confirmed, 1);
    run_until_said(2, SECOND);
    cr_assert_eq(said.status, STATUS_OK);
    cr_assert_eq(said_confirmed, 2);
    end();
}

static bool lose_adds(struct circle *circle, struct circle_frame *frame, struct frame *decoded)
{
    (void)circle;
    return decoded->kind != FRAME_NODE_REQUEST || frame->to == 1 ||
           decoded->body.node_request.subrequests[0].operation != OPERATION_ADD;
}

/* One is not enough, though others may have heard it from that one. */
Test(link_confirms, not_before_enough_nodes_there_have_it)
{
    uint64_t keys[KEYS];
    uint64_t question;

    begin();
    pair->sides[EU].circle.spy = lose_adds;
    add_keys(6, keys);
    question = ask(10000);
    site_pair_run(pair, 4 * SECOND);
    cr_assert_not(heard[question].answered);
    cr_assert_eq(nyes, 0);
    pair->sides[EU].circle.spy = NULL;
    run_until_answered(question, 6 * SECOND);
    cr_assert(heard[question].sites[0].after);
    cr_assert_geq(site_pair_copies(pair, EU, 0, keys, KEYS), 2);
    end();
}

static bool lose_ends(struct circle *circle, struct circle_frame *frame, struct frame *decoded)
{
    (void)circle;
    (void)frame;
    return decoded->kind != FRAME_NODE_REQUEST ||
           decoded->body.node_request.subrequests[0].operation != OPERATION_ENDS;
}

/* Nodes there may have lost it, for all that is known. */
Test(link_confirms, not_before_nodes_there_have_told_their_boots)
{
    uint64_t question;

    begin();
    pair->sides[EU].circle.spy = lose_ends;
    question = ask(10000);
    site_pair_run(pair, 3 * SECOND);
    cr_assert_gt(inflow()->marked.applied, 0);
    cr_assert_not(heard[question].answered);
    pair->sides[EU].circle.spy = NULL;
    run_until_answered(question, 7 * SECOND);
    cr_assert(heard[question].sites[0].after);
    end();
}

/* ---- what is refused ---- */

Test(link_confirms, other_lives_and_sets_and_filters_are_refused_at_once)
{
    begin();
    for (uint64_t i = 1; i <= 7; i++) {
        struct site_confirm question = question_of(i);

        question.asker_life.number += i == 1;
        question.asker_life.tag += i == 2;
        question.other_life.number -= i == 3;
        question.other_life.tag += i == 4;
        question.set_hash += i == 5;
        question.uid.low += i == 6;
        hand(&question);
        cr_assert_eq(nanswers, i < 7 ? i : 6);
        cr_assert(i == 7 || said.number == BY_HAND + i);
        cr_assert(i == 7 || said.status == (i == 6 ? STATUS_NOT_FOUND : STATUS_STALE));
    }
    cr_assert_eq(site_pair_counter(pair, EU, "site_confirms_refused_total"), 6);
    run_until_said(7, SECOND);
    cr_assert_eq(said.status, STATUS_OK);
    end();
}

/* Eu counts a site that us has never heard of: us was put back. */
Test(link_confirms, who_lacks_a_site_of_the_set_is_not_confirmed)
{
    uint64_t question;

    begin();
    add_site(EU, SITE_COUNTED);
    run_until_known(EU);
    question = ask(2000);
    run_until_answered(question, 3 * SECOND);
    cr_assert_not(heard[question].sites[0].known || heard[question].sites[0].after);
    cr_assert_geq(nasked, 6, "it is asked again");
    cr_assert_eq(nyes, 0);
    cr_assert_eq(said.status, STATUS_STALE);
    question = ask(8000);
    add_site(US, SITE_COUNTED);
    run_until_answered(question, 8 * SECOND);
    cr_assert(heard[question].sites[0].after || heard[question].sites[1].after);
    end();
}

Test(link_confirms, with_another_document_a_question_that_waits_is_over)
{
    struct site_confirm question;

    begin();
    question = question_of(1);
    lose_marks = true;
    hand(&question);
    advance(EU);
    run_until_known(EU);
    cr_assert_eq(nanswers, 0);
    lose_marks = false;
    hand(&question); /* It is as a new one, and takes a new mark. */
    cr_assert_eq(nanswers, 0);
    run_until_said(1, 4 * SECOND);
    cr_assert_eq(said.status, STATUS_OK);

    question = question_of(2);
    lose_marks = true;
    hand(&question);
    advance(EU);
    run_until_known(EU);
    lose_marks = false;
    marked_want(inflow(), now() + SECOND, true);
    run_until_said(2, 4 * SECOND);
    cr_assert_eq(said.status, STATUS_STALE);
    end();
}

/* A stream that is begun anew is about the same, and what it knows is from then on. */
Test(link_confirms, a_question_waits_for_marks_of_what_is_begun_anew)
{
    struct site_confirm question;
    uint64_t tag;

    begin();
    question = question_of(1);
    hand(&question);
    tag = inflow()->marked.marks.tag;
    inflow()->own.doubted = true;
    site_pair_run(pair, 2 * MS);
    cr_assert_neq(inflow()->marked.marks.tag, tag);
    for (int i = 0; i < 20 && nanswers == 0; i++) {
        site_pair_run(pair, 200 * MS);
        hand(&question);
    }
    cr_assert_eq(said.number, BY_HAND + 1);
    cr_assert_eq(said.status, STATUS_OK);
    cr_assert_gt(said_confirmed, 0);
    end();
}

/* ---- frames that are lost ---- */

Test(link_confirms, questions_and_answers_may_get_lost)
{
    uint64_t question;

    begin();
    lose_questions = 2;
    lose_answers = 1;
    question = ask(5000);
    run_until_answered(question, 3 * SECOND);
    cr_assert(heard[question].sites[0].after);
    cr_assert_geq(nasked, 4);
    cr_assert_eq(nyes, 2);
    cr_assert_eq(said.number, number);
    end();
}

Test(link_confirms, a_question_that_comes_twice_is_one)
{
    struct site_confirm question;

    begin();
    question = question_of(1);
    hand(&question);
    hand(&question);
    site_pair_run(pair, 10 * MS);
    hand(&question);
    cr_assert_eq(pair->sides[EU].link->confirms.nwaiting, 1);
    run_until_said(1, SECOND);
    site_pair_run(pair, SECOND);
    cr_assert_eq(nmarks, 1);
    cr_assert_eq(nanswers, 1);
    end();
}

/* ---- when it is over ---- */

Test(link_confirms, after_its_time_a_question_is_answered_by_what_there_is)
{
    static const uint32_t waits[] = {0, 7, 907, 60000};

    begin();
    cut(true);
    for (int i = 0; i < 4; i++) {
        uint64_t at_us = now();
        uint64_t wait_us = (waits[i] < 10000 ? waits[i] : 10000) * MS;
        uint64_t question = ask(waits[i]);
        const struct heard *one = &heard[question];

        run_until_answered(question, 11 * SECOND);
        cr_assert_geq(one->at_us, at_us + wait_us);
        cr_assert_leq(one->at_us, at_us + wait_us + MS);
        cr_assert_eq(one->reply.status, STATUS_OK);
        cr_assert(one->reply.confirms);
        cr_assert_eq(one->reply.nsites, 1);
        cr_assert_not(one->sites[0].known || one->sites[0].after);
    }
    cr_assert_eq(us()->ages.nwaiting, 0);
    end();
}

Test(link_confirms, who_is_asked_says_when_it_is_too_late)
{
    begin();
    lose_marks = true;
    for (uint64_t i = 1; i <= 2; i++) {
        struct site_confirm question = question_of(i);
        uint64_t at_us = now();

        question.wait_ms = i == 1 ? 503 : 0;
        hand(&question);
        run_until_said(i, SECOND);
        cr_assert_eq(said.status, STATUS_DEADLINE);
        cr_assert_leq(now(), at_us + (question.wait_ms + 1) * MS);
        cr_assert_geq(now(), at_us + question.wait_ms * MS);
    }
    end();
}

Test(link_confirms, those_beyond_the_table_are_refused)
{
    struct site_confirm question;

    begin();
    lose_marks = true;
    for (uint64_t i = 1; i <= CONFIRMS_MAX_WAITING; i++) {
        question = question_of(i);
        hand(&question);
    }
    cr_assert_eq(nanswers, 0);
    question = question_of(CONFIRMS_MAX_WAITING + 1);
    hand(&question);
    cr_assert_eq(nanswers, 1);
    cr_assert_eq(said.status, STATUS_OVERLOADED);
    question = question_of(1);
    hand(&question);
    cr_assert_eq(nanswers, 1, "that one has its place");
    site_pair_run(pair, 6 * SECOND);
    cr_assert_eq(nanswers, CONFIRMS_MAX_WAITING + 1);
    cr_assert_eq(pair->sides[EU].link->confirms.nwaiting, 0);
    hand(&question);
    end(); /* One waits. */
}

Test(link_confirms, a_filter_that_is_not_in_sites_is_not_found)
{
    begin();
    (void)ask_for(&(struct site_age_request){.filter_id = 99, .wait_ms = 5000, .confirms = true});
    cr_assert(heard[last].answered);
    cr_assert_eq(heard[last].reply.status, STATUS_NOT_FOUND);
    cr_assert(heard[last].reply.confirms);
    end();
}

/* ---- who is waited for ---- */

Test(link_confirms, who_joins_or_leaves_is_not_waited_for)
{
    static const enum site_state states[] = {SITE_JOINING, SITE_LEAVING, SITE_GONE};
    struct site_set *set;

    begin();
    cut(true);
    set = pair->sides[US].document.content.sites;
    for (int i = 0; i < 3; i++) {
        const struct heard *one;

        set->entries[1 - set->own].state = states[i];
        advance(US);
        run_until_known(US);
        one = &heard[ask(5000)];
        cr_assert(one->answered);
        cr_assert_eq(one->reply.status, STATUS_OK);
        cr_assert_eq(one->reply.nsites, states[i] != SITE_GONE);
        cr_assert_not(one->sites[0].known);
    }
    end();
}

/* Ap counts and has a line here, and no link of it is there. */
static void add_silent_site(void)
{
    add_site(EU, SITE_COUNTED);
    add_site(US, SITE_COUNTED);
    us()->config.peers[1].id = sample_site_id(AP);
    us()->config.npeers = 2;
    run_until_known(EU);
    run_until_known(US);
    site_pair_run(pair, 2 * SECOND);
}

/* Nobody has vouched for the logs here, which no confirmation takes, with ends or by a mark. */
Test(link_confirms, a_mark_confirms_though_a_further_site_is_silent)
{
    struct site_confirm question;

    begin();
    add_silent_site();
    question = question_of(1);
    hand(&question);
    run_until_said(1, 5 * SECOND);
    cr_assert_eq(said.status, STATUS_OK);
    cr_assert_gt(nmarks, 0);
    end();
}

static uint32_t nconfirmed(const struct heard *one)
{
    uint32_t count = 0;

    for (size_t i = 0; i < one->reply.nsites; i++) {
        cr_assert_eq(one->sites[i].known, one->sites[i].after);
        count += one->sites[i].after;
    }
    return count;
}

Test(link_confirms, as_many_as_are_enough_are_waited_for)
{
    struct site_age_request request = {
        .filter_id = SITE_PAIR_FILTER, .wait_ms = 3000, .confirms = true};
    uint64_t at_us;

    begin();
    add_silent_site();
    for (request.enough = 0; request.enough < 3; request.enough++) {
        at_us = now();
        run_until_answered(ask_for(&request), 4 * SECOND);
        cr_assert_eq(heard[last].reply.nsites, 2);
        cr_assert_eq(nconfirmed(&heard[last]), 1);
        cr_assert_eq(heard[last].at_us < at_us + 3 * SECOND, request.enough == 1);
    }
    end();
}

Test(link_confirms, by_another_document_here_they_are_asked_anew)
{
    uint64_t question;
    uint64_t before;

    begin();
    add_silent_site();
    question = ask(10000);
    for (int i = 0; nyes == 0; i++) {
        cr_assert_lt(i, 1000);
        site_pair_run(pair, MS);
    }
    before = number;
    site_pair_run(pair, SECOND);
    cr_assert_eq(number, before);
    lose_questions = UINT64_MAX;
    advance(US);
    run_until_known(US);
    site_pair_run(pair, SECOND);
    cr_assert_neq(number, before);
    run_until_answered(question, 10 * SECOND);
    cr_assert_eq(nconfirmed(&heard[question]), 0, "what was confirmed was by another document");
    end();
}

/* Nobody has looked at the document since it came. */
Test(link_confirms, what_another_document_confirmed_is_not_told)
{
    struct age_question *waits;
    uint64_t question;

    begin();
    add_silent_site();
    question = ask(10000);
    site_pair_run(pair, SECOND);
    cr_assert_eq(nyes, 1);
    waits = TAILQ_FIRST(&us()->ages.waiting);
    waits->again_us = ACTOR_NEVER;
    advance(US);
    run_until_known(US);
    cr_assert_not(heard[question].answered);
    waits->until_us = us()->ages.due_us = now();
    run_until_answered(question, 2 * MS);
    cr_assert_eq(nconfirmed(&heard[question]), 0);
    end();
}

/* What the router has acknowledgements for may be nowhere. */
Test(link_confirms, a_loss_that_is_accepted_meanwhile_ends_it)
{
    uint64_t question;

    begin();
    add_silent_site();
    question = ask(10000);
    site_pair_run(pair, SECOND);
    cr_assert_eq(nyes, 1);
    TAILQ_FIRST(&us()->ages.waiting)->loss++; /* As if the next document had another one. */
    advance(US);
    run_until_answered(question, 3 * SECOND);
    cr_assert_eq(nconfirmed(&heard[question]), 0);
    cr_assert_eq(nasked, 1, "there is nothing left to ask for");
    end();
}

static enum status (*to_eu)(void *context, const struct peer *to, struct span bytes);

static enum status lose_to_second(void *context, const struct peer *to, struct span bytes)
{
    return to->id[0] == 2 ? STATUS_OK : to_eu(context, to, bytes);
}

/* A second link of eu, which is the one that is asked first; it hears nothing. */
static struct channel *add_deaf_link(void)
{
    const struct filter_uid *uid = &pair->sides[US].document.content.uid;
    struct channel *channel = &us()->channels[0];

    cr_assert_eq(channel->number, 0);
    to_eu = us()->outer.reply;
    us()->outer.reply = lose_to_second;
    *channel = (struct channel){.number = UINT64_MAX,
                                .strands[0].from = {.size = 1, .id = {2}, .user = 1},
                                .heard_us = now()};
    while (channel_for(us(), 0, uid) != channel) {
        channel->boot += UINT64_C(0x9e3779b97f4a7c15);
    }
    return channel;
}

Test(link_confirms, links_of_a_site_are_asked_by_turns)
{
    const struct filter_uid *uid;
    struct channel *deaf;
    uint64_t question;

    begin();
    uid = &pair->sides[US].document.content.uid;
    deaf = add_deaf_link();
    for (uint32_t turn = 0; turn < 5; turn++) {
        cr_assert_not_null(channel_in_turn(us(), 0, uid, turn));
        cr_assert_eq(channel_in_turn(us(), 0, uid, turn) == deaf, turn % 2 == 0);
    }
    question = ask(4000);
    run_until_answered(question, 2 * SECOND);
    cr_assert(heard[question].sites[0].after);
    *deaf = (struct channel){0};
    for (uint32_t turn = 0; turn < 5; turn++) {
        cr_assert_not_null(channel_in_turn(us(), 0, uid, turn));
    }
    end();
}

Test(link_confirms, a_site_whose_link_comes_meanwhile_is_asked_then)
{
    uint64_t question;

    begin();
    site_pair_link_stop(pair, EU);
    site_pair_run(pair, 6 * SECOND);
    question = ask(10000);
    site_pair_run(pair, SECOND);
    cr_assert_eq(nasked, 0);
    site_pair_link_start(pair, EU);
    run_until_answered(question, 9 * SECOND);
    cr_assert(heard[question].sites[0].after);
    end();
}
