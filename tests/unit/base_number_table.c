/* Things under their numbers. */
#include "base/number_table.h"

#include <criterion/criterion.h>

enum { MANY = 1000 };

static struct number_entry entries[MANY];
static struct number_table table;

/* Every number has others in its bucket. */
static void fill(void)
{
    table = (struct number_table){0};
    for (uint32_t i = 0; i < MANY; i++) {
        number_table_put(&table, &entries[i], 7 * i);
    }
}

Test(number_table, what_was_put_is_found)
{
    fill();
    for (uint32_t i = 0; i < MANY; i++) {
        cr_assert_eq(number_table_find(&table, 7 * i), &entries[i]);
        cr_assert_null(number_table_find(&table, 7 * i + 1));
    }
    cr_assert_null(number_table_find(&table, UINT32_MAX));
}

Test(number_table, what_was_removed_is_not)
{
    fill();
    for (uint32_t i = 0; i < MANY; i += 2) {
        number_table_remove(&table, &entries[i]);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        cr_assert_eq(number_table_find(&table, 7 * i), i % 2 == 0 ? NULL : &entries[i]);
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
