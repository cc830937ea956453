/* Checks of a filter in several sites that are bounded: what a router asks links, when it holds a
 * check back, and what it tells at the deadline. */
#include "map/history/rebuild.h"
#include "router/private.h"
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { KEYS = 3, ALL = (1 << KEYS) - 1, SECOND = 1000000, OWN = 0, OTHER = 1 };

#define NO_BOUND 0u
#define FRESH    1u
#define BOUND(s) ((s)*UINT64_C(1000000) + 1)

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static const struct link_place links[] = {{"tcp://link-1:7420", false},
                                          {"tcp://link-2:7420", true}};
static struct router_stage stage;

/* A newer document, of which the router has heard. */
static void edit(void)
{
    document_epoch_advance(&stage.document);
    router_stage_sync(&stage, stage.sync, true);
}

static void open_stage(enum when_unavailable when_unavailable, uint64_t bound, size_t nlinks)
{
    router_stage_init(&stage, &rule, 3, when_unavailable);
    stage.document.durability = DURABILITY_SYNC;
    stage.document.max_staleness = bound;
    stage.links = links;
    stage.nlinks = nlinks;
    sample_sites(OWN, &stage.document);
    edit();
}

static void send(uint64_t own)
{
    struct client_request request = router_stage_request(OPERATION_CHECK, 1, KEYS);

    request.max_staleness = own;
    router_stage_send(&stage, 1, &request);
}

/* Two nodes are asked; they answer like that. */
static void vote(const char *letters)
{
    size_t at = 0;

    for (uint32_t node = 1; node <= 3 && at < 2; node++) {
        if (router_stage_asked(&stage, node) != NULL) {
            router_stage_vote(&stage, node, letters[at++]);
        }
    }
    cr_assert_eq(at, 2, "%zu asked", at);
}

/* All that are asked answer, also questions of before. */
static void vote_all(char letter)
{
    for (uint32_t node = 1; node <= 3; node++) {
        while (router_stage_asked(&stage, node) != NULL) {
            router_stage_vote(&stage, node, letter);
        }
    }
}

static void expect(enum status status, uint64_t present, uint64_t absent)
{
    struct router_told told = router_stage_told(&stage);

    cr_assert_eq(told.status, status, "%s: %s", status_code(told.status), told.message);
    cr_assert_eq(told.present, present);
    cr_assert_eq(told.absent, absent);
}

static void expect_behind(const char *word)
{
    struct router_told told = router_stage_told(&stage);

    cr_assert_eq(told.status, STATUS_BEHIND, "%s: %s", status_code(told.status), told.message);
    cr_assert_eq(told.present | told.absent, 0);
    cr_assert_not_null(strstr(told.message, word), "%s", told.message);
}

static bool paused; /* the other site */

/* Of the last question. */
static void tell(bool known, bool after, uint64_t age_us)
{
    const struct site_set *set = document_sites(&stage.document);
    struct site_age site = {.known = known, .after = after, .age_us = age_us, .paused = paused};
    struct site_age_reply reply = {.filter_id = ROUTER_STAGE_FILTER,
                                   .keyset = rebuild_serving(&stage.document),
                                   .own_life = site_set_own(set)->life,
                                   .sites = &site,
                                   .nsites = 1};

    for (uint32_t i = 0; i < set->count; i++) {
        if (i != set->own) {
            site.id = set->entries[i].id;
            site.life = set->entries[i].life;
        }
    }
    cr_assert_gt(stage.nages, 0);
    router_stage_age_answer(&stage, stage.nages - 1, &reply);
}

Test(router_bounds, without_a_bound_nobody_is_asked)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, NO_BOUND, 1);
    send(NO_BOUND);
    vote("aa");
    expect(STATUS_OK, 0, ALL);
    cr_assert_eq(stage.nages, 0);
    router_stage_fini(&stage);
}

Test(router_bounds, what_is_present_waits_for_nobody)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, BOUND(5), 1);
    send(NO_BOUND);
    vote("pp");
    expect(STATUS_OK, ALL, 0);
    router_stage_fini(&stage);
}

/* Votes that were asked for before the proof may lack what it speaks of. */
Test(router_bounds, absent_takes_votes_that_were_asked_for_after_the_proof)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, BOUND(5), 1);
    send(NO_BOUND);
    cr_assert_eq(stage.nages, 1);
    cr_assert_eq(stage.ages[0].request.filter_id, ROUTER_STAGE_FILTER);
    cr_assert_eq(stage.ages[0].request.wait_ms, 0);
    vote("aa");
    cr_assert_eq(stage.ntold, 0);
    tell(true, false, SECOND);
    vote("aa");
    expect(STATUS_OK, 0, ALL);

    /* The proof comes first, the votes then: they were asked for before it all the same. */
    router_stage_pass(&stage, 10 * SECOND);
    send(NO_BOUND);
    tell(true, false, SECOND);
    cr_assert_eq(stage.ntold, 0);
    vote("aa");
    cr_assert_eq(stage.ntold, 0);
    vote("ap");
    router_stage_pass(&stage, ROUTER_STAGE_HEDGE_US);
    router_stage_vote(&stage,
                      router_stage_asked(&stage, 1) != NULL   ? 1
                      : router_stage_asked(&stage, 2) != NULL ? 2
                                                              : 3,
                      'p');
    expect(STATUS_OK, ALL, 0);
    cr_assert_eq(router_stage_counter(&stage, "checks_again_total"), 2);
    router_stage_fini(&stage);
}

Test(router_bounds, what_was_told_serves_until_the_bound_is_over)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, BOUND(5), 1);
    send(NO_BOUND);
    tell(true, false, 100000);
    vote("aa");
    vote("aa");
    expect(STATUS_OK, 0, ALL);
    send(NO_BOUND);
    vote("aa");
    expect(STATUS_OK, 0, ALL);
    cr_assert_eq(stage.nages, 1, "it is recent enough");
    router_stage_pass(&stage, 3 * SECOND);
    send(NO_BOUND);
    vote("aa");
    expect(STATUS_OK, 0, ALL);
    cr_assert_eq(stage.nages, 2, "most of the bound is used up, so a newer mark is asked for");
    router_stage_pass(&stage, 2 * SECOND);
    send(NO_BOUND);
    vote("aa");
    cr_assert_eq(stage.ntold, 0);
    router_stage_pass(&stage, 6 * SECOND);
    expect_behind(sample_site_name(OTHER));
    router_stage_fini(&stage);
}

/* The stricter one of both counts. */
Test(router_bounds, a_check_may_ask_for_more_and_never_for_less)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, BOUND(5), 1);
    send(NO_BOUND);
    tell(true, false, 3 * SECOND);
    vote("aa");
    vote("aa");
    expect(STATUS_OK, 0, ALL);
    send(BOUND(100));
    vote("aa");
    expect(STATUS_OK, 0, ALL);
    send(BOUND(2));
    vote("aa");
    cr_assert_eq(stage.ntold, 0);
    router_stage_pass(&stage, 6 * SECOND);
    expect_behind("the bound is 2 s");
    send(BOUND(100));
    vote("aa");
    cr_assert_eq(stage.ntold, 0, "9 s are too much for the filter");
    router_stage_fini(&stage);
}

Test(router_bounds, a_fresh_check_takes_a_mark_that_began_after_it)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, NO_BOUND, 1);
    send(FRESH);
    cr_assert_eq(stage.nages, 1);
    cr_assert_gt(stage.ages[0].request.wait_ms, 0);
    vote("aa");
    tell(true, false, 0);
    cr_assert_eq(stage.ntold, 0, "its age is no proof");
    router_stage_pass(&stage, 100000);
    cr_assert_eq(stage.nages, 2);
    tell(true, true, 0);
    vote("aa");
    expect(STATUS_OK, 0, ALL);
    router_stage_fini(&stage);
}

/* What is answered to a question that was sent before a check came says nothing about it. */
Test(router_bounds, a_fresh_check_waits_for_a_question_of_its_own)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, NO_BOUND, 1);
    send(FRESH);
    vote("aa");
    router_stage_pass(&stage, 30000);
    send(FRESH);
    vote("aa");
    cr_assert_eq(stage.nages, 2);
    stage.nages = 1;
    tell(true, true, 0);
    vote("aa");
    expect(STATUS_OK, 0, ALL);
    cr_assert_eq(router_stage_open(&stage), 0, "the second one still waits");
    stage.nages = 2;
    tell(true, true, 0);
    vote("aa");
    expect(STATUS_OK, 0, ALL);
    router_stage_fini(&stage);
}

Test(router_bounds, at_its_deadline_it_is_told_who_is_behind_and_how_far)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, BOUND(5), 1);
    send(NO_BOUND);
    vote("aa");
    tell(true, false, 14200000);
    router_stage_pass(&stage, 6 * SECOND);
    expect_behind(" 14.2s:");
    cr_assert_eq(router_stage_counter(&stage, "checks_behind_total"), KEYS);
    send(NO_BOUND);
    vote("aa");
    router_stage_pass(&stage, 6 * SECOND);
    expect_behind(sample_site_name(OTHER));
    router_stage_fini(&stage);
}

/* Until a link tells otherwise. */
Test(router_bounds, that_the_site_is_paused_is_told)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, BOUND(5), 1);
    for (int round = 0; round < 2; round++) {
        paused = round == 0;
        send(NO_BOUND);
        vote("aa");
        tell(true, false, 14200000);
        router_stage_pass(&stage, 6 * SECOND);
        expect_behind(paused ? "5 s; it is paused by an operator, see `orbloom site urls`"
                             : "5 s; retry, see `orbloom site urls`");
    }
    router_stage_fini(&stage);
    paused = true;
    open_stage(WHEN_UNAVAILABLE_ERROR, BOUND(5), 1);
    send(NO_BOUND);
    vote("aa");
    tell(false, false, 0);
    router_stage_pass(&stage, 6 * SECOND);
    expect_behind("no link of this site knows how far its keys are here; it is paused");
    paused = false;
    router_stage_fini(&stage);
}

Test(router_bounds, without_a_link_nothing_is_proved)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, BOUND(5), 0);
    send(NO_BOUND);
    vote("aa");
    router_stage_pass(&stage, 6 * SECOND);
    cr_assert_eq(stage.nages, 0);
    expect_behind("no link of this site knows");
    router_stage_fini(&stage);
}

/* It is asked once it is connected, well before an answer would be given up. */
Test(router_bounds, a_link_that_is_not_connected_yet_is_asked_soon)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, BOUND(5), 1);
    stage.fake.deaf = true;
    send(NO_BOUND);
    cr_assert_eq(stage.nages, 0);
    router_stage_pass(&stage, 500000);
    stage.fake.deaf = false;
    router_stage_pass(&stage, 200000);
    cr_assert_eq(stage.nages, 1);
    router_stage_fini(&stage);
}

/* It may have been killed; the other one is asked well before the deadline. */
Test(router_bounds, a_link_that_is_silent_gives_way_to_the_next)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, BOUND(5), 2);
    send(NO_BOUND);
    vote("aa");
    router_stage_pass(&stage, SECOND);
    cr_assert_geq(stage.nages, 2);
    cr_assert_neq(stage.ages[0].link, stage.ages[1].link);
    cr_assert_str_eq(stage.fake.endpoints[stage.ages[0].link - 1], "tcp://link-1:7420");
    cr_assert_str_eq(stage.fake.endpoints[stage.ages[1].link - 1], "curve://link-2:7420");
    stage.nages = 2;
    tell(true, false, 0);
    vote("aa");
    expect(STATUS_OK, 0, ALL);
    router_stage_fini(&stage);
}

/* However many come, and each asks anew: of a link that does not answer the first question tells.
 */
Test(router_bounds, fresh_checks_that_keep_coming_find_the_link_that_answers)
{
    size_t answered = 0;

    open_stage(WHEN_UNAVAILABLE_ERROR, NO_BOUND, 2);
    for (unsigned i = 0; i < 20; i++) {
        size_t before = stage.nages;

        send(FRESH);
        vote_all('a');
        router_stage_pass(&stage, 300000);
        for (size_t asked = before; asked < stage.nages; asked++) {
            if (strcmp(stage.fake.endpoints[stage.ages[asked].link - 1], "curve://link-2:7420") ==
                0) {
                size_t all = stage.nages;

                stage.nages = asked + 1;
                tell(true, true, 0);
                stage.nages = all;
                vote_all('a');
                answered++;
            }
        }
    }
    cr_assert_geq(answered, 5);
    cr_assert_geq(stage.ntold, 15);
    router_stage_fini(&stage);
}

static void on_ends(void *owner, const struct router_ends_told *told)
{
    (void)owner;
    (void)told;
}

/* A link's own router asks nodes where their logs end for each mark that it gives. If that wanted
 * marks of others in turn, there would be no end of them. */
Test(router_bounds, only_checks_ask_links)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, BOUND(5), 1);
    router_ends(stage.router, stage.now_us,
                &(struct router_ends){.filter_id = ROUTER_STAGE_FILTER,
                                      .timeout_ms = 5000,
                                      .done = on_ends,
                                      .owner = &stage});
    stage.actor.turn(stage.actor.self, stage.now_us);
    router_stage_pass(&stage, SECOND);
    cr_assert_eq(stage.nages, 0);
    router_stage_fini(&stage);
}

/* A few questions while it lasts, not as many as there is time for. */
Test(router_bounds, a_check_that_waits_does_not_flood_links)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, BOUND(5), 2);
    send(NO_BOUND);
    vote("aa");
    router_stage_pass(&stage, 6 * SECOND);
    expect_behind(sample_site_name(OTHER));
    cr_assert_leq(stage.nages, 20);
    router_stage_fini(&stage);
}

/* One that answers at once, and knows nothing, is not asked as fast as it answers. */
Test(router_bounds, a_link_that_knows_nothing_is_asked_now_and_then)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, BOUND(5), 1);
    send(NO_BOUND);
    vote("aa");
    for (unsigned i = 0; i < 200; i++) {
        tell(false, false, 0);
        router_stage_pass(&stage, 2500);
    }
    cr_assert_leq(stage.nages, 26, "each 20 ms");
    cr_assert_geq(stage.nages, 10);
    router_stage_fini(&stage);
}

Test(router_bounds, where_it_fails_open_a_bound_is_maybe_at_once)
{
    open_stage(WHEN_UNAVAILABLE_MAYBE, BOUND(5), 1);
    send(NO_BOUND);
    vote("aa");
    expect(STATUS_OK, ALL, ALL);
    tell(true, false, 0);
    send(NO_BOUND);
    vote("aa");
    expect(STATUS_OK, 0, ALL);
    send(FRESH);
    vote("aa");
    router_stage_pass(&stage, 30000);
    cr_assert_eq(stage.ntold, 0, "what is asked for can't be known yet");
    tell(true, true, 0);
    vote("aa");
    expect(STATUS_OK, 0, ALL);
    router_stage_fini(&stage);
}

/* Then no mark helps: they are told at once. */
Test(router_bounds, a_site_that_can_prove_nothing_says_so_at_once)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, BOUND(5), 1);
    stage.document.content.sites->settled = false;
    edit();
    send(NO_BOUND);
    vote("aa");
    expect_behind("is not compared yet");
    stage.document.content.sites->says_absent = false;
    edit();
    send(NO_BOUND);
    vote("aa");
    expect_behind("still being filled");
    router_stage_fini(&stage);
}

Test(router_bounds, one_that_waits_begins_anew_under_a_newer_document)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, BOUND(5), 1);
    send(NO_BOUND);
    vote("aa");
    edit();
    router_stage_pass(&stage, 50000);
    cr_assert_eq(stage.ntold, 0);
    vote("pp");
    expect(STATUS_OK, ALL, 0);
    router_stage_fini(&stage);
}

/* The document that it began under did not know of sites, and nodes do: what another site has
 * acknowledged long before may not be here. */
Test(router_bounds, one_that_began_before_there_were_sites_keeps_its_bound)
{
    static const uint64_t bounds[] = {BOUND(5), FRESH};

    for (unsigned i = 0; i < 2; i++) {
        router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
        stage.document.durability = DURABILITY_SYNC;
        stage.links = links;
        stage.nlinks = 1;
        edit();
        send(bounds[i]);
        sample_sites(OWN, &stage.document);
        edit();
        vote_all('a');
        cr_assert_eq(stage.ntold, 0);
        router_stage_pass(&stage, 30000);
        tell(true, true, 0);
        vote_all('a');
        expect(STATUS_OK, 0, ALL);
        router_stage_fini(&stage);
    }
}

/* What is told of another life, or of a site that is not in the set, proves nothing. */
Test(router_bounds, another_life_proves_nothing)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, BOUND(5), 1);
    send(NO_BOUND);
    vote("aa");
    stage.document.content.sites->entries[1].life.number++;
    stage.document.content.sites->entries[0].life.number++;
    tell(true, true, 0);
    cr_assert_eq(stage.ntold, 0);
    cr_assert_eq(router_stage_open(&stage), 0);
    router_stage_pass(&stage, 6 * SECOND);
    expect_behind(sample_site_name(OTHER));
    router_stage_fini(&stage);
}
