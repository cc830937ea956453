/* Messages that are not answered: each is settled once, by its own number. */
#include "base/heap.h"
#include "router/sent.h"

#include <criterion/criterion.h>

enum { MANY = 1000 };

static struct sent sent;

static void tear_down(void)
{
    sent_fini(&sent);
}

TestSuite(router_sent, .fini = tear_down);

static uint64_t add(uint64_t sent_us, uint64_t bytes)
{
    cr_assert(sent_reserve(&sent));
    return sent_add(&sent, &(struct sent_message){.sent_us = sent_us, .bytes = bytes, .user = 7});
}

Test(router_sent, an_answer_settles_its_own_message_once)
{
    uint64_t first = add(1, 10);
    uint64_t second = add(2, 20);
    struct sent_message message = {.bytes = 1};

    cr_assert_neq(first, 0);
    cr_assert_neq(first, second);
    cr_assert(sent_take(&sent, second, &message));
    cr_assert_eq(message.bytes, 20);
    cr_assert_eq(message.sent_us, 2);
    cr_assert_eq(message.user, 7);
    message.bytes = 1;
    cr_assert_not(sent_take(&sent, second, &message), "it was settled");
    cr_assert_eq(message.bytes, 1);
    cr_assert(sent_take(&sent, first, &message));
    cr_assert_eq(message.bytes, 10);
}

Test(router_sent, who_has_the_place_next_has_another_number)
{
    uint64_t first = add(1, 10);
    struct sent_message message;
    uint64_t next;

    cr_assert(sent_take_old(&sent, 2, &message));
    next = add(2, 20);
    cr_assert_eq(sent.used, 1, "the place is used again");
    cr_assert_not(sent_take(&sent, first, &message));
    cr_assert(sent_take(&sent, next, &message));
    cr_assert_eq(message.bytes, 20);
}

Test(router_sent, numbers_that_were_never_given_out_settle_nothing)
{
    const uint64_t first = add(1, 10);
    const uint64_t wrong[] = {0, 1, UINT64_MAX, first + 1, first - 1, first + (UINT64_C(1) << 32)};
    struct sent_message message;

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_assert_not(sent_take(&sent, wrong[i], &message), "%zu", i);
    }
    cr_assert(sent_take(&sent, first, &message));
    cr_assert_not(sent_take(&sent, 1, &message), "of a place that is free");
}

Test(router_sent, old_ones_come_in_their_order)
{
    uint64_t numbers[MANY];
    struct sent_message message;

    for (uint64_t i = 0; i < MANY; i++) {
        numbers[i] = add(i, i);
    }
    for (uint64_t i = 0; i < MANY; i += 3) {
        cr_assert(sent_take(&sent, numbers[i], &message));
        cr_assert_eq(message.bytes, i);
    }
    for (uint64_t i = 0; i < MANY / 2; i++) {
        if (i % 3 != 0) {
            cr_assert(sent_take_old(&sent, MANY / 2, &message));
            cr_assert_eq(message.bytes, i);
        }
    }
    cr_assert_not(sent_take_old(&sent, MANY / 2, &message));
    cr_assert_eq(sent.used, MANY);
    for (uint64_t i = 0; i < MANY / 3; i++) {
        (void)add(MANY, MANY);
    }
    cr_assert_eq(sent.used, MANY, "places are used again");
    for (uint64_t i = MANY / 2; i < MANY; i++) {
        if (i % 3 != 0) {
            cr_assert(sent_take_old(&sent, UINT64_MAX, &message));
            cr_assert_eq(message.bytes, i);
        }
    }
    for (uint64_t i = 0; i < MANY / 3; i++) {
        cr_assert(sent_take_old(&sent, UINT64_MAX, &message));
        cr_assert_eq(message.bytes, MANY);
    }
    cr_assert_not(sent_take_old(&sent, UINT64_MAX, &message));
}

Test(router_sent, without_memory_there_is_no_room)
{
    struct sent_message message;

    heap_fault_after(0);
    cr_assert_not(sent_reserve(&sent));
    heap_fault_clear();
    cr_assert_not(sent_take_old(&sent, UINT64_MAX, &message));
    (void)add(1, 10);
    cr_assert(sent_take_old(&sent, UINT64_MAX, &message));
}
