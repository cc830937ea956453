/* How far another site is applied is remembered by the nodes that have it: two sites of real nodes
 * with their links, which are killed, and nodes that are put back to older copies. */
#include "map/reader.h"
#include "tests/support/sample_cluster.h"
#include "tests/support/site_pair.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { EU = 0, US = 1, SECOND = 1000000, N1 = 2, N2 = 4, N3 = 8, ALL = 14, BATCH = 200 };

TestSuite(link_places, .timeout = 120);

static struct site_pair *pair;

/* What US has named when it last opened a stream. */
static uint64_t nopened;
static size_t nsources;
static struct site_source sources[64];
static uint64_t lost_opens; /* so many more are lost */

static bool watch(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    const struct site_open *open = &frame->body.site_open;

    (void)self;
    if (to != EU || frame->kind != FRAME_SITE_OPEN) {
        return true;
    }
    nopened++;
    nsources = open->nsources;
    cr_assert_leq(nsources, sizeof sources / sizeof sources[0]);
    if (nsources > 0) {
        memcpy(sources, open->sources, nsources * sizeof sources[0]);
    }
    if (lost_opens > 0) {
        lost_opens--;
        return false;
    }
    return true;
}

static void begin_on(uint32_t nnodes)
{
    pair = malloc(sizeof *pair);
    cr_assert_not_null(pair);
    site_pair_init(pair, nnodes);
    pair->spy = watch;
    nopened = 0;
}

static void begin(void)
{
    begin_on(3);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(site_pair_counter(pair, US, "site_streams_in"), 1);
}

static void end(void)
{
    site_pair_fini(pair);
    free(pair);
}

static void make_keys(uint64_t seed, uint64_t *keys, uint32_t count)
{
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

    for (uint32_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        keys[i] = state ^ state >> 29;
    }
}

static void add(uint64_t seed, unsigned nodes)
{
    uint64_t keys[BATCH];

    make_keys(seed, keys, BATCH);
    site_pair_add(pair, EU, nodes, keys, BATCH);
}

/* How many replicas of US have all of them. */
static int have_all(uint64_t seed)
{
    uint64_t keys[BATCH];
    int found = 0;

    make_keys(seed, keys, BATCH);
    for (uint32_t node = 1; node <= 3; node++) {
        found += circle_node(&pair->sides[US].circle, node) != NULL &&
                 site_pair_count(pair, US, node, keys, BATCH) == BATCH;
    }
    return found;
}

static uint64_t copies(void)
{
    return site_pair_counter(pair, EU, "site_copies_total");
}

static uint64_t sent_keys(void)
{
    return site_pair_counter(pair, EU, "site_keys_total");
}

static void restart_link(uint32_t site)
{
    site_pair_link_stop(pair, site);
    site_pair_run(pair, 200000);
    site_pair_link_start(pair, site);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_eq(site_pair_counter(pair, US, "site_streams_in"), 1);
}

/* ---- links that are killed ---- */

Test(link_places, a_link_that_is_killed_goes_on_from_the_places_of_its_nodes)
{
    uint64_t before;

    begin();
    add(1, N1 | N2);
    add(2, N2 | N3);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(copies(), 3);
    before = sent_keys();
    restart_link(US);
    cr_assert_eq(nsources, 3);
    cr_assert_eq(copies(), 3, "it was copied anew");
    cr_assert_eq(sent_keys(), before, "keys were sent again");
    add(3, N1 | N3);
    site_pair_run(pair, SECOND);
    cr_assert_geq(have_all(3), 2);
    end();
}

/* Nobody is left who remembers anything but the nodes. */
Test(link_places, both_links_are_killed_and_nothing_is_copied)
{
    begin();
    add(1, N1 | N2);
    site_pair_run(pair, 5 * SECOND);
    site_pair_link_stop(pair, EU);
    site_pair_link_stop(pair, US);
    site_pair_link_start(pair, EU);
    site_pair_link_start(pair, US);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_eq(nsources, 3);
    cr_assert_eq(copies(), 0);
    cr_assert_eq(sent_keys(), 0);
    end();
}

/* Each log has a place for each of its slot groups, in each slot group here. */
Test(link_places, places_of_several_slot_groups_are_kept)
{
    enum { GROUPS = 4, FOLLOWED = 12 };
    uint64_t keys[BATCH];

    begin_on(GROUPS);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_eq(copies(), FOLLOWED);
    for (uint32_t group = 0; group < GROUPS; group++) {
        sample_fingerprints(&pair->sides[EU].document, group, group + 1, BATCH, keys);
        site_pair_add_group(pair, EU, group, group, keys, BATCH);
    }
    site_pair_run(pair, 4 * SECOND);
    restart_link(US);
    cr_assert_eq(nsources, FOLLOWED);
    cr_assert_eq(copies(), FOLLOWED, "it was copied anew");
    cr_assert_eq(sent_keys(), GROUPS * BATCH);
    end();
}

/* What was not noted yet is sent again. */
Test(link_places, a_link_that_is_killed_at_once_loses_nothing)
{
    begin();
    for (uint64_t i = 1; i <= 12; i++) {
        add(i, i % 2 == 0 ? N1 | N2 : N2 | N3);
        site_pair_run(pair, 130000 + i * 37000);
        site_pair_link_stop(pair, US);
        site_pair_run(pair, 100000);
        site_pair_link_start(pair, US);
        site_pair_run(pair, i % 3 * SECOND);
    }
    site_pair_run(pair, 10 * SECOND);
    for (uint64_t i = 1; i <= 12; i++) {
        cr_assert_geq(have_all(i), 2, "batch %llu", (unsigned long long)i);
    }
    end();
}

/* ---- nodes of the source ---- */

/* So that EU has given its stream up. */
static void stop_link_for_long(void)
{
    site_pair_link_stop(pair, US);
    site_pair_run(pair, 8 * SECOND);
}

Test(link_places, a_node_of_the_source_that_starts_again_is_gone_on_with)
{
    uint64_t before;

    begin();
    add(1, ALL);
    site_pair_run(pair, 5 * SECOND);
    circle_stop(&pair->sides[EU].circle, 2);
    circle_start(&pair->sides[EU].circle, 2);
    site_pair_run(pair, 5 * SECOND);
    add(2, N2 | N3);
    site_pair_run(pair, 2 * SECOND);
    before = copies(); /* It caught up with others when it had been killed, and was copied then. */
    restart_link(US);
    cr_assert_eq(nsources, 3);
    cr_assert_eq(sources[1].boot, circle_node(&pair->sides[EU].circle, 2)->life.identity.boot);
    cr_assert_eq(copies(), before, "it was copied anew");
    cr_assert_geq(have_all(2), 2);
    end();
}

/* Its log is another one. */
Test(link_places, a_node_of_the_source_that_has_lost_its_log_is_copied)
{
    struct site_pair_side *eu;
    struct slot *slot;

    begin();
    eu = &pair->sides[EU];
    add(1, ALL);
    site_pair_run(pair, 5 * SECOND);
    stop_link_for_long();
    circle_stop(&eu->circle, 2);
    memory_disk_destroy(&eu->circle.nodes[1].disk);
    eu->circle.nodes[1].disk = memory_disk_create();
    eu->circle.registered[1] = false;
    circle_start(&eu->circle, 2);
    circle_run(&eu->circle, 100000);
    slot = &eu->document.content.groups[0].slots[1];
    cr_assert_eq(slot->current.node, 2);
    cr_assert_neq(slot->current.incarnation, circle_node(&eu->circle, 2)->life.incarnation);
    slot->current.incarnation = circle_node(&eu->circle, 2)->life.incarnation;
    document_epoch_advance(&eu->document);
    site_pair_hand(pair, EU);
    site_pair_run(pair, 2 * SECOND);
    site_pair_link_start(pair, US);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_eq(nsources, 3);
    cr_assert_eq(copies(), 4, "that one alone is copied");
    end();
}

/* A slot that has moved brings keys by other ways than its log. */
Test(link_places, a_reader_that_is_read_only_since_is_copied)
{
    struct site_pair_side *eu;

    begin();
    eu = &pair->sides[EU];
    add(1, ALL);
    site_pair_run(pair, 5 * SECOND);
    stop_link_for_long();
    eu->document.content.groups[0].slots[2].read_since = eu->document.epoch + 1;
    document_epoch_advance(&eu->document);
    site_pair_hand(pair, EU);
    site_pair_run(pair, 2 * SECOND);
    site_pair_link_start(pair, US);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_eq(nsources, 3);
    cr_assert_eq(copies(), 4, "that one alone is copied");
    end();
}

/* ---- nodes of the receiver ---- */

Test(link_places, one_node_of_the_receiver_may_be_down)
{
    begin();
    circle_stop(&pair->sides[US].circle, 3);
    add(1, N1 | N2);
    site_pair_run(pair, 5 * SECOND);
    restart_link(US);
    cr_assert_eq(nsources, 3);
    cr_assert_eq(copies(), 3, "it was copied anew");
    end();
}

/* The highest place that a node of US has for the log of a node of EU. */
static uint64_t noted_by(uint32_t node, uint32_t source)
{
    const struct site_cursors *cursors = &circle_node(&pair->sides[US].circle, node)->site_cursors;
    uint64_t highest = 0;

    for (size_t i = 0; i < cursors->count; i++) {
        for (uint32_t k = 0; k < cursors->items[i]->nsources; k++) {
            const struct record_site_source *one = &cursors->items[i]->sources[k];

            highest = one->node == source && one->offset > highest ? one->offset : highest;
        }
    }
    return highest;
}

/* Two of three get nothing durable, so nothing is acknowledged; the third one would take a place
 * at once. */
Test(link_places, no_place_is_written_before_w_have_the_keys)
{
    struct circle *us;
    uint64_t before;

    begin();
    us = &pair->sides[US].circle;
    add(1, ALL);
    site_pair_run(pair, 5 * SECOND);
    before = noted_by(1, 1);
    cr_assert_gt(before, 0);
    us->nodes[1].frozen = us->nodes[2].frozen = true;
    add(2, ALL);
    site_pair_run(pair, 6 * SECOND);
    cr_assert_eq(noted_by(1, 1), before);
    us->nodes[1].frozen = us->nodes[2].frozen = false;
    site_pair_run(pair, 10 * SECOND);
    cr_assert_gt(noted_by(1, 1), before);
    cr_assert_geq(have_all(2), 2);
    end();
}

/* ---- a site that is put back ---- */

static struct memory_disk *copied[3];
static struct node_record copied_records[CIRCLE_MAX];

/* Of all folders of US and of what its store says of its nodes. */
static void take_copy(void)
{
    struct circle *us = &pair->sides[US].circle;

    for (uint32_t i = 0; i < 3; i++) {
        copied[i] = memory_disk_copy(us->nodes[i].disk);
    }
    memcpy(copied_records, us->records, sizeof copied_records);
}

static void put_back(void)
{
    struct circle *us = &pair->sides[US].circle;

    memcpy(us->records, copied_records, sizeof copied_records);
    for (uint32_t i = 0; i < 3; i++) {
        circle_stop(us, i + 1);
        memory_disk_restore(us->nodes[i].disk, copied[i]);
        memory_disk_destroy(&copied[i]);
        circle_start(us, i + 1);
    }
}

/* Places are behind the keys that they cover, in one log: whoever loses these loses them, too. */
Test(link_places, what_was_put_back_has_no_more_places_than_keys)
{
    begin();
    add(1, ALL);
    site_pair_run(pair, 4 * SECOND);
    take_copy();
    add(2, ALL);
    site_pair_run(pair, 4 * SECOND);
    cr_assert_eq(have_all(2), 3);
    site_pair_link_stop(pair, US);
    put_back();
    site_pair_run(pair, 3 * SECOND);
    cr_assert_eq(have_all(2), 0);
    site_pair_link_start(pair, US);
    site_pair_run(pair, 10 * SECOND);
    cr_assert_geq(have_all(2), 2);
    cr_assert_geq(have_all(1), 2);
    cr_assert_eq(copies(), 3, "what is gone on from need not be copied");
    end();
}

/* The link lives on, and nothing is added meanwhile. */
Test(link_places, a_link_does_not_believe_itself_when_its_nodes_were_put_back)
{
    begin();
    add(1, ALL);
    site_pair_run(pair, 4 * SECOND);
    take_copy();
    add(2, ALL);
    site_pair_run(pair, 4 * SECOND);
    put_back();
    cr_assert_eq(have_all(2), 0);
    site_pair_run(pair, 12 * SECOND);
    cr_assert_geq(have_all(2), 2);
    end();
}

/* Adds go on: none of them takes a place along that covers what was lost. */
Test(link_places, what_comes_after_nodes_were_put_back_writes_no_place_over_what_they_lost)
{
    begin();
    add(1, ALL);
    site_pair_run(pair, 4 * SECOND);
    take_copy();
    add(2, ALL);
    site_pair_run(pair, 4 * SECOND);
    put_back();
    for (uint64_t i = 3; i < 8; i++) {
        add(i, ALL);
        site_pair_run(pair, 60000);
    }
    site_pair_run(pair, 1500000);
    site_pair_link_stop(pair, US);
    site_pair_run(pair, 100000);
    site_pair_link_start(pair, US);
    site_pair_run(pair, 12 * SECOND);
    for (uint64_t i = 1; i < 8; i++) {
        cr_assert_geq(have_all(i), 2, "batch %llu", (unsigned long long)i);
    }
    end();
}

static bool lose_notes(struct circle *circle, struct circle_frame *frame, struct frame *decoded)
{
    (void)circle;
    (void)frame;
    return decoded->kind != FRAME_SITE_CURSOR_REQUEST || !decoded->body.site_cursor_request.put;
}

/* It covers what they have lost, and they hear of it before the link has heard that they were put
 * back. The link is killed then, so that nobody remembers. */
Test(link_places, a_note_that_is_under_way_is_not_taken_by_nodes_that_were_put_back)
{
    begin();
    add(1, ALL);
    site_pair_run(pair, 4 * SECOND);
    take_copy();
    pair->sides[US].circle.spy = lose_notes;
    add(2, ALL);
    site_pair_run(pair, 1500000);
    cr_assert_eq(have_all(2), 3);
    put_back();
    pair->sides[US].circle.spy = NULL;
    site_pair_run(pair, 600000);
    site_pair_link_stop(pair, US);
    site_pair_run(pair, 100000);
    site_pair_link_start(pair, US);
    site_pair_run(pair, 10 * SECOND);
    cr_assert_geq(have_all(2), 2);
    end();
}

/* ---- a loss that is accepted ---- */

/* Of a life that node 3 of US had once. */
static void accept_loss(void)
{
    struct filter_document *document = &pair->sides[US].document;
    struct slot_group *group = &document->content.groups[0];

    group->lost[0] = group->slots[2].current;
    group->lost[0].incarnation++;
    group->loss_epoch = document->epoch + 1;
    document_epoch_advance(document);
    site_pair_hand(pair, US);
}

/* What was acknowledged before may be with nobody: the link that lives on may claim none of it. */
Test(link_places, a_loss_that_is_accepted_voids_what_a_link_knows)
{
    begin();
    add(1, ALL);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(copies(), 3);
    nopened = 0;
    accept_loss();
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(nopened, 1);
    cr_assert_eq(nsources, 0, "places of before the loss are named");
    cr_assert_eq(copies(), 6);
    restart_link(US);
    cr_assert_eq(nsources, 3, "what was noted since is not found");
    cr_assert_eq(copies(), 6);
    end();
}

/* Nor may one that begins, by what nodes have noted. */
Test(link_places, a_loss_that_is_accepted_voids_what_nodes_have_noted)
{
    begin();
    add(1, ALL);
    site_pair_run(pair, 5 * SECOND);
    site_pair_link_stop(pair, US);
    accept_loss();
    site_pair_run(pair, SECOND);
    site_pair_link_start(pair, US);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_eq(nsources, 0, "places of before the loss are named");
    cr_assert_eq(copies(), 6);
    end();
}

/* ---- an order to compare ---- */

/* As an operator of US gives it. */
static void order(void)
{
    struct filter_document *document = &pair->sides[US].document;
    const struct site_id eu = sample_site_id(EU);
    struct site_set *sites = document->content.sites;
    size_t at = (size_t)(site_set_find(sites, &eu) - sites->entries);

    sites->entries[at].resync = document->epoch + 1;
    document_epoch_advance(document);
    site_pair_hand(pair, US);
}

Test(link_places, an_order_to_compare_copies_all_once_and_what_it_brought_is_gone_on_from)
{
    begin();
    add(1, ALL);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(copies(), 3);
    nopened = 0;
    order();
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(nopened, 1);
    cr_assert_eq(nsources, 0, "places of before the order are named");
    cr_assert_eq(copies(), 6);
    site_pair_run(pair, 20 * SECOND);
    cr_assert_eq(copies(), 6, "once");
    restart_link(US);
    cr_assert_eq(nsources, 3, "what was noted since is not found");
    cr_assert_eq(copies(), 6);
    add(2, N1 | N2);
    site_pair_run(pair, 3 * SECOND);
    cr_assert_eq(have_all(1), 3);
    cr_assert_geq(have_all(2), 2);
    order();
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(copies(), 9, "each is a new one");
    end();
}

/* A link that was down when it was given, or is killed in the middle, carries it out. */
Test(link_places, an_order_to_compare_outlives_links)
{
    begin();
    add(1, ALL);
    site_pair_run(pair, 5 * SECOND);
    site_pair_link_stop(pair, US);
    order();
    site_pair_run(pair, SECOND);
    site_pair_link_start(pair, US);
    site_pair_run(pair, 1200000);
    site_pair_link_stop(pair, US);
    site_pair_run(pair, 200000);
    site_pair_link_start(pair, US);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_geq(copies(), 6, "it is through");
    cr_assert_leq(copies(), 9);
    restart_link(US);
    cr_assert_eq(nsources, 3);
    end();
}

/* A loss after it voids what it has brought, too; and the other way round. */
Test(link_places, orders_and_losses_void_each_others_places)
{
    begin();
    add(1, ALL);
    site_pair_run(pair, 5 * SECOND);
    order();
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(copies(), 6);
    accept_loss();
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(copies(), 9);
    order();
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(copies(), 12);
    restart_link(US);
    cr_assert_eq(nsources, 3);
    cr_assert_eq(copies(), 12);
    end();
}

/* ---- records that are of something else, or do not agree ---- */

static enum status put_status;

static void on_put(void *owner, const struct router_site_cursors_told *told)
{
    (void)owner;
    put_status = told->status;
}

static void put(uint32_t group, const struct record_site_cursor *cursor)
{
    struct site_pair_side *us = &pair->sides[US];
    const struct router_site_cursors question = {.filter_id = SITE_PAIR_FILTER,
                                                 .group = group,
                                                 .timeout_ms = 2000,
                                                 .cursors = cursor,
                                                 .count = 1,
                                                 .done = on_put};

    put_status = STATUS_INTERNAL;
    router_site_cursors_put(us->router, us->circle.now_us, &question);
    site_pair_run(pair, SECOND);
    cr_assert_eq(put_status, STATUS_OK, "%s", status_code(put_status));
}

/* Of the log of node 1 of EU, which has begun with that boot. */
static struct record_site_cursor record_of_node_1(uint64_t offset)
{
    const struct node *node = circle_node(&pair->sides[EU].circle, 1);

    return (struct record_site_cursor){
        .keyset = pair->sides[US].document.content.keysets[0].id,
        .site = {sample_site_id(EU).high, sample_site_id(EU).low},
        .site_life = {1, 10},
        .own_life = {1, 11},
        .site_group = 0,
        .nsources = 1,
        .sources = {{.incarnation = node->life.incarnation,
                     .boot = node->life.identity.boot,
                     .offset = offset,
                     .epoch = pair->sides[EU].document.epoch,
                     .node = 1}},
    };
}

/* The sites can't hear each other yet. */
static void begin_apart(uint32_t nnodes)
{
    begin_on(nnodes);
    pair->cut[EU] = pair->cut[US] = true;
    site_pair_run(pair, 3 * SECOND);
}

/* A new link reads what the nodes have, and opens the stream. */
static void meet(void)
{
    site_pair_link_stop(pair, US);
    site_pair_link_start(pair, US);
    pair->cut[EU] = pair->cut[US] = false;
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(nopened, 1);
}

static void make_other(int how, struct record_site_cursor *cursor)
{
    cursor->keyset += how == 1;
    cursor->site[0] += how == 2;
    cursor->site[1] += how == 3;
    cursor->site_life.number += how == 4;
    cursor->site_life.tag += how == 5;
    cursor->own_life.number += how == 6;
    cursor->own_life.tag += how == 7;
    cursor->loss += how == 8;
}

Test(link_places, records_of_something_else_are_not_used)
{
    enum { NOTHERS = 8 };

    for (int how = 0; how <= NOTHERS; how++) {
        struct record_site_cursor cursor;

        begin_apart(3);
        cursor = record_of_node_1(800);
        make_other(how, &cursor);
        put(0, &cursor);
        lost_opens = 1;
        meet();
        cr_assert_eq(nsources, how == 0, "%d: %zu places are named", how, nsources);
        cr_assert(how > 0 || sources[0].offset == 800);
        end();
    }
}

/* Nodes that can't tell them all in one answer hold no stream up. */
Test(link_places, more_places_than_nodes_can_tell_are_none)
{
    struct record_site_cursor cursor;

    begin_apart(3);
    cursor = record_of_node_1(800);
    put(0, &cursor);
    cursor.filter_id = SITE_PAIR_FILTER;
    for (uint32_t i = 0; i < CODEC_MAX_SITE_CURSORS; i++) {
        cursor.site[0]++;
        for (uint32_t node = 1; node <= 3; node++) {
            cr_assert_eq(site_cursors_put(&circle_node(&pair->sides[US].circle, node)->site_cursors,
                                          &cursor),
                         STATUS_OK);
        }
    }
    lost_opens = 1;
    meet();
    cr_assert_eq(nsources, 0);
    end();
}

/* Every slot group here may share keys with that one there. */
Test(link_places, the_lowest_place_of_all_slot_groups_is_in_force)
{
    begin_apart(4);
    for (uint32_t group = 0; group < 4; group++) {
        struct record_site_cursor cursor = record_of_node_1(group == 2 ? 320 : 800 + 8 * group);

        cursor.sources[0].epoch = group == 3 ? 0 : cursor.sources[0].epoch;
        put(group, &cursor);
    }
    lost_opens = 1;
    meet();
    cr_assert_eq(nsources, 1);
    cr_assert_eq(sources[0].offset, 320);
    cr_assert_eq(sources[0].epoch, 0, "the weakest claim of all");
    end();
}

static void expect_unknown(int how)
{
    for (uint32_t group = 0; group < 4; group++) {
        struct record_site_cursor cursor = record_of_node_1(800);

        cursor.sources[0].boot += how == 1 && group == 1;
        cursor.sources[0].incarnation += how == 2 && group == 1;
        cursor.sources[0].boot += how >= 3 && group == 1;
        cursor.sources[0].offset += how == 3 && group == 1 ? 8 : 0;
        cursor.sources[0].offset -= how == 4 && group == 1 ? 8 : 0;
        if (how != 0 || group != 3) {
            put(group, &cursor);
        }
    }
    lost_opens = 1;
    meet();
    cr_assert_eq(nsources, 0, "%d", how);
}

/* One has none, another boot at one offset, another incarnation, another boot above and below. */
Test(link_places, what_slot_groups_do_not_agree_on_is_copied)
{
    for (int how = 0; how < 5; how++) {
        begin_apart(4);
        expect_unknown(how);
        end();
    }
}
