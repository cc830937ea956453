/* When filters are dropped by themselves: what is asked for, what was counted, and that fewer than
 * F clocks that run ahead, or a date on a wrong clock, drop nothing early. */
#include "map/history/expiry.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { NODES = 3 };

#define SECOND_US UINT64_C(1000000)
#define HOUR_US   (3600 * SECOND_US)

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};

static struct filter_document document;
static struct window_count counts[NODES];

static void setup(void)
{
    sample_document(1, "urls", &rule, 3, &document);
    for (uint32_t i = 0; i < NODES; i++) {
        counts[i] = (struct window_count){.node = i + 1};
    }
}

static void teardown(void)
{
    document_fini(&document);
}

TestSuite(expiry, .init = setup, .fini = teardown);

static uint64_t left(void)
{
    return expiry_left_us(&document, counts, NODES);
}

static void set(uint64_t after_us)
{
    const struct expiry_wish wish = {.after_us = after_us, .at_ms = 1000};

    expiry_set(&document, &wish, 0);
}

/* ---- what is asked for ---- */

static struct expiry_wish complete(struct expiry_wish wish, uint64_t now_ms)
{
    return expiry_complete(&wish, now_ms);
}

Test(expiry, a_duration_has_a_date_to_be_told)
{
    struct expiry_wish wish = complete((struct expiry_wish){.after_us = 5500}, 1000);

    cr_assert_eq(wish.after_us, 5500);
    cr_assert_eq(wish.at_ms, 1006, "rounded up");
    cr_assert_eq(complete((struct expiry_wish){.after_us = 5500}, 0).at_ms, 0, "no clock");
    cr_assert_eq(complete((struct expiry_wish){.after_us = UINT64_MAX}, 1).after_us, EXPIRY_MAX_US);
}

/* One clock that runs ahead, the asker's or the coordinator's, shortens nothing. */
Test(expiry, of_two_clocks_the_one_that_is_behind_is_believed)
{
    const struct expiry_wish date = {.dated = true, .at_ms = 10000, .after_us = 4000000};

    cr_assert_eq(complete(date, 6000).after_us, 4000000);
    cr_assert_eq(complete(date, 1000).after_us, 9000000);
    cr_assert_eq(complete(date, 9000).after_us, 4000000);
    cr_assert_eq(complete(date, 20000).after_us, 4000000);
    cr_assert_eq(complete(date, 0).after_us, 4000000, "there is no clock here");
    cr_assert_eq(complete(date, 1000).at_ms, 10000);
    cr_assert_eq(complete((struct expiry_wish){.dated = true, .at_ms = 5}, 1000).after_us, 0);
    cr_assert_eq(complete((struct expiry_wish){.dated = true, .at_ms = UINT64_MAX}, 1).after_us,
                 EXPIRY_MAX_US);
}

Test(expiry, conditions)
{
    const struct expiry none = {0};
    const struct expiry some = {.number = 1, .after_us = 1, .at_ms = 100};
    const struct expiry_wish plain = {.at_ms = 50};
    const struct expiry_wish if_none = {.if_none = true};
    const struct expiry_wish if_some = {.if_some = true};
    struct expiry_wish if_later = {.if_later = true, .at_ms = 101};
    struct expiry_wish if_sooner = {.if_sooner = true, .at_ms = 99};

    cr_assert(expiry_applies(&none, &plain) && expiry_applies(&some, &plain));
    cr_assert(expiry_applies(&none, &if_none) && !expiry_applies(&some, &if_none));
    cr_assert(!expiry_applies(&none, &if_some) && expiry_applies(&some, &if_some));
    cr_assert(!expiry_applies(&none, &if_later), "never is the latest");
    cr_assert(expiry_applies(&none, &if_sooner));
    cr_assert(expiry_applies(&some, &if_later) && expiry_applies(&some, &if_sooner));
    if_later.at_ms = if_sooner.at_ms = 100;
    cr_assert(!expiry_applies(&some, &if_later) && !expiry_applies(&some, &if_sooner));
}

/* ---- counting ---- */

Test(expiry, it_is_due_when_f_of_three_have_counted_all_of_it)
{
    cr_assert_eq(left(), 0, "there is none");
    cr_assert_eq(document.expiry.number, 0);
    set(HOUR_US);
    cr_assert_eq(left(), HOUR_US);
    counts[0].counted_us = UINT64_MAX;
    cr_assert_eq(left(), HOUR_US, "a clock that runs ahead alone moves nothing");
    counts[2].counted_us = HOUR_US / 4;
    cr_assert_eq(left(), HOUR_US / 4 * 3);
    counts[1].counted_us = HOUR_US - 1;
    cr_assert_eq(left(), 1);
    counts[1].counted_us = HOUR_US;
    cr_assert_eq(left(), 0);
}

Test(expiry, what_was_written_is_not_counted_again)
{
    uint64_t epoch = document.epoch;

    set(HOUR_US);
    cr_assert(!expiry_is_unsaved(&document, HOUR_US));
    cr_assert(!expiry_is_unsaved(&document, HOUR_US - HOUR_US / 32 + 1));
    cr_assert(expiry_is_unsaved(&document, HOUR_US - HOUR_US / 32));
    expiry_save(&document, HOUR_US / 3);
    cr_assert(!expiry_is_unsaved(&document, HOUR_US / 3));
    cr_assert_eq(left(), HOUR_US / 3, "though nobody counts now");
    counts[0].counted_us = counts[1].counted_us = HOUR_US / 2;
    cr_assert_eq(left(), HOUR_US / 3, "less than was written");
    cr_assert_eq(document.epoch, epoch, "no request is disturbed");
}

Test(expiry, short_ones_are_not_written_at_all)
{
    set(30 * SECOND_US);
    cr_assert(!expiry_is_unsaved(&document, 1));
    set(120 * SECOND_US);
    cr_assert(expiry_is_unsaved(&document, 60 * SECOND_US));
    cr_assert(!expiry_is_unsaved(&document, 61 * SECOND_US));
}

/* ---- edits ---- */

Test(expiry, each_has_a_number_of_its_own)
{
    uint64_t revision = document.revision;

    set(HOUR_US);
    cr_assert_eq(document.expiry.number, revision + 1);
    expiry_save(&document, 7);
    cr_assert_eq(document.expiry.number, revision + 1, "it is the same one");
    set(HOUR_US);
    cr_assert_eq(document.expiry.number, revision + 3);
    cr_assert_eq(document.expiry.counted_us, 0);
    expiry_cancel(&document);
    cr_assert_eq(document.expiry.number, 0);
    cr_assert_eq(document.revision, revision + 4);
    set(HOUR_US);
    cr_assert_eq(document.expiry.number, revision + 5);
    expiry_save(&document, 7);
    document.revision = 1000;
    expiry_restart(&document);
    cr_assert_eq(document.expiry.number, 1000);
    cr_assert_eq(left(), HOUR_US);
}

/* Dates said that it would be later; if clocks disagree it stays at least as it was. */
Test(expiry, one_that_is_to_be_later_only_is_not_made_shorter)
{
    const struct expiry_wish later = {.after_us = 60 * SECOND_US, .at_ms = 9, .if_later = true};

    set(HOUR_US);
    expiry_set(&document, &later, HOUR_US / 2);
    cr_assert_eq(document.expiry.after_us, HOUR_US / 2);
    cr_assert_eq(document.expiry.at_ms, 9);
    expiry_set(&document, &later, SECOND_US);
    cr_assert_eq(document.expiry.after_us, 60 * SECOND_US);
}
