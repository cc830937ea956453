/* What a set does next, and how a span of its shards goes on: decisions without a node. */
#include "node/array/expansion_plan.h"

#include <criterion/criterion.h>

/* One that may begin. */
static struct expansion_sight sight_of(uint32_t from, uint32_t to, uint32_t wanted)
{
    return (struct expansion_sight){
        .from = from,
        .to = to,
        .wanted = wanted,
        .ready = true,
        .has_turn = true,
        .fits_to = true,
        .fits_wanted = true,
        .has_room = true,
    };
}

static enum expansion_move decide(struct expansion_sight sight)
{
    return expansion_decide(&sight);
}

Test(expansion_plan, nothing_is_done_without_a_reason)
{
    struct expansion_sight sight = sight_of(1, 0, 1);

    cr_assert_eq(decide(sight), MOVE_STAY);
    sight.pressing = true;
    cr_assert_eq(decide(sight), MOVE_STAY);
    sight = sight_of(1, 0, 2);
    cr_assert_eq(decide(sight), MOVE_BEGIN);
    sight.ready = false;
    cr_assert_eq(decide(sight), MOVE_STAY, "it fills its arrays yet");
}

Test(expansion_plan, who_has_no_turn_begins_only_under_pressure)
{
    struct expansion_sight sight = sight_of(1, 0, 2);

    sight.has_turn = false;
    cr_assert_eq(decide(sight), MOVE_STAY);
    sight.pressing = true;
    cr_assert_eq(decide(sight), MOVE_BEGIN);
}

Test(expansion_plan, what_does_not_fit_is_told_apart)
{
    struct expansion_sight sight = sight_of(1, 0, 2);

    sight.has_room = false;
    cr_assert_eq(decide(sight), MOVE_STAY_ROOM);
    sight.fits_wanted = false;
    cr_assert_eq(decide(sight), MOVE_STAY_SMALL);
    sight.refused = true;
    cr_assert_eq(decide(sight), MOVE_STAY);
    sight = sight_of(1, 2, 2);
    sight.has_room = false;
    cr_assert_eq(decide(sight), MOVE_STAY_ROOM);
    sight.in_span = true;
    cr_assert_eq(decide(sight), MOVE_GO_ON, "its room is taken already");
}

Test(expansion_plan, it_goes_on_until_all_is_served)
{
    struct expansion_sight sight = sight_of(1, 2, 2);

    cr_assert_eq(decide(sight), MOVE_GO_ON);
    sight.served = true;
    cr_assert_eq(decide(sight), MOVE_GO_ON);
    sight.all_served = true;
    cr_assert_eq(decide(sight), MOVE_FINISH);
    sight.wanted = 1;
    cr_assert_eq(decide(sight), MOVE_FINISH, "and then back, from the beginning");
}

Test(expansion_plan, without_a_turn_a_span_is_ended_and_no_other_begun)
{
    struct expansion_sight sight = sight_of(1, 2, 2);

    sight.has_turn = false;
    cr_assert_eq(decide(sight), MOVE_STAY);
    sight.in_span = true;
    cr_assert_eq(decide(sight), MOVE_GO_ON);
    sight.in_span = false;
    sight.open = true;
    cr_assert_eq(decide(sight), MOVE_GO_ON, "only the new arrays have what came through a valve");
}

Test(expansion_plan, the_old_one_is_wanted_again)
{
    struct expansion_sight sight = sight_of(1, 2, 1);

    sight.in_span = true;
    cr_assert_eq(decide(sight), MOVE_DROP);
    sight.served = true;
    cr_assert_eq(decide(sight), MOVE_TURN);
    sight.has_turn = false;
    cr_assert_eq(decide(sight), MOVE_TURN, "that takes no memory and no time");
    sight.open = true;
    cr_assert_eq(decide(sight), MOVE_GO_ON, "nothing is dropped behind an open valve");
}

Test(expansion_plan, shards_are_never_in_three_layers)
{
    struct expansion_sight sight = sight_of(1, 2, 3);

    cr_assert_eq(decide(sight), MOVE_DROP);
    sight.served = true;
    cr_assert_eq(decide(sight), MOVE_GO_ON);
    sight.has_turn = false;
    cr_assert_eq(decide(sight), MOVE_STAY);
}

/* ---- a span ---- */

Test(expansion_plan, a_span_serves_only_after_every_step)
{
    enum expansion_phase phase = EXPANSION_REST;

    phase = expansion_next(phase, EXPANSION_ON_BEGUN);
    for (enum expansion_phase expected = EXPANSION_STANDING; expected <= EXPANSION_SERVING;
         expected++) {
        cr_assert_eq(phase, expected);
        phase = expansion_next(phase, EXPANSION_ON_DONE);
    }
    cr_assert_eq(phase, EXPANSION_REST);
}

Test(expansion_plan, a_pass_that_is_stale_begins_again_and_no_phase_is_left_out)
{
    cr_assert_eq(expansion_next(EXPANSION_FILL_RUNS, EXPANSION_ON_STALE), EXPANSION_FILL_RUNS);
    cr_assert_eq(expansion_next(EXPANSION_FILL_LOG, EXPANSION_ON_STALE), EXPANSION_FILL_RUNS);
    cr_assert_eq(expansion_next(EXPANSION_CHECK_RUNS, EXPANSION_ON_STALE), EXPANSION_CHECK_RUNS);
    cr_assert_eq(expansion_next(EXPANSION_CHECK_LOG, EXPANSION_ON_STALE), EXPANSION_CHECK_RUNS);
    for (enum expansion_phase phase = EXPANSION_REST; phase < EXPANSION_NPHASES; phase++) {
        enum expansion_phase wrong = expansion_next(phase, EXPANSION_ON_WRONG);

        cr_assert_eq(expansion_next(phase, EXPANSION_ON_GONE), EXPANSION_REST);
        cr_assert_eq(wrong, expansion_checks(phase) || phase == EXPANSION_WEIGHING
                                ? EXPANSION_STANDING
                                : phase);
    }
}

Test(expansion_plan, phases_that_read)
{
    for (enum expansion_phase phase = EXPANSION_REST; phase < EXPANSION_NPHASES; phase++) {
        bool log = phase == EXPANSION_FILL_LOG || phase == EXPANSION_CHECK_LOG;
        bool runs = phase == EXPANSION_FILL_RUNS || phase == EXPANSION_CHECK_RUNS;

        cr_assert_eq(expansion_reads(phase), log || runs);
        cr_assert_eq(expansion_reads_log(phase), log);
    }
}

Test(expansion_plan, near_is_before_full)
{
    cr_assert_not(expansion_is_near(949, 1000));
    cr_assert(expansion_is_near(950, 1000));
    cr_assert(expansion_is_near(2000, 1000));
}

Test(expansion_plan, the_pressed_go_first_then_the_small)
{
    const struct expansion_urgency small = {.bytes = 4096};
    const struct expansion_urgency large = {.bytes = 1 << 30};
    const struct expansion_urgency pressed = {.pressing = true, .bytes = 1 << 30};
    const struct expansion_urgency both = {.pressing = true, .bytes = 4096};

    cr_assert(expansion_goes_first(&small, &large));
    cr_assert_not(expansion_goes_first(&large, &small));
    cr_assert_not(expansion_goes_first(&small, &small), "whoever is there stays");
    cr_assert(expansion_goes_first(&pressed, &small));
    cr_assert_not(expansion_goes_first(&small, &pressed));
    cr_assert(expansion_goes_first(&both, &pressed));
}
