/* What each step of a set of sites waits for: one thing short, and nothing is written. */
#include "coordinator/plan/sites.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { A = 1, B = 2, C = 3, PEERS = 2 };

/* C's view of A and B; each test takes away from what allows its step. */
static struct site_set document;
static struct site_set fenced;
static struct site_set told[PEERS];
static struct site_set marked[PEERS];
static struct site_set compared[PEERS];
static struct site_set compared_here[PEERS];
static struct sites_peer peers[PEERS];
static struct sites_view view;
static struct sites_decision decision;

static void put(struct site_set *set, uint64_t id, enum site_state state)
{
    struct site_entry entry = {.id = {.low = id}, .life = {.number = 1}, .state = state};

    (void)snprintf(entry.name, sizeof entry.name, "site-%u", (unsigned)id);
    cr_assert_eq(site_set_add(set, &entry), STATUS_OK);
}

static struct site_set set_of(uint64_t own, enum site_state a, enum site_state b, enum site_state c)
{
    struct site_set set = {.settled = true};
    enum site_state states[] = {a, b, c};

    put(&set, own, states[own - 1]);
    for (uint64_t id = A; id <= C; id++) {
        if (id != own) {
            put(&set, id, states[id - 1]);
        }
    }
    set.takes_adds = states[own - 1] == SITE_COUNTED;
    set.says_absent = set.takes_adds;
    return set;
}

/* All have fenced these states, and everything was marked and compared under them. */
static void stage(enum site_state a, enum site_state b, enum site_state c)
{
    document = set_of(C, a, b, c);
    fenced = document;
    for (uint32_t i = 0; i < PEERS; i++) {
        told[i] = marked[i] = compared[i] = set_of(A + i, a, b, c);
        compared_here[i] = document;
        peers[i] = (struct sites_peer){.id = {.low = A + i},
                                       .fenced = &told[i],
                                       .marked = &marked[i],
                                       .compared = &compared[i],
                                       .compared_here = &compared_here[i]};
    }
    view = (struct sites_view){
        .document = &document, .fenced = &fenced, .peers = peers, .npeers = PEERS};
}

static void become(struct site_set *set, uint64_t id, enum site_state state)
{
    const struct site_entry *entry = site_set_find(set, &(struct site_id){.low = id});

    set->entries[entry - set->entries].state = state;
}

static void expect_write(enum sites_step step)
{
    sites_decide(&view, &decision);
    cr_assert_eq(decision.action, SITES_WRITE, "waits for %d", (int)decision.wait);
    cr_assert_eq(decision.step, step);
    cr_assert_null(sites_fault(&decision.next));
}

static void expect_wait(enum sites_step step, enum sites_wait wait, uint64_t who)
{
    sites_decide(&view, &decision);
    cr_assert_eq(decision.action, SITES_AWAIT);
    cr_assert_eq(decision.step, step);
    cr_assert_eq(decision.wait, wait, "%d", (int)decision.wait);
    cr_assert_eq(decision.who.low, who);
}

static void expect_nothing(void)
{
    sites_decide(&view, &decision);
    cr_assert_eq(decision.action, SITES_NOTHING);
}

Test(coordinator_sites, nothing_is_to_be_done_while_all_count)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_COUNTED);
    expect_nothing();
    document = (struct site_set){0};
    expect_nothing();
}

Test(coordinator_sites, a_newcomer_opens_once_all_have_the_same_set)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_JOINING);
    expect_write(SITES_OPEN);
    cr_assert(decision.next.takes_adds && !decision.next.says_absent);

    become(&told[1], A, SITE_JOINING);
    expect_wait(SITES_OPEN, SITES_WAIT_NAMED, B);
    peers[1].fenced = NULL;
    expect_wait(SITES_OPEN, SITES_WAIT_NAMED, B);
    view.fenced = NULL;
    expect_wait(SITES_OPEN, SITES_WAIT_FENCE, C);
}

/* Else neither would be asked by the other's fresh checks. */
Test(coordinator_sites, of_two_newcomers_each_waits_for_the_other)
{
    stage(SITE_COUNTED, SITE_JOINING, SITE_JOINING);
    expect_write(SITES_OPEN);
    peers[1].fenced = NULL;
    expect_wait(SITES_OPEN, SITES_WAIT_NAMED, B);
}

Test(coordinator_sites, newcomers_alone_do_not_open)
{
    stage(SITE_JOINING, SITE_JOINING, SITE_JOINING);
    expect_wait(SITES_OPEN, SITES_WAIT_COUNTING, C);
}

/* Else it would count, be settled and say "absent" at once, as there is nobody to wait for. */
Test(coordinator_sites, a_newcomer_does_not_count_when_the_last_one_that_did_is_removed)
{
    stage(SITE_GONE, SITE_GONE, SITE_JOINING);
    document.takes_adds = compared_here[0].takes_adds = compared_here[1].takes_adds = true;
    expect_wait(SITES_COUNT, SITES_WAIT_COUNTING, C);
    stage(SITE_GONE, SITE_JOINING, SITE_JOINING);
    document.takes_adds = compared_here[0].takes_adds = compared_here[1].takes_adds = true;
    expect_wait(SITES_COUNT, SITES_WAIT_COUNTING, C);
    document.settled = false;
    become(&document, B, SITE_GONE);
    expect_wait(SITES_COUNT, SITES_WAIT_COUNTING, C);
    become(&document, C, SITE_LEAVING);
    document.takes_adds = false;
    expect_wait(SITES_SETTLE, SITES_WAIT_COUNTING, C);
}

Test(coordinator_sites, a_newcomer_first_hears_of_one_that_counts)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_JOINING);
    document = (struct site_set){.settled = true};
    put(&document, C, SITE_JOINING);
    become(&told[0], A, SITE_JOINING);
    told[0].takes_adds = told[0].says_absent = false;
    expect_write(SITES_MERGE);
    cr_assert_eq(decision.next.count, 3, "of B");
    become(&told[1], B, SITE_JOINING);
    told[1].takes_adds = told[1].says_absent = false;
    expect_wait(SITES_OPEN, SITES_WAIT_FENCE, C);
}

Test(coordinator_sites, a_newcomer_counts_once_it_has_copied_all_since_it_is_open)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_JOINING);
    document.takes_adds = true;
    compared_here[0].takes_adds = true;
    expect_wait(SITES_COUNT, SITES_WAIT_COPY, B);
    compared_here[1].takes_adds = true;
    expect_write(SITES_COUNT);
    cr_assert_eq(site_set_own(&decision.next)->state, SITE_COUNTED);
}

Test(coordinator_sites, a_newcomer_says_absent_after_marks_since_it_counts)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_COUNTED);
    document.says_absent = false;
    expect_write(SITES_SAY_ABSENT);
    cr_assert(decision.next.says_absent);

    become(&marked[1], C, SITE_JOINING);
    expect_wait(SITES_SAY_ABSENT, SITES_WAIT_MARK, B);
    become(&told[0], C, SITE_JOINING);
    expect_wait(SITES_SAY_ABSENT, SITES_WAIT_COUNTED, A);
    become(&fenced, C, SITE_JOINING);
    expect_wait(SITES_SAY_ABSENT, SITES_WAIT_FENCE, C);
}

Test(coordinator_sites, a_newcomer_says_no_absent_before_it_is_settled)
{
    stage(SITE_COUNTED, SITE_GONE, SITE_COUNTED);
    document.says_absent = false;
    document.settled = false;
    become(&compared[0], B, SITE_COUNTED);
    expect_wait(SITES_SETTLE, SITES_WAIT_COMPARE, A);
}

Test(coordinator_sites, a_mark_of_an_older_life_is_none)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_COUNTED);
    document.says_absent = false;
    marked[0].entries[C - 1].life.tag = 7;
    expect_wait(SITES_SAY_ABSENT, SITES_WAIT_MARK, A);
}

Test(coordinator_sites, compared_counts_when_both_had_fenced_the_removal)
{
    stage(SITE_COUNTED, SITE_GONE, SITE_COUNTED);
    document.settled = false;
    expect_write(SITES_SETTLE);
    cr_assert(decision.next.settled);

    become(&compared[0], B, SITE_COUNTED);
    expect_wait(SITES_SETTLE, SITES_WAIT_COMPARE, A);
    become(&compared[0], B, SITE_GONE);
    become(&compared_here[0], B, SITE_COUNTED);
    expect_wait(SITES_SETTLE, SITES_WAIT_COMPARE, A);
    peers[0].compared = NULL;
    expect_wait(SITES_SETTLE, SITES_WAIT_COMPARE, A);
}

Test(coordinator_sites, who_hears_of_a_removal_is_not_settled)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_COUNTED);
    become(&told[0], B, SITE_GONE);
    expect_write(SITES_MERGE);
    cr_assert_not(decision.next.settled);
    cr_assert(decision.next.says_absent);
}

Test(coordinator_sites, who_was_done_with_a_leaver_stays_settled)
{
    stage(SITE_COUNTED, SITE_LEAVING, SITE_COUNTED);
    become(&told[0], B, SITE_GONE);
    expect_write(SITES_MERGE);
    cr_assert(decision.next.settled);
    become(&marked[0], B, SITE_COUNTED);
    expect_write(SITES_MERGE);
    cr_assert_not(decision.next.settled,
                  "a mark of A since it has fenced that B leaves is missing");
}

Test(coordinator_sites, who_left_in_order_stays_settled)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_LEAVING);
    become(&told[0], C, SITE_GONE);
    expect_write(SITES_MERGE);
    cr_assert(decision.next.settled, "it has all that it had");
    become(&told[0], B, SITE_GONE);
    expect_write(SITES_MERGE);
    cr_assert_not(decision.next.settled);
}

Test(coordinator_sites, a_leaver_is_gone_when_all_that_stay_are_done)
{
    stage(SITE_COUNTED, SITE_LEAVING, SITE_COUNTED);
    expect_wait(SITES_GONE, SITES_WAIT_DONE, A);
    cr_assert_eq(decision.leaver.low, B);
    peers[0].done[0].low = B;
    peers[0].ndone = 1;
    expect_write(SITES_GONE);
    cr_assert(decision.next.settled);

    become(&marked[0], B, SITE_COUNTED);
    expect_wait(SITES_GONE, SITES_WAIT_DONE, C);
    become(&marked[0], B, SITE_LEAVING);
    become(&told[0], B, SITE_COUNTED);
    expect_wait(SITES_GONE, SITES_WAIT_LEAVING, A);
    become(&fenced, B, SITE_COUNTED);
    expect_wait(SITES_GONE, SITES_WAIT_LEAVING, C);
}

Test(coordinator_sites, nobody_is_gone_when_all_leave)
{
    stage(SITE_GONE, SITE_LEAVING, SITE_LEAVING);
    expect_wait(SITES_GONE, SITES_WAIT_STAYING, C);
    cr_assert_eq(decision.leaver.low, B);
    become(&marked[1], B, SITE_COUNTED);
    expect_wait(SITES_GONE, SITES_WAIT_DONE, C);

    stage(SITE_COUNTED, SITE_LEAVING, SITE_LEAVING);
    peers[0].done[0].low = B;
    peers[0].ndone = 1;
    expect_write(SITES_GONE);
}

Test(coordinator_sites, nobody_is_done_before_it_is_settled)
{
    stage(SITE_COUNTED, SITE_LEAVING, SITE_COUNTED);
    cr_assert(sites_done(&view, &peers[1].id));
    document.settled = false;
    cr_assert_not(sites_done(&view, &peers[1].id));
    cr_assert_not(sites_done(&view, &peers[0].id), "it does not leave");
}

/* ---- older copies ---- */

static void expect_anew(uint64_t number)
{
    const struct site_entry *own;

    view.tag = 77;
    expect_write(SITES_JOIN_ANEW);
    own = site_set_own(&decision.next);
    cr_assert_eq(own->life.number, number);
    cr_assert_eq(own->life.tag, 77);
    cr_assert_eq(own->state, SITE_JOINING);
    cr_assert(decision.next.joins_anew);
    cr_assert_not(decision.next.takes_adds || decision.next.says_absent);
}

Test(coordinator_sites, who_was_put_back_joins_anew)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_COUNTED);
    told[0].entries[C - 1].life.number = 2;
    expect_anew(3);
    told[0].entries[C - 1].life = (struct site_life){.number = 1, .tag = 9};
    expect_anew(2);
    stage(SITE_COUNTED, SITE_COUNTED, SITE_COUNTED);
    view.put_back = true;
    expect_anew(2);
    cr_assert(decision.next.settled, "nobody was removed");
    stage(SITE_COUNTED, SITE_COUNTED, SITE_JOINING);
    view.put_back = true;
    expect_anew(2);
}

/* Of the next return. */
static void return_to(struct site_set *set, uint64_t id, enum site_state state)
{
    const struct site_entry *entry = site_set_find(set, &(struct site_id){.low = id});

    set->entries[entry - set->entries].life.number = site_life_first_of_next_return(
        entry->life.number);
    become(set, id, state);
}

Test(coordinator_sites, who_is_gone_joins_anew_once_one_that_counts_has_it_back)
{
    stage(SITE_COUNTED, SITE_JOINING, SITE_GONE);
    expect_nothing();
    return_to(&told[B - 1], C, SITE_JOINING);
    expect_nothing();
    return_to(&told[A - 1], C, SITE_JOINING);
    view.tag = 77;
    expect_write(SITES_COME_BACK);
    cr_assert_eq(site_set_own(&decision.next)->state, SITE_JOINING);
    cr_assert_eq(site_life_return(site_set_own(&decision.next)->life.number), 1);
    cr_assert_gt(site_set_own(&decision.next)->life.number, told[0].entries[C - 1].life.number);
    cr_assert(decision.next.joins_anew && !decision.next.settled && !decision.next.says_absent);
    become(&told[A - 1], C, SITE_GONE);
    expect_nothing();
}

/* Removed at once, and back before it has heard of that. */
Test(coordinator_sites, who_counts_or_leaves_joins_anew_where_it_has_come_back)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_COUNTED);
    return_to(&told[0], C, SITE_JOINING);
    expect_write(SITES_COME_BACK);
    stage(SITE_COUNTED, SITE_COUNTED, SITE_LEAVING);
    return_to(&told[0], C, SITE_JOINING);
    expect_write(SITES_COME_BACK);
    cr_assert_not(decision.next.settled);
}

/* Nobody else is there who could tell it: two sites, of which one had left when the copy was made.
 */
Test(coordinator_sites, who_was_put_back_to_where_it_was_alone_notices)
{
    stage(SITE_GONE, SITE_GONE, SITE_COUNTED);
    become(&told[0], A, SITE_COUNTED);
    told[0].takes_adds = true;
    expect_nothing();
    return_to(&told[0], A, SITE_COUNTED);
    expect_anew(2);
}

/* It leaves there by now: what it has others wait for is not what this copy has. */
Test(coordinator_sites, who_leaves_in_a_return_that_is_forgotten_does_not_come_back)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_GONE);
    return_to(&told[0], C, SITE_LEAVING);
    expect_nothing();
    stage(SITE_COUNTED, SITE_COUNTED, SITE_COUNTED);
    return_to(&told[0], C, SITE_LEAVING);
    expect_anew(site_life_next(told[0].entries[C - 1].life.number));
}

/* Two sites have removed each other, and the other one brings back a third. */
Test(coordinator_sites, who_is_gone_brings_nobody_back)
{
    stage(SITE_GONE, SITE_COUNTED, SITE_COUNTED);
    become(&told[0], A, SITE_COUNTED);
    return_to(&told[0], C, SITE_JOINING);
    expect_nothing();
    stage(SITE_GONE, SITE_COUNTED, SITE_GONE);
    become(&told[0], A, SITE_COUNTED);
    return_to(&told[0], C, SITE_JOINING);
    expect_nothing();
}

/* Its copy is of before that one had come back, so of before adds that it has acknowledged. */
Test(coordinator_sites, who_has_forgotten_a_return_joins_anew)
{
    stage(SITE_COUNTED, SITE_GONE, SITE_COUNTED);
    return_to(&told[0], B, SITE_JOINING);
    expect_write(SITES_MERGE);
    become(&told[0], B, SITE_COUNTED);
    expect_anew(2);
}

Test(coordinator_sites, behind_the_last_life_there_is_none)
{
    const uint64_t last = (UINT64_C(1) << SITE_RETURN_SHIFT) - 1; /* of the first return */

    stage(SITE_COUNTED, SITE_COUNTED, SITE_COUNTED);
    told[0].entries[C - 1].life.number = last;
    expect_wait(SITES_MERGE, SITES_WAIT_LIFE, A);
    told[0].entries[C - 1].life.number = last - 1;
    expect_anew(last);
    told[0].entries[C - 1].life.number = SITE_LAST_LIFE + 1;
    cr_assert_not_null(sites_fault(&told[0]));
}

Test(coordinator_sites, who_leaves_does_not_join_anew)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_LEAVING);
    view.put_back = true;
    expect_wait(SITES_JOIN_ANEW, SITES_WAIT_LIFE, C);
    view.put_back = false;
    told[0].entries[C - 1].life.number = 2;
    expect_wait(SITES_MERGE, SITES_WAIT_LIFE, A);
}

Test(coordinator_sites, who_is_further_elsewhere_than_here_was_put_back)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_JOINING);
    become(&told[0], C, SITE_COUNTED);
    expect_anew(2);
    become(&told[0], C, SITE_LEAVING);
    expect_anew(2);
    become(&document, C, SITE_LEAVING);
    become(&told[0], C, SITE_GONE);
    expect_write(SITES_MERGE);
}

/* All would have fenced those before they took an add. */
Test(coordinator_sites, who_has_forgotten_a_site_was_put_back)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_COUNTED);
    put(&told[0], 9, SITE_JOINING);
    expect_write(SITES_MERGE);
    become(&told[0], 9, SITE_COUNTED);
    expect_anew(2);
    document.takes_adds = document.says_absent = false;
    become(&document, C, SITE_JOINING);
    become(&told[0], C, SITE_JOINING);
    become(&told[1], C, SITE_JOINING);
    expect_write(SITES_MERGE);

    stage(SITE_COUNTED, SITE_COUNTED, SITE_COUNTED);
    told[0] = set_of(A, SITE_JOINING, SITE_COUNTED, SITE_COUNTED);
    document = (struct site_set){.takes_adds = true, .says_absent = true, .settled = true};
    put(&document, C, SITE_COUNTED);
    put(&document, B, SITE_COUNTED);
    document.own = 1;
    told[1] = set_of(B, SITE_JOINING, SITE_COUNTED, SITE_COUNTED);
    expect_write(SITES_MERGE);
    told[0].takes_adds = true;
    expect_anew(2);
}

static void stage_anew(enum site_state a, enum site_state b)
{
    stage(a, b, SITE_JOINING);
    document.takes_adds = document.joins_anew = true;
    compared_here[0].takes_adds = compared_here[1].takes_adds = true;
}

/* What the other one had in a former life may have come to A since that was copied. */
Test(coordinator_sites, who_joins_anew_copies_what_knows_all_lives)
{
    stage_anew(SITE_COUNTED, SITE_COUNTED);
    expect_write(SITES_COUNT);
    compared[0].entries[B - 1].life.number = 7;
    expect_wait(SITES_COUNT, SITES_WAIT_COPY, A);
    document.joins_anew = false;
    expect_write(SITES_COUNT);
}

Test(coordinator_sites, several_that_join_anew_count_by_themselves)
{
    stage_anew(SITE_JOINING, SITE_JOINING);
    expect_write(SITES_COUNT);
    cr_assert(decision.next.joins_anew, "it is not through");
    document.settled = false;
    sites_decide(&view, &decision);
    cr_assert_eq(decision.wait, SITES_WAIT_COUNTING,
                 "who was removed may have had what nobody has");
    document.settled = true;
    document.takes_adds = false;
    fenced = document;
    told[0].joins_anew = told[1].joins_anew = true;
    expect_write(SITES_OPEN);
}

Test(coordinator_sites, who_has_not_healed_is_done_with_nobody)
{
    stage_anew(SITE_COUNTED, SITE_LEAVING);
    cr_assert_not(sites_done(&view, &peers[1].id));
    document.joins_anew = false;
    cr_assert(sites_done(&view, &peers[1].id));
}

Test(coordinator_sites, who_says_absent_is_through)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_COUNTED);
    document.says_absent = false;
    document.joins_anew = true;
    expect_write(SITES_SAY_ABSENT);
    cr_assert_not(decision.next.joins_anew);
}

Test(coordinator_sites, two_sites_of_one_name_wait_for_the_removal_of_one)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_COUNTED);
    put(&told[0], 9, SITE_JOINING);
    memcpy(told[0].entries[3].name, told[0].entries[C - 1].name, SITE_NAME_BYTES);
    expect_wait(SITES_MERGE, SITES_WAIT_NAME, A);
    become(&told[0], 9, SITE_GONE);
    expect_write(SITES_MERGE);
    cr_assert(decision.next.settled, "it was never heard of: it took no adds");
}

Test(coordinator_sites, nothing_goes_on_before_what_others_know_is_known_here)
{
    stage(SITE_COUNTED, SITE_GONE, SITE_COUNTED);
    document.settled = false;
    expect_write(SITES_SETTLE);
    put(&told[0], 9, SITE_JOINING);
    memcpy(told[0].entries[3].name, told[0].entries[C - 1].name, SITE_NAME_BYTES);
    expect_wait(SITES_MERGE, SITES_WAIT_NAME, A);
}

Test(coordinator_sites, too_many_sites_wait_and_other_news_do_not)
{
    stage(SITE_COUNTED, SITE_COUNTED, SITE_COUNTED);
    for (uint64_t id = 10; site_set_live(&told[0]) < SITE_SET_MAX_LIVE; id++) {
        put(&told[0], id, SITE_JOINING);
    }
    put(&document, 30, SITE_JOINING);
    expect_wait(SITES_MERGE, SITES_WAIT_ROOM, A);
    put(&told[1], 10, SITE_JOINING);
    expect_write(SITES_MERGE);
    cr_assert_eq(decision.next.count, 5);
}

Test(coordinator_sites, who_is_gone_is_neither_heard_nor_does_it_go_on)
{
    stage(SITE_COUNTED, SITE_GONE, SITE_COUNTED);
    put(&told[1], 9, SITE_JOINING);
    expect_nothing();
    become(&document, C, SITE_GONE);
    expect_nothing();
}
