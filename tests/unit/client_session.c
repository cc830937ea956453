/* A session ends every operation by its deadline, asks the next router when one is silent,
 * and never lets a later answer take back what an earlier one has decided. */
#include "client_fake.h"
#include "map/acks.h"
#include "map/staleness.h"

#include <criterion/parameterized.h>

Test(session, an_answer_ends_the_operation_once)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};

    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 3, &outcome), STATUS_OK);
    cr_assert_eq(fake->nsent, 1);
    cr_assert_eq(fake->sent[0].attempt, 0);
    cr_assert_str_eq(fake->sent[0].name, "f");
    cr_assert_str_eq(fake->sent[0].key, "key-1");
    fake_answer(fake, 0, STATUS_OK, 5, 2);
    fake_answer(fake, 0, STATUS_OK, 7, 0); /* Repeated by the network: ignored. */
    fake_pass(fake, 2 * TIMEOUT_US);
    cr_assert_eq(outcome.calls, 1);
    cr_assert_eq(outcome.status, STATUS_OK);
    cr_assert_str_eq(outcome.message, "");
    cr_assert_eq(outcome.present, 5);
    cr_assert_eq(outcome.absent, 2);
    cr_assert_eq(outcome.attempts, 1);
    cr_assert_eq(session_inflight(fake->session), 0);
    fake_end(fake);
}

/* The router's own deadline comes first, so that its last word still arrives. */
Test(session, a_router_is_given_less_than_the_time_left)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
    fake_pass(fake, ATTEMPT_US);
    cr_assert_eq(fake->nsent, 2);
    cr_assert_lt(fake->sent[0].timeout_ms, 5000);
    cr_assert_geq(fake->sent[0].timeout_ms, 4500);
    cr_assert_lt(fake->sent[1].timeout_ms, 4000);
    fake_end(fake);
}

/* Nothing to connect to is an error that says where it looked, at the deadline. */
Test(session, nobody_there_is_a_deadline_that_names_the_routers)
{
    struct fake *fake = fake_start(2);
    struct fake_outcome outcome = {0};

    fake->down[0] = true;
    fake->down[1] = true;
    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 2, &outcome), STATUS_OK);
    fake_pass(fake, TIMEOUT_US - 1);
    cr_assert_eq(outcome.calls, 0);
    fake_pass(fake, 1);
    cr_assert_eq(outcome.calls, 1);
    cr_assert_eq(outcome.status, STATUS_DEADLINE);
    cr_assert_str_eq(outcome.message, "no answer from tcp://r1:1, tcp://r2:1 within 5 s; is the "
                                      "router running, and is this its address?");
    cr_assert_eq(outcome.attempts, 0);
    cr_assert_eq(outcome.present | outcome.absent, 0);
    fake_end(fake);
}

Test(session, what_cannot_be_sent_goes_to_the_next_router_at_once)
{
    struct fake *fake = fake_start(3);
    struct fake_outcome outcome = {0};

    fake->down[0] = true;
    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
    cr_assert_eq(fake->nsent, 1);
    cr_assert_str_eq(fake->endpoints[fake->sent[0].link - 1], "tcp://r2:1");
    cr_assert_eq(fake->sent[0].attempt, 0, "a frame that was dropped is no attempt");
    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
    cr_assert_str_eq(fake->endpoints[fake->sent[1].link - 1], "tcp://r2:1", "sticky");
    fake_end(fake);
}

Test(session, a_router_that_comes_up_later_is_used)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};

    fake->down[0] = true;
    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 1, &outcome), STATUS_OK);
    fake_pass(fake, 2 * SECOND);
    fake->down[0] = false;
    fake_pass(fake, 200 * MS);
    cr_assert_eq(fake->nsent, 1);
    fake_answer(fake, 0, STATUS_OK, 0, 1);
    cr_assert_eq(outcome.status, STATUS_OK);
    fake_end(fake);
}

/* Order of submission is order of sending, also for those that had to wait. */
Test(session, waiting_operations_leave_in_order)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcomes[5] = {{0}};

    fake->down[0] = true;
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[i]), STATUS_OK);
    }
    fake->down[0] = false;
    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[4]), STATUS_OK);
    fake_pass(fake, 10 * MS);
    cr_assert_eq(fake->nsent, 5);
    for (size_t i = 0; i < 5; i++) {
        cr_assert_eq(fake->sent[i].op.sequence, i + 1);
    }
    fake_end(fake);
}

Test(session, a_silent_router_is_left_for_the_next_one)
{
    struct fake *fake = fake_start(2);
    struct fake_outcome first = {0};
    struct fake_outcome second = {0};

    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 1, &first), STATUS_OK);
    fake_pass(fake, ATTEMPT_US);
    cr_assert_eq(fake->nsent, 2);
    cr_assert_neq(fake->sent[1].link, fake->sent[0].link);
    cr_assert_eq(fake->sent[1].attempt, 1);
    cr_assert_eq(memcmp(&fake->sent[1].op, &fake->sent[0].op, sizeof(struct op_id)), 0);
    fake_answer(fake, 1, STATUS_OK, 1, 1);
    cr_assert_eq(first.calls, 1);
    cr_assert_eq(first.attempts, 2);
    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 1, &second), STATUS_OK);
    cr_assert_eq(fake->sent[2].link, fake->sent[1].link, "later ones go where it worked");
    fake_end(fake);
}

/* Each attempt is carried out: with ones that come as often as ever, slow routers stay slow. */
Test(session, once_all_were_silent_each_has_twice_as_long)
{
    static const unsigned seconds[] = {1, 2, 4, 6, 10, 14, 22, 30, 38};
    struct fake *fake = fake_start(2);
    struct fake_outcome outcome = {0};
    uint64_t start_us = fake->now_us;

    cr_assert_eq(fake_submit_for(fake, OPERATION_CHECK, 1, 40 * (uint64_t)SECOND, &outcome),
                 STATUS_OK);
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        uint64_t due_us = start_us + seconds[i] * (uint64_t)SECOND;

        fake_pass(fake, due_us - fake->now_us - MS);
        cr_assert_eq(fake->nsent, i + 1);
        fake_pass(fake, MS);
        cr_assert_eq(fake->nsent, i + 2);
    }
    fake_answer(fake, fake->nsent - 1, STATUS_OK, 1, 0);
    cr_assert_eq(outcome.calls, 1);
    fake_end(fake);
}

Test(session, a_late_answer_to_an_earlier_attempt_counts)
{
    struct fake *fake = fake_start(2);
    struct fake_outcome outcome = {0};

    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 2, &outcome), STATUS_OK);
    fake_pass(fake, ATTEMPT_US);
    cr_assert_eq(fake->nsent, 2);
    fake_answer(fake, 0, STATUS_OK, 1, 2);
    cr_assert_eq(outcome.calls, 1);
    cr_assert_eq(outcome.status, STATUS_OK);
    cr_assert_eq(outcome.present, 1);
    fake_answer(fake, 1, STATUS_OK, 3, 3);
    cr_assert_eq(outcome.calls, 1);
    fake_end(fake);
}

/* Nodes see to it that a retry repeats its verdict; what was NEW stays NEW. */
Test(session, a_decided_key_stays_decided)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};

    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 4, &outcome), STATUS_OK);
    fake_answer(fake, 0, STATUS_UNAVAILABLE, 0, 1); /* key 1: NEW, the others unknown */
    cr_assert_eq(outcome.calls, 0);
    fake_pass(fake, 10 * MS);
    cr_assert_eq(fake->nsent, 2);
    cr_assert_eq(fake->sent[1].count, 4);
    fake_answer(fake, 1, STATUS_UNAVAILABLE, 3, 2); /* key 1: PRESENT, key 2: MAYBE_NEW */
    fake_pass(fake, 10 * MS);
    cr_assert_eq(fake->nsent, 3);
    fake_answer(fake, 2, STATUS_OK, 15, 0);
    cr_assert_eq(outcome.status, STATUS_OK);
    cr_assert_eq(outcome.present, 14);
    cr_assert_eq(outcome.absent, 3);
    fake_end(fake);
}

/* Held up on its way, it may meet what a later attempt did. */
Test(session, a_first_attempt_that_was_overtaken_is_never_present)
{
    struct fake *fake = fake_start(2);
    struct fake_outcome outcome = {0};

    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 2, &outcome), STATUS_OK);
    fake_pass(fake, ATTEMPT_US);
    cr_assert_eq(fake->nsent, 2);
    fake_answer(fake, 0, STATUS_OK, 3, 2);
    cr_assert_eq(outcome.calls, 1);
    cr_assert_eq(outcome.present, 3);
    cr_assert_eq(outcome.absent, 3);
    fake_end(fake);
}

/* Nor is any other that was given up; the newest is believed, its nodes know what they did. */
Test(session, only_the_newest_attempt_may_say_present)
{
    for (size_t answered = 1; answered <= 2; answered++) {
        struct fake *fake = fake_start(2);
        struct fake_outcome outcome = {0};

        fake->nsent = 0;
        cr_assert_eq(fake_submit(fake, OPERATION_ADD, 2, &outcome), STATUS_OK);
        fake_pass(fake, 2 * ATTEMPT_US);
        cr_assert_eq(fake->nsent, 3);
        fake_answer(fake, answered, STATUS_OK, 1, 2);
        cr_assert_eq(outcome.calls, 1);
        cr_assert_eq(outcome.present, 1);
        cr_assert_eq(outcome.absent, answered == 2 ? 2 : 3, "attempt %zu", answered);
        fake_end(fake);
    }
}

/* All keys decided by different attempts is a whole answer, whatever the last one said. */
Test(session, attempts_complete_each_other)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 2, &outcome), STATUS_OK);
    fake_answer(fake, 0, STATUS_UNAVAILABLE, 1, 0);
    fake_pass(fake, 10 * MS);
    fake_answer(fake, 1, STATUS_UNAVAILABLE, 0, 2);
    cr_assert_eq(outcome.calls, 1);
    cr_assert_eq(outcome.status, STATUS_OK);
    fake_end(fake);
}

Test(session, the_last_refusal_is_told_at_the_deadline)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 2, &outcome), STATUS_OK);
    fake_answer(fake, 0, STATUS_NOT_READY, 1, 0);
    fake_pass(fake, TIMEOUT_US);
    cr_assert_eq(outcome.calls, 1);
    cr_assert_eq(outcome.status, STATUS_NOT_READY);
    cr_assert_str_eq(outcome.message, "as the test says");
    cr_assert_eq(outcome.present, 1, "what was decided is told");
    cr_assert_eq(outcome.absent, 0);
    fake_end(fake);
}

/* A router that says OK and leaves keys open has not answered them. */
Test(session, an_ok_with_open_keys_is_not_ok)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 2, &outcome), STATUS_OK);
    fake_answer(fake, 0, STATUS_OK, 1, 0);
    fake_pass(fake, TIMEOUT_US);
    cr_assert_eq(outcome.status, STATUS_UNAVAILABLE);
    cr_assert_eq(outcome.absent, 0);
    fake_end(fake);
}

struct refusal {
    enum status status;
    bool passing;
};

ParameterizedTestParameters(session, passing_refusals_are_retried_and_final_ones_told)
{
    static struct refusal refusals[] = {
        {STATUS_STALE, true},      {STATUS_NEED_DOC, true},    {STATUS_NOT_READY, true},
        {STATUS_OVERLOADED, true}, {STATUS_UNAVAILABLE, true}, {STATUS_DEADLINE, true},
        {STATUS_NOMEM, true},      {STATUS_NOT_FOUND, false},  {STATUS_DROPPED, false},
        {STATUS_FULL, false},      {STATUS_INVALID, false},    {STATUS_TOO_LARGE, false},
        {STATUS_CONFLICT, false},  {STATUS_INTERNAL, false},
    };

    return cr_make_param_array(struct refusal, refusals, sizeof refusals / sizeof refusals[0]);
}

ParameterizedTest(struct refusal *refusal, session,
                  passing_refusals_are_retried_and_final_ones_told)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};

    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 2, &outcome), STATUS_OK);
    fake_answer(fake, 0, refusal->status, 0, 0);
    cr_assert_eq(outcome.calls, refusal->passing ? 0 : 1);
    fake_pass(fake, 300 * MS);
    cr_assert_eq(fake->nsent, refusal->passing ? 2 : 1);
    if (!refusal->passing) {
        cr_assert_eq(outcome.status, refusal->status);
    }
    fake_end(fake);
}

/* Pauses grow: a cluster in trouble is not asked a thousand times. */
Test(session, retries_back_off)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};
    size_t answered = 0;

    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 1, &outcome), STATUS_OK);
    while (outcome.calls == 0) {
        if (answered < fake->nsent) {
            fake_answer(fake, answered++, STATUS_OVERLOADED, 0, 0);
        }
        fake_pass(fake, 10 * MS);
    }
    cr_assert_eq(outcome.status, STATUS_OVERLOADED);
    cr_assert_gt(fake->nsent, 10);
    cr_assert_lt(fake->nsent, 60);
    fake_end(fake);
}

/* A refusal by one router is no reason to ask it again when there is another. */
Test(session, a_refused_batch_tries_the_next_router)
{
    struct fake *fake = fake_start(2);
    struct fake_outcome outcome = {0};

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
    fake_answer(fake, 0, STATUS_UNAVAILABLE, 0, 0);
    fake_pass(fake, 10 * MS);
    cr_assert_eq(fake->nsent, 2);
    cr_assert_neq(fake->sent[1].link, fake->sent[0].link);
    fake_end(fake);
}

static void submit_again(void *context, const struct session_result *result)
{
    static struct fake_outcome outcome;
    struct fake *fake = context;

    (void)result;
    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 1, &outcome), STATUS_OK);
}

Test(session, a_callback_may_submit_again)
{
    struct fake *fake = fake_start(1);
    uint32_t length = 1;
    struct session_keys keys = {.filter = "f",
                                .operation = OPERATION_ADD,
                                .blob = (const uint8_t *)"k",
                                .lengths = &length,
                                .count = 1};

    for (int i = 0; i < 3; i++) {
        cr_assert_eq(
            session_submit(fake->session, fake->now_us, TIMEOUT_US, &keys, submit_again, fake),
            STATUS_OK);
    }
    fake_answer(fake, 0, STATUS_OK, 0, 1);
    cr_assert_eq(session_inflight(fake->session), 3);
    fake_pass(fake, TIMEOUT_US); /* The other two end, and each submits one more. */
    cr_assert_eq(session_inflight(fake->session), 2);
    fake_end(fake);
}

/* ---- other sites ---- */

Test(session, a_bound_goes_along_with_each_attempt)
{
    static const uint32_t length = 1;
    const struct session_keys keys = {.filter = "f",
                                      .operation = OPERATION_CHECK,
                                      .blob = (const uint8_t *)"k",
                                      .lengths = &length,
                                      .count = 1,
                                      .max_staleness = staleness_of(0)};
    struct fake_outcome outcome = {0};
    struct fake *fake = fake_start(2);

    cr_assert_eq(
        session_submit(fake->session, fake->now_us, TIMEOUT_US, &keys, fake_done, &outcome),
        STATUS_OK);
    fake_pass(fake, ATTEMPT_US);
    cr_assert_eq(fake->nsent, 2);
    cr_assert_eq(fake->sent[0].max_staleness, staleness_of(0));
    cr_assert_eq(fake->sent[1].max_staleness, staleness_of(0));
    fake_end(fake);
}

/* A router has waited for it, and says who is how far behind; another one knows no more. */
Test(session, what_another_site_may_have_is_told_and_not_asked_again)
{
    struct fake_outcome outcome = {0};
    struct fake *fake = fake_start(2);

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 2, &outcome), STATUS_OK);
    cr_assert_eq(fake->sent[0].max_staleness, 0, "the filter's own");
    fake_answer(fake, 0, STATUS_BEHIND, 1, 0);
    cr_assert_eq(outcome.calls, 1);
    cr_assert_eq(outcome.status, STATUS_BEHIND);
    cr_assert_str_eq(outcome.message, "as the test says");
    cr_assert_eq(outcome.present, 1, "what is present is known");
    cr_assert_eq(outcome.absent, 0);
    cr_assert_eq(outcome.attempts, 1);
    fake_pass(fake, TIMEOUT_US);
    cr_assert_eq(fake->nsent, 1);
    fake_end(fake);
}

Test(session, acks_go_along_with_each_attempt)
{
    static const uint32_t length = 1;
    const struct session_keys keys = {.filter = "f",
                                      .operation = OPERATION_ADD,
                                      .blob = (const uint8_t *)"k",
                                      .lengths = &length,
                                      .count = 1,
                                      .acks = ACKS_EACH};
    struct fake_outcome outcome = {0};
    struct fake *fake = fake_start(2);

    cr_assert_eq(
        session_submit(fake->session, fake->now_us, TIMEOUT_US, &keys, fake_done, &outcome),
        STATUS_OK);
    fake_pass(fake, ATTEMPT_US);
    cr_assert_eq(fake->nsent, 2);
    cr_assert_eq(fake->sent[0].acks, ACKS_EACH);
    cr_assert_eq(fake->sent[1].acks, ACKS_EACH);
    fake_end(fake);
}

/* It is written here, and whoever asks again asks for the same once more. */
Test(session, what_other_sites_have_not_confirmed_is_not_acknowledged_and_not_sent_again)
{
    struct fake_outcome outcome = {0};
    struct fake *fake = fake_start(2);

    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 2, &outcome), STATUS_OK);
    cr_assert_eq(fake->sent[0].acks, 0, "the filter's own");
    fake_answer(fake, 0, STATUS_BEHIND, 0, 0);
    cr_assert_eq(outcome.calls, 1);
    cr_assert_eq(outcome.status, STATUS_BEHIND);
    cr_assert_str_eq(outcome.message, "as the test says");
    cr_assert_eq(outcome.present, 0);
    cr_assert_eq(outcome.absent, 0);
    cr_assert_eq(outcome.attempts, 1);
    fake_pass(fake, TIMEOUT_US);
    cr_assert_eq(fake->nsent, 1);
    fake_end(fake);
}
