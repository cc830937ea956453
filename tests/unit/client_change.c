/* A change is asked for by what was seen, and again when that has moved; an add by the id of its
 * filter, which a router tells. */
#include "client_fake.h"

enum { FILTER = 7, LATER = 8 };

/* ---- changes ---- */

static void ask_drop(struct fake *fake, struct fake_outcome *outcome)
{
    struct frame drop = {.kind = FRAME_ADMIN_REQUEST};

    drop.body.admin_request = (struct admin_request){.action = ADMIN_DROP, .name = "f"};
    cr_assert_eq(session_ask(fake->session, fake->now_us, TIMEOUT_US, &drop, fake_done, outcome),
                 STATUS_OK);
}

static void answer(struct fake *fake, size_t index, enum status status, bool moved,
                   const struct admin_seen *seen)
{
    struct frame frame = {.kind = FRAME_ADMIN_REPLY, .correlation = fake->sent[index].correlation};

    frame.body.admin_reply = (struct admin_reply){
        .status = status, .message = status == STATUS_OK ? "" : "said so", .moved = moved};
    if (seen != NULL) {
        frame.body.admin_reply.seen = *seen;
    }
    fake_answer_frame(fake, fake->sent[index].link, &frame);
}

static const struct admin_seen first = {.filter_id = FILTER, .revision = 3};
static const struct admin_seen second = {.filter_id = FILTER, .revision = 4};
static const struct admin_seen other = {.filter_id = LATER, .revision = 4};

Test(client_change, names_what_a_look_has_found)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};

    ask_drop(fake, &outcome);
    cr_assert_eq(fake->sent[0].action, ADMIN_LOOK);
    cr_assert_str_eq(fake->sent[0].name, "f");
    answer(fake, 0, STATUS_OK, false, &first);
    cr_assert_eq(fake->nsent, 2, "at once");
    cr_assert_eq(fake->sent[1].action, ADMIN_DROP);
    cr_assert_eq(fake->sent[1].filter_id, FILTER);
    cr_assert_eq(fake->sent[1].seen.revision, 3);
    cr_assert_gt(fake->sent[1].timeout_ms, 0);
    answer(fake, 1, STATUS_OK, false, NULL);
    cr_assert_eq(outcome.status, STATUS_OK);
    fake_end(fake);
}

Test(client_change, what_has_moved_is_looked_at_again)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};

    ask_drop(fake, &outcome);
    answer(fake, 0, STATUS_OK, false, &first);
    answer(fake, 1, STATUS_CONFLICT, true, NULL);
    cr_assert_eq(fake->sent[2].action, ADMIN_LOOK);
    answer(fake, 2, STATUS_OK, false, &second);
    cr_assert_eq(fake->sent[3].action, ADMIN_DROP);
    cr_assert_eq(fake->sent[3].seen.revision, 4);
    answer(fake, 3, STATUS_CONFLICT, false, NULL);
    cr_assert_eq(outcome.calls, 1, "a conflict of another kind is the answer");
    cr_assert_eq(outcome.status, STATUS_CONFLICT);
    fake_end(fake);
}

Test(client_change, a_refusal_of_what_has_not_moved_stands)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};

    ask_drop(fake, &outcome);
    answer(fake, 0, STATUS_OK, false, &first);
    answer(fake, 1, STATUS_CONFLICT, true, NULL);
    answer(fake, 2, STATUS_OK, false, &first);
    cr_assert_eq(fake->nsent, 3, "asked again it would be refused again");
    cr_assert_eq(outcome.status, STATUS_CONFLICT);
    fake_end(fake);
}

Test(client_change, another_filter_of_the_name_is_not_meant)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};

    ask_drop(fake, &outcome);
    answer(fake, 0, STATUS_OK, false, &first);
    answer(fake, 1, STATUS_CONFLICT, true, NULL);
    answer(fake, 2, STATUS_OK, false, &other);
    cr_assert_eq(fake->nsent, 3);
    cr_assert_eq(outcome.status, STATUS_CONFLICT);
    cr_assert_str_eq(outcome.message, "said so");
    fake_end(fake);
}

/* It would be taken for the answer that it is dropped. */
Test(client_change, a_late_answer_to_a_look_says_nothing_of_the_change)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};

    ask_drop(fake, &outcome);
    fake_pass(fake, ATTEMPT_US);
    cr_assert_eq(fake->sent[1].action, ADMIN_LOOK);
    answer(fake, 1, STATUS_OK, false, &first);
    answer(fake, 0, STATUS_OK, false, &first);
    cr_assert_eq(outcome.calls, 0);
    answer(fake, 2, STATUS_OK, false, NULL);
    cr_assert_eq(outcome.calls, 1);
    fake_end(fake);
}

/* ---- adds ---- */

static void tell(struct fake *fake, size_t index, enum status status, uint64_t filter_id)
{
    const struct fake_sent *sent = &fake->sent[index];
    struct frame frame = {.kind = FRAME_CLIENT_REPLY, .correlation = sent->correlation};

    frame.body.client_reply = (struct client_reply){.op = sent->op,
                                                    .attempt = sent->attempt,
                                                    .status = status,
                                                    .message = "name it",
                                                    .filter_id = filter_id};
    fake_answer_frame(fake, sent->link, &frame);
}

Test(client_change, the_first_add_is_told_its_filter_and_others_wait_for_that)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcomes[4] = {{0}};

    for (int i = 0; i < 3; i++) {
        cr_assert_eq(fake_submit(fake, OPERATION_ADD, 1, &outcomes[i]), STATUS_OK);
    }
    cr_assert_eq(fake->nsent, 1);
    cr_assert_eq(fake->sent[0].filter_id, 0);
    tell(fake, 0, STATUS_STALE, FILTER);
    cr_assert_eq(fake->nsent, 4);
    for (size_t i = 1; i < 4; i++) {
        cr_assert_eq(fake->sent[i].filter_id, FILTER);
        cr_assert_eq(fake->sent[i].op.sequence, i, "in their order");
        cr_assert_eq(fake->sent[i].attempt, 0, "nothing was begun");
    }
    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 1, &outcomes[3]), STATUS_OK);
    cr_assert_eq(fake->sent[4].filter_id, FILTER, "it is known by now");
    fake_answer(fake, 1, STATUS_OK, 0, 1);
    cr_assert_eq(outcomes[0].attempts, 1, "being told the filter is no retry");
    fake_end(fake);
}

Test(client_change, an_add_goes_to_the_filter_that_has_the_name_now)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};

    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 1, &outcome), STATUS_OK);
    tell(fake, 0, STATUS_STALE, FILTER);
    tell(fake, 1, STATUS_NOT_FOUND, LATER);
    fake_pass(fake, 10 * MS);
    cr_assert_eq(fake->sent[2].filter_id, LATER);
    fake_answer(fake, 2, STATUS_OK, 0, 1);
    cr_assert_eq(outcome.status, STATUS_OK);
    cr_assert_eq(outcome.absent, 1);
    fake_end(fake);
}
