/* Where the first touch of memory takes time, pages of new arrays come aside: requests are served
 * meanwhile, and nothing depends on what is wanted by the time that they are there. */
#include "tests/unit/node_expansion.h"

#include <sys/mman.h>

enum { PAGE = 4096 };

static const struct node_expansion *open_slow_stage(void)
{
    open_stage();
    expansion.stage.node->effects.slow_pages = true;
    add(2000);
    expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
    cr_assert(expansion_stage_until(&expansion, EXPANSION_STANDING));
    (void)settle_and_look();
    cr_assert(expansion.stage.node->expansion.pages.coming);
    return &expansion.stage.node->expansion;
}

Test(node_expansion_pages, requests_are_served_while_they_come)
{
    const struct node_expansion *self = open_slow_stage();

    send_adds(2000);
    (void)settle_and_look();
    cr_assert_eq(self->phase, EXPANSION_STANDING, "it waits");
    cr_assert(self->pages.coming);
    node_stage_settle(&expansion.stage);
    cr_assert_not(self->pages.coming);
    expect_served_from(2);
    expansion_stage_expect_log(&expansion);
    expect_all();
    close_stage();
}

static uint64_t count_backed(const struct expansion_pages *pages)
{
    unsigned char backed[BIGGER * LINE_BYTES / PAGE];
    uint64_t count = 0;

    cr_assert_leq(pages->bytes, sizeof backed * PAGE);
    cr_assert_eq(mincore(pages->pages, pages->bytes, backed), 0);
    for (uint64_t i = 0; i < pages->bytes / PAGE; i++) {
        count += backed[i] & 1;
    }
    return count;
}

Test(node_expansion_pages, they_are_backed_once_they_have_come)
{
    const struct expansion_pages *pages = &open_slow_stage()->pages;

    cr_assert_eq(count_backed(pages), 0);
    cr_assert(job_lanes_run(&expansion.stage.lanes, JOB_MEMORY));
    cr_assert_eq(count_backed(pages), pages->bytes / PAGE);
    cr_assert(job_lanes_finish(&expansion.stage.lanes, JOB_MEMORY, expansion.stage.now_us));
    close_stage();
}

/* The array that they are of has been given back. */
Test(node_expansion_pages, they_come_for_what_is_not_wanted_any_more)
{
    const struct node_expansion *self = open_slow_stage();

    expansion_stage_want(&expansion, 3, 128, 300000, true);
    (void)settle_and_look();
    cr_assert(self->pages.coming);
    node_stage_settle(&expansion.stage);
    expect_served_from(3);
    cr_assert_eq(expansion.stage.node->memory_used_bytes,
                 UINT64_C(128) * LINE_BYTES * EXPANSION_STAGE_SHARDS);
    expect_all();
    close_stage();
}

/* Killed, and the job is never done. */
Test(node_expansion_pages, a_node_ends_before_they_have_come)
{
    (void)open_slow_stage();
    expansion_stage_restart(&expansion, STAGE_END_KILL);
    node_stage_settle(&expansion.stage);
    expect_all();
    close_stage();
}
