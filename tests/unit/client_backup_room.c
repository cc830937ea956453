/* How many keys a restored filter is made for: those that are in its backup, and some more. */
#include "cli/backup/room.h"
#include "filter/sizing.h"

#include <criterion/criterion.h>

static void expect(uint64_t keys, uint64_t asked, uint64_t capacity, uint64_t max_capacity)
{
    struct backup_filter filter = {.capacity = 1000, .max_capacity = 1500};

    cr_assert_eq(room_make(&filter, keys, asked), capacity > 1000);
    cr_assert_eq(filter.capacity, capacity);
    cr_assert_eq(filter.max_capacity, max_capacity);
}

Test(client_backup_room, is_made_for_what_is_in_it_and_a_twentieth_more)
{
    expect(0, 0, 1000, 1500);
    expect(952, 0, 1000, 1500);
    expect(1000, 0, 1050, 1500);
    expect(2000, 0, 2100, 2100);
}

Test(client_backup_room, is_made_for_what_is_asked_for_never_for_less)
{
    expect(10, 20, 1000, 1500);
    expect(10, 5000, 5000, 5000);
    expect(2000, 1200, 2100, 2100);
}

Test(client_backup_room, stays_within_what_a_filter_can_be)
{
    expect(UINT64_MAX, 0, SIZING_CAPACITY_MAX, SIZING_CAPACITY_MAX);
    expect(SIZING_CAPACITY_MAX - 1, 0, SIZING_CAPACITY_MAX, SIZING_CAPACITY_MAX);
    expect(0, UINT64_MAX, SIZING_CAPACITY_MAX, SIZING_CAPACITY_MAX);
}
