/* What `expand` shows of a filter on its way. */
#include "cli/commands/expand.h"
#include "cli/show/expansion.h"

#include <criterion/criterion.h>
#include <string.h>

static struct replica_report reports[] = {
    {.filter_id = 5, .node_id = 1, .generation = 7, .shards_grown = 16, .keys = 1000},
    {.filter_id = 5, .node_id = 2, .generation = 1, .shards_grown = 4, .keys = 1000},
    {.filter_id = 5, .node_id = 3, .generation = 1, .keys = 1000, .progress = 1},
    {.filter_id = 6, .node_id = 3, .generation = 7, .keys = 9999},
};

static struct filter_summary filter = {
    .id = 5,
    .name = "seen",
    .rule = {.replicas = 3, .write = 2, .read = 2},
    .nshards = 16,
    .ngroups = 1,
    .generations = {{.id = 1, .capacity = 10000, .rate = 0.01, .lines = 64, .z = 1},
                    {.id = 7, .capacity = 40000, .rate = 0.001, .lines = 128, .z = 1}},
    .ngenerations = 2,
    .shards_grown = 20,
    .shards_growing = 48,
};

static struct expansion_state look(void)
{
    const struct admin_reply reply = {.replicas = reports, .nreplicas = 4};

    reports[1].phase = PHASE_GROWING;
    reports[1].progress = 0.5;
    return expansion_state_of(&reply, &filter);
}

Test(client_expansion, is_as_far_as_its_replicas_are)
{
    struct expansion_state state = look();

    cr_assert(state.running);
    cr_assert_eq(state.wanted, 7);
    cr_assert_eq(state.grown, 20);
    cr_assert_eq(state.shards, 48);
    cr_assert_eq(state.share, 0.5, "one is there, one half, one has not begun");
    cr_assert_eq(state.keys, 3000, "three replicas read a thousand each");
}

Test(client_expansion, a_line_tells_shards_pace_and_what_is_awaited)
{
    struct expansion_state state = look();
    struct watch_pace pace = {0};
    char text[WATCH_LINE_BYTES];

    watch_pace_note(&pace, 1000000, &state);
    cr_assert_str_eq(watch_line(&state, &pace, "node-2 builds", text),
                     "[##########..........]  50 %, 20 of 48 shards; node-2 builds");
    state.share = 0.75;
    watch_pace_note(&pace, 3000000, &state);
    cr_assert_str_eq(watch_line(&state, &pace, "", text),
                     "[###############.....]  75 %, 20 of 48 shards, 375 keys/s, 2 s left");
}

Test(client_expansion, a_line_is_cut_rather_than_too_long)
{
    struct expansion_state state = look();
    struct watch_pace pace = {.begin_us = 1, .keys_per_s = 1e18, .left_s = 1e9};
    char text[WATCH_LINE_BYTES];
    char awaited[500];

    memset(awaited, 'x', sizeof awaited - 1);
    awaited[sizeof awaited - 1] = '\0';
    cr_assert_lt(strlen(watch_line(&state, &pace, awaited, text)), sizeof text);
}

Test(client_expansion, sizes_are_told_in_bits_a_key)
{
    char text[EXPANSION_TEXT_BYTES];

    cr_assert_str_eq(expansion_size_text(&filter, &filter.generations[1], text),
                     "40,000 keys at 0.1 %, 26.21 bits a key");
}

Test(client_expansion, tells_at_how_many_keys_it_grows_by_itself)
{
    struct filter_summary one = filter;
    char text[EXPANSION_TEXT_BYTES];

    one.when_full = WHEN_FULL_EXPAND;
    one.capacity = 10000;
    one.max_capacity = 640000;
    cr_assert_str_eq(expansion_at_text(&one, text), "", "it is growing");
    one.ngenerations = 1;
    cr_assert_str_eq(expansion_at_text(&one, text),
                     "by itself at 8,500 keys (85 %); at 5,000 (50 %) or more if they come fast");
    cr_assert_eq(expansion_at_of(&one).soonest, 5000);
    one.growth_held = true;
    cr_assert_str_eq(expansion_at_text(&one, text),
                     "aborted: it does not grow by itself until `orbloom expand`");
    one.growth_held = false;
    one.max_capacity = 10000;
    cr_assert_str_eq(expansion_at_text(&one, text), "none: its capacity is max-capacity");
    one.when_full = WHEN_FULL_REFUSE;
    cr_assert_str_eq(expansion_at_text(&one, text), "");
}

Test(client_expansion, of_a_chain_the_newest_generation_decides)
{
    struct filter_summary chain = filter;
    char text[EXPANSION_TEXT_BYTES];

    chain.when_full = WHEN_FULL_EXPAND;
    chain.capacity = 50000;
    chain.max_capacity = 640000;
    chain.nchain = 2;
    cr_assert_str_eq(
        expansion_at_text(&chain, text),
        "by itself at 34,000 keys (85 %) in the newest generation; at 20,000 (50 %) or "
        "more if they come fast");
    chain.nchain = chain.ngenerations = DOCUMENT_MAX_GENERATIONS;
    cr_assert_str_eq(expansion_at_text(&chain, text),
                     "none: its checks read as many generations as may be");
}
