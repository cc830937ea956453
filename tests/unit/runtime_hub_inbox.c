/* The queue that keeps libzmq's own queues empty: first in, first out, bounded in bytes. */
#include "base/heap.h"
#include "runtime/hub_inbox.h"

#include <criterion/criterion.h>
#include <string.h>

static bool push(struct hub_inbox *inbox, uint8_t number, size_t size)
{
    struct peer from = {.size = 1, .id = {number}};
    zmq_msg_t frame;
    bool pushed;

    cr_assert_eq(zmq_msg_init_size(&frame, size), 0);
    memset(zmq_msg_data(&frame), number, size);
    pushed = hub_inbox_push(inbox, &from, &frame);
    (void)zmq_msg_close(&frame);
    return pushed;
}

static void expect_pop(struct hub_inbox *inbox, uint8_t number, size_t size)
{
    struct hub_request request;

    cr_assert(hub_inbox_pop(inbox, &request));
    cr_assert_eq(request.from.id[0], number);
    cr_assert_eq(zmq_msg_size(&request.frame), size);
    cr_assert_eq(size > 0 ? *(uint8_t *)zmq_msg_data(&request.frame) : number, number);
    (void)zmq_msg_close(&request.frame);
}

/* Long frames live on libzmq's heap, short ones in the message: both survive the ring's expansion.
 */
Test(hub_inbox, keeps_the_order_while_it_grows_and_wraps)
{
    struct hub_inbox inbox = {0};
    uint8_t next = 0;

    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 20; i++) {
            uint8_t number = (uint8_t)(round * 20 + i);

            cr_assert(push(&inbox, number, number % 2 == 0 ? 5 : 500));
        }
        for (int i = 0; i < 15; i++, next++) {
            expect_pop(&inbox, next, next % 2 == 0 ? 5 : 500);
        }
    }
    cr_assert_eq(inbox.count, 150);
    hub_inbox_fini(&inbox);
    cr_assert_eq(heap_live(), 0);
}

Test(hub_inbox, refuses_what_passes_its_bound_and_goes_on)
{
    struct hub_inbox inbox = {0};
    size_t size = 8 << 20;
    uint8_t pushed = 0;

    while (push(&inbox, pushed, size)) {
        cr_assert_lt(++pushed, 9);
    }
    cr_assert_eq(pushed, 7, "7 of 8 MiB with their overhead fit into 64 MiB");
    expect_pop(&inbox, 0, size);
    cr_assert(push(&inbox, pushed, size));
    cr_assert_leq(inbox.bytes, HUB_INBOX_MAX_BYTES);
    hub_inbox_fini(&inbox);
}

Test(hub_inbox, empty_frames_are_bounded_too)
{
    struct hub_inbox inbox = {0};
    size_t pushed = 0;

    while (push(&inbox, 1, 0)) {
        pushed++;
    }
    cr_assert_eq(pushed, HUB_INBOX_MAX_BYTES / HUB_INBOX_FRAME_BYTES);
    hub_inbox_fini(&inbox);
}

Test(hub_inbox, survives_a_failed_allocation)
{
    struct hub_inbox inbox = {0};

    heap_fault_after(0);
    cr_assert_not(push(&inbox, 1, 1));
    heap_fault_clear();
    cr_assert(push(&inbox, 2, 1));
    expect_pop(&inbox, 2, 1);
    hub_inbox_fini(&inbox);
}
