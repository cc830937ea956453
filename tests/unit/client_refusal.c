/* Routers that do not let a client in: it goes to others, and where there are none it says why at
 * once, and never that nobody has answered. */
#include "client_fake.h"

static const char cause[] = "tcp://r1:1 does not let us in: it does not know the key";

static void refuse(struct fake *fake, uint32_t link)
{
    fake->down[link - 1] = true;
    fake->actor.on_shut_out(fake->actor.self, fake->now_us, link, cause);
}

/* Both are down from the start: their links are opened, and wait. */
static struct fake *fake_waiting(struct fake_outcome *outcome)
{
    struct fake *fake = fake_start(2);

    fake->down[0] = true;
    fake->down[1] = true;
    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 2, outcome), STATUS_OK);
    cr_assert_eq(fake->nlinks, 2);
    return fake;
}

Test(client_refusal, all_routers_refuse_and_the_operation_ends)
{
    struct fake_outcome outcome = {0};
    struct fake *fake = fake_waiting(&outcome);

    refuse(fake, 1);
    fake_pass(fake, MS);
    cr_assert_eq(outcome.calls, 0);
    refuse(fake, 2);
    fake_pass(fake, MS);
    cr_assert_eq(outcome.calls, 1);
    cr_assert_eq(outcome.status, STATUS_UNAUTHENTIC);
    cr_assert_str_eq(outcome.message, cause);
    cr_assert_eq(outcome.attempts, 0);
    fake_end(fake);
}

/* What comes later need not wait until they refuse once more. */
Test(client_refusal, the_next_operation_ends_soon)
{
    struct fake_outcome outcome = {0};
    struct fake_outcome next = {0};
    struct fake *fake = fake_waiting(&outcome);

    refuse(fake, 1);
    refuse(fake, 2);
    fake_pass(fake, MS);
    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 1, &next), STATUS_OK);
    cr_assert_eq(next.calls, 0);
    fake_pass(fake, SECOND);
    cr_assert_eq(next.calls, 1);
    cr_assert_eq(next.status, STATUS_UNAUTHENTIC);
    fake_end(fake);
}

/* One that is silent may be let in by the other; at the deadline it is told what is known. */
Test(client_refusal, one_that_can_not_be_reached_is_waited_for)
{
    struct fake_outcome outcome = {0};
    struct fake *fake = fake_waiting(&outcome);

    refuse(fake, 1);
    fake_pass(fake, TIMEOUT_US - 1);
    cr_assert_eq(outcome.calls, 0);
    fake_pass(fake, 1);
    cr_assert_eq(outcome.calls, 1);
    cr_assert_eq(outcome.status, STATUS_UNAUTHENTIC);
    cr_assert_str_eq(outcome.message, cause);
    fake_end(fake);
}

Test(client_refusal, the_other_router_is_asked)
{
    struct fake_outcome outcome = {0};
    struct fake *fake = fake_waiting(&outcome);

    fake->down[1] = false;
    refuse(fake, 1);
    fake_pass(fake, MS);
    cr_assert_eq(fake->nsent, 1);
    cr_assert_eq(fake->sent[0].link, 2);
    fake_answer(fake, 0, STATUS_OK, 3, 0);
    cr_assert_eq(outcome.status, STATUS_OK);
    fake_end(fake);
}

/* The credential was let in again, or the router has learned of it. */
Test(client_refusal, a_router_that_lets_in_again_is_used)
{
    struct fake_outcome outcome = {0};
    struct fake_outcome next = {0};
    struct fake *fake = fake_waiting(&outcome);

    refuse(fake, 1);
    refuse(fake, 2);
    fake_pass(fake, SECOND);
    cr_assert_eq(outcome.status, STATUS_UNAUTHENTIC);
    fake->down[0] = false;
    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &next), STATUS_OK);
    fake_pass(fake, SECOND / 2);
    cr_assert_eq(fake->nsent, 1);
    fake_answer(fake, 0, STATUS_OK, 1, 0);
    cr_assert_eq(next.calls, 1);
    cr_assert_eq(next.status, STATUS_OK);
    fake_end(fake);
}

/* It was under way: whoever refuses is not who was to answer. */
Test(client_refusal, a_refusal_of_another_process_ends_nothing)
{
    struct fake_outcome outcome = {0};
    struct fake *fake = fake_start(2);

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
    cr_assert_eq(fake->nsent, 1);
    fake->actor.on_shut_out(fake->actor.self, fake->now_us, 7, cause);
    fake_pass(fake, MS);
    cr_assert_eq(outcome.calls, 0);
    fake_answer(fake, 0, STATUS_OK, 1, 0);
    cr_assert_eq(outcome.status, STATUS_OK);
    fake_end(fake);
}
