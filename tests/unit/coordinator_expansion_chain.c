/* Filters without key log grow by one more generation: created with room for that in their rate, by
 * themselves or when they are told to, and not while the epoch is being edited for something else.
 */
#include "filter/sizing.h"
#include "tests/unit/coordinator_expansion.h"

static void open_chain(void)
{
    keylog = KEYLOG_OFF;
    open_with(WHEN_FULL_EXPAND);
}

static void hold(uint64_t keys, uint64_t newest)
{
    for (uint32_t n = 1; n <= NODES; n++) {
        says[n].keys = keys;
        says[n].newest = newest;
    }
}

static void stand(void)
{
    for (uint32_t n = 1; n <= NODES; n++) {
        grow(n);
    }
    report_all(&stage);
}

static uint32_t nchain(void)
{
    return document_at(&stage)->content.nchain;
}

Test(coordinator_expansion_chain, is_created_for_half_of_the_rate)
{
    const struct generation *first;

    open_chain();
    first = &document_at(&stage)->generations[0];
    cr_assert_eq(nchain(), 1);
    cr_assert_eq(document_at(&stage)->content.chain[0], 1);
    cr_assert_eq(document_at(&stage)->rate, 0.01);
    cr_assert_eq(first->rate, 0.005);
    cr_assert_lt(sizing_rate(first->capacity, first->geometry.lines * SHARDS, first->geometry.z),
                 0.005);
    close_stage();
    keylog = KEYLOG_OFF;
    open_with(WHEN_FULL_REFUSE);
    cr_assert_eq(nchain(), 0);
    cr_assert_eq(document_at(&stage)->generations[0].rate, 0.01, "the one array takes it all");
    expect_refusal(ask(20000, 0), STATUS_INVALID, "--when-full expand");
    close_stage();
}

Test(coordinator_expansion_chain, the_same_command_again_finds_what_it_made)
{
    struct admin_request create;
    struct coordinator_told told;

    open_chain();
    create = create_request();
    create.create.when_full = WHEN_FULL_EXPAND;
    told = command(&stage, &create);
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert_not(told.created);
    begin(40000);
    stand();
    told = command(&stage, &create);
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    close_stage();
}

Test(coordinator_expansion_chain, grows_by_itself_when_its_last_generation_is_nearly_full)
{
    uint64_t epoch;

    first_keys = 8400;
    open_chain();
    coordinator_stage_pass(&stage, 2 * SECOND_US);
    cr_assert_eq(document_at(&stage)->ngenerations, 1);
    hold(8500, 8500);
    report_all(&stage);
    coordinator_stage_pass(&stage, 2 * SECOND_US);
    cr_assert_eq(document_at(&stage)->ngenerations, 2);
    cr_assert_eq(document_at(&stage)->capacity, 20000);
    cr_assert_eq(document_generation(document_at(&stage))->capacity, 20000 - 8500);
    cr_assert_eq(nchain(), 1, "its arrays do not stand yet");
    expect_turn(&stage, 0);
    epoch = document_at(&stage)->epoch;
    lag();
    grow(1);
    grow(3);
    report_all(&stage);
    cr_assert_eq(nchain(), 1, "not on all that live");
    grow(2);
    say(&stage, 2);
    say(&stage, 2);
    coordinator_stage_pass(&stage, 2 * SECOND_US);
    cr_assert_eq(nchain(), 2);
    cr_assert_eq(document_at(&stage)->epoch, epoch + 1);
    cr_assert_eq(document_at(&stage)->ngenerations, 2, "what they said was of the first one");
    hold(13500, 5000);
    report_all(&stage);
    coordinator_stage_pass(&stage, 2 * SECOND_US);
    cr_assert_eq(document_at(&stage)->ngenerations, 2, "5,000 of 11,500");
    hold(18500, 10000);
    report_all(&stage);
    coordinator_stage_pass(&stage, 2 * SECOND_US);
    cr_assert_eq(document_at(&stage)->ngenerations, 3);
    cr_assert_eq(document_at(&stage)->capacity, 40000);
    close_stage();
}

/* What is there stays beside what is added. */
Test(coordinator_expansion_chain, grows_no_further_than_its_maker_may)
{
    uint64_t first;
    uint64_t both;

    open_chain();
    first = document_shard_bytes(document_at(&stage)) * SHARDS;
    begin(40000);
    both = document_shard_bytes(document_at(&stage)) * SHARDS;
    cr_assert_gt(both, first);
    close_stage();

    user_bytes = both - 1;
    open_chain();
    expect_refusal(ask(40000, 0), STATUS_OVER_QUOTA, "raise its limit `bytes`");
    cr_assert_eq(document_at(&stage)->ngenerations, 1);
    user_bytes = both;
    limit_user();
    begin(40000);
    cr_assert_eq(document_at(&stage)->ngenerations, 2);
    close_stage();
    user_bytes = 0;
}

Test(coordinator_expansion_chain, a_dead_node_is_not_waited_for)
{
    open_chain();
    begin(40000);
    says[2].dead = true;
    lag();
    grow(1);
    grow(3);
    report_all(&stage);
    cr_assert_eq(nchain(), 1, "it may be heard of any moment");
    for (int i = 0; i < 12; i++) {
        report_all(&stage);
    }
    cr_assert_eq(nchain(), 2);
    close_stage();
}

/* Node 2 has lost its data. */
static void begin_replacement(void)
{
    says[2].life = 7777;
    say(&stage, 2);
    cr_assert(rounds_is_moving(document_at(&stage)));
}

Test(coordinator_expansion_chain, two_edits_of_the_epoch_are_never_mixed)
{
    open_chain();
    begin(40000);
    begin_replacement();
    lag();
    stand();
    stand();
    cr_assert_eq(nchain(), 1, "though all that live have room");
    cr_assert_eq(document_at(&stage)->ngenerations, 2);
    close_stage();
}

Test(coordinator_expansion_chain, a_replacement_goes_first)
{
    open_chain();
    begin_replacement();
    expect_refusal(ask(40000, 0), STATUS_CONFLICT, "goes first");
    hold(9000, 9000);
    report_all(&stage);
    coordinator_stage_pass(&stage, 2 * SECOND_US);
    cr_assert_eq(document_at(&stage)->ngenerations, 1);
    close_stage();
}

Test(coordinator_expansion_chain, what_is_asked_for_is_refused_with_what_to_do)
{
    open_chain();
    hold(4000, 4000);
    report_all(&stage);
    expect_refusal(ask(9000, 0), STATUS_INVALID, "it can only grow");
    expect_refusal(ask(0, 0.001), STATUS_INVALID, "leave out --fpr");
    expect_refusal(ask(10000000, 0), STATUS_INVALID, "max-capacity");
    begin(40000);
    expect_refusal(ask(80000, 0), STATUS_EXISTS, "let it end");
    expect_refusal(take_back(), STATUS_INVALID, "let it end");
    lag();
    stand();
    cr_assert_eq(nchain(), 2);
    says[2].used_bytes = UINT64_C(1) << 40;
    report_all(&stage);
    expect_refusal(ask(80000, 0), STATUS_NO_SPACE, "node-2");
    close_stage();
}
