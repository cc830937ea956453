/* What a router may let checks say: within bounds, fresh, while a site is filled, in another set.
 */
#include "site/freshness.h"

#include <criterion/criterion.h>

enum { OWN = 2, SECOND = 1, THIRD = 3, KEYSET = 5, BOUND = 1000 };

static struct site_set set;
static struct freshness freshness;

static void put(uint64_t id, enum site_state state)
{
    struct site_entry entry = {
        .id = {.low = id}, .name = {(char)('a' + id)}, .life = {1, id}, .state = state};

    cr_assert_eq(site_set_add(&set, &entry), STATUS_OK);
}

static void set_up(void)
{
    set = (struct site_set){0};
    put(OWN, SITE_COUNTED);
    put(SECOND, SITE_COUNTED);
    put(THIRD, SITE_COUNTED);
    set.says_absent = true;
    set.settled = true;
    freshness_init(&freshness, 1000);
    freshness_enter(&freshness, &set, KEYSET);
}

TestSuite(site_freshness, .init = set_up);

static uint64_t ask(uint64_t now_us)
{
    uint64_t number = 0;

    cr_assert_eq(freshness_ask(&freshness, now_us, &number), STATUS_OK);
    return number;
}

static struct freshness_told told(uint64_t id, uint64_t age_us, bool after)
{
    return (struct freshness_told){.id = {.low = id},
                                   .life = {1, id},
                                   .mark = {.known = true, .after = after, .age_us = age_us}};
}

static enum status tell_as(uint64_t number, struct site_life own, uint32_t keyset,
                           const struct freshness_told *told_, size_t ntold)
{
    return freshness_answered(&freshness, number,
                              &(struct freshness_answer){own, keyset, told_, ntold});
}

static void tell(uint64_t number, struct freshness_told a, struct freshness_told b)
{
    const struct freshness_told both[] = {a, b};

    cr_assert_eq(tell_as(number, (struct site_life){1, OWN}, KEYSET, both, 2), STATUS_OK);
}

/* Both by one question. */
static void hear(uint64_t sent_us, uint64_t second_us, uint64_t third_us)
{
    uint64_t number = ask(sent_us);

    tell(number, told(SECOND, second_us, false), told(THIRD, third_us, false));
}

static struct freshness_ruling rule(uint64_t bound_us, uint64_t came_us)
{
    struct freshness_moment came = freshness_came(&freshness, came_us);

    return freshness_allows(&freshness, bound_us, &came);
}

static bool allows(uint64_t bound_us, uint64_t came_us)
{
    return rule(bound_us, came_us).verdict == FRESHNESS_MAY_SAY;
}

/* ---- bounds ---- */

Test(site_freshness, a_mark_that_began_within_the_bound_will_do)
{
    hear(5000, 200, 100);
    cr_assert(allows(BOUND, 4800 + BOUND - 1));
    cr_assert_not(allows(BOUND, 4800 + BOUND), "both times are rounded");
    cr_assert(allows(2 * BOUND, 4800 + BOUND));
}

Test(site_freshness, the_site_that_is_behind_furthest_is_named)
{
    struct freshness_ruling ruling;

    hear(5000, 200, 700);
    ruling = rule(BOUND, 4300 + BOUND);
    cr_assert_eq(ruling.verdict, FRESHNESS_BEHIND);
    cr_assert_eq(freshness.sites[ruling.site].id.low, THIRD);
    cr_assert_eq(ruling.behind_us, BOUND + 1);
    hear(9000, 8000, 100);
    ruling = rule(BOUND, 20000);
    cr_assert_eq(freshness.sites[ruling.site].id.low, SECOND);
    cr_assert_eq(ruling.behind_us, 20000 - 4800 + 1);
}

Test(site_freshness, all_sites_must_be_known)
{
    struct freshness_told one = told(THIRD, 0, true);

    cr_assert_eq(rule(UINT64_MAX - 1, 0).verdict, FRESHNESS_UNHEARD);
    cr_assert_eq(tell_as(ask(5000), (struct site_life){1, OWN}, KEYSET, &one, 1), STATUS_OK);
    cr_assert_eq(rule(UINT64_MAX - 1, 5000).verdict, FRESHNESS_UNHEARD);
    cr_assert_eq(freshness.sites[rule(BOUND, 5000).site].id.low, SECOND);
    one = told(SECOND, 100, false);
    one.mark.known = false;
    cr_assert_eq(tell_as(ask(5000), (struct site_life){1, OWN}, KEYSET, &one, 1), STATUS_OK);
    cr_assert_eq(rule(UINT64_MAX - 1, 5000).verdict, FRESHNESS_UNHEARD, "the link knows none");
    one.mark.known = true;
    cr_assert_eq(tell_as(ask(5000), (struct site_life){1, OWN}, KEYSET, &one, 1), STATUS_OK);
    cr_assert(allows(BOUND, 5000));
}

/* Also when it comes at once, and however late the answer is. */
Test(site_freshness, the_age_is_taken_from_when_the_question_was_sent)
{
    uint64_t number = ask(1000);

    (void)ask(9000);
    tell(number, told(SECOND, 100, false), told(THIRD, 100, false));
    cr_assert(allows(BOUND, 900 + BOUND - 1));
    cr_assert_not(allows(BOUND, 900 + BOUND));
}

Test(site_freshness, an_older_answer_takes_nothing_back)
{
    uint64_t old = ask(1000);

    hear(5000, 100, 100);
    tell(old, told(SECOND, 100, true), told(THIRD, 100, true));
    cr_assert(allows(BOUND, 5500));
}

/* A machine that was started after the mark was begun. */
Test(site_freshness, a_mark_may_be_older_than_the_clock)
{
    hear(100, 5000, 5000);
    cr_assert_not(allows(BOUND, 200));
    cr_assert_eq(rule(BOUND, 200).behind_us, 200 + 4900 + 1);
    cr_assert(allows(6000, 200));
}

Test(site_freshness, ages_of_any_size_do_no_harm)
{
    static const uint64_t ages[] = {INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};

    for (size_t i = 0; i < sizeof ages / sizeof ages[0]; i++) {
        hear(1000, ages[i], ages[i]);
        cr_assert_not(allows(BOUND, 1000));
        cr_assert_not(allows(BOUND, INT64_MAX));
        cr_assert_not(allows(BOUND, UINT64_MAX));
    }
}

Test(site_freshness, without_a_bound_nothing_is_asked_of_others)
{
    cr_assert(allows(FRESHNESS_UNBOUNDED, 1000));
}

/* ---- fresh checks ---- */

Test(site_freshness, a_fresh_check_needs_a_question_that_was_sent_after_it_came)
{
    uint64_t before = ask(1000);
    struct freshness_moment came = freshness_came(&freshness, 1000);
    uint64_t after = ask(1000);

    tell(before, told(SECOND, 0, true), told(THIRD, 0, true));
    cr_assert_eq(freshness_allows(&freshness, 0, &came).verdict, FRESHNESS_BEHIND);
    cr_assert_eq(freshness_allows(&freshness, 0, &came).behind_us, 1);
    tell(after, told(SECOND, 0, true), told(THIRD, 0, false));
    cr_assert_eq(freshness_allows(&freshness, 0, &came).verdict, FRESHNESS_BEHIND,
                 "THIRD's mark is of before, however young");
    after = ask(1000);
    tell(after, told(SECOND, 9999, false), told(THIRD, 9999, true));
    cr_assert_eq(freshness_allows(&freshness, 0, &came).verdict, FRESHNESS_MAY_SAY);
    came = freshness_came(&freshness, 1000);
    cr_assert_neq(freshness_allows(&freshness, 0, &came).verdict, FRESHNESS_MAY_SAY,
                  "the next check needs one of its own");
}

/* By clocks it would be: the link's stood still, and the age means nothing. */
Test(site_freshness, a_fresh_check_does_not_go_by_ages)
{
    struct freshness_moment came = freshness_came(&freshness, 1000);

    hear(5000, 1, 1);
    cr_assert_eq(freshness_allows(&freshness, 0, &came).verdict, FRESHNESS_BEHIND);
    cr_assert_eq(freshness_allows(&freshness, 1, &came).verdict, FRESHNESS_MAY_SAY);
}

Test(site_freshness, what_will_do_for_a_fresh_check_will_do_for_any_bound)
{
    struct freshness_moment came = freshness_came(&freshness, 1000);
    uint64_t number = ask(1000);

    tell(number, told(SECOND, 80000, true), told(THIRD, 80000, true));
    for (uint64_t bound_us = 0; bound_us < 3; bound_us++) {
        cr_assert_eq(freshness_allows(&freshness, bound_us, &came).verdict, FRESHNESS_MAY_SAY);
    }
}

/* ---- the set ---- */

Test(site_freshness, a_site_that_is_filled_says_nothing)
{
    hear(1000, 0, 0);
    set.says_absent = false;
    freshness_enter(&freshness, &set, KEYSET);
    cr_assert_eq(rule(BOUND, 1000).verdict, FRESHNESS_FILLING);
    cr_assert_eq(rule(FRESHNESS_UNBOUNDED, 1000).verdict, FRESHNESS_FILLING);
    set.says_absent = true;
    freshness_enter(&freshness, &set, KEYSET);
    cr_assert(allows(BOUND, 1000));
}

Test(site_freshness, unsettled_bounds_mean_nothing)
{
    hear(1000, 0, 0);
    set.settled = false;
    freshness_enter(&freshness, &set, KEYSET);
    cr_assert_eq(rule(BOUND, 1000).verdict, FRESHNESS_UNSETTLED);
    cr_assert(allows(FRESHNESS_UNBOUNDED, 1000));
}

Test(site_freshness, in_another_set_all_is_void)
{
    for (int i = 0; i < 7; i++) {
        uint64_t pending;
        struct site_entry entry = {.id = {.low = 4}, .name = "e", .life = {1, 4}, .state = 1};

        set_up();
        hear(1000, 0, 0);
        cr_assert(allows(BOUND, 1000));
        pending = ask(1000);
        set.entries[0].life.number += i == 0;
        set.entries[1].life.tag += i == 1; /* the own one */
        set.entries[2].state = i == 2 ? SITE_LEAVING : set.entries[2].state;
        set.entries[2].state = i == 3 ? SITE_GONE : set.entries[2].state;
        set.entries[2].id.high += i == 4;
        if (i == 5) {
            cr_assert_eq(site_set_add(&set, &entry), STATUS_OK);
        }
        freshness_enter(&freshness, &set, i == 6 ? KEYSET + 1 : KEYSET);
        cr_assert_eq(rule(BOUND, 1000).verdict, FRESHNESS_UNHEARD, "%d", i);
        cr_assert_eq(tell_as(pending, (struct site_life){1, OWN}, KEYSET, NULL, 0),
                     STATUS_NOT_FOUND);
        cr_assert_gt(ask(1000), pending, "numbers go on");
    }
}

Test(site_freshness, a_name_or_a_revision_changes_nothing)
{
    hear(1000, 0, 0);
    set.entries[0].name[0] = 'z';
    freshness_enter(&freshness, &set, KEYSET);
    cr_assert(allows(BOUND, 1000));
}

Test(site_freshness, who_joins_or_leaves_is_asked_and_who_is_gone_is_not)
{
    set.entries[0].state = SITE_JOINING;
    set.entries[2].state = SITE_LEAVING;
    freshness_enter(&freshness, &set, KEYSET);
    cr_assert_eq(freshness.nsites, 2);
    set.entries[0].state = SITE_GONE;
    freshness_enter(&freshness, &set, KEYSET);
    cr_assert_eq(freshness.nsites, 1);
}

Test(site_freshness, who_leaves_confirms_nothing)
{
    struct freshness_moment came;

    set = (struct site_set){0};
    put(OWN, SITE_COUNTED);
    put(SECOND, SITE_COUNTED);
    put(THIRD, SITE_LEAVING);
    freshness_enter(&freshness, &set, KEYSET);
    came = freshness_came(&freshness, 10);
    tell(ask(20), told(SECOND, 5, false), told(THIRD, 0, true));
    cr_assert_eq(freshness_confirmed(&freshness, &came), 0);
    tell(ask(30), told(SECOND, 0, true), told(THIRD, 0, true));
    cr_assert_eq(freshness_confirmed(&freshness, &came), 1);
}

Test(site_freshness, as_many_sites_as_may_live_have_room)
{
    put(4, SITE_COUNTED);
    put(5, SITE_COUNTED);
    put(6, SITE_COUNTED);
    put(7, SITE_COUNTED);
    put(8, SITE_COUNTED);
    freshness_enter(&freshness, &set, KEYSET);
    cr_assert_eq(freshness.nsites, SITE_SET_MAX_LIVE - 1);
}

Test(site_freshness, answers_about_other_lives_are_not_believed)
{
    struct freshness_told both[] = {told(SECOND, 0, true), told(THIRD, 0, true)};
    const struct site_life own = {1, OWN};

    cr_assert_eq(tell_as(ask(1000), (struct site_life){2, OWN}, KEYSET, both, 2), STATUS_STALE);
    cr_assert_eq(tell_as(ask(1000), (struct site_life){1, OWN + 1}, KEYSET, both, 2), STATUS_STALE);
    cr_assert_eq(tell_as(ask(1000), own, KEYSET + 1, both, 2), STATUS_STALE);
    cr_assert_eq(rule(BOUND, 1000).site, 0);
    both[0].life.tag++;
    both[1].id.low = 99;
    cr_assert_eq(tell_as(ask(1000), own, KEYSET, both, 2), STATUS_OK);
    cr_assert_not(freshness.sites[0].known);
    cr_assert_not(freshness.sites[1].known);
}

Test(site_freshness, zeros_allow_nothing)
{
    struct freshness zeros = {0};
    struct freshness_moment came = freshness_came(&zeros, 0);

    cr_assert_eq(freshness_allows(&zeros, FRESHNESS_UNBOUNDED, &came).verdict, FRESHNESS_FILLING);
    freshness_enter(&zeros, &(struct site_set){.says_absent = true, .settled = true}, 1);
    cr_assert_eq(freshness_allows(&zeros, BOUND, &came).verdict, FRESHNESS_FILLING,
                 "a filter without sites");
    cr_assert_eq(freshness_answered(&zeros, 0, &(struct freshness_answer){0}), STATUS_NOT_FOUND);
}

/* ---- questions ---- */

Test(site_freshness, one_is_answered_once)
{
    uint64_t number = ask(1000);

    tell(number, told(SECOND, 5, false), told(THIRD, 5, false));
    cr_assert_eq(tell_as(number, (struct site_life){1, OWN}, KEYSET, NULL, 0), STATUS_NOT_FOUND);
    cr_assert_eq(tell_as(number + 1, (struct site_life){1, OWN}, KEYSET, NULL, 0),
                 STATUS_NOT_FOUND);
}

Test(site_freshness, one_that_was_lost_makes_room_in_the_end)
{
    uint64_t first = ask(1000);
    uint64_t number;

    for (int i = 1; i < FRESHNESS_MAX_QUESTIONS; i++) {
        (void)ask(2000);
    }
    cr_assert_eq(freshness_ask(&freshness, 1000 + FRESHNESS_PATIENCE_US - 1, &number),
                 STATUS_OVERLOADED);
    (void)ask(1000 + FRESHNESS_PATIENCE_US);
    cr_assert_eq(tell_as(first, (struct site_life){1, OWN}, KEYSET, NULL, 0), STATUS_NOT_FOUND);
}
