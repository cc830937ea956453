/* What strangers send harms nothing, memory has a limit, failed allocations leak nothing. */
#include "base/heap.h"
#include "tests/support/node_stage.h"
#include "tests/support/random.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { LIMIT_BYTES = 1 << 30, COUNT = 10, SHARDS_BYTES = 16 * 64 * 64, STRANGER = 9 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct node_stage stage;
static struct node_answer answer;
static uint64_t keys[COUNT];

static enum status check(const struct filter_document *document)
{
    struct subrequest subrequest = node_stage_subrequest(document, OPERATION_CHECK, COUNT);

    sample_fingerprints(document, 0, 1, COUNT, keys);
    node_stage_ask(&stage, &subrequest, 1, keys, &answer);
    return answer.subrequest.status;
}

static void hold(uint64_t id, const char *name, struct filter_document *document)
{
    node_stage_document(&stage, id, name, &rule, 3, document);
    node_stage_hand(&stage, document);
    node_stage_build(&stage);
}

static void expect_error(enum status status)
{
    struct fake_sent sent;

    cr_assert(fake_take(&stage.fake, &sent), "a refusal is answered");
    cr_assert_eq(sent.frame.kind, FRAME_ERROR);
    cr_assert_eq(sent.frame.body.error.status, status);
    cr_assert_neq(sent.frame.body.error.message[0], '\0');
    cr_assert_not(fake_take(&stage.fake, &sent));
}

Test(node_bounds, refuses_and_counts_garbage)
{
    uint64_t state = 1;
    uint8_t bytes[200];
    uint64_t refused = 0;

    node_stage_init(&stage, LIMIT_BYTES);
    for (int round = 0; round < 500; round++) {
        size_t size = random_below(&state, sizeof bytes);

        for (size_t i = 0; i < size; i++) {
            bytes[i] = (uint8_t)random_next(&state);
        }
        fake_request_bytes(&stage.actor, stage.now_us, STRANGER, span_of(bytes, size));
        refused++;
    }
    fake_forget(&stage.fake);
    cr_assert_eq(node_stage_counter(&stage, "malformed_total") +
                     node_stage_counter(&stage, "version_total"),
                 refused);
    node_stage_fini(&stage);
}

Test(node_bounds, refuses_frames_of_another_version_by_name)
{
    struct frame frame = {.kind = FRAME_STATS_REQUEST, .version = CODEC_VERSION + 1};

    node_stage_init(&stage, LIMIT_BYTES);
    fake_request(&stage.actor, stage.now_us, STRANGER, &frame);
    expect_error(STATUS_VERSION);
    cr_assert_eq(node_stage_counter(&stage, "version_total"), 1);
    node_stage_fini(&stage);
}

Test(node_bounds, refuses_frames_that_do_not_belong_here)
{
    struct frame wrong[] = {
        {.kind = FRAME_HINT, .body.hint = {.change = UINT64_MAX}},
        {.kind = FRAME_SYNC_REPLY, .body.sync_reply = {.message = "", .node_id = 99}},
        {.kind = FRAME_ADMIN_REQUEST, .body.admin_request = {.action = ADMIN_STATUS, .name = ""}},
        {.kind = FRAME_ERROR, .body.error = {.status = STATUS_INTERNAL, .message = "x"}},
    };
    size_t nwrong = sizeof wrong / sizeof wrong[0];

    node_stage_init(&stage, LIMIT_BYTES);
    for (size_t i = 0; i < nwrong; i++) {
        fake_forget(&stage.fake);
        fake_request(&stage.actor, stage.now_us, STRANGER, &wrong[i]);
        expect_error(STATUS_INVALID);
    }
    cr_assert_not(node_registered(stage.node), "a stranger gives no ids");
    cr_assert_eq(node_stage_counter(&stage, "malformed_total"), nwrong);
    node_stage_fini(&stage);
}

/* Counted, and nothing else: an answer to a refusal would go back and forth. */
Test(node_bounds, does_not_answer_bad_answers)
{
    struct fake_sent sent;
    struct frame wrong = {.kind = FRAME_STATS_REQUEST};

    node_stage_init(&stage, LIMIT_BYTES);
    stage.actor.on_answer(stage.actor.self, stage.now_us, STAGE_COORDINATOR, span_text("garbage"));
    fake_answer(&stage.actor, stage.now_us, STAGE_COORDINATOR, &wrong);
    cr_assert_not(fake_take(&stage.fake, &sent));
    cr_assert_eq(node_stage_counter(&stage, "malformed_total"), 2);
    node_stage_fini(&stage);
}

Test(node_bounds, a_filter_that_does_not_fit_is_not_held_until_there_is_room)
{
    struct filter_document first;
    struct filter_document second;

    node_stage_init(&stage, SHARDS_BYTES + SHARDS_BYTES / 2);
    node_stage_register(&stage);
    hold(5, "first", &first);
    hold(6, "second", &second);
    cr_assert_eq(check(&first), STATUS_OK);
    cr_assert_eq(check(&second), STATUS_NOT_READY);
    cr_assert_eq(node_stage_counter(&stage, "memory_used_bytes"), SHARDS_BYTES);
    document_epoch_advance(&first);
    first.content.state = FILTER_DROPPED;
    node_stage_hand(&stage, &first);
    stage.actor.time(stage.actor.self, stage.now_us + 1000000);
    node_stage_build(&stage);
    cr_assert_eq(check(&second), STATUS_OK);
    cr_assert_eq(node_stage_counter(&stage, "memory_used_bytes"), SHARDS_BYTES);
    document_fini(&first);
    document_fini(&second);
    node_stage_fini(&stage);
    cr_assert_eq(heap_live(), 0);
}

/* Hand over a document while memory runs out after `n` allocations. */
static void hand_failing(struct span document, unsigned n)
{
    struct frame frame = {.kind = FRAME_DOCUMENTS,
                          .body.documents = {.items = &document, .count = 1}};
    struct peer from = fake_peer(STRANGER);
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    heap_fault_after(n);
    stage.actor.on_request(stage.actor.self, stage.now_us, &from, buffer_span(&bytes));
    heap_fault_clear();
    buffer_fini(&bytes);
}

/* At whatever allocation a document's arrival fails: nothing leaks, the node goes on, and the
 * next synchronisation makes it good. */
Test(node_bounds, a_document_survives_the_failure_of_every_allocation)
{
    for (unsigned n = 0; n < 40; n++) {
        struct filter_document document;
        struct buffer bytes;

        node_stage_init(&stage, LIMIT_BYTES);
        node_stage_register(&stage);
        node_stage_document(&stage, 5, "urls", &rule, 3, &document);
        sample_sign(&document, sample_key(), &bytes);
        hand_failing(buffer_span(&bytes), n);
        node_stage_hand_signed(&stage, buffer_span(&bytes));
        stage.actor.time(stage.actor.self, stage.now_us + 1000000);
        node_stage_build(&stage);
        cr_assert_eq(check(&document), STATUS_OK, "allocation %u", n);
        buffer_fini(&bytes);
        document_fini(&document);
        node_stage_fini(&stage);
        cr_assert_eq(heap_live(), 0, "allocation %u leaks", n);
    }
}

Test(node_bounds, creation_survives_the_failure_of_every_allocation)
{
    enum status status = STATUS_NOMEM;
    struct node_config config = {.name = "n", .key = *sample_key()};
    struct fake_effects fake;

    fake_init(&fake);
    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        struct node *node = NULL;
        size_t before = heap_live();

        heap_fault_after(n);
        status = node_create(&config, &fake.effects, &node);
        heap_fault_clear();
        cr_assert_eq(node == NULL, status != STATUS_OK);
        node_destroy(&node);
        cr_assert_eq(heap_live(), before);
    }
    cr_assert_eq(status, STATUS_OK);
    fake_fini(&fake);
}
