/* Which duties look in a turn in which the store turns out to be older than its nodes, or is put
 * right again. The table is this test's own: it takes the place of coordinator/duties.c. */
#include "coordinator/duty.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"

#include <criterion/criterion.h>

static struct memory_store store;
static struct coordinator_stage stage;
static bool spoils; /* the store is to turn out to be older */
static bool mends;  /* it is to be put right, while an operator is answered */
static unsigned before;
static unsigned after;

static enum duty_round count_before(struct coordinator *self, uint64_t now_us)
{
    (void)now_us;
    before++;
    if (spoils) {
        self->mark.restoring = true;
        spoils = false;
    }
    return ROUND_NONE;
}

static void answer(struct coordinator *self, uint64_t now_us, struct waiter *waiter)
{
    (void)now_us;
    (void)waiter;
    if (mends) {
        self->mark.restoring = false;
        mends = false;
    }
}

static enum duty_round count_after(struct coordinator *self, uint64_t now_us)
{
    (void)self;
    (void)now_us;
    after++;
    return ROUND_NONE;
}

static const struct duty first = {.round = count_before};
static const struct duty second = {.waiters = WAITER_DROP, .wait = answer};
static const struct duty third = {.round = count_after};
const struct duty *const duties[] = {&first, &second, &third, NULL};

static void open_stage(void)
{
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_turn(&stage);
    stage.coordinator->waiters[0] = (struct waiter){
        .used = true, .kind = WAITER_DROP, .deadline_us = UINT64_MAX};
    before = 0;
    after = 0;
}

static void close_stage(void)
{
    waiters_end(&stage.coordinator->waiters[0]);
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

Test(coordinator_duties, while_nothing_may_be_changed_none_looks)
{
    open_stage();
    coordinator_stage_turn(&stage);
    cr_assert_eq(before, 1);
    cr_assert_eq(after, 1);
    stage.coordinator->mark.restoring = true;
    coordinator_stage_turn(&stage);
    cr_assert_eq(before, 1);
    cr_assert_eq(after, 1);
    close_stage();
}

Test(coordinator_duties, what_one_finds_out_stops_those_after_it)
{
    open_stage();
    spoils = true;
    coordinator_stage_turn(&stage);
    cr_assert_eq(before, 1);
    cr_assert_eq(after, 0);
    close_stage();
}

/* What comes later in the table goes by what the first ones have seen to; they did not look. */
Test(coordinator_duties, none_looks_in_a_turn_that_began_while_nothing_may_be_changed)
{
    open_stage();
    stage.coordinator->mark.restoring = true;
    mends = true;
    coordinator_stage_turn(&stage);
    cr_assert_not(mends, "the operator was answered");
    cr_assert_eq(before, 0);
    cr_assert_eq(after, 0, "no thaw in one turn");
    coordinator_stage_turn(&stage);
    cr_assert_eq(before, 1);
    cr_assert_eq(after, 1);
    close_stage();
}

Test(coordinator_duties, nor_in_one_in_which_it_was_found_out_and_put_right)
{
    open_stage();
    spoils = true;
    mends = true;
    coordinator_stage_turn(&stage);
    cr_assert_not(mends);
    cr_assert_eq(before, 1);
    cr_assert_eq(after, 0);
    close_stage();
}
