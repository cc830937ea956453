/* Where the first touch of memory takes time, pages of new arrays come aside: requests are served
 * meanwhile, and nothing depends on what is wanted by the time that they are there. */
#include "tests/unit/node_growth.h"

#include <sys/mman.h>

enum { PAGE = 4096 };

static const struct node_growth *open_slow_stage(void)
{
    open_stage();
    growth.stage.node->effects.slow_pages = true;
    add(2000);
    growth_stage_want(&growth, 2, BIGGER, 400000, true);
    cr_assert(growth_stage_until(&growth, GROWTH_STANDING));
    (void)settle_and_look();
    cr_assert(growth.stage.node->growth.pages.coming);
    return &growth.stage.node->growth;
}

Test(node_growth_pages, requests_are_served_while_they_come)
{
    const struct node_growth *self = open_slow_stage();

    send_adds(2000);
    (void)settle_and_look();
    cr_assert_eq(self->phase, GROWTH_STANDING, "it waits");
    cr_assert(self->pages.coming);
    node_stage_settle(&growth.stage);
    cr_assert_not(self->pages.coming);
    expect_served_from(2);
    growth_stage_expect_log(&growth);
    expect_all();
    close_stage();
}

static uint64_t count_backed(const struct growth_pages *pages)
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

Test(node_growth_pages, they_are_backed_once_they_have_come)
{
    const struct growth_pages *pages = &open_slow_stage()->pages;

    cr_assert_eq(count_backed(pages), 0);
    cr_assert(job_lanes_run(&growth.stage.lanes, JOB_MEMORY));
    cr_assert_eq(count_backed(pages), pages->bytes / PAGE);
    cr_assert(job_lanes_finish(&growth.stage.lanes, JOB_MEMORY, growth.stage.now_us));
    close_stage();
}

/* The array that they are of has been given back. */
Test(node_growth_pages, they_come_for_what_is_not_wanted_any_more)
{
    const struct node_growth *self = open_slow_stage();

    growth_stage_want(&growth, 3, 128, 300000, true);
    (void)settle_and_look();
    cr_assert(self->pages.coming);
    node_stage_settle(&growth.stage);
    expect_served_from(3);
    cr_assert_eq(growth.stage.node->memory_used_bytes,
                 UINT64_C(128) * LINE_BYTES * GROWTH_STAGE_SHARDS);
    expect_all();
    close_stage();
}

/* Killed, and the job is never done. */
Test(node_growth_pages, a_node_ends_before_they_have_come)
{
    (void)open_slow_stage();
    growth_stage_restart(&growth, STAGE_END_KILL);
    node_stage_settle(&growth.stage);
    expect_all();
    close_stage();
}
