/* Which router a session sends to: order kept where asked for, else all do their share, and who is
 * silent or refuses gets less. */
#include "tests/unit/client_fake.h"

static size_t count_sent(const struct fake *fake, size_t first, uint32_t link)
{
    size_t count = 0;

    for (size_t i = first; i < fake->nsent; i++) {
        count += fake->sent[i].link == link;
    }
    return count;
}

/* One after the other goes where the last one went; what is under way together is spread. */
Test(session, many_in_flight_are_shared_by_all_routers)
{
    struct fake *fake = fake_start(2);
    struct fake_outcome outcomes[10] = {0};

    for (int i = 0; i < 3; i++) {
        cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[0]), STATUS_OK);
        fake_answer(fake, fake->nsent - 1, STATUS_OK, 1, 0);
    }
    cr_assert_eq(count_sent(fake, 0, fake->sent[0].link), 3);
    for (int i = 0; i < 10; i++) {
        cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[i]), STATUS_OK);
    }
    cr_assert_eq(count_sent(fake, 3, 1), 5);
    cr_assert_eq(count_sent(fake, 3, 2), 5);
    fake_end(fake);
}

/* Before one has answered the first of the list is asked alone: it may be of another site. */
Test(session, nothing_is_shared_before_the_first_answer)
{
    struct fake *fake = fake_start(2);
    struct fake_outcome outcomes[4] = {0};

    for (int i = 0; i < 4; i++) {
        cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[i]), STATUS_OK);
    }
    cr_assert_eq(count_sent(fake, 0, fake->sent[0].link), 4);
    cr_assert_str_eq(fake->endpoints[fake->sent[0].link - 1], "tcp://r1:1");
    fake_end(fake);
}

/* A router that leaves something unanswered gets nothing for a while, and then its share again. */
Test(session, a_silent_router_is_passed_over_for_a_while)
{
    struct fake *fake = fake_start(2);
    struct fake_outcome outcomes[4] = {0};
    uint32_t silent;

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[0]), STATUS_OK);
    silent = fake->sent[0].link;
    fake_pass(fake, ATTEMPT_US);
    cr_assert_eq(fake->nsent, 2);
    fake_answer(fake, 1, STATUS_OK, 1, 0);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[i]), STATUS_OK);
    }
    cr_assert_eq(count_sent(fake, 2, silent), 0);
    for (size_t i = 2; i < 6; i++) {
        fake_answer(fake, i, STATUS_OK, 1, 0);
    }
    fake_pass(fake, 3 * SECOND);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[i]), STATUS_OK);
    }
    cr_assert_eq(count_sent(fake, 6, silent), 2);
    fake_end(fake);
}

/* Batches in flight must not overtake each other where their order matters. */
Test(session, in_order_all_goes_to_one_router)
{
    struct fake *fake = fake_new();
    struct fake_outcome outcomes[10] = {0};
    struct session_config config;

    fake_config(&config, 2);
    config.in_order = true;
    cr_assert_eq(session_create(&config, &fake->effects, &fake->session), STATUS_OK);
    fake->actor = session_actor(fake->session);
    for (int i = 0; i < 10; i++) {
        cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[i]), STATUS_OK);
    }
    cr_assert_eq(count_sent(fake, 0, fake->sent[0].link), 10);
    fake_end(fake);
}

/* A refusal ends an attempt at once: that must not make the refusing router look idle. */
Test(session, a_router_that_refuses_does_not_attract_more)
{
    struct fake *fake = fake_start(2);
    struct fake_outcome outcomes[20] = {0};
    uint32_t refusing;

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[0]), STATUS_OK);
    fake_answer(fake, 0, STATUS_OK, 1, 0);
    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[0]), STATUS_OK);
    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[1]), STATUS_OK);
    refusing = fake->sent[2].link;
    cr_assert_neq(refusing, fake->sent[1].link);
    fake_answer(fake, 2, STATUS_OVERLOADED, 0, 0);
    for (int i = 2; i < 20; i++) {
        cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[i]), STATUS_OK);
    }
    cr_assert_eq(count_sent(fake, 3, refusing), 0);
    fake_end(fake);
}

/* What was refused for want of room was not begun: the next attempt is told as the same one. */
Test(session, an_overloaded_router_leaves_no_doubt)
{
    struct fake *fake = fake_start(1);
    struct fake_outcome outcome = {0};

    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 2, &outcome), STATUS_OK);
    fake_answer(fake, 0, STATUS_OVERLOADED, 0, 0);
    fake_pass(fake, 10 * MS);
    cr_assert_eq(fake->nsent, 2);
    cr_assert_eq(fake->sent[1].attempt, 0);
    cr_assert_neq(fake->sent[1].correlation, fake->sent[0].correlation);
    fake_answer(fake, 1, STATUS_UNAVAILABLE, 0, 0);
    fake_pass(fake, 10 * MS);
    cr_assert_eq(fake->sent[2].attempt, 1, "UNAVAILABLE may have been begun");
    fake_answer(fake, 2, STATUS_OK, 3, 0);
    cr_assert_eq(outcome.status, STATUS_OK);
    cr_assert_eq(outcome.present, 3);
    cr_assert_eq(outcome.absent, 0);
    cr_assert_eq(outcome.attempts, 3);
    fake_end(fake);
}
