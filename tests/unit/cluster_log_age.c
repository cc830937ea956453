/* Is nothing called old that is not, and everything in the end? */
#include "node/pull/log_age.h"

#include <criterion/criterion.h>

enum { DELAY = 1000 };

static struct log_age age;

Test(log_age, what_was_found_is_old)
{
    log_age_init(&age, 500);
    cr_assert_eq(log_age_settled(&age, 1, DELAY), 500);
}

Test(log_age, what_is_appended_settles_after_the_delay)
{
    log_age_init(&age, 500);
    log_age_note(&age, 10000, 600, DELAY);
    cr_assert_eq(log_age_settled(&age, 10000, DELAY), 500);
    cr_assert_eq(log_age_settled(&age, 10000 + DELAY - 1, DELAY), 500);
    cr_assert_eq(log_age_settled(&age, 10000 + DELAY, DELAY), 600);
}

/* However often it is noted: never early, and late by an eighth of the delay at most. */
Test(log_age, a_growing_log_settles_steadily)
{
    log_age_init(&age, 0);
    for (uint64_t now = 1; now < 20 * DELAY; now++) {
        uint64_t settled;

        log_age_note(&age, now, now, DELAY);
        settled = log_age_settled(&age, now, DELAY);
        cr_assert(settled + DELAY <= now || settled == 0, "%llu at %llu",
                  (unsigned long long)settled, (unsigned long long)now);
        cr_assert_leq(now, settled + DELAY + DELAY / 8 + 1);
    }
}

Test(log_age, a_long_pause_is_fine)
{
    log_age_init(&age, 0);
    log_age_note(&age, 100, 1, DELAY);
    log_age_note(&age, 100000000, 2, DELAY);
    cr_assert_eq(log_age_settled(&age, 100000000, DELAY), 1);
    cr_assert_eq(log_age_settled(&age, 100000000 + DELAY, DELAY), 2);
}
