/* Things under their numbers. */
#include "base/number_table.h"

#include <criterion/criterion.h>

enum { MANY = 1000 };

static struct number_entry entries[MANY];
static struct number_table table;

#define HIGH (UINT64_C(1) << 40)

/* Every number has others in its bucket, and some need more than 32 bits. */
static uint64_t number_of(uint64_t i)
{
    return i * (NUMBER_TABLE_BUCKETS / 8) + i % 3 * HIGH;
}

static void fill(void)
{
    table = (struct number_table){0};
    for (uint32_t i = 0; i < MANY; i++) {
        number_table_put(&table, &entries[i], number_of(i));
    }
}

Test(number_table, what_was_put_is_found)
{
    fill();
    for (uint32_t i = 0; i < MANY; i++) {
        cr_assert_eq(number_table_find(&table, number_of(i)), &entries[i]);
        cr_assert_null(number_table_find(&table, number_of(i) + 1));
        cr_assert_null(number_table_find(&table, number_of(i) + 3 * HIGH));
    }
    cr_assert_null(number_table_find(&table, UINT64_MAX));
}

Test(number_table, what_was_removed_is_not)
{
    fill();
    for (uint32_t i = 0; i < MANY; i += 2) {
        number_table_remove(&table, &entries[i]);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        cr_assert_eq(number_table_find(&table, number_of(i)), i % 2 == 0 ? NULL : &entries[i]);
    }
}

Test(number_table, all_are_seen_once)
{
    static bool seen[MANY];
    size_t count = 0;

    fill();
    for (struct number_entry *entry = number_table_next(&table, NULL); entry != NULL;
         entry = number_table_next(&table, entry)) {
        cr_assert_not(seen[entry - entries]);
        seen[entry - entries] = true;
        count++;
    }
    cr_assert_eq(count, MANY);
    table = (struct number_table){0};
    cr_assert_null(number_table_next(&table, NULL));
}
