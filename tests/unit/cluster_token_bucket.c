/* Does the rate hold over time, whatever is taken at once? */
#include "base/token_bucket.h"

#include <criterion/criterion.h>

enum { RATE = 1000000 };

Test(token_bucket, the_first_one_passes_and_the_next_one_pays)
{
    struct token_bucket bucket = {0};

    cr_assert_eq(token_bucket_ready_us(&bucket, 5000000), 5000000);
    token_bucket_take(&bucket, 5000000, 2 * RATE, RATE);
    cr_assert_eq(token_bucket_ready_us(&bucket, 5000000), 5000000 + 2000000 - 250000);
}

Test(token_bucket, the_rate_holds)
{
    struct token_bucket bucket = {0};
    uint64_t now_us = 1000000;
    uint64_t bytes = 0;

    for (int i = 0; i < 1000; i++) {
        now_us = token_bucket_ready_us(&bucket, now_us);
        token_bucket_take(&bucket, now_us, 50000, RATE);
        bytes += 50000;
    }
    cr_assert_leq(bytes, (now_us - 1000000) + RATE / 4 + 50000);
    cr_assert_geq(bytes, now_us - 1000000);
}

Test(token_bucket, little_is_saved_up)
{
    struct token_bucket bucket = {0};
    uint64_t day_us = UINT64_C(86400000000);

    token_bucket_take(&bucket, 0, 1, RATE);
    token_bucket_take(&bucket, day_us, RATE / 4, RATE);
    cr_assert_eq(token_bucket_ready_us(&bucket, day_us), day_us);
    token_bucket_take(&bucket, day_us, 10, RATE);
    cr_assert_eq(token_bucket_ready_us(&bucket, day_us), day_us + 10);
}

/* A byte takes less than a microsecond, and still counts. */
Test(token_bucket, small_ones_add_up)
{
    struct token_bucket bucket = {0};
    uint64_t now_us = 1000000;

    for (int i = 0; i < 3 * RATE; i++) {
        token_bucket_take(&bucket, now_us, 1, UINT64_C(3) * RATE);
    }
    cr_assert_eq(token_bucket_ready_us(&bucket, now_us), now_us + 1000000 - 250000);
}
