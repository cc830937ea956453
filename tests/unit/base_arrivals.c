/* Requests that wait for their turn: whose comes next, how many in one turn, and what has no room.
 */
#include "base/arrivals.h"
#include "base/heap.h"

#include <criterion/criterion.h>

enum { MOST = 40000, TURN = 4000, LARGE = 900, FLOOD = 1, CALM = 2, FLOODS = 5 };

static struct arrivals arrivals;

static void set_up(void)
{
    arrivals_init(&arrivals, MOST, TURN);
}

static void tear_down(void)
{
    arrivals_fini(&arrivals);
    cr_assert_eq(heap_live(), 0);
}

TestSuite(base_arrivals, .init = set_up, .fini = tear_down);

static enum status push(uint32_t user, size_t size)
{
    static const uint8_t zeros[MOST];

    return arrivals_push(&arrivals, user, &(struct peer){.size = 1, .user = user}, UINT64_MAX,
                         span_of(zeros, size));
}

/* Whose came; 0: nobody's. */
static uint32_t pop(void)
{
    struct arrival *one = arrivals_pop(&arrivals);
    uint32_t user = one != NULL ? one->from.user : 0;

    heap_free(one);
    return user;
}

Test(base_arrivals, what_was_sent_is_kept)
{
    const struct peer from = {.size = 3, .id = "abc", .role = PEER_CLIENT, .user = 7};
    char text[] = "request";
    struct arrival *one;

    cr_assert_eq(arrivals_push(&arrivals, 7, &from, 77, span_text(text)), STATUS_OK);
    text[0] = '!';
    cr_assert_eq(arrivals_push(&arrivals, 7, &from, 78, span_text("")), STATUS_OK);
    one = arrivals_pop(&arrivals);
    cr_assert_eq(one->size, 7);
    cr_assert_eq(one->deadline_us, 77);
    cr_assert_eq(memcmp(one->bytes, "request", 7), 0);
    cr_assert_eq(memcmp(&one->from, &from, sizeof from), 0);
    heap_free(one);
    cr_assert_eq(pop(), 7);
    cr_assert_eq(pop(), 0);
    cr_assert_eq(arrivals.bytes, 0);
}

Test(base_arrivals, who_comes_after_a_flood_does_not_wait_for_it)
{
    unsigned before = 0;

    while (push(FLOOD, LARGE) == STATUS_OK) {
    }
    cr_assert_eq(push(CALM, 10), STATUS_OK);
    arrivals_turn(&arrivals);
    while (pop() == FLOOD) {
        before++;
    }
    cr_assert_leq(before, 2);
}

Test(base_arrivals, a_turn_is_bounded_and_the_rest_waits)
{
    unsigned count = 0;

    for (int i = 0; i < 8; i++) {
        cr_assert_eq(push(FLOOD, LARGE), STATUS_OK);
    }
    while (pop() != 0) {
        count++;
    }
    cr_assert_lt(count, 8);
    cr_assert(arrivals_wait(&arrivals));
    for (unsigned turns = 0; arrivals_wait(&arrivals); turns++) {
        cr_assert_lt(turns, 8);
        arrivals_turn(&arrivals);
        while (pop() != 0) {
            count++;
        }
    }
    cr_assert_eq(count, 8);
}

/* Even one that is longer than a turn. */
Test(base_arrivals, something_is_served_in_each_turn)
{
    cr_assert_eq(push(FLOOD, 3 * TURN), STATUS_OK);
    cr_assert_eq(push(CALM, 3 * TURN), STATUS_OK);
    cr_assert_neq(pop(), 0);
    cr_assert_eq(pop(), 0);
    arrivals_turn(&arrivals);
    cr_assert_neq(pop(), 0);
}

Test(base_arrivals, one_user_does_not_take_all_the_room)
{
    unsigned count = 0;

    while (push(FLOOD, LARGE) == STATUS_OK) {
        count++;
    }
    cr_assert_geq(count, 5);
    cr_assert_eq(push(FLOOD, LARGE), STATUS_OVERLOADED);
    cr_assert_eq(push(CALM, LARGE), STATUS_OK);
    for (uint32_t user = 3; user < 40; user++) {
        (void)push(user, LARGE);
    }
    cr_assert_leq(arrivals.bytes, MOST);
    cr_assert_eq(push(41, MOST), STATUS_OVERLOADED);
}

/* However many there are: each may have as much waiting as is free. */
Test(base_arrivals, many_floods_leave_room_for_others)
{
    bool pushed = true;

    while (pushed) {
        pushed = false;
        for (uint32_t user = 1; user <= FLOODS; user++) {
            pushed |= push(user, LARGE) == STATUS_OK;
        }
    }
    cr_assert_geq(arrivals.bytes, MOST / 2, "and use the rest");
    cr_assert_eq(push(FLOODS + 1, LARGE), STATUS_OK);
    cr_assert_eq(push(FLOODS + 2, LARGE), STATUS_OK);
    cr_assert_leq(arrivals.bytes, MOST);
}

Test(base_arrivals, without_memory_nothing_is_kept)
{
    for (unsigned i = 0; i < 2; i++) {
        heap_fault_after(i);
        cr_assert_eq(push(FLOOD, 10), STATUS_NOMEM);
        heap_fault_clear();
        cr_assert_eq(arrivals.bytes, 0);
        cr_assert_not(arrivals_wait(&arrivals));
    }
}
