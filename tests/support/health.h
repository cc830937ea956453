/* health.h - what a process says is amiss with it.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_HEALTH_H
#define ORBLOOM_TESTS_SUPPORT_HEALTH_H

#include "base/telemetry/health.h"

#include <criterion/criterion.h>
#include <string.h>

/* Exactly this one thing, and a word of why; NULL: nothing. */
static inline void expect_health(const struct health *health, const char *what, const char *why)
{
    const struct health_reason *first = &health->reasons[0];

    cr_expect_eq(health->count, what != NULL, "%zu reasons, the first: %s", health->count,
                 health->count > 0 ? first->what : "");
    if (what != NULL && health->count > 0) {
        cr_expect_str_eq(first->what, what, "%s: %s", first->what, first->why);
        cr_expect_not_null(strstr(first->why, why), "%s", first->why);
    }
}

#endif
