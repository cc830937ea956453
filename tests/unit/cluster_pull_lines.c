/* Filters without key log: pages of arrays in the place of sorted runs. */
#include "node/pull/pull_geometry.h"
#include "tests/unit/cluster_pull.h"

TestSuite(pull_pages, .fini = teardown);

static const struct pull_scope lines_scope = {.filter_id = 5,
                                              .epoch = 3,
                                              .epoch_hash = 33,
                                              .keyset = 1,
                                              .group = 2,
                                              .generation = 4,
                                              .geometry = 44};

static void ask_lines(uint64_t from)
{
    ask(PULL_PAGES, from, UINT64_MAX);
    cr_assert_eq(question.scope.generation, 4);
    cr_assert_eq(question.scope.geometry, 44);
    reply.scope = lines_scope;
}

Test(pull_pages, without_key_log_a_copy_reads_pages_and_nothing_else)
{
    have = calloc(1, sizeof *have);
    pull_init(&pull, PULL_SYNC, &lines_scope, &source, NULL, DELAY);
    pull.npages = 100;
    ask_lines(0);
    take(50, false, 650, 10); /* Its log's end: above what is durable, and above the fence. */
    cr_assert_gt(pull_progress(&pull), 0.4);
    cr_assert_lt(pull_progress(&pull), 0.5);
    ask_lines(50);
    take(100, true, 800, 20);
    cr_assert_eq(pull.phase, PULL_PHASE_SETTLE);
    cr_assert_eq(pull.cursor, 600, "what is behind comes as batches");
    cr_assert_not(pull_cursor_due(&pull, 19));
    cr_assert(pull_cursor_due(&pull, 20));
}

Test(pull_pages, without_key_log_what_left_the_log_is_copied_as_pages)
{
    have = calloc(1, sizeof *have);
    pull_init(&pull, PULL_DELTA, &lines_scope, &source, NULL, DELAY);
    ask(PULL_HEADERS, 0, 0);
    pull_failed(&pull, NOW, STATUS_NOT_FOUND);
    pull.due_us = NOW;
    ask_lines(0);
    take(100, true, 900, 10);
    cr_assert_eq(pull.phase, PULL_PHASE_FOLLOW);
    ask(PULL_HEADERS, 600, 0);
}

Test(pull_pages, pages_of_another_array_are_of_no_use)
{
    static const uint64_t ids[] = {7, 9, 8};

    have = calloc(1, sizeof *have);
    pull_init(&pull, PULL_SYNC, &lines_scope, &source, NULL, DELAY);
    ask_lines(0);
    reply.end = true;
    reply.next = 10;
    cr_assert_eq(pull_judge(&pull, &reply), STATUS_OK);
    reply.scope.generation++;
    cr_assert_eq(pull_judge(&pull, &reply), STATUS_SHAPE);
    reply.scope = lines_scope;
    reply.scope.geometry++;
    cr_assert_eq(pull_judge(&pull, &reply), STATUS_SHAPE);
    reply.scope = lines_scope;
    reply.page_ids = ids;
    reply.npages = 2;
    cr_assert_eq(pull_judge(&pull, &reply), STATUS_OK);
    reply.npages = 3;
    cr_assert_eq(pull_judge(&pull, &reply), STATUS_MALFORMED, "they go back");
    reply.npages = 2;
    reply.next = 9;
    cr_assert_eq(pull_judge(&pull, &reply), STATUS_MALFORMED, "behind where it goes on");
    pull.from = reply.from = 8;
    reply.next = 10;
    cr_assert_eq(pull_judge(&pull, &reply), STATUS_MALFORMED, "before what was asked");
}

Test(pull_pages, pages_belong_to_shards_of_the_group)
{
    static const uint64_t ids[] = {0, 1, 4, 5};
    uint16_t group_of_shard[] = {0, 1, 0, 1};
    struct filter_document document = {
        .content = {.shard_bits = 2, .ngroups = 2, .group_of_shard = group_of_shard},
        .generations = {{.id = 1, .geometry = {.lines = 128, .z = 1, .shard_bits = 2}}},
        .ngenerations = 1,
    };

    reply = (struct pull_reply){.kind = PULL_PAGES, .page_ids = ids, .npages = 4};
    cr_assert_eq(pull_pages(&document, 0), 8);
    cr_assert(pull_pages_belong(&reply, &document));
    reply.scope.group = 1;
    cr_assert_not(pull_pages_belong(&reply, &document));
    reply.scope.group = 0;
    group_of_shard[2] = 1;
    cr_assert_not(pull_pages_belong(&reply, &document));
    reply.npages = 2;
    cr_assert(pull_pages_belong(&reply, &document));
    reply.page_ids = (const uint64_t[]){8};
    reply.npages = 1;
    cr_assert_not(pull_pages_belong(&reply, &document), "beyond all shards");
}

Test(pull_pages, a_scope_names_the_array_of_its_place_in_the_chain)
{
    static const struct filter_document chain = {
        .keylog = KEYLOG_OFF,
        .content = {.shard_bits = 1, .chain = {1, 7}, .nchain = 2},
        .generations = {{.id = 1, .geometry = {.seed = 5, .lines = 128, .z = 1, .shard_bits = 1}},
                        {.id = 7, .geometry = {.seed = 6, .lines = 64, .z = 2, .shard_bits = 1}},
                        {.id = 9, .geometry = {.seed = 7, .lines = 64, .z = 2, .shard_bits = 1}}},
        .ngenerations = 3,
    };

    for (uint32_t slice = 0; slice < 2; slice++) {
        struct pull_scope named = {.slice = slice};

        pull_scope_name(&named, &chain);
        cr_assert_eq(named.generation, chain.generations[slice].id);
        cr_assert_eq(named.geometry, pull_geometry(&chain.generations[slice].geometry));
        cr_assert(pull_scope_fits(&named, &chain));
        named.slice = 1 - slice;
        cr_assert_not(pull_scope_fits(&named, &chain), "that is another one's");
    }
    cr_assert_eq(pull_pages(&chain, 0), 4);
    cr_assert_eq(pull_pages(&chain, 1), 2);
}
