/* Adds that other sites are to have: when a router asks links, what counts as confirmed, and what a
 * client is told where it is not. */
#include "map/acks.h"
#include "map/history/rebuild.h"
#include "router/private.h"
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { KEYS = 3, ALL = (1 << KEYS) - 1, SECOND = 1000000, OWN = 0, OTHER = 1, THIRD = 2 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static const struct link_place links[] = {{"tcp://link-1:7420", false}};
static const char *const names[] = {"eu", "us", "ap"};
static struct router_stage stage;

/* A newer document, of which the router has heard. */
static void edit(void)
{
    document_epoch_advance(&stage.document);
    router_stage_sync(&stage, stage.sync, true);
}

static void open_stage(uint32_t acks)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    stage.document.durability = DURABILITY_SYNC;
    stage.document.acks = acks;
    stage.links = links;
    stage.nlinks = 1;
    sample_sites(OWN, &stage.document);
    edit();
}

static struct site_entry *entry_of(uint32_t site)
{
    struct site_set *set = stage.document.content.sites;
    struct site_entry *found = NULL;

    for (uint32_t i = 0; i < set->count; i++) {
        if (strcmp(set->entries[i].name, names[site]) == 0) {
            found = &set->entries[i];
        }
    }
    cr_assert_not_null(found);
    return found;
}

/* The router has not heard of it. */
static void take_third(enum site_state state)
{
    struct site_entry third = {.id = sample_site_id(THIRD), .life = {1, 30}, .state = state};

    strcpy(third.name, names[THIRD]);
    cr_assert_eq(site_set_add(stage.document.content.sites, &third), STATUS_OK);
}

static void add_third(enum site_state state)
{
    take_third(state);
    edit();
}

static void send(uint32_t own)
{
    struct client_request request = router_stage_request(OPERATION_ADD, 1, KEYS);

    request.acks = own;
    router_stage_send(&stage, 1, &request);
}

static void vote(char letter)
{
    router_stage_vote(&stage, 1, letter);
    router_stage_vote(&stage, 2, letter);
}

static void expect(uint64_t present, uint64_t absent)
{
    struct router_told told = router_stage_told(&stage);

    cr_assert_eq(told.status, STATUS_OK, "%s: %s", status_code(told.status), told.message);
    cr_assert_eq(told.present, present);
    cr_assert_eq(told.absent, absent);
}

static void expect_refused(const char *word)
{
    struct router_told told = router_stage_told(&stage);

    cr_assert_eq(told.status, STATUS_BEHIND, "%s: %s", status_code(told.status), told.message);
    cr_assert_eq(told.present | told.absent, 0, "nothing is acknowledged");
    cr_assert_not_null(strstr(told.message, word), "%s", told.message);
}

static bool paused; /* the others */

/* Of the last question: these sites have confirmed; a bit set. */
static void confirm(uint32_t sites)
{
    const struct site_set *set = document_sites(&stage.document);
    struct site_age told[SITE_SET_MAX_LIVE];
    struct site_age_reply reply = {.filter_id = ROUTER_STAGE_FILTER,
                                   .confirms = true,
                                   .keyset = rebuild_serving(&stage.document),
                                   .own_life = site_set_own(set)->life,
                                   .sites = told};

    for (uint32_t i = 0; i < set->count; i++) {
        if (i != set->own) {
            uint32_t site = strcmp(set->entries[i].name, names[OTHER]) == 0 ? OTHER : THIRD;
            bool has = (sites >> site & 1) != 0;

            told[reply.nsites++] = (struct site_age){.id = set->entries[i].id,
                                                     .life = set->entries[i].life,
                                                     .known = has,
                                                     .after = has,
                                                     .paused = paused};
        }
    }
    cr_assert_gt(stage.nages, 0);
    router_stage_age_answer(&stage, stage.nages - 1, &reply);
}

Test(router_acks, by_itself_a_site_asks_nobody)
{
    open_stage(0);
    send(0);
    vote('a');
    expect(0, ALL);
    cr_assert_eq(stage.nages, 0);
    router_stage_fini(&stage);
}

Test(router_acks, it_is_acknowledged_once_the_other_site_has_it)
{
    open_stage(ACKS_EACH);
    send(0);
    cr_assert_eq(stage.nages, 0, "not before the votes are in");
    vote('a');
    cr_assert_eq(stage.ntold, 0);
    cr_assert_eq(stage.nages, 1);
    cr_assert(stage.ages[0].request.confirms);
    cr_assert_gt(stage.ages[0].request.wait_ms, 0);
    cr_assert_eq(router_stage_counter(&stage, "adds_awaiting_sites"), KEYS);
    confirm(1 << OTHER);
    expect(0, ALL);
    cr_assert_eq(router_stage_counter(&stage, "adds_awaiting_sites"), 0);
    router_stage_fini(&stage);
}

/* A question that was sent before the votes were in speaks of what was acknowledged before. */
Test(router_acks, a_question_that_was_sent_before_the_votes_does_not_do)
{
    struct client_request second = router_stage_request(OPERATION_ADD, 2, KEYS);

    open_stage(2);
    send(0);
    vote('a');
    cr_assert_eq(stage.nages, 1);
    router_stage_pass(&stage, 30000);
    router_stage_send(&stage, 1, &second);
    vote('a');
    stage.nages = 1;
    confirm(1 << OTHER);
    expect(0, ALL);
    cr_assert_eq(router_stage_counter(&stage, "adds_awaiting_sites"), KEYS);
    stage.nages = 2;
    confirm(1 << OTHER);
    expect(0, ALL);
    router_stage_fini(&stage);
}

Test(router_acks, a_number_takes_so_many_and_each_takes_all)
{
    open_stage(2);
    add_third(SITE_COUNTED);
    send(0);
    vote('a');
    confirm(1 << THIRD);
    expect(0, ALL);
    send(ACKS_EACH);
    vote('p');
    router_stage_pass(&stage, 30000);
    confirm(1 << THIRD);
    cr_assert_eq(stage.ntold, 0);
    router_stage_pass(&stage, 30000);
    confirm(1 << OTHER);
    expect(ALL, 0);
    send(3);
    vote('p');
    router_stage_pass(&stage, 30000);
    confirm(1 << OTHER);
    cr_assert_eq(stage.ntold, 0);
    router_stage_pass(&stage, 6 * SECOND);
    expect_refused(names[THIRD]);
    router_stage_fini(&stage);
}

/* Never for less than the filter. */
Test(router_acks, an_add_may_ask_for_more)
{
    open_stage(0);
    send(2);
    vote('a');
    cr_assert_eq(stage.ntold, 0);
    confirm(1 << OTHER);
    expect(0, ALL);
    stage.document.acks = ACKS_EACH;
    edit();
    send(ACKS_LOCAL);
    vote('p');
    cr_assert_eq(stage.ntold, 0);
    router_stage_fini(&stage);
}

Test(router_acks, at_its_deadline_it_is_not_acknowledged)
{
    open_stage(ACKS_EACH);
    send(0);
    vote('a');
    confirm(0);
    router_stage_pass(&stage, 6 * SECOND);
    expect_refused(names[OTHER]);
    cr_assert_eq(router_stage_counter(&stage, "adds_awaiting_sites"), 0);
    cr_assert_leq(stage.nages, 20);
    router_stage_fini(&stage);
}

Test(router_acks, that_the_site_is_paused_is_told)
{
    open_stage(ACKS_EACH);
    paused = true;
    send(0);
    vote('a');
    confirm(0);
    router_stage_pass(&stage, 6 * SECOND);
    expect_refused("(acks each); it is paused by an operator, see `orbloom site urls`");
    paused = false;
    router_stage_fini(&stage);
}

Test(router_acks, more_sites_than_there_are_is_told_at_once)
{
    open_stage(3);
    send(0);
    vote('a');
    expect_refused("takes as many sites");
    entry_of(OTHER)->state = SITE_LEAVING;
    stage.document.acks = 2;
    edit();
    send(0);
    vote('a');
    expect_refused("takes as many sites");
    router_stage_fini(&stage);
}

/* The document that it began under did not know of sites, and nodes do. */
Test(router_acks, one_that_began_before_there_were_sites_waits_for_them)
{
    static const uint32_t acks[] = {ACKS_EACH, 2};

    for (unsigned i = 0; i < 2; i++) {
        router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
        stage.document.durability = DURABILITY_SYNC;
        stage.document.acks = acks[i];
        stage.links = links;
        stage.nlinks = 1;
        edit();
        send(0);
        sample_sites(OWN, &stage.document);
        edit();
        vote('a');
        cr_assert_eq(stage.ntold, 0);
        confirm(1 << OTHER);
        expect(0, ALL);
        router_stage_fini(&stage);
    }
}

Test(router_acks, without_sites_each_is_this_one_and_a_number_is_never_reached)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    send(ACKS_EACH);
    vote('a');
    expect(0, ALL);
    send(2);
    vote('p');
    expect_refused("takes as many sites");
    router_stage_fini(&stage);
}

/* Joining and leaving sites don't count, and are not waited for. */
Test(router_acks, each_is_each_that_counts)
{
    open_stage(ACKS_EACH);
    add_third(SITE_JOINING);
    send(0);
    vote('a');
    confirm(1 << THIRD);
    cr_assert_eq(stage.ntold, 0);
    router_stage_pass(&stage, 30000);
    confirm(1 << OTHER);
    expect(0, ALL);
    entry_of(OTHER)->state = SITE_LEAVING;
    edit();
    send(0);
    vote('p');
    expect(ALL, 0);
    router_stage_fini(&stage);
}

/* The one that has come meanwhile is to have it, too. */
Test(router_acks, under_a_newer_set_it_begins_anew)
{
    open_stage(ACKS_EACH);
    send(0);
    vote('a');
    add_third(SITE_COUNTED);
    confirm(1 << OTHER);
    router_stage_pass(&stage, 30000);
    cr_assert_eq(stage.ntold, 0);
    vote('p');
    router_stage_pass(&stage, 30000);
    confirm(1 << OTHER);
    cr_assert_eq(stage.ntold, 0);
    router_stage_pass(&stage, 30000);
    confirm(1 << OTHER | 1 << THIRD);
    expect(ALL, 0);
    router_stage_fini(&stage);
}

/* A node has handed the router the newer document, and the add has not begun anew yet. */
Test(router_acks, confirmed_under_an_older_set_it_is_not_acknowledged)
{
    struct client_request second = router_stage_request(OPERATION_ADD, 2, KEYS);

    open_stage(ACKS_EACH);
    send(0);
    vote('a');
    take_third(SITE_COUNTED);
    document_epoch_advance(&stage.document);
    router_stage_send(&stage, 1, &second);
    router_stage_vote(&stage, 1, 'S');
    confirm(1 << OTHER);
    cr_assert_eq(stage.ntold, 0);
    router_stage_fini(&stage);
}

Test(router_acks, what_w_replicas_do_not_have_is_not_acknowledged_either)
{
    open_stage(ACKS_EACH);
    send(0);
    router_stage_vote(&stage, 1, 'a');
    router_stage_pass(&stage, 6 * SECOND);
    cr_assert_eq(stage.nages, 0);
    cr_assert_neq(router_stage_told(&stage).status, STATUS_OK);
    router_stage_fini(&stage);
}

/* What links tell of how far other sites' keys are here is no confirmation. */
Test(router_acks, an_age_confirms_nothing)
{
    const struct site_set *set;
    struct site_age age = {.known = true, .after = true};
    struct site_age_reply reply = {.filter_id = ROUTER_STAGE_FILTER, .sites = &age, .nsites = 1};

    open_stage(ACKS_EACH);
    set = document_sites(&stage.document);
    reply.keyset = rebuild_serving(&stage.document);
    reply.own_life = site_set_own(set)->life;
    age.id = entry_of(OTHER)->id;
    age.life = entry_of(OTHER)->life;
    send(0);
    vote('a');
    router_stage_age_answer(&stage, 0, &reply);
    cr_assert_eq(stage.ntold, 0);
    router_stage_fini(&stage);
}

/* A client may send anything. */
Test(router_acks, acks_that_there_are_not_are_refused)
{
    static const uint32_t odd[] = {9, 200, 254, 256, UINT32_MAX};

    open_stage(0);
    for (unsigned i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        send(odd[i]);
        cr_assert_eq(router_stage_told(&stage).status, STATUS_INVALID);
    }
    router_stage_fini(&stage);
}

/* Those that wait leave room for others: a filter whose sites are cut off holds up no other one. */
Test(router_acks, beyond_a_part_of_the_room_none_waits)
{
    struct client_request request = router_stage_request(OPERATION_ADD, 1, 50);
    size_t waiting = 0;

    open_stage(ACKS_EACH);
    for (unsigned i = 0; stage.ntold == 0; i++) {
        cr_assert_lt(i, 1000, "all of them wait");
        request.op.sequence = i + 1;
        router_stage_send(&stage, 1, &request);
        vote('a');
        waiting = i;
    }
    cr_assert_gt(waiting, 10);
    cr_assert_lt(waiting * 50 * 48, ROUTER_STAGE_MAX_INFLIGHT / 3);
    expect_refused("too many wait");
    router_stage_fini(&stage);
}
