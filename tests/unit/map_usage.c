/* Shares of rates, and bytes under way, of users. */
#include "base/heap.h"
#include "map/access/usage.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { SECOND_US = 1000000, RATE = 10000, ROUTERS = 3, USERS = 600 };

static struct user users[USERS];
static struct user_list list;
static struct usages usages;

static void set_up(void)
{
    list = (struct user_list){.revision = 1, .users = users, .count = 2};
    users[0] = (struct user){.id = 7, .name = "crawler", .limits = {.keys_per_s = RATE}};
    users[1] = (struct user){.id = 9, .name = "free"};
    cr_assert_eq(usages_learn(&usages, &list), STATUS_OK);
}

static void tear_down(void)
{
    usages_fini(&usages);
    cr_assert_eq(heap_live(), 0);
}

TestSuite(map_usage, .init = set_up, .fini = tear_down);

Test(map_usage, shares_of_a_limit_are_the_limit_together)
{
    cr_assert_eq(usage_share(0, 5), 0, "no limit");
    cr_assert_eq(usage_share(RATE, 0), RATE, "how many there are is not known yet");
    cr_assert_eq(usage_share(RATE, 1), RATE);
    cr_assert_eq(usage_share(RATE, 4), RATE / 4);
    cr_assert_eq(usage_share(2, 1000), 1, "never nothing");
}

Test(map_usage, users_without_limits_have_no_place)
{
    cr_assert_not_null(usages_find(&usages, 7));
    cr_assert_null(usages_find(&usages, 9));
    cr_assert_null(usages_find(&usages, 0));
    usages_end(&usages, 9, 100);
}

/* All that a flood gets in so many seconds, in pieces of `keys`, where each router is asked again
 * when it says so. */
static uint64_t flood(uint32_t routers, uint64_t keys, uint64_t seconds)
{
    struct usage *usage = usages_find(&usages, 7);
    uint64_t now_us = 5 * SECOND_US;
    uint64_t end_us = now_us + seconds * SECOND_US;
    uint64_t got = 0;
    uint64_t retry_us = 0;

    usage->keys = (struct token_bucket){.free_us = now_us};
    while (now_us < end_us) {
        if (usage_take_keys(usage, now_us, keys, routers, &retry_us)) {
            got += keys;
        } else {
            cr_assert_gt(retry_us, 0);
            now_us += retry_us;
        }
    }
    return got;
}

Test(map_usage, a_flood_is_held_to_the_limit)
{
    static const uint64_t sizes[] = {1, 7, 100, 4096};

    for (uint32_t routers = 1; routers <= ROUTERS; routers++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            uint64_t got = flood(routers, sizes[i], 20);
            uint64_t limit = (uint64_t)RATE * 20 / routers;

            cr_assert_geq(got, limit * 99 / 100);
            cr_assert_leq(got, limit * 101 / 100 + sizes[i], "%zu of %zu", (size_t)got,
                          (size_t)limit);
        }
    }
}

Test(map_usage, without_a_limit_nobody_waits)
{
    struct usage *usage = usages_find(&usages, 7);
    uint64_t retry_us = 0;

    cr_assert(usage_begin(usage, 1));
    users[0].limits.keys_per_s = 0;
    list.revision++;
    cr_assert_eq(usages_learn(&usages, &list), STATUS_OK);
    cr_assert_eq(usages_find(&usages, 7), usage, "it stays where it is");
    for (int i = 0; i < 1000; i++) {
        cr_assert(usage_take_keys(usage, SECOND_US, 1 << 20, 1, &retry_us));
    }
}

Test(map_usage, bytes_under_way_are_bounded)
{
    struct usage *usage = usages_find(&usages, 7);

    users[0].limits.in_flight = 1000;
    cr_assert_eq(usages_learn(&usages, &list), STATUS_OK);
    cr_assert(usage_begin(usage, 5000), "one alone may");
    cr_assert_not(usage_begin(usage, 1));
    usages_end(&usages, 7, 5000);
    cr_assert(usage_begin(usage, 600));
    cr_assert(usage_begin(usage, 400));
    cr_assert_not(usage_begin(usage, 1));
    usages_end(&usages, 7, 400);
    cr_assert(usage_begin(usage, 400));
    cr_assert_not(usage_begin(usage, UINT64_MAX));
}

/* A user that is gone has no limits, and what it had under way ends as it began. */
Test(map_usage, a_newer_record_changes_limits_and_nothing_else)
{
    struct usage *usage = usages_find(&usages, 7);
    uint64_t retry_us = 0;

    cr_assert(usage_begin(usage, 700));
    cr_assert(usage_take_keys(usage, SECOND_US, RATE, 1, &retry_us));
    users[0].limits.keys_per_s = 2 * RATE;
    list.revision = 2;
    cr_assert_eq(usages_learn(&usages, &list), STATUS_OK);
    cr_assert_eq(usages.revision, 2);
    cr_assert_eq(usage->in_flight, 700);
    cr_assert_not(usage_take_keys(usage, SECOND_US, 1, 1, &retry_us), "it owes as before");
    list.count = 0;
    cr_assert_eq(usages_learn(&usages, &list), STATUS_OK);
    cr_assert(usage_take_keys(usage, SECOND_US, 1, 1, &retry_us));
    usages_end(&usages, 7, 900);
    cr_assert_eq(usage->in_flight, 0);
}

/* Whoever creates and deletes users does not fill the memory. */
Test(map_usage, who_has_no_limits_and_nothing_under_way_is_forgotten)
{
    size_t before = heap_live();

    users[1].limits.in_flight = 100;
    cr_assert_eq(usages_learn(&usages, &list), STATUS_OK);
    cr_assert(usage_begin(usages_find(&usages, 9), 10));
    list.count = 0;
    cr_assert_eq(usages_learn(&usages, &list), STATUS_OK);
    cr_assert_null(usages_find(&usages, 7));
    cr_assert_not_null(usages_find(&usages, 9), "10 bytes are to be taken off yet");
    usages_end(&usages, 9, 10);
    cr_assert_eq(usages_learn(&usages, &list), STATUS_OK);
    cr_assert_null(usages_find(&usages, 9));
    cr_assert_lt(heap_live(), before);
}

/* What was taken at the old rate is paid at the new one; a lower one does not lock out for long. */
Test(map_usage, a_raised_rate_lets_a_user_go_on)
{
    struct usage *usage = usages_find(&usages, 7);
    uint64_t retry_us = 0;

    cr_assert(usage_take_keys(usage, SECOND_US, 10 * RATE, 1, &retry_us));
    cr_assert_not(usage_take_keys(usage, SECOND_US, 1, 1, &retry_us));
    cr_assert_gt(retry_us, 9 * SECOND_US);
    usage->limits.keys_per_s = RATE / 2;
    cr_assert_not(usage_take_keys(usage, SECOND_US, 1, 1, &retry_us));
    cr_assert_leq(retry_us, 10 * SECOND_US);
    usage->limits.keys_per_s = 100 * RATE;
    cr_assert_not(usage_take_keys(usage, SECOND_US, 1, 1, &retry_us));
    cr_assert_gt(retry_us, 90000, "it owes as many keys as before");
    cr_assert_leq(retry_us, 100000);
    cr_assert(usage_take_keys(usage, SECOND_US + 100000, 1, 1, &retry_us));
}

Test(map_usage, many_users_and_little_memory)
{
    for (uint32_t i = 0; i < USERS; i++) {
        users[i] = (struct user){.id = i + 1, .limits = {.keys_per_s = i + 1}};
        (void)snprintf(users[i].name, sizeof users[i].name, "user-%04u", i);
    }
    list.count = USERS;
    heap_fault_after(10);
    cr_assert_eq(usages_learn(&usages, &list), STATUS_NOMEM);
    heap_fault_clear();
    cr_assert_eq(usages.revision, 0, "it is learned again");
    cr_assert_eq(usages_learn(&usages, &list), STATUS_OK);
    for (uint32_t i = 0; i < USERS; i++) {
        cr_assert_eq(usages_find(&usages, i + 1)->limits.keys_per_s, i + 1);
    }
}
