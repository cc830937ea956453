/* Adds that come again: executed every time, by the epoch that they name; voting as the first
 * time while that is remembered, and doubted where a "present" may be their own doing. */
#include "node/private.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"
#include "tests/support/story.h"

#include <criterion/criterion.h>

enum {
    LIMIT_BYTES = 1 << 30,
    COUNT = 130,
    ROUTER_A = 90,
    ROUTER_B = 91,
    AGE_US = 1000000,
};

static const uint64_t all[] = {UINT64_MAX, UINT64_MAX, 3};
static const uint64_t none[] = {0, 0, 0};

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct node_stage stage;
static struct filter_document document;
static struct node_answer answer;
static uint64_t keys[STAGE_MAX_KEYS];

static void open_stage(uint64_t memory_bytes)
{
    node_stage_init_retries(&stage, LIMIT_BYTES, memory_bytes, AGE_US);
    node_stage_register(&stage);
    node_stage_document(&stage, 5, "urls", &rule, 3, &document);
    node_stage_hand(&stage, &document);
    node_stage_build(&stage);
    sample_fingerprints(&document, 0, 1, COUNT, keys);
}

static void close_stage(void)
{
    document_fini(&document);
    node_stage_fini(&stage);
}

/* As sent by a router in its `batch`-th message, for the client's add number `op`. */
static enum status add(uint64_t op, uint32_t attempt, uint64_t router, uint64_t batch)
{
    struct subrequest subrequest = node_stage_subrequest(&document, OPERATION_ADD, COUNT);

    subrequest.op.sequence = op;
    subrequest.attempt = attempt;
    subrequest.batch = (struct batch_id){.producer_id = router, .number = batch};
    node_stage_ask(&stage, &subrequest, 1, keys, &answer);
    return answer.subrequest.status;
}

static void expect(const uint64_t *present, const uint64_t *absent, bool repeated)
{
    cr_assert_eq(answer.subrequest.status, STATUS_OK);
    cr_assert_eq(answer.subrequest.count, COUNT);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(answer.present[i], present[i], "word %zu", i);
        cr_assert_eq(answer.absent[i], absent[i], "word %zu", i);
    }
    cr_assert_eq(answer.subrequest.repeated, repeated);
}

static uint64_t counter(const char *name)
{
    return node_stage_counter(&stage, name);
}

Test(node_retries, a_retry_through_another_router_is_executed_and_votes_as_the_first_time)
{
    open_stage(1 << 20);
    (void)add(1, 0, ROUTER_A, 1);
    expect(none, all, false);
    (void)add(1, 1, ROUTER_B, 7);
    expect(none, all, false);
    cr_assert_eq(counter("keys_added_total"), 2 * COUNT);
    cr_assert_eq(counter("remembered_total"), 1);
    cr_assert_eq(counter("repeated_total"), 0);
    cr_assert_gt(counter("recent_adds_bytes"), 0);
    (void)add(2, 0, ROUTER_A, 2);
    expect(all, none, false);
    (void)add(2, 1, ROUTER_B, 8);
    expect(all, none, false);
    close_stage();
}

/* A message that arrives twice, or is sent again by its router, finds its own vote. */
Test(node_retries, the_same_batch_again_votes_as_the_first_time)
{
    open_stage(1 << 20);
    (void)add(1, 0, ROUTER_A, 1);
    (void)add(1, 0, ROUTER_A, 1);
    expect(none, all, false);
    (void)add(1, 1, ROUTER_A, 1);
    expect(none, all, false);
    (void)add(2, 0, ROUTER_A, 2);
    (void)add(2, 2, ROUTER_A, 2);
    expect(all, none, false);
    cr_assert_eq(counter("remembered_total"), 3);
    close_stage();
}

/* What a node says is new is new, whoever asks. */
Test(node_retries, a_retry_without_memory_is_doubted)
{
    open_stage(1 << 20);
    (void)add(1, 1, ROUTER_A, 1);
    expect(none, all, true);
    (void)add(1, 1, ROUTER_A, 1);
    expect(none, all, true);
    (void)add(1, 2, ROUTER_B, 1);
    expect(none, all, true);
    cr_assert_eq(counter("repeated_total"), 3);
    (void)add(2, 1, ROUTER_A, 2);
    expect(all, none, true);
    close_stage();
}

Test(node_retries, a_first_attempt_that_came_second_is_doubted)
{
    open_stage(1 << 20);
    (void)add(1, 1, ROUTER_B, 1);
    expect(none, all, true);
    (void)add(1, 0, ROUTER_A, 1);
    expect(none, all, true);
    close_stage();
}

/* Its memory gone, the first attempt cannot be told from a new add. The second attempt's router
 * must not hear of its own doing: not in the message that it repeats, nor may a third. */
Test(node_retries, a_vote_that_may_not_be_the_first_is_not_repeated_for_sure)
{
    open_stage(1 << 20);
    (void)add(1, 1, ROUTER_B, 1);
    stage.now_us += AGE_US;
    (void)add(1, 0, ROUTER_A, 1);
    expect(all, none, false);
    (void)add(1, 1, ROUTER_B, 1);
    expect(all, none, true);
    (void)add(1, 2, ROUTER_B, 1);
    expect(all, none, true);
    (void)add(1, 2, ROUTER_A, 2);
    expect(all, none, true);
    close_stage();
}

static void expect_forgotten(void)
{
    (void)add(1, 1, ROUTER_B, 1);
    expect(all, none, true);
    cr_assert_eq(counter("remembered_total"), 0);
    keys[0] ^= 1; /* Of the same shard, and now another list. */
    (void)add(1, 2, ROUTER_B, 2);
    expect((uint64_t[]){UINT64_MAX - 1, UINT64_MAX, 3}, (uint64_t[]){1, 0, 0}, true);
}

Test(node_retries, an_aged_add_is_forgotten)
{
    open_stage(1 << 20);
    (void)add(1, 0, ROUTER_A, 1);
    stage.now_us += AGE_US;
    expect_forgotten();
    close_stage();
}

Test(node_retries, an_evicted_add_is_forgotten)
{
    open_stage(300);
    (void)add(1, 0, ROUTER_A, 1);
    (void)add(2, 0, ROUTER_A, 2);
    (void)add(3, 0, ROUTER_A, 3);
    expect_forgotten();
    cr_assert_leq(counter("recent_adds_bytes"), 300);
    close_stage();
}

Test(node_retries, a_batch_that_comes_again_after_its_add_was_forgotten_is_doubted)
{
    open_stage(0);
    (void)add(1, 0, ROUTER_A, 1);
    expect(none, all, false);
    (void)add(1, 0, ROUTER_A, 1);
    expect(all, none, true);
    (void)add(2, 0, ROUTER_A, 2);
    expect(all, none, false);
    cr_assert_eq(counter("repeated_total"), 1);
    close_stage();
}

Test(node_retries, one_op_with_two_lists_is_doubted)
{
    open_stage(1 << 20);
    (void)add(1, 0, ROUTER_A, 1);
    keys[COUNT - 1] ^= 1;
    (void)add(1, 0, ROUTER_B, 1);
    expect((uint64_t[]){UINT64_MAX, UINT64_MAX, 1}, (uint64_t[]){0, 0, 2}, true);
    close_stage();
}

/* The epoch is judged before anything is remembered or repeated. */
Test(node_retries, a_retry_under_another_epoch_is_refused_or_executed_anew)
{
    uint64_t former_hash;

    open_stage(1 << 20);
    (void)add(1, 0, ROUTER_A, 1);
    former_hash = document.epoch_hash;
    document_epoch_advance(&document);
    cr_assert_eq(add(1, 1, ROUTER_B, 1), STATUS_NEED_DOC);
    cr_assert_eq(counter("keys_added_total"), COUNT);
    node_stage_hand(&stage, &document);
    (void)add(1, 1, ROUTER_B, 1);
    expect(all, none, true);
    cr_assert_eq(counter("keys_added_total"), 2 * COUNT);
    document.epoch--;
    document.epoch_hash = former_hash;
    cr_assert_eq(add(1, 2, ROUTER_A, 1), STATUS_STALE);
    cr_assert_eq(counter("keys_added_total"), 2 * COUNT);
    cr_assert_eq(counter("remembered_total"), 0);
    close_stage();
}

/* After a store was restored epochs are 65,536 further: what names a router's messages for one
 * filter is not taken for what names those for its neighbour. */
Test(node_retries, messages_for_two_filters_are_never_taken_for_each_other)
{
    struct filter_document other;

    open_stage(1 << 20);
    node_stage_document(&stage, 4, "restored", &rule, 3, &other);
    other.epoch = document.epoch ^ 1 << 16;
    other.revision = other.epoch;
    node_stage_hand(&stage, &other);
    node_stage_build(&stage);
    (void)add(1, 0, ROUTER_A, 1);
    expect(none, all, false);
    document_fini(&document);
    document = other;
    sample_fingerprints(&document, 0, 1, COUNT, keys);
    (void)add(2, 0, ROUTER_A, 1);
    expect(none, all, false);
    (void)add(3, 0, ROUTER_A, 2);
    expect(all, none, false);
    close_stage();
}

/* A replica that counts for nothing has no vote to repeat. */
Test(node_retries, while_joining_nothing_is_repeated)
{
    node_stage_init_retries(&stage, LIMIT_BYTES, 1 << 20, AGE_US);
    node_stage_register(&stage);
    sample_document(5, "urls", &rule, 3, &document);
    node_stage_hand(&stage, &document);
    node_stage_build(&stage);
    sample_fingerprints(&document, 0, 1, COUNT, keys);
    (void)add(1, 0, ROUTER_A, 1);
    expect(all, all, false);
    (void)add(1, 1, ROUTER_B, 1);
    expect(all, all, true);
    cr_assert_eq(counter("remembered_total"), 0);
    close_stage();
}

/* Bits of words 0 and 1 as one execution found them, then what the retry says. */
static bool settle(uint32_t attempt, uint64_t batch, uint64_t found[2], uint64_t absent[2])
{
    struct subrequest subrequest = node_stage_subrequest(&document, OPERATION_ADD, 70);

    subrequest.attempt = attempt;
    subrequest.batch.number = batch;
    return node_settle_vote(stage.node, stage.now_us, &subrequest, keys, REPLICA_FULL, found,
                            absent);
}

/* What had no room the first time is new if the attempt that found some found it so; if that found
 * it there, another node may have had it of this very add. What was accepted once and then has no
 * room is not accepted now. */
/* Which bits of its two words the vote has. */
static void tell_settled(struct story *story, uint32_t attempt, uint64_t batch, uint64_t vote[2][2])
{
    bool kept = settle(attempt, batch, vote[0], vote[1]);

    story_tell(story, "attempt %u, batch %u: present %u %u, new %u %u%s", attempt, (unsigned)batch,
               (unsigned)vote[0][0], (unsigned)vote[0][1], (unsigned)vote[1][0],
               (unsigned)vote[1][1], kept ? ", as it was" : "");
}

Test(node_retries, keys_that_had_no_room_get_the_vote_of_the_attempt_that_accepted_them)
{
    struct story story = {0};
    uint64_t first[2][2] = {{1, 0}, {2, 1}};   /* keys 0: present, 1 and 64: new */
    uint64_t second[2][2] = {{7, 3}, {8, 4}};  /* keys 2, 65: present, 3 and 66: new, 64: there */
    uint64_t third[2][2] = {{15, 7}, {16, 8}}; /* all there, keys 4 and 67 new */
    uint64_t fourth[2][2] = {{14, 0}, {0, 0}}; /* key 0 has no room, nor has any of word 1 */

    open_stage(1 << 20);
    tell_settled(&story, 0, 1, first);
    tell_settled(&story, 1, 2, second);
    tell_settled(&story, 2, 2, third);
    tell_settled(&story, 3, 3, fourth);
    story_expect(&story, "attempt 0, batch 1: present 1 0, new 2 1, as it was\n"
                         "attempt 1, batch 2: present 5 2, new 10 5\n"
                         "attempt 2, batch 2: present 5 2, new 26 13\n"
                         "attempt 3, batch 3: present 4 0, new 10 0\n");
    close_stage();
}

/* Through the real thing: at its capacity a replica takes part of a batch, and says the same of
 * that part the next time. */
Test(node_retries, a_batch_that_filled_the_filter_is_repeated_as_it_was)
{
    struct subrequest subrequest;
    struct node_answer first;

    open_stage(1 << 20);
    for (uint64_t batch = 1; batch <= 4; batch++) {
        subrequest = node_stage_subrequest(&document, OPERATION_ADD, 3000);
        subrequest.op.sequence = batch;
        subrequest.batch = (struct batch_id){.producer_id = ROUTER_A, .number = batch};
        sample_fingerprints(&document, 0, batch, 3000, keys);
        node_stage_ask(&stage, &subrequest, 1, keys, &answer);
    }
    cr_assert(answer.subrequest.at_capacity);
    first = answer;
    subrequest.attempt = 1;
    subrequest.batch = (struct batch_id){.producer_id = ROUTER_B, .number = 1};
    node_stage_ask(&stage, &subrequest, 1, keys, &answer);
    cr_assert(answer.subrequest.at_capacity);
    cr_assert_arr_eq(answer.present, first.present, sizeof first.present);
    cr_assert_arr_eq(answer.absent, first.absent, sizeof first.absent);
    cr_assert_not(answer.subrequest.repeated);
    close_stage();
}
