/* Of which moment all of another site is here, and what has to be so before a link says it: two
 * sites of real nodes with their links. */
#include "link/private.h"
#include "tests/support/sample_cluster.h"
#include "tests/support/site_pair.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum {
    EU = 0,
    US = 1,
    SECOND = 1000000,
    N1 = 2,
    N2 = 4,
    N3 = 8,
    ALL = 14,
    BATCH = 200,
    DIALED = 7
};

TestSuite(link_marked, .timeout = 120);

static struct site_pair *pair;
static uint64_t nasked; /* marks that US has asked for */
static struct site_mark asked;
static uint32_t least_read; /* replicas whose ends a mark was answered with */
static bool lose_answers;

static bool watch(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    if (to == EU && frame->kind == FRAME_SITE_MARK) {
        nasked++;
        asked = frame->body.site_mark;
    }
    if (to == US && frame->kind == FRAME_SITE_MARKED) {
        uint32_t read = (uint32_t)frame->body.site_marked.nends; /* of the one slot group */

        cr_assert_leq(frame->body.site_marked.read, read);
        least_read = read < least_read ? read : least_read;
    }
    return !(to == US && frame->kind == FRAME_SITE_MARKED && lose_answers);
}

static void begin(void)
{
    pair = malloc(sizeof *pair);
    cr_assert_not_null(pair);
    site_pair_init(pair, 3);
    pair->spy = watch;
    nasked = 0;
    least_read = UINT32_MAX;
    lose_answers = false;
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(site_pair_counter(pair, US, "site_streams_in"), 1);
}

static void end(void)
{
    site_pair_fini(pair);
    free(pair);
}

static uint64_t now(void)
{
    return pair->sides[US].circle.now_us;
}

static struct inflow *inflow(void)
{
    struct inflow *one = inflow_find(pair->sides[US].link, SITE_PAIR_FILTER, 0);

    cr_assert_not_null(one);
    return one;
}

static const struct inflow_evidence *evidence(void)
{
    return &inflow()->evidence;
}

static void want_marks(void)
{
    cr_assert(inflow_want_marks(pair->sides[US].link, SITE_PAIR_FILTER, 0, UINT64_MAX));
}

static void make_keys(uint64_t seed, uint64_t *keys)
{
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

    for (uint32_t i = 0; i < BATCH; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        keys[i] = state ^ state >> 29;
    }
}

static void add(uint64_t seed, unsigned nodes)
{
    uint64_t keys[BATCH];

    make_keys(seed, keys);
    site_pair_add(pair, EU, nodes, keys, BATCH);
}

static int have_all(uint64_t seed)
{
    uint64_t keys[BATCH];
    int found = 0;

    make_keys(seed, keys);
    for (uint32_t node = 1; node <= 3; node++) {
        found += circle_node(&pair->sides[US].circle, node) != NULL &&
                 site_pair_count(pair, US, node, keys, BATCH) == BATCH;
    }
    return found;
}

/* Each of these has to have told where its log ends, while the third one is away, too. */
Test(link_marked, marks_are_of_as_many_replicas_as_checks_ask)
{
    begin();
    want_marks();
    for (uint64_t i = 1; i <= 8; i++) {
        add(i, i % 2 == 0 ? N1 | N2 : N2 | N3);
        site_pair_run(pair, SECOND / 2);
    }
    circle_stop(&pair->sides[EU].circle, 3);
    add(9, N1 | N2);
    site_pair_run(pair, 4 * SECOND);
    cr_assert_eq(least_read, 2);
    end();
}

/* ---- what is shown ---- */

Test(link_marked, what_was_acknowledged_before_a_mark_is_here_once_it_counts)
{
    begin();
    want_marks();
    for (uint64_t i = 1; i <= 8; i++) {
        uint64_t at_us;

        add(i, i % 2 == 0 ? N1 | N2 : N2 | N3);
        at_us = now();
        for (int steps = 0; evidence()->noted_us <= at_us; steps++) {
            cr_assert_lt(steps, 3000, "no mark counts");
            cr_assert_leq(evidence()->noted_us, evidence()->marked_us);
            site_pair_run(pair, 1000);
        }
        cr_assert_geq(have_all(i), 2);
        cr_assert_lt(evidence()->noted_us, now());
    }
    cr_assert(evidence()->copied);
    cr_assert_gt(evidence()->whole_us, 0);
    cr_assert_lt(evidence()->whole_us, evidence()->noted_us);
    end();
}

Test(link_marked, marks_that_nobody_wants_are_not_asked_for)
{
    begin();
    add(1, ALL);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(nasked, 0);
    cr_assert_not(evidence()->copied);
    cr_assert(inflow_want_marks(pair->sides[US].link, SITE_PAIR_FILTER, 0, now() + SECOND));
    site_pair_run(pair, 5 * SECOND);
    cr_assert_geq(nasked, 3);
    cr_assert_leq(nasked, 6);
    cr_assert_gt(evidence()->noted_us, 0);
    cr_assert_not(inflow_want_marks(pair->sides[US].link, 77, 0, now() + SECOND));
    end();
}

Test(link_marked, a_site_that_is_being_filled_asks_by_itself)
{
    begin();
    pair->sides[US].document.content.sites->says_absent = false;
    document_epoch_advance(&pair->sides[US].document);
    site_pair_hand(pair, US);
    site_pair_run(pair, 4 * SECOND);
    cr_assert_geq(nasked, 4);
    cr_assert(evidence()->copied);
    cr_assert_gt(evidence()->noted_us, 0);
    end();
}

/* Whoever goes on from places has not seen all of it. */
Test(link_marked, what_goes_on_from_places_is_no_whole_copy)
{
    uint64_t begun_us;

    begin();
    add(1, ALL);
    site_pair_run(pair, 3 * SECOND);
    site_pair_link_stop(pair, US);
    site_pair_link_start(pair, US);
    site_pair_run(pair, 4 * SECOND);
    want_marks();
    site_pair_run(pair, SECOND);
    cr_assert(evidence()->copied);
    cr_assert_gt(evidence()->noted_us, 0);
    cr_assert_eq(evidence()->whole_us, 0);
    cr_assert_eq(site_pair_counter(pair, EU, "site_copies_total"), 3);
    begun_us = now();
    inflow_copy_anew(pair->sides[US].link, inflow());
    site_pair_run(pair, 3 * SECOND);
    cr_assert_geq(evidence()->whole_us, begun_us);
    cr_assert_eq(site_pair_counter(pair, EU, "site_copies_total"), 6);
    end();
}

static bool lose_batches(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    return !(to == US && frame->kind == FRAME_SITE_BATCH);
}

/* Answers to marks that wait for a batch which never comes go with the stream, and so do the marks:
 * there are only so many places for those under way. */
Test(link_marked, what_a_stream_leaves_unapplied_leaves_room_for_marks)
{
    uint64_t at_us;
    int steps;

    begin();
    want_marks();
    site_pair_run(pair, 2 * SECOND);
    pair->spy = lose_batches;
    add(1, ALL);
    for (steps = 0; steps < 100 && inflow()->marked.nanswered < MARK_MAX_PENDING; steps++) {
        want_marks();
        site_pair_run(pair, 10000);
    }
    cr_assert_lt(steps, 100);
    pair->spy = NULL;
    at_us = now();
    site_pair_run(pair, 8 * SECOND);
    cr_assert_gt(site_pair_counter(pair, US, "site_closed_total"), 0);
    cr_assert_gt(evidence()->noted_us, at_us, "marks go on");
    cr_assert_geq(have_all(1), 2);
    end();
}

static uint32_t most_keys; /* of adds that get through */

static bool lose_adds(struct circle *circle, struct circle_frame *frame, struct frame *decoded)
{
    const struct subrequest *first = &decoded->body.node_request.subrequests[0];

    (void)circle;
    (void)frame;
    return decoded->kind != FRAME_NODE_REQUEST || first->operation != OPERATION_ADD ||
           first->count <= most_keys;
}

/* For longer than a relayed add waits: it is tried again, and only then its batch is applied. Marks
 * whose batch has come wait for that. */
Test(link_marked, what_nodes_could_not_take_is_not_applied)
{
    uint64_t at_us;

    begin();
    want_marks();
    most_keys = 0;
    pair->sides[US].circle.spy = lose_adds;
    add(1, ALL);
    at_us = now();
    site_pair_run(pair, 8 * SECOND);
    cr_assert_eq(have_all(1), 0);
    cr_assert_leq(evidence()->marked_us, at_us);
    pair->sides[US].circle.spy = NULL;
    site_pair_run(pair, 8 * SECOND);
    cr_assert_geq(have_all(1), 2);
    cr_assert_gt(evidence()->marked_us, at_us);
    end();
}

Test(link_marked, what_is_applied_says_nothing_of_what_came_before)
{
    uint64_t few[] = {1, 2, 3};

    begin();
    most_keys = 3;
    pair->sides[US].circle.spy = lose_adds;
    add(1, ALL);
    site_pair_run(pair, SECOND);
    site_pair_add(pair, EU, ALL, few, 3);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_geq(site_pair_copies(pair, US, 0, few, 3), 2);
    pair->sides[US].circle.spy = NULL;
    site_pair_run(pair, 8 * SECOND);
    cr_assert_geq(have_all(1), 2);
    end();
}

/* ---- what it takes ---- */

static bool lose_notes(struct circle *circle, struct circle_frame *frame, struct frame *decoded)
{
    (void)circle;
    return decoded->kind != FRAME_SITE_CURSOR_REQUEST || !decoded->body.site_cursor_request.put ||
           frame->to == 1;
}

/* One node of three hears where the source's logs are applied. */
Test(link_marked, a_mark_that_too_few_have_noted_counts_for_plain_checks_only)
{
    uint64_t at_us;

    begin();
    want_marks();
    site_pair_run(pair, 2 * SECOND);
    pair->sides[US].circle.spy = lose_notes;
    add(1, ALL);
    at_us = now();
    site_pair_run(pair, 5 * SECOND);
    cr_assert_gt(evidence()->marked_us, at_us);
    cr_assert_leq(evidence()->noted_us, at_us);
    pair->sides[US].circle.spy = NULL;
    site_pair_run(pair, 8 * SECOND);
    cr_assert_gt(evidence()->noted_us, at_us);
    end();
}

static bool lose_ends(struct circle *circle, struct circle_frame *frame, struct frame *decoded)
{
    (void)circle;
    (void)frame;
    return decoded->kind != FRAME_NODE_REQUEST ||
           decoded->body.node_request.subrequests[0].operation != OPERATION_ENDS;
}

/* Places that are being read when it begins are not gone on from. */
Test(link_marked, a_copy_that_begins_while_places_are_read_is_whole)
{
    uint64_t begun_us;

    begin();
    add(1, ALL);
    site_pair_run(pair, 3 * SECOND);
    site_pair_link_stop(pair, US);
    site_pair_link_start(pair, US);
    pair->sides[US].circle.spy = lose_ends;
    site_pair_run(pair, 2 * SECOND);
    pair->sides[US].circle.spy = NULL;
    cr_assert_neq(inflow()->places.state, PLACES_KNOWN);
    begun_us = now();
    inflow_copy_anew(pair->sides[US].link, inflow());
    site_pair_run(pair, 4 * SECOND);
    want_marks();
    site_pair_run(pair, 3 * SECOND);
    cr_assert_geq(evidence()->whole_us, begun_us);
    cr_assert_eq(site_pair_counter(pair, EU, "site_copies_total"), 6);
    cr_assert_eq(site_pair_counter(pair, US, "site_closed_total"), 0);
    end();
}

Test(link_marked, a_mark_counts_once_nodes_have_told_their_boots_again)
{
    uint64_t at_us;

    begin();
    want_marks();
    site_pair_run(pair, 2 * SECOND);
    pair->sides[US].circle.spy = lose_ends;
    at_us = now();
    site_pair_run(pair, 5 * SECOND);
    cr_assert_gt(evidence()->marked_us, at_us);
    cr_assert_leq(evidence()->noted_us, at_us);
    pair->sides[US].circle.spy = NULL;
    site_pair_run(pair, 3 * SECOND);
    cr_assert_gt(evidence()->noted_us, at_us);
    end();
}

/* That a node has started again is heard of before the node itself has told. */
Test(link_marked, nothing_is_told_while_a_node_may_have_lost_what_counts)
{
    struct circle *us;
    int steps;

    begin();
    us = &pair->sides[US].circle;
    want_marks();
    site_pair_run(pair, 3 * SECOND);
    cr_assert(inflow_tell(inflow(), 0, now()).known);
    us->spy = lose_ends;
    site_pair_run(pair, 3 * SECOND);
    cr_assert(inflow_tell(inflow(), 0, now()).known, "an ordinary question says nothing of that");
    circle_stop(us, 2);
    circle_start(us, 2);
    for (steps = 0; steps < 100 && !inflow()->own.suspect; steps++) {
        site_pair_run(pair, 50000);
    }
    cr_assert_lt(steps, 100);
    cr_assert_neq(inflow()->marked.confirmed, 0);
    cr_assert_not(inflow_tell(inflow(), 0, now()).known);
    us->spy = NULL;
    site_pair_run(pair, 15 * SECOND);
    cr_assert(inflow_tell(inflow(), 0, now()).known);
    end();
}

static void put_back(struct memory_disk **copies, const struct node_record *records)
{
    struct circle *us = &pair->sides[US].circle;

    memcpy(us->records, records, sizeof us->records);
    for (uint32_t i = 0; i < 3; i++) {
        circle_stop(us, i + 1);
        memory_disk_restore(us->nodes[i].disk, copies[i]);
        memory_disk_destroy(&copies[i]);
        circle_start(us, i + 1);
    }
}

/* The link lives on, and no mark that it began since may count for what nodes have lost. */
Test(link_marked, no_mark_counts_for_what_was_put_back)
{
    struct memory_disk *copies[3];
    struct node_record records[CIRCLE_MAX];
    struct circle *us;
    uint64_t at_us;

    begin();
    us = &pair->sides[US].circle;
    want_marks();
    add(1, ALL);
    site_pair_run(pair, 3 * SECOND);
    for (uint32_t i = 0; i < 3; i++) {
        copies[i] = memory_disk_copy(us->nodes[i].disk);
    }
    memcpy(records, us->records, sizeof records);
    add(2, ALL);
    site_pair_run(pair, 3 * SECOND);
    cr_assert_eq(have_all(2), 3);
    put_back(copies, records);
    us->silent = true; /* Nobody but the nodes tells that they have started again. */
    at_us = now();
    for (int steps = 0; evidence()->noted_us <= at_us; steps++) {
        cr_assert_lt(steps, 400, "no mark counts any more");
        us->silent = steps < 30;
        site_pair_run(pair, 50000);
    }
    cr_assert_geq(have_all(2), 2);
    end();
}

/* ---- at the source ---- */

/* Too few of its nodes are there to be copied, so their ends would be asked for in vain; and marks
 * that were given up make room. */
Test(link_marked, nodes_that_are_not_copied_are_not_asked_for_ends)
{
    struct circle *eu;
    const struct outflow *outflow;
    uint64_t newest = 0;

    pair = malloc(sizeof *pair);
    cr_assert_not_null(pair);
    site_pair_init(pair, 3);
    pair->spy = watch;
    eu = &pair->sides[EU].circle;
    circle_stop(eu, 2);
    circle_stop(eu, 3);
    site_pair_run(pair, 3 * SECOND);
    want_marks();
    for (int steps = 0; steps < 1300; steps++) {
        site_pair_run(pair, 10000);
        outflow = TAILQ_FIRST(&pair->sides[EU].link->outflows);
        cr_assert_not_null(outflow);
        for (uint32_t i = 0; i < OUTFLOW_MARKS; i++) {
            cr_assert_not(outflow->marks[i].asking);
            newest = outflow->marks[i].mark > newest ? outflow->marks[i].mark : newest;
        }
    }
    cr_assert_gt(newest, OUTFLOW_MARKS);
    circle_start(eu, 2);
    circle_start(eu, 3);
    site_pair_run(pair, 20 * SECOND);
    cr_assert_gt(evidence()->noted_us, 0);
    end();
}

/* ---- what a peer may answer ---- */

static void answer(const struct site_marked *marked)
{
    struct site_pair_side *us = &pair->sides[US];
    const struct peer from = {.size = 1, .id = {1}, .user = 1};
    const struct frame frame = {.kind = FRAME_SITE_MARKED, .body.site_marked = *marked};
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    us->face.on_request(us->face.self, us->circle.now_us, &from, buffer_span(&bytes));
    buffer_fini(&bytes);
}

/* One thing each. */
static void bend(int how, struct site_marked *marked, struct site_source *ends)
{
    marked->nends -= how == 0;
    marked->groups += how == 1;
    marked->groups -= how == 2;
    marked->read = how == 3 ? 0 : marked->read;
    ends[1].node = how == 4 ? ends[0].node : ends[1].node;
    ends[1].group += how == 5;
    ends[0].node = how == 6 ? 0 : ends[0].node;
    ends[0].offset += how == 7;
    ends[0].offset = how == 8 ? UINT64_MAX - 7 : ends[0].offset;
    ends[0].boot = how == 9 ? 0 : ends[0].boot;
    ends[1].incarnation = how == 10 ? 0 : ends[1].incarnation;
}

Test(link_marked, answers_that_make_no_sense_are_refused)
{
    enum { NBENT = 11 };

    begin();
    lose_answers = true;
    for (int how = 0; how < NBENT; how++) {
        struct site_source ends[2] = {
            {.node = 1, .incarnation = 1, .boot = 1, .offset = 8, .epoch = 1},
            {.node = 2, .incarnation = 1, .boot = 1, .offset = 8, .epoch = 1}};
        struct site_marked marked = {.groups = 1, .read = 2, .ends = ends, .nends = 2};
        uint64_t before = site_pair_counter(pair, US, "site_closed_total");

        want_marks();
        site_pair_run(pair, 20000);
        marked.stream = asked.stream;
        marked.mark = asked.mark;
        bend(how, &marked, ends);
        answer(&marked);
        cr_assert_eq(site_pair_counter(pair, US, "site_closed_total"), before + 1, "%d", how);
        cr_assert_not(evidence()->copied);
        site_pair_run(pair, 20 * SECOND);
    }
    lose_answers = false;
    site_pair_run(pair, 15 * SECOND);
    cr_assert_gt(evidence()->noted_us, 0, "marks go on");
    end();
}

/* Of a mark that was not asked for, or of a stream that is not there. */
Test(link_marked, answers_to_nothing_are_ignored)
{
    struct site_source ends[2] = {{.node = 1, .incarnation = 1, .boot = 1, .offset = 8},
                                  {.node = 2, .incarnation = 1, .boot = 1, .offset = 8}};
    struct site_marked marked = {.groups = 1, .read = 2, .ends = ends, .nends = 2};

    begin();
    lose_answers = true;
    want_marks();
    site_pair_run(pair, 20000);
    marked.stream = asked.stream;
    marked.mark = asked.mark + 5;
    answer(&marked);
    marked.stream++;
    marked.mark = asked.mark;
    answer(&marked);
    site_pair_run(pair, SECOND);
    cr_assert_not(evidence()->copied);
    cr_assert_eq(site_pair_counter(pair, US, "site_closed_total"), 0);
    end();
}

/* To the last mark that was asked for: two logs of EU in that boot. */
static void answer_with(uint64_t boot)
{
    struct circle *eu = &pair->sides[EU].circle;
    struct site_source ends[2];
    const struct site_marked marked = {.stream = asked.stream,
                                       .mark = asked.mark,
                                       .groups = 1,
                                       .read = 2,
                                       .ends = ends,
                                       .nends = 2};

    for (uint32_t i = 0; i < 2; i++) {
        ends[i] = (struct site_source){.node = i + 1,
                                       .incarnation = circle_node(eu, i + 1)->life.incarnation,
                                       .boot = boot,
                                       .offset = 8,
                                       .epoch = 1};
    }
    answer(&marked);
}

/* What is noted is in which boots the source was followed when the mark was answered. */
Test(link_marked, the_boots_that_a_mark_tells_are_noted)
{
    const struct site_source *sources;
    uint64_t version;

    begin();
    add(1, ALL);
    site_pair_run(pair, 3 * SECOND);
    lose_answers = true;
    want_marks();
    site_pair_run(pair, 20000);
    version = inflow()->places.version;
    sources = inflow()->sources;
    cr_assert_eq(inflow()->nsources, 3);
    answer_with(77);
    cr_assert_eq(evidence()->marked_us, 0);
    site_pair_run(pair, 2000);
    cr_assert_gt(evidence()->marked_us, 0);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(sources[i].boot == 77, sources[i].node != 3);
    }
    cr_assert_gt(inflow()->places.version, version);
    cr_assert_eq(inflow()->marked.version, inflow()->places.version);
    end();
}

/* One that has no room in what is noted could be put back unnoticed. */
Test(link_marked, a_mark_whose_places_have_no_room_does_not_count)
{
    struct inflow *one;

    begin();
    add(1, ALL);
    site_pair_run(pair, 3 * SECOND);
    lose_answers = true;
    want_marks();
    site_pair_run(pair, 20000);
    one = inflow();
    cr_assert(
        heap_grow(&one->sources, &one->sources_capacity, SITE_MAX_SOURCES, sizeof *one->sources));
    one->nsources = SITE_MAX_SOURCES;
    for (uint32_t i = 0; i < SITE_MAX_SOURCES; i++) {
        one->sources[i] = (struct site_source){.group = 1, .node = i + 1};
    }
    answer_with(77);
    site_pair_run(pair, 2000);
    cr_assert_eq(evidence()->marked_us, 0);
    end();
}
