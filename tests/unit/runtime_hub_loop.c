/* When the loop sleeps, wakes, works and ends. */
#include "base/heap.h"
#include "runtime/hub_watch.h"
#include "runtime_probe.h"

#include <signal.h>
#include <unistd.h>

#define ANY_PORT "tcp://127.0.0.1:*"

TestSuite(runtime_hub_loop, .timeout = 120);

/* The timer fires once it is due, and ends a longer sleep. */
Test(runtime_hub_loop, a_timer_fires_when_it_is_due)
{
    struct probe player = {.hub = NULL};
    uint64_t due_us = hub_now_us() + 30000;

    probe_open(&player, NULL);
    player.next_us = due_us;
    while (player.timers == 0) {
        hub_run_once(player.hub, PROBE_DEADLINE_US);
    }
    cr_assert_geq(hub_now_us(), due_us);
    cr_assert_lt(hub_now_us(), due_us + PROBE_DEADLINE_US / 2);
    hub_destroy(&player.hub);
}

/* With nothing to do, a turn ends at its timeout; without one, it does not wait. */
Test(runtime_hub_loop, a_turn_is_no_longer_than_its_timeout)
{
    struct probe player = {.hub = NULL};
    uint64_t start_us = hub_now_us();

    probe_open(&player, NULL);
    hub_run_once(player.hub, 20000);
    cr_assert_geq(hub_now_us() - start_us, 20000);
    start_us = hub_now_us();
    for (unsigned i = 0; i < 100; i++) {
        hub_run_once(player.hub, 0);
    }
    cr_assert_lt(hub_now_us() - start_us, PROBE_DEADLINE_US / 2);
    hub_destroy(&player.hub);
}

enum { SLEEPERS = 16, SLEEPS = 2000 };

static void *sleep_often(void *context)
{
    struct probe *player = context;

    for (unsigned i = 0; i < SLEEPS; i++) {
        hub_run_once(player->hub, 1);
    }
    return NULL;
}

/* libuv may find a timer due before it looks at the descriptors; it waited for ever then. Once in
 * ten thousand times, so it takes many. */
Test(runtime_hub_loop, a_sleep_always_ends)
{
    static struct probe players[SLEEPERS];

    for (unsigned i = 0; i < SLEEPERS; i++) {
        probe_open(&players[i], ANY_PORT);
        cr_assert_eq(pthread_create(&players[i].thread, NULL, sleep_often, &players[i]), 0);
    }
    for (unsigned i = 0; i < SLEEPERS; i++) {
        probe_join(&players[i]);
        hub_destroy(&players[i].hub);
    }
}

static bool always(struct probe *self)
{
    (void)self;
    return true;
}

/* Work that is never done neither waits for requests nor keeps them waiting. */
Test(runtime_hub_loop, requests_are_served_between_slices_of_work)
{
    struct probe server = {.work_hook = always};
    void *context = zmq_ctx_new();
    void *client;

    probe_open(&server, ANY_PORT);
    client = client_open(context, hub_endpoint(server.hub));
    probe_start(&server);
    for (unsigned i = 0; i < 100; i++) {
        client_send(client, "hello");
        client_expect(client, "hello");
    }
    cr_assert_eq(zmq_close(client), 0);
    cr_assert_eq(pthread_kill(server.thread, 0), 0, "it still runs");
    probe_stop(&server, context);
    cr_assert_gt(server.slices, 100);
    cr_assert_eq(zmq_ctx_term(context), 0);
}

static bool a_thousand(struct probe *self)
{
    if (self->slices < 1000) {
        return true;
    }
    hub_stop(self->hub);
    return false;
}

/* While work is left, the loop does not sleep: nothing else would wake this hub. */
Test(runtime_hub_loop, work_goes_on_without_any_event)
{
    struct probe player = {.work_hook = a_thousand};

    probe_open(&player, NULL);
    hub_run(player.hub);
    cr_assert_eq(player.slices, 1000);
    hub_destroy(&player.hub);
}

/* Spinning is looking, not waiting: what comes meanwhile is served, a timer comes in time, and
 * the loop still ends. */
Test(runtime_hub_loop, spinning_serves_what_comes)
{
    struct probe server = {.spin_us = 100000};
    void *context = zmq_ctx_new();
    void *client;

    probe_open(&server, ANY_PORT);
    client = client_open(context, hub_endpoint(server.hub));
    probe_start(&server);
    for (unsigned i = 0; i < 100; i++) {
        client_send(client, "hello");
        client_expect(client, "hello");
    }
    cr_assert_eq(zmq_close(client), 0);
    probe_stop(&server, context);
    cr_assert_gt(server.asked, 0, "it never thought of spinning");
    cr_assert_eq(zmq_ctx_term(context), 0);
}

static void stop_now(struct probe *self)
{
    hub_stop(self->hub);
}

Test(runtime_hub_loop, spinning_ends_at_the_timer)
{
    struct probe player = {.spin_us = UINT64_MAX, .time_hook = stop_now};

    probe_open(&player, NULL);
    player.next_us = hub_now_us() + 20000;
    hub_run(player.hub);
    cr_assert_eq(player.timers, 1);
    hub_destroy(&player.hub);
}

static void raise_term(struct probe *self)
{
    (void)self;
    cr_assert_eq(raise(SIGTERM), 0);
}

Test(runtime_hub_loop, sigterm_ends_the_run)
{
    struct probe player = {.time_hook = raise_term};
    struct hub_options options = {.max_frame_bytes = 1, .stop_on_signals = true};
    struct actor actor = {.self = &player,
                          .on_request = probe_request,
                          .on_answer = probe_answer,
                          .turn = probe_turn,
                          .next_us = probe_next,
                          .time = probe_time,
                          .work = probe_work,
                          .awaits = probe_awaits};

    cr_assert_eq(hub_create(&options, &player.hub), STATUS_OK);
    hub_attach(player.hub, &actor);
    player.next_us = 0;
    hub_run(player.hub);
    cr_assert_eq(player.timers, 1);
    hub_destroy(&player.hub);
}

/* Every allocation fails once; nothing is left behind. */
Test(runtime_hub_loop, creating_a_hub_survives_lack_of_memory)
{
    struct hub_options options = {.listen = ANY_PORT, .max_frame_bytes = 1};
    enum status status = STATUS_NOMEM;
    struct hub *hub = NULL;
    size_t before = heap_live();

    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        heap_fault_after(n);
        status = hub_create(&options, &hub);
        heap_fault_clear();
        cr_assert(status == STATUS_OK || (status == STATUS_NOMEM && hub == NULL));
        cr_assert_lt(n, 10);
    }
    hub_destroy(&hub);
    cr_assert_null(hub);
    hub_destroy(&hub);
    cr_assert_eq(heap_live(), before);
}

Test(runtime_hub_loop, random_numbers_differ)
{
    struct probe player = {.hub = NULL};
    uint64_t first;

    probe_open(&player, NULL);
    first = player.effects->random(player.effects->context);
    cr_assert_neq(first, player.effects->random(player.effects->context));
    hub_destroy(&player.hub);
}

static void *wake_up(void *context)
{
    hub_wake(context);
    return NULL;
}

/* Another thread may end a sleep that nothing else would. */
Test(runtime_hub_loop, a_sleep_can_be_ended)
{
    struct probe player = {.hub = NULL};
    uint64_t start_us;
    pthread_t thread;

    probe_open(&player, NULL);
    start_us = hub_now_us();
    cr_assert_eq(pthread_create(&thread, NULL, wake_up, player.hub), 0);
    hub_run_once(player.hub, 10 * PROBE_DEADLINE_US);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_lt(hub_now_us() - start_us, 5 * PROBE_DEADLINE_US);
    hub_destroy(&player.hub);
}

/* ---- how long turns take ---- */

enum { NAP_US = 20000, REST_US = 2 * PROBE_DEADLINE_US / 20 };

static void nap_and_stop(struct probe *self)
{
    hub_nap(NAP_US);
    hub_stop(self->hub);
}

static void nap_at_an_event(void *context)
{
    nap_and_stop(context);
}

static uint64_t turns_of(const struct hub *hub)
{
    uint64_t count = 0;

    for (unsigned i = 0; i <= HISTOGRAM_BUCKETS; i++) {
        count += hub_turns(hub)->counts[i];
    }
    return count;
}

/* A sleep of two seconds is none of it, what is done by a timer is. */
Test(runtime_hub_loop, turns_are_told_without_the_sleep)
{
    struct probe player = {.time_hook = nap_and_stop};
    uint64_t start_us = hub_now_us();

    probe_open(&player, NULL);
    player.next_us = start_us + REST_US;
    hub_run(player.hub);
    cr_expect_gt(turns_of(player.hub), 1);
    cr_expect_geq(hub_turns(player.hub)->sum_us, NAP_US);
    cr_expect_lt(hub_turns(player.hub)->sum_us, (hub_now_us() - start_us) / 2);
    hub_destroy(&player.hub);
}

/* Nor is looking for what comes: that the loop would do anything else. */
Test(runtime_hub_loop, spinning_is_no_part_of_a_turn)
{
    struct probe player = {.spin_us = UINT64_MAX, .time_hook = stop_now};
    uint64_t start_us = hub_now_us();

    probe_open(&player, NULL);
    player.next_us = start_us + REST_US;
    hub_run(player.hub);
    cr_expect_lt(hub_turns(player.hub)->sum_us, (hub_now_us() - start_us) / 2);
    hub_destroy(&player.hub);
}

/* What descriptors have it do happens while libuv looks at them, and counts. */
Test(runtime_hub_loop, what_a_descriptor_wakes_it_for_is_part_of_a_turn)
{
    struct probe player = {.hub = NULL};
    struct hub_watch *watch = NULL;
    int ends[2];

    probe_open(&player, NULL);
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(hub_watch_open(player.hub, ends[0], nap_at_an_event, &player, &watch), STATUS_OK);
    cr_assert_eq(write(ends[1], "", 1), 1);
    hub_run(player.hub);
    cr_expect_geq(hub_turns(player.hub)->sum_us, NAP_US);
    hub_watch_close(&watch);
    cr_assert_eq(close(ends[0]), 0);
    cr_assert_eq(close(ends[1]), 0);
    hub_destroy(&player.hub);
}
