/* A reader who does not read makes nobody wait. */
#include "cli/shadow/outlet.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 1000, READ_BYTES = 1 << 20, TRIES = 1 << 16 };

static int ends[2];
static FILE *out;
static char text[TEXT_BYTES];
static char got[READ_BYTES];

static void start(void)
{
    cr_assert_eq(pipe(ends), 0);
    out = fdopen(ends[1], "w");
    cr_assert_not_null(out);
    memset(text, 'x', sizeof text);
}

static void stop(void)
{
    (void)close(ends[0]);
    (void)fclose(out);
}

TestSuite(shadow_outlet, .init = start, .fini = stop);

Test(shadow_outlet, a_text_that_finds_no_room_is_dropped_as_a_whole)
{
    size_t left = 0;

    while (left < TRIES && outlet_put(out, span_of(text, sizeof text), 0)) {
        left++;
    }
    cr_assert_gt(left, 0);
    cr_assert_lt(left, TRIES);
    cr_assert_not(outlet_put(out, span_text("more"), 1));
    cr_assert_eq(read(ends[0], got, sizeof got), (ssize_t)(left * sizeof text));
    cr_assert(outlet_put(out, span_text("again"), 0));
    cr_assert_eq(read(ends[0], got, sizeof got), 5);
    cr_assert_not(ferror(out));
}

Test(shadow_outlet, a_text_that_is_longer_than_all_room_does_not_wait_either)
{
    static char much[READ_BYTES];

    cr_assert_not(outlet_put(out, span_of(much, sizeof much), 0));
    cr_assert_geq(read(ends[0], got, sizeof got), PIPE_BUF);
}
