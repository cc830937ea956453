/* Sets that are merged in any order, and as often as one likes, end equal; and nothing that anybody
 * knew is forgotten. */
#include "map/sites.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <inttypes.h>

enum { TRIALS = 20000, IDS = 6 };

/* Few ids, lives and names, so that they meet. The own site is id 1. */
static struct site_set drawn(uint64_t *state)
{
    struct site_set set = {0};

    for (uint64_t id = 1; id <= IDS; id++) {
        struct site_entry entry = {.id = {.high = id % 2, .low = id}};

        entry.name[0] = (char)('a' + random_below(state, 3));
        entry.life.number = random_below(state, 3) << SITE_RETURN_SHIFT |
                            (1 + random_below(state, 3));
        entry.life.tag = random_below(state, 2);
        entry.state = (enum site_state)(SITE_JOINING + random_below(state, 4));
        if (id == 1 || random_chance(state, 600)) {
            cr_assert_eq(site_set_add(&set, &entry), STATUS_OK);
        }
    }
    set.takes_adds = site_set_own(&set)->state <= SITE_COUNTED;
    set.says_absent = site_set_own(&set)->state == SITE_COUNTED;
    set.settled = true;
    return set;
}

static struct site_set merged(const struct site_set *a, const struct site_set *b)
{
    struct site_set both = *a;

    cr_assert_eq(site_set_merge(&both, b), STATUS_OK);
    cr_assert_eq(site_set_own(&both)->id.low, 1);
    return both;
}

/* Of the entries alone: what one may do is its own. */
static bool same(const struct site_set *a, const struct site_set *b)
{
    return a->count == b->count && a->own == b->own &&
           memcmp(a->entries, b->entries, a->count * sizeof a->entries[0]) == 0;
}

Test(site_merge_law, order_and_repetition_do_not_matter)
{
    uint64_t state = 1;

    for (int trial = 0; trial < TRIALS; trial++) {
        struct site_set a = drawn(&state);
        struct site_set b = drawn(&state);
        struct site_set c = drawn(&state);
        struct site_set ab = merged(&a, &b);
        struct site_set ba = merged(&b, &a);
        struct site_set bc = merged(&b, &c);
        struct site_set left = merged(&ab, &c);
        struct site_set right = merged(&a, &bc);
        struct site_set again = merged(&ab, &a);
        struct site_set itself = merged(&a, &a);

        cr_assert(same(&ab, &ba), "trial %d", trial);
        cr_assert(same(&left, &right), "trial %d", trial);
        cr_assert(same(&again, &ab), "trial %d", trial);
        cr_assert(site_set_knows_gone(&ab, &a) && site_set_knows_gone(&ab, &b), "trial %d", trial);
        cr_assert(same(&itself, &a), "trial %d", trial);
        cr_assert(site_set_covers(&ab, &a) && site_set_covers(&ab, &b), "trial %d", trial);
        cr_assert_eq(site_set_agrees(&a, &b), same(&a, &b), "trial %d", trial);
        cr_assert_eq(site_set_covers(&a, &b), same(&ab, &a), "trial %d", trial);
    }
}

/* What a merge did to one entry: lives never fall, who is GONE stays so but for a later return, and
 * in one life states rise. */
static void expect_rise(const struct site_entry *before, const struct site_entry *after)
{
    int order = site_life_compare(&after->life, &before->life);

    cr_assert(order >= 0);
    cr_assert_geq(site_entry_gone(after), site_entry_gone(before));
    cr_assert(order > 0 || after->state == before->state ||
              site_state_may(before->state, after->state));
}

Test(site_merge_law, nothing_falls_back_and_nobody_may_more_than_before)
{
    uint64_t state = 2;

    for (int trial = 0; trial < TRIALS; trial++) {
        struct site_set a = drawn(&state);
        struct site_set b = drawn(&state);
        struct site_set both = merged(&a, &b);
        const struct site_entry *own = site_set_own(&both);

        for (uint32_t i = 0; i < a.count; i++) {
            const struct site_entry *after = site_set_find(&both, &a.entries[i].id);

            cr_assert_not_null(after);
            expect_rise(&a.entries[i], after);
            cr_assert(a.entries[i].state == SITE_GONE || !both.settled ||
                      !site_entry_has_own_life(&a.entries[i]) ||
                      site_set_state_of(&both, &a.entries[i]) != SITE_GONE);
        }
        cr_assert(!both.says_absent || (a.says_absent && own->state == SITE_COUNTED));
        cr_assert(!both.takes_adds || (a.takes_adds && own->state <= SITE_COUNTED));
        cr_assert(!both.settled || a.settled);
    }
}
