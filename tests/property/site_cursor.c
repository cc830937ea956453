/* What cursors of other sites come to does not depend on their order, nor on how often they come; a
 * higher offset of one log is never lost, and what a newer life or loss has voided never comes
 * back. */
#include "site/cursor.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <inttypes.h>

enum { ROUNDS = 20000, LIST = 5 };

/* About one thing, with few values, so that they meet. `one_life`: each node has one incarnation.
 */
static struct record_site_cursor draw(uint64_t *seed, bool one_life)
{
    struct record_site_cursor cursor = {
        .filter_id = 1,
        .keyset = 2,
        .site = {3, 4},
        .site_life = {.number = 1 + random_below(seed, 2), .tag = random_below(seed, 2)},
        .own_life = {.number = 1 + random_below(seed, 2), .tag = random_below(seed, 2)},
        .loss = random_below(seed, 2),
    };

    if (random_below(seed, 2) == 0) { /* Mostly of one life, so that sources meet. */
        cursor.site_life = cursor.own_life = (struct record_site_life){.number = 2, .tag = 1};
        cursor.loss = 1;
    }
    for (uint32_t node = 1; node <= 5; node++) {
        if (random_below(seed, 3) != 0) {
            cursor.sources[cursor.nsources++] = (struct record_site_source){
                .node = node,
                .incarnation = one_life ? 9 : 9 + random_below(seed, 2),
                .boot = 1 + random_below(seed, 3),
                .offset = 8 * random_below(seed, 6),
                .epoch = 1 + random_below(seed, 4),
            };
        }
    }
    if (cursor.nsources == 0) {
        return draw(seed, one_life);
    }
    cr_assert(site_cursor_valid(&cursor));
    return cursor;
}

static struct record_site_cursor joined(const struct record_site_cursor *a,
                                        const struct record_site_cursor *b)
{
    struct record_site_cursor result = *a;

    site_cursor_join(&result, b);
    cr_assert(site_cursor_valid(&result));
    return result;
}

Test(site_cursor, two_come_to_the_same_in_either_order)
{
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t seed = round;
        struct record_site_cursor a = draw(&seed, false);
        struct record_site_cursor b = draw(&seed, false);
        struct record_site_cursor ab = joined(&a, &b);
        struct record_site_cursor ba = joined(&b, &a);

        cr_assert(site_cursor_equal(&ab, &ba), "seed %" PRIu64, round);
    }
}

Test(site_cursor, a_repeat_changes_nothing)
{
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t seed = round;
        struct record_site_cursor a = draw(&seed, false);
        struct record_site_cursor b = draw(&seed, false);
        struct record_site_cursor ab = joined(&a, &b);
        struct record_site_cursor again = joined(&ab, &b);

        cr_assert(site_cursor_equal(&ab, &again), "seed %" PRIu64, round);
        again = joined(&ab, &a);
        cr_assert(site_cursor_equal(&ab, &again), "seed %" PRIu64, round);
    }
}

/* Where nodes keep their data, nor does it matter who was joined with whom first. */
Test(site_cursor, many_come_to_the_same_in_any_grouping)
{
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t seed = round;
        struct record_site_cursor a = draw(&seed, true);
        struct record_site_cursor b = draw(&seed, true);
        struct record_site_cursor c = draw(&seed, true);
        struct record_site_cursor left = joined(&a, &b);
        struct record_site_cursor right = joined(&b, &c);

        left = joined(&left, &c);
        right = joined(&a, &right);
        cr_assert(site_cursor_equal(&left, &right), "seed %" PRIu64, round);
    }
}

static int order_of(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Lives and loss as they would be written down, most significant first. */
static int compare_lives(const struct record_site_cursor *a, const struct record_site_cursor *b)
{
    int orders[] = {order_of(a->own_life.number, b->own_life.number),
                    order_of(a->own_life.tag, b->own_life.tag), order_of(a->loss, b->loss),
                    order_of(a->site_life.number, b->site_life.number),
                    order_of(a->site_life.tag, b->site_life.tag)};

    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        if (orders[i] != 0) {
            return orders[i];
        }
    }
    return 0;
}

static const struct record_site_source *source_of(const struct record_site_cursor *cursor,
                                                  uint32_t node)
{
    for (uint32_t i = 0; i < cursor->nsources; i++) {
        if (cursor->sources[i].node == node) {
            return &cursor->sources[i];
        }
    }
    return NULL;
}

/* Each source that is told was told so, in those lives; and none is higher than any said. */
static void expect_true(const struct record_site_cursor *result,
                        const struct record_site_cursor *list, uint64_t round)
{
    for (uint32_t i = 0; i < result->nsources; i++) {
        const struct record_site_source *got = &result->sources[i];
        bool offset = false;
        bool epoch = false;

        for (size_t k = 0; k < LIST; k++) {
            const struct record_site_source *said = source_of(&list[k], got->node);

            if (said != NULL && said->incarnation == got->incarnation &&
                compare_lives(&list[k], result) == 0) {
                offset = offset || (said->offset == got->offset && said->boot == got->boot);
                epoch = epoch || said->epoch == got->epoch;
            }
        }
        cr_assert(offset && epoch, "seed %" PRIu64 ": nobody said so of node %u", round, got->node);
    }
}

static void expect_highest(const struct record_site_cursor *result,
                           const struct record_site_cursor *list, uint64_t round)
{
    for (size_t k = 0; k < LIST; k++) {
        int order = compare_lives(&list[k], result);

        cr_assert_leq(order, 0, "seed %" PRIu64 ": an older life has won", round);
        for (uint32_t i = 0; order == 0 && i < list[k].nsources; i++) {
            const struct record_site_source *said = &list[k].sources[i];
            const struct record_site_source *got = source_of(result, said->node);

            cr_assert_not_null(got, "seed %" PRIu64 ": node %u is lost", round, said->node);
            cr_assert(got->incarnation != said->incarnation || got->offset >= said->offset,
                      "seed %" PRIu64 ": node %u went back", round, said->node);
        }
    }
}

Test(site_cursor, the_highest_of_the_newest_lives_and_nothing_that_nobody_said)
{
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t seed = round;
        struct record_site_cursor list[LIST];
        struct record_site_cursor result;

        for (size_t i = 0; i < LIST; i++) {
            list[i] = draw(&seed, true);
        }
        result = list[0];
        for (size_t i = 1; i < LIST; i++) {
            result = joined(&result, &list[i]);
        }
        expect_true(&result, list, round);
        expect_highest(&result, list, round);
    }
}

/* More than a record takes: those that were left out longest ago. */
Test(site_cursor, sources_are_bounded)
{
    struct record_site_cursor a = {.nsources = RECORD_MAX_SOURCES};
    struct record_site_cursor b = {.nsources = RECORD_MAX_SOURCES};
    struct record_site_cursor ab;
    struct record_site_cursor ba;

    for (uint32_t i = 0; i < RECORD_MAX_SOURCES; i++) {
        a.sources[i] = (struct record_site_source){
            .node = 2 * i + 1, .incarnation = 1, .boot = 1, .epoch = 2 + i};
        b.sources[i] = (struct record_site_source){
            .node = 2 * i + 2, .incarnation = 1, .boot = 1, .epoch = 100};
    }
    ab = joined(&a, &b);
    ba = joined(&b, &a);
    cr_assert(site_cursor_equal(&ab, &ba));
    cr_assert_eq(ab.nsources, RECORD_MAX_SOURCES);
    for (uint32_t i = 0; i < ab.nsources; i++) {
        cr_assert_eq(ab.sources[i].epoch, 100);
    }
}

Test(site_cursor, what_no_link_writes_is_not_valid)
{
    struct record_site_cursor cursor = {
        .nsources = 2,
        .sources = {{.node = 1, .incarnation = 1, .boot = 1, .offset = 8},
                    {.node = 2, .incarnation = 1, .boot = 1}},
    };
    struct record_site_cursor wrong = cursor;

    cr_assert(site_cursor_valid(&cursor));
    wrong.nsources = 0;
    cr_assert_not(site_cursor_valid(&wrong));
    wrong.nsources = RECORD_MAX_SOURCES + 1;
    cr_assert_not(site_cursor_valid(&wrong));
    wrong = cursor;
    wrong.sources[1].node = 1;
    cr_assert_not(site_cursor_valid(&wrong));
    wrong = cursor;
    wrong.sources[1].incarnation = 0;
    cr_assert_not(site_cursor_valid(&wrong));
    wrong = cursor;
    wrong.sources[0].boot = 0;
    cr_assert_not(site_cursor_valid(&wrong));
    wrong = cursor;
    wrong.sources[0].offset = 9;
    cr_assert_not(site_cursor_valid(&wrong));
    wrong.sources[0].offset = UINT64_MAX - 7;
    cr_assert_not(site_cursor_valid(&wrong));
}
