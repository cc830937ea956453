/* What a session refuses: too much, too large, and answers that nobody asked for. */
#include "client_fake.h"

static enum status submit_sizes(struct fake *fake, const uint32_t *lengths, size_t count,
                                struct fake_outcome *outcome)
{
    static uint8_t blob[9 << 20];
    struct session_keys keys = {.filter = "f",
                                .operation = OPERATION_ADD,
                                .blob = blob,
                                .lengths = lengths,
                                .count = count};

    return session_submit(fake->session, fake->now_us, TIMEOUT_US, &keys, fake_done, outcome);
}

Test(session_bounds, keys_are_1_to_65536_bytes)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};
    uint32_t empty[] = {3, 0};
    uint32_t long_one[] = {3, CODEC_MAX_KEY_BYTES + 1};

    cr_assert_eq(submit_sizes(fake, empty, 2, &outcome), STATUS_INVALID);
    cr_assert_eq(submit_sizes(fake, empty, 0, &outcome), STATUS_INVALID);
    cr_assert_eq(submit_sizes(fake, long_one, 2, &outcome), STATUS_TOO_LARGE);
    cr_assert_eq(submit_sizes(fake, empty, CODEC_MAX_KEYS + 1, &outcome), STATUS_TOO_LARGE);
    cr_assert_eq(fake->nsent, 0);
    cr_assert_eq(outcome.calls, 0);
    cr_assert_eq(session_inflight(fake->session), 0);
    fake_end(fake);
}

Test(session_bounds, a_batch_must_fit_into_a_frame)
{
    struct fake *fake = fake_new();
    struct session_config config;
    struct fake_outcome outcome = {0};
    uint32_t lengths[128];

    fake_config(&config, 1);
    config.max_inflight_bytes = UINT64_MAX;
    cr_assert_eq(session_create(&config, &fake->effects, &fake->session), STATUS_OK);
    for (size_t i = 0; i < 128; i++) {
        lengths[i] = CODEC_MAX_KEY_BYTES;
    }
    cr_assert_eq(submit_sizes(fake, lengths, 128, &outcome), STATUS_TOO_LARGE);
    fake_end(fake);
}

/* 4,096 bytes may be in flight; a batch that never fits is told apart from one to wait for. */
Test(session_bounds, bytes_in_flight_are_bounded)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};
    uint32_t much[] = {4097};
    uint32_t most[] = {4096};
    uint32_t least[] = {1};

    fake->down[0] = true;
    cr_assert_eq(submit_sizes(fake, much, 1, &outcome), STATUS_TOO_LARGE);
    cr_assert_eq(submit_sizes(fake, most, 1, &outcome), STATUS_OK);
    cr_assert_eq(submit_sizes(fake, least, 1, &outcome), STATUS_OVERLOADED);
    fake_pass(fake, TIMEOUT_US);
    cr_assert_eq(outcome.calls, 1);
    cr_assert_eq(submit_sizes(fake, most, 1, &outcome), STATUS_OK, "the room is free again");
    fake_end(fake);
}

Test(session_bounds, operations_in_flight_are_bounded)
{
    struct fake *fake = fake_start(1);
    struct frame question = {.kind = FRAME_STATS_REQUEST};
    struct fake_outcome outcome = {0};

    for (int i = 0; i < SESSION_MAX_OPERATIONS; i++) {
        cr_assert_eq(
            session_ask(fake->session, fake->now_us, TIMEOUT_US, &question, fake_done, &outcome),
            STATUS_OK);
    }
    cr_assert_eq(
        session_ask(fake->session, fake->now_us, TIMEOUT_US, &question, fake_done, &outcome),
        STATUS_OVERLOADED);
    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 1, &outcome), STATUS_OVERLOADED);
    fake->down[0] = true;
    fake_pass(fake, TIMEOUT_US);
    cr_assert_eq(outcome.calls, SESSION_MAX_OPERATIONS);
    fake_end(fake);
}

Test(session_bounds, filters_have_names)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};
    char name[DOCUMENT_NAME_BYTES + 1];
    uint32_t length = 1;
    struct session_keys keys = {
        .operation = OPERATION_ADD, .blob = (const uint8_t *)"k", .lengths = &length, .count = 1};

    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    cr_assert_eq(session_submit(fake->session, 0, 1, &keys, fake_done, &outcome), STATUS_INVALID);
    keys.filter = "";
    cr_assert_eq(session_submit(fake->session, 0, 1, &keys, fake_done, &outcome), STATUS_INVALID);
    keys.filter = name;
    cr_assert_eq(session_submit(fake->session, 0, 1, &keys, fake_done, &outcome), STATUS_TOO_LARGE);
    fake_end(fake);
}

Test(session_bounds, garbage_and_strangers_change_nothing)
{
    struct fake *fake = fake_start(2);
    struct fake_outcome outcome = {0};
    struct frame frame = {.kind = FRAME_CLIENT_REPLY};
    uint64_t all = 1;

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
    fake->actor.on_answer(fake->actor.self, fake->now_us, 1, span_text("\xff\xff garbage"));
    fake->actor.on_answer(fake->actor.self, fake->now_us, 1, span_of(NULL, 0));
    frame.correlation = fake->sent[0].correlation;
    frame.body.client_reply = (struct client_reply){
        .op = fake->sent[0].op, .message = "", .count = 1, .present = &all, .absent = &all};
    frame.body.client_reply.op.session[1]++; /* another client's */
    fake_answer_frame(fake, 1, &frame);
    frame.body.client_reply.op.session[1]--;
    fake_answer_frame(fake, 7, &frame); /* by a link that is not ours */
    frame.kind = FRAME_HINT;            /* of another kind */
    frame.body.hint = (struct hint){.change = 1};
    fake_answer_frame(fake, 1, &frame);
    cr_assert_eq(outcome.calls, 0);
    fake_answer(fake, 0, STATUS_OK, 0, 1);
    cr_assert_eq(outcome.calls, 1);
    cr_assert_eq(outcome.absent, 1);
    fake_end(fake);
}

/* A reply about another number of keys can't be laid over ours. */
Test(session_bounds, a_reply_of_another_size_is_no_verdict)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};
    struct frame frame = {.kind = FRAME_CLIENT_REPLY};
    uint64_t absent = 3;
    uint64_t present = 0;

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
    frame.correlation = fake->sent[0].correlation;
    frame.body.client_reply = (struct client_reply){
        .op = fake->sent[0].op, .message = "", .count = 2, .present = &present, .absent = &absent};
    fake_answer_frame(fake, 1, &frame);
    cr_assert_eq(outcome.calls, 0);
    fake_pass(fake, TIMEOUT_US);
    cr_assert_eq(outcome.status, STATUS_DEADLINE);
    cr_assert_eq(outcome.absent, 0);
    fake_end(fake);
}

Test(session_bounds, a_refused_frame_is_told)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};
    struct frame frame = {.kind = FRAME_ERROR};

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
    frame.correlation = fake->sent[0].correlation;
    frame.body.error = (struct error_reply){.status = STATUS_MALFORMED, .message = "bad frame"};
    fake_answer_frame(fake, 1, &frame);
    cr_assert_eq(outcome.calls, 1);
    cr_assert_eq(outcome.status, STATUS_MALFORMED);
    cr_assert_str_eq(outcome.message, "bad frame");
    cr_assert_eq(outcome.absent, 0);
    fake_end(fake);
}

Test(session_bounds, a_newer_protocol_is_named)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};
    struct frame frame = {.kind = FRAME_STATS_REQUEST, .version = CODEC_VERSION + 1};

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
    frame.correlation = fake->sent[0].correlation;
    fake_answer_frame(fake, 1, &frame);
    cr_assert_eq(outcome.status, STATUS_VERSION);
    cr_assert(strstr(outcome.message, "tcp://r1:1 speaks protocol version 2") != NULL, "%s",
              outcome.message);
    fake_end(fake);
}

/* Questions go to whom they concern; the answer is handed on. */
Test(session_bounds, questions_find_their_addressee)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};
    struct frame question = {.kind = FRAME_ADMIN_REQUEST};
    struct frame answer = {.kind = FRAME_ADMIN_REPLY};

    question.body.admin_request = (struct admin_request){.action = ADMIN_DROP, .name = "x"};
    cr_assert_eq(
        session_ask(fake->session, fake->now_us, TIMEOUT_US, &question, fake_done, &outcome),
        STATUS_OK);
    cr_assert_str_eq(fake->endpoints[fake->sent[0].link - 1], "tcp://c1:1");
    cr_assert_str_eq(fake->sent[0].name, "x");
    answer.correlation = fake->sent[0].correlation;
    answer.body.admin_reply = (struct admin_reply){.status = STATUS_NAME_BUSY, .message = "busy"};
    fake_answer_frame(fake, fake->sent[0].link, &answer);
    cr_assert_eq(outcome.calls, 0, "busy passes");
    fake_pass(fake, 10 * MS);
    answer.correlation = fake->sent[1].correlation;
    answer.body.admin_reply.status = STATUS_OK;
    fake_answer_frame(fake, fake->sent[1].link, &answer);
    cr_assert_eq(outcome.calls, 0, "it has looked");
    answer.correlation = fake->sent[2].correlation;
    fake_answer_frame(fake, fake->sent[2].link, &answer);
    cr_assert_eq(outcome.kind, FRAME_ADMIN_REPLY);
    cr_assert_eq(outcome.status, STATUS_OK);

    question = (struct frame){.kind = FRAME_INFO_REQUEST};
    question.body.info_request.filter = "y";
    cr_assert_eq(
        session_ask(fake->session, fake->now_us, TIMEOUT_US, &question, fake_done, &outcome),
        STATUS_OK);
    cr_assert_str_eq(fake->endpoints[fake->sent[3].link - 1], "tcp://r1:1");
    question.kind = FRAME_HINT;
    cr_assert_eq(
        session_ask(fake->session, fake->now_us, TIMEOUT_US, &question, fake_done, &outcome),
        STATUS_INVALID);
    fake_end(fake);
}

/* A dump's page and a chunk go to routers, which are to answer soon, however long one waits in all.
 */
Test(session_bounds, pages_of_dumps_are_asked_of_routers_and_again)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};
    struct frame question = {.kind = FRAME_DUMP_REQUEST,
                             .body.dump_request = {.filter = "y", .iterator = 1}};
    struct frame answer = {.kind = FRAME_DUMP_REPLY,
                           .body.dump_reply = {.status = STATUS_UNAVAILABLE, .message = "few"}};
    struct frame added = {.kind = FRAME_CLIENT_REPLY,
                          .body.client_reply = {.status = STATUS_FULL, .message = "full"}};

    cr_assert_eq(
        session_ask(fake->session, fake->now_us, 60000 * MS, &question, fake_done, &outcome),
        STATUS_OK);
    cr_assert_str_eq(fake->endpoints[fake->sent[0].link - 1], "tcp://r1:1");
    cr_assert_leq(fake->sent[0].timeout_ms, 5000);
    cr_assert_str_eq(fake->sent[0].name, "y");
    answer.correlation = fake->sent[0].correlation;
    fake_answer_frame(fake, fake->sent[0].link, &answer);
    cr_assert_eq(outcome.calls, 0, "that passes");
    fake_pass(fake, 10 * MS);
    answer.correlation = fake->sent[1].correlation;
    answer.body.dump_reply.status = STATUS_OK;
    fake_answer_frame(fake, fake->sent[1].link, &answer);
    cr_assert_eq(outcome.kind, FRAME_DUMP_REPLY);
    cr_assert_eq(outcome.status, STATUS_OK);

    question = (struct frame){.kind = FRAME_LOAD_REQUEST,
                              .body.load_request = {.filter = "y", .chunk = span_text("c")}};
    cr_assert_eq(
        session_ask(fake->session, fake->now_us, 60000 * MS, &question, fake_done, &outcome),
        STATUS_OK);
    added.correlation = fake->sent[2].correlation;
    fake_answer_frame(fake, fake->sent[2].link, &added);
    cr_assert_eq(outcome.calls, 2);
    cr_assert_eq(outcome.status, STATUS_FULL);
    fake_end(fake);
}

/* What the caller passed may be gone when it is asked again. */
Test(session_bounds, questions_keep_their_texts)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};
    struct frame question = {.kind = FRAME_ADMIN_REQUEST};
    struct frame busy = {.kind = FRAME_ADMIN_REPLY};
    char name[] = "node-1";
    char successor[] = "node-2";

    question.body.admin_request = (struct admin_request){
        .action = ADMIN_NODE_REPLACE, .name = name, .successor = successor};
    cr_assert_eq(
        session_ask(fake->session, fake->now_us, TIMEOUT_US, &question, fake_done, &outcome),
        STATUS_OK);
    memset(name, 'x', sizeof name - 1);
    memset(successor, 'x', sizeof successor - 1);
    busy.correlation = fake->sent[0].correlation;
    busy.body.admin_reply = (struct admin_reply){.status = STATUS_NAME_BUSY, .message = "busy"};
    fake_answer_frame(fake, fake->sent[0].link, &busy);
    fake_pass(fake, 10 * MS);
    cr_assert_eq(fake->nsent, 2);
    cr_assert_str_eq(fake->sent[1].name, "node-1");
    cr_assert_str_eq(fake->sent[1].successor, "node-2");
    fake_end(fake);
}

/* Every allocation fails once, on the way from creation to the answer. */
Test(session_bounds, no_failed_allocation_harms)
{
    struct fake *fake = fake_new();
    struct session_config config;
    enum status status = STATUS_NOMEM;

    fake_config(&config, 1);
    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        struct fake_outcome outcome = {0};
        size_t sent = fake->nsent;

        fake->nlinks = 0;
        heap_fault_after(n);
        status = session_create(&config, &fake->effects, &fake->session);
        if (status == STATUS_OK) {
            fake->actor = session_actor(fake->session);
            status = fake_submit(fake, OPERATION_ADD, 3, &outcome);
        }
        heap_fault_clear();
        cr_assert(status == STATUS_OK || status == STATUS_NOMEM, "%u", n);
        if (status == STATUS_OK) {
            fake_answer(fake, sent, STATUS_OK, 7, 0);
            cr_assert_eq(outcome.status, STATUS_OK);
        } else {
            cr_assert(fake->session == NULL || session_inflight(fake->session) == 0);
            cr_assert_eq(outcome.calls, 0);
        }
        session_destroy(&fake->session);
    }
    fake_end(fake);
}
