/* Sets of sites: their bounds, their order, what a site may do after a merge, and what is refused.
 */
#include "map/sites.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct site_set set;

static struct site_entry entry_of(uint64_t id, enum site_state state)
{
    struct site_entry entry = {.id = {.low = id}, .life = {.number = 1, .tag = id}, .state = state};

    (void)snprintf(entry.name, sizeof entry.name, "site-%u", (unsigned)id);
    return entry;
}

static void put(struct site_set *self, uint64_t id, enum site_state state)
{
    struct site_entry entry = entry_of(id, state);

    cr_assert_eq(site_set_add(self, &entry), STATUS_OK);
}

/* Three sites, of which the second one is the own. */
static void setup(void)
{
    set = (struct site_set){.takes_adds = true, .says_absent = true, .settled = true};
    put(&set, 20, SITE_COUNTED);
    put(&set, 30, SITE_COUNTED);
    put(&set, 10, SITE_COUNTED);
}

TestSuite(map_sites, .init = setup);

static struct site_entry *entry_in(struct site_set *self, uint64_t id)
{
    struct site_id wanted = {.low = id};
    const struct site_entry *found = site_set_find(self, &wanted);

    cr_assert_not_null(found);
    return &self->entries[found - self->entries];
}

static void expect_fault(const char *fault)
{
    cr_assert_str_eq(sites_fault(&set), fault);
}

Test(map_sites, states_rise_and_never_fall)
{
    for (int from = SITE_JOINING; from <= SITE_GONE; from++) {
        for (int to = SITE_JOINING; to <= SITE_GONE; to++) {
            cr_assert_eq(site_state_may((enum site_state)from, (enum site_state)to), to > from);
        }
    }
    cr_assert_str_eq(site_state_name(SITE_LEAVING), "leaving");
}

Test(map_sites, names_are_short_and_plain)
{
    cr_assert(site_name_valid(span_text("eu-west-1")));
    cr_assert(site_name_valid(span_text("abcdefghijklmnopqrstuvwxyz012345")));
    cr_assert_not(site_name_valid(span_text("abcdefghijklmnopqrstuvwxyz0123456")));
    cr_assert_not(site_name_valid(span_text("")));
    cr_assert_not(site_name_valid(span_text("EU")));
    cr_assert_not(site_name_valid(span_text("a.b")));
    cr_assert_not(site_name_valid(span_of("a\0b", 3)));
}

Test(map_sites, an_id_is_shown_as_one_number)
{
    char text[SITE_ID_TEXT_BYTES];

    cr_assert_str_eq(site_id_show(&(struct site_id){.high = 1, .low = 0xab}, text),
                     "000000000000000100000000000000ab");
}

Test(map_sites, entries_are_by_id_and_the_own_one_stays_the_own_one)
{
    cr_assert_eq(set.entries[0].id.low, 10);
    cr_assert_eq(set.entries[2].id.low, 30);
    cr_assert_eq(site_set_own(&set)->id.low, 20);
    cr_assert_null(sites_fault(&set));
    cr_assert_null(site_set_find(&set, &(struct site_id){.low = 11}));
    cr_assert_null(site_set_own(&(struct site_set){0}));
}

Test(map_sites, the_high_half_of_an_id_counts_first)
{
    struct site_entry entry = entry_of(5, SITE_JOINING);

    entry.id.high = 1;
    cr_assert_eq(site_set_add(&set, &entry), STATUS_OK);
    cr_assert_eq(set.entries[3].id.low, 5);
    cr_assert_null(sites_fault(&set));
}

Test(map_sites, what_is_no_site_is_not_added)
{
    struct site_set before = set;
    struct site_entry entry = entry_of(20, SITE_JOINING);

    cr_assert_eq(site_set_add(&set, &entry), STATUS_EXISTS);
    entry = entry_of(0, SITE_JOINING);
    cr_assert_eq(site_set_add(&set, &entry), STATUS_INVALID);
    entry = entry_of(40, (enum site_state)5);
    cr_assert_eq(site_set_add(&set, &entry), STATUS_INVALID);
    entry = entry_of(40, SITE_JOINING);
    entry.life.number = 0;
    cr_assert_eq(site_set_add(&set, &entry), STATUS_INVALID);
    entry = entry_of(40, SITE_JOINING);
    memset(entry.name, 'a', sizeof entry.name);
    cr_assert_eq(site_set_add(&set, &entry), STATUS_INVALID, "a name without an end");
    cr_assert_eq(memcmp(&set, &before, sizeof set), 0);
}

Test(map_sites, eight_sites_and_then_those_that_are_gone)
{
    struct site_entry entry = entry_of(100, SITE_JOINING);

    for (uint64_t id = 40; site_set_live(&set) < SITE_SET_MAX_LIVE; id++) {
        put(&set, id, SITE_JOINING);
    }
    cr_assert_eq(site_set_add(&set, &entry), STATUS_TOO_LARGE);
    for (uint64_t id = 60; set.count < SITE_SET_MAX; id++) {
        put(&set, id, SITE_GONE);
    }
    cr_assert_null(sites_fault(&set));
    entry.state = SITE_GONE;
    cr_assert_eq(site_set_add(&set, &entry), STATUS_TOO_LARGE);
    cr_assert_null(sites_fault(&set));
}

Test(map_sites, merging_takes_no_more_than_fits)
{
    struct site_set other = {0};
    struct site_set before;

    for (uint64_t id = 40; other.count < SITE_SET_MAX_LIVE; id++) {
        put(&other, id, SITE_JOINING);
    }
    before = set;
    cr_assert_eq(site_set_merge(&set, &other), STATUS_TOO_LARGE, "11 sites");
    cr_assert_eq(memcmp(&set, &before, sizeof set), 0);

    other = (struct site_set){0};
    for (uint64_t id = 40; other.count < SITE_SET_MAX - 2; id++) {
        put(&other, id, SITE_GONE);
    }
    cr_assert_eq(site_set_merge(&set, &other), STATUS_TOO_LARGE, "33 with those that are gone");
    cr_assert_eq(memcmp(&set, &before, sizeof set), 0);
}

Test(map_sites, a_later_state_wins_and_gone_over_any_life)
{
    struct site_set other = set;

    entry_in(&other, 10)->state = SITE_LEAVING;
    entry_in(&other, 30)->life.number = 2;
    entry_in(&other, 30)->state = SITE_JOINING;
    cr_assert_not(site_set_covers(&set, &other));
    cr_assert_eq(site_set_merge(&set, &other), STATUS_OK);
    cr_assert_eq(entry_in(&set, 10)->state, SITE_LEAVING);
    cr_assert_eq(entry_in(&set, 30)->state, SITE_JOINING, "it joins anew");
    cr_assert(site_set_agrees(&set, &other));

    entry_in(&other, 30)->life.number = 1;
    entry_in(&other, 30)->state = SITE_GONE;
    cr_assert_eq(site_set_merge(&set, &other), STATUS_OK);
    cr_assert_eq(entry_in(&set, 30)->state, SITE_GONE);
    cr_assert_eq(entry_in(&set, 30)->life.number, 2);
    cr_assert(site_set_covers(&set, &other));
    cr_assert_not(site_set_agrees(&set, &other));
}

/* As if it were another one: all before a return is gone, whatever is known of it. */
Test(map_sites, who_comes_back_is_no_longer_gone)
{
    struct site_entry entry = {.id = {1, 1}, .life = {5, 9}, .state = SITE_COUNTED};
    const struct site_life gone = {7, 1};
    struct site_set alone = {0};

    cr_assert_eq(site_life_return(gone.number), 0);
    cr_assert_eq(site_life_next(gone.number), 8);
    entry.life = (struct site_life){site_life_first_of_next_return(gone.number), 1};
    cr_assert_eq(site_life_return(entry.life.number), 1);
    cr_assert_gt(entry.life.number, gone.number);
    entry.name[0] = 'u';
    cr_assert_eq(site_set_add(&alone, &entry), STATUS_OK);
    cr_assert_eq(site_set_state_of(&alone, &entry), SITE_COUNTED);
    entry.life.tag++;
    cr_assert_eq(site_set_state_of(&alone, &entry), 0, "another life of that return");
    entry.life = gone;
    cr_assert_eq(site_set_state_of(&alone, &entry), SITE_GONE);
    entry.life.number = site_life_first_of_next_return(alone.entries[0].life.number);
    cr_assert_eq(site_set_state_of(&alone, &entry), 0, "a return that it has not heard of");
    alone.entries[0].state = SITE_GONE;
    cr_assert_eq(site_set_state_of(&alone, &entry), 0, "nor is it gone in that one");
    cr_assert_eq(site_entry_gone(&alone.entries[0]), 2);
    cr_assert_eq(site_life_next((UINT64_C(2) << SITE_RETURN_SHIFT) - 1), 0,
                 "that is another return");
    cr_assert_eq(site_life_next(SITE_LAST_LIFE), 0);
    cr_assert_eq(site_life_first_of_next_return(SITE_LAST_LIFE), 0);
}

Test(map_sites, only_who_is_gone_without_having_been_so_unsettles)
{
    struct site_set other = set;

    put(&other, 40, SITE_GONE);
    entry_in(&other, 30)->state = SITE_LEAVING;
    cr_assert_eq(site_set_merge(&set, &other), STATUS_OK);
    cr_assert(set.settled, "40 was never heard of: it took no adds");
    entry_in(&other, 30)->state = SITE_GONE;
    cr_assert_eq(site_set_merge(&set, &other), STATUS_OK);
    cr_assert_not(set.settled);
    cr_assert(set.says_absent && set.takes_adds);
    set.settled = true;
    cr_assert_eq(site_set_merge(&set, &other), STATUS_OK);
    cr_assert(set.settled, "nothing new");
}

Test(map_sites, what_a_site_may_do_ends_with_its_state_or_life)
{
    struct site_set whole = set;
    struct site_set other = set;

    entry_in(&other, 20)->state = SITE_LEAVING;
    cr_assert_eq(site_set_merge(&set, &other), STATUS_OK);
    cr_assert_not(set.takes_adds || set.says_absent);
    cr_assert(set.settled);
    cr_assert_null(sites_fault(&set));

    set = whole;
    entry_in(&other, 20)->state = SITE_COUNTED;
    entry_in(&other, 20)->life.tag++;
    cr_assert_eq(site_set_merge(&set, &other), STATUS_OK);
    cr_assert_not(set.takes_adds || set.says_absent || set.settled);
    cr_assert_null(sites_fault(&set));
}

/* Each site's operators order for their own. */
Test(map_sites, orders_are_not_merged)
{
    struct site_set other = set;

    entry_in(&set, 10)->paused = true;
    entry_in(&set, 10)->resync = 7;
    entry_in(&other, 30)->paused = true;
    entry_in(&other, 10)->resync = 9;
    cr_assert(site_set_agrees(&set, &other), "they are no part of what all know");
    entry_in(&other, 10)->life.number = 2;
    entry_in(&other, 30)->state = SITE_LEAVING;
    put(&other, 40, SITE_JOINING);
    entry_in(&other, 40)->paused = true;
    entry_in(&other, 40)->resync = 3;
    cr_assert_eq(site_set_merge(&set, &other), STATUS_OK);
    cr_assert(site_set_agrees(&set, &other));
    cr_assert(entry_in(&set, 10)->paused);
    cr_assert_eq(entry_in(&set, 10)->resync, 7);
    cr_assert_eq(entry_in(&set, 10)->life.number, 2);
    cr_assert_not(entry_in(&set, 30)->paused || entry_in(&set, 40)->paused);
    cr_assert_eq(entry_in(&set, 40)->resync, 0);
    site_set_forget_orders(&set);
    cr_assert_not(entry_in(&set, 10)->paused);
    cr_assert_eq(entry_in(&set, 10)->resync, 0);
    cr_assert_eq(entry_in(&set, 10)->life.number, 2);
}

Test(map_sites, a_filter_without_sites_has_nothing_of_them)
{
    set = (struct site_set){0};
    cr_assert_null(sites_fault(&set));
    set.settled = true;
    expect_fault("without sites there is what one may do");
}

Test(map_sites, a_set_that_was_not_made_here_is_refused)
{
    struct site_set whole = set;

    set.count = SITE_SET_MAX + 1;
    expect_fault("there are more than 32 sites, with those that are gone");
    set = whole;
    set.own = 3;
    expect_fault("the set of sites lacks the one that it is of");
    set = whole;
    set.entries[1].id = set.entries[0].id;
    expect_fault("the sites are not in the order of their ids, each once");
    set = whole;
    memcpy(set.entries[1].name, set.entries[0].name, SITE_NAME_BYTES);
    expect_fault("two sites have one name");
    set.entries[0].state = SITE_GONE;
    cr_assert_null(sites_fault(&set), "a name is free once its site is gone");
    set = whole;
    set.entries[1].state = (enum site_state)0;
    expect_fault("the state of a site is unknown");
}

Test(map_sites, nobody_may_more_than_its_state_allows)
{
    set.entries[set.own].state = SITE_JOINING;
    expect_fault("a site that does not count, or takes no adds, says absent");
    set.says_absent = false;
    cr_assert_null(sites_fault(&set));
    set.entries[set.own].state = SITE_LEAVING;
    expect_fault("a site that leaves takes adds");
    set.takes_adds = false;
    cr_assert_null(sites_fault(&set));
    set.entries[set.own].state = SITE_COUNTED;
    set.says_absent = true;
    expect_fault("a site that does not count, or takes no adds, says absent");
}
