/* Whose evidence coordinators are told when there is more of it than goes with one question. */
#include "base/heap.h"
#include "link/private.h"
#include "link/received/evidence.h"
#include "link/states.h"

#include <criterion/criterion.h>
#include <string.h>

enum { SECOND = 1000000, FILTERS = 40, EU = 0 };

static struct link *link;
static struct inflow *inflows;
static unsigned told[FILTERS];

static const struct site_set both = {
    .entries = {{{1, 1}, "eu", {1, 1}, SITE_COUNTED, false, 0},
                {{2, 2}, "us", {1, 2}, SITE_COUNTED, false, 0}},
    .count = 2,
    .takes_adds = true,
    .settled = true,
};

/* Each waits to say "absent", for marks. */
static struct site_filter state_of(uint64_t number, uint32_t own)
{
    struct site_filter state = {
        .uid = {number, 7},
        .filter = "urls",
        .site = both.entries[own].id,
        .revision = 1,
        .document = both,
        .is_fenced = true,
        .hash = HASH_SIPHASH24,
        .keyset = 1,
        .rate = 0.01,
        .capacity = 1,
        .max_capacity = 1,
        .rule = {3, 2, 2},
        .durability = DURABILITY_SYNC,
        .when_unavailable = WHEN_UNAVAILABLE_ERROR,
        .sealed_secret = span_text(""),
    };

    state.document.own = own;
    state.fenced = state.document;
    return state;
}

/* What both sites say of it is known, and it is received. */
static void receive(unsigned i)
{
    const struct channel channel = {.peer = EU};
    const struct site_filter there = state_of(i + 1, 0);
    const struct site_filter here = state_of(i + 1, 1);
    const struct site_filters said = {.states = &there, .nstates = 1};
    const struct sync_reply reply = {.states = &here, .nstates = 1};

    states_on_filters(link, SECOND, &channel, &said);
    states_answered(link, SECOND, &reply, false);
    inflows[i] = (struct inflow){
        .filter_id = i + 1,
        .uid = there.uid,
        .peer = EU,
        .source_life = both.entries[0].life,
        .own_life = both.entries[1].life,
    };
    TAILQ_INSERT_TAIL(&link->inflows, &inflows[i], link);
}

static void begin(void)
{
    link = heap_zalloc(1, sizeof *link);
    inflows = heap_zalloc(FILTERS, sizeof *inflows);
    cr_assert(link != NULL && inflows != NULL);
    cr_assert_eq(states_create(&link->states), STATUS_OK);
    TAILQ_INIT(&link->inflows);
    link->config.id = both.entries[1].id;
    link->config.npeers = 1;
    link->config.peers[EU].id = both.entries[0].id;
    memset(told, 0, sizeof told);
    for (unsigned i = 0; i < FILTERS; i++) {
        receive(i);
    }
    evidence_tick(link, 2 * SECOND);
    for (unsigned i = 0; i < FILTERS; i++) {
        inflows[i].evidence.noted_us = inflows[i].evidence.known_us = 3 * SECOND;
    }
    evidence_turn(link, 4 * SECOND);
    cr_assert(evidence_has_news(link));
}

static void forget(unsigned i)
{
    evidence_free(link, &inflows[i]);
    TAILQ_REMOVE(&link->inflows, &inflows[i], link);
}

static void end(void)
{
    while (!TAILQ_EMPTY(&link->inflows)) {
        forget((unsigned)(TAILQ_FIRST(&link->inflows) - inflows));
    }
    cr_assert_eq(link->nproofs, 0);
    states_destroy(&link->states);
    heap_free(link->evidence_page);
    heap_free(inflows);
    heap_free(link);
}

TestSuite(link_evidence, .init = begin, .fini = end);

/* A question that is answered; returns how many were told with it. */
static size_t ask(uint64_t now_us)
{
    struct sync_request request = {0};

    evidence_fill(link, &request);
    for (size_t i = 0; i < request.nevidence; i++) {
        cr_assert_eq(request.evidence[i].marked.count, 2);
        told[request.evidence[i].uid.high - 1]++;
    }
    evidence_heard(link, now_us);
    return request.nevidence;
}

static void expect_told(unsigned from, unsigned to, unsigned times)
{
    for (unsigned i = from; i < to; i++) {
        cr_assert_eq(told[i], times, "filter %u: %u times", i, told[i]);
    }
}

Test(link_evidence, all_are_told_a_page_a_question)
{
    cr_assert_eq(ask(5 * SECOND), 32);
    cr_assert(evidence_has_news(link));
    cr_assert_eq(ask(5 * SECOND), 8);
    cr_assert_not(evidence_has_news(link));
    expect_told(0, FILTERS, 1);
    cr_assert_eq(ask(5 * SECOND), 0);
}

/* The first ones are to be told again before the last ones were told. */
Test(link_evidence, nobody_at_the_end_is_left_out)
{
    cr_assert_eq(ask(5 * SECOND), 32);
    evidence_tick(link, 60 * SECOND);
    cr_assert_eq(ask(60 * SECOND), 32);
    expect_told(0, 24, 2);
    expect_told(24, FILTERS, 1);
    evidence_tick(link, 120 * SECOND);
    cr_assert_eq(ask(120 * SECOND), 32);
    expect_told(16, 24, 2);
    expect_told(24, FILTERS, 2);
    expect_told(0, 16, 3);
}

Test(link_evidence, it_goes_on_though_the_last_one_is_gone)
{
    cr_assert_eq(ask(5 * SECOND), 32);
    forget(31);
    forget(30);
    evidence_tick(link, 60 * SECOND);
    cr_assert_eq(ask(60 * SECOND), 32);
    expect_told(32, FILTERS, 1);
    for (unsigned i = 0; i < FILTERS; i++) {
        if (i != 30 && i != 31) {
            forget(i);
        }
    }
    cr_assert_null(link->evidence_last);
    cr_assert_eq(ask(70 * SECOND), 0);
}

/* Both have a part of what a question carries. */
Test(link_evidence, it_is_told_beside_many_sites_that_were_put_back)
{
    enum { PAGE = 32 };
    struct put_back *lost = heap_zalloc(FILTERS, sizeof *lost);
    struct sync_request request = {0};
    size_t put_backs = 0;

    cr_assert_not_null(lost);
    link->put_backs = (struct put_backs){
        .items = lost, .count = FILTERS, .room = FILTERS, .nlive = FILTERS, .news = true};
    evidence_fill(link, &request);
    cr_assert_leq(request.nevidence, PAGE);
    for (size_t i = 0; i < request.nevidence; i++) {
        put_backs += request.evidence[i].put_back;
    }
    cr_assert(put_backs > 0 && put_backs < request.nevidence);
    heap_free(lost);
}
