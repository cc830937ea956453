/* Which of many filters `status` shows. */
#include "base/heap.h"
#include "cli/show/status_brief.h"

#include <criterion/criterion.h>

enum { MANY = 40 };

static struct filter_summary filters[MANY];
static struct change_summary changes[2];
static struct admin_reply reply;
static struct admin_reply brief;

static void setup(void)
{
    for (uint64_t i = 0; i < MANY; i++) {
        filters[i] = (struct filter_summary){.id = i,
                                             .name = "one",
                                             .state = FILTER_ACTIVE,
                                             .rule = {.replicas = 3, .write = 2, .read = 2},
                                             .fewest_full = 3,
                                             .ngenerations = 1,
                                             .growth_refused = "",
                                             .rebuild_awaited = ""};
    }
    reply = (struct admin_reply){.filters = filters, .nfilters = MANY, .changes = changes};
    brief = (struct admin_reply){0};
}

static void teardown(void)
{
    status_brief_free(&brief);
}

static void lack(uint64_t id, uint32_t fewest_full)
{
    filters[id].shards_lacking = 4;
    filters[id].fewest_full = fewest_full;
}

TestSuite(client_status, .init = setup, .fini = teardown);

Test(client_status, none_where_all_is_well)
{
    cr_assert_eq(status_brief_concerns(&reply), 0);
    cr_assert_eq(status_brief_make(&reply, &brief), STATUS_OK);
    cr_assert_eq(brief.nfilters, 0);
}

Test(client_status, each_reason_is_one)
{
    filters[1].growth_refused = "no room";
    filters[2].rebuild_keyset = 2;
    filters[3].rebuild_awaited = "a replica to report";
    filters[4].state = FILTER_DROPPING;
    filters[5].ngenerations = 2;
    filters[6].growth_held = true;
    filters[7].loss_epoch = 9;
    filters[8].load_source = 1;
    filters[8].loaded = DOCUMENT_LOAD_FIRST;
    lack(9, 2);
    changes[0].filter_id = 10;
    reply.nchanges = 1;
    cr_assert_eq(status_brief_concerns(&reply), 10);
}

/* A window and a date of expiry are no reason. */
Test(client_status, what_goes_its_way_is_none)
{
    filters[1].nslices = 7;
    filters[2].expiry = 1;
    cr_assert_eq(status_brief_concerns(&reply), 0);
}

Test(client_status, the_worst_come_first_and_no_more_than_ten)
{
    for (uint64_t i = 0; i < MANY; i++) {
        filters[i].ngenerations = 2;
    }
    lack(30, 2);
    lack(35, 1);
    cr_assert_eq(status_brief_make(&reply, &brief), STATUS_OK);
    cr_assert_eq(status_brief_concerns(&reply), MANY);
    cr_assert_eq(brief.nfilters, STATUS_BRIEF_FILTERS);
    cr_assert_eq(brief.filters[0].id, 35, "two of three are asked for");
    cr_assert_eq(brief.filters[1].id, 30);
    cr_assert_eq(brief.filters[2].id, 0);
}

Test(client_status, changes_of_those_that_are_shown)
{
    for (uint64_t i = 0; i < STATUS_BRIEF_FILTERS; i++) {
        lack(i, 2);
    }
    changes[0].filter_id = 20;
    changes[1].filter_id = 3;
    reply.nchanges = 2;
    cr_assert_eq(status_brief_make(&reply, &brief), STATUS_OK);
    cr_assert_eq(brief.nchanges, 1);
    cr_assert_eq(brief.changes[0].filter_id, 3);
}

Test(client_status, without_memory_it_is_told)
{
    for (unsigned after = 0; after < 2; after++) {
        heap_fault_after(after);
        cr_assert_eq(status_brief_make(&reply, &brief), STATUS_NOMEM);
    }
    heap_fault_clear();
}
