/* A hub that rides along with another one: served in its turns, with sockets and keys of its own.
 */
#include "base/heap.h"
#include "runtime_probe.h"

#define ANY_PORT "tcp://127.0.0.1:*"

enum { ROUNDS = 2000, FLOOD = 5000 };

TestSuite(runtime_hub_ride, .timeout = 120);

struct pair {
    struct probe driver;
    struct probe rider;
};

static void pair_open(struct pair *self)
{
    memset(self, 0, sizeof *self);
    probe_open(&self->driver, ANY_PORT);
    probe_open(&self->rider, ANY_PORT);
    cr_assert_eq(hub_ride(self->driver.hub, self->rider.hub), STATUS_OK);
}

static void pair_close(struct pair *self)
{
    cr_assert_eq(hub_ride(self->driver.hub, NULL), STATUS_OK);
    hub_destroy(&self->rider.hub);
    hub_destroy(&self->driver.hub);
}

/* Nothing but what came to the rider ends the driver's sleep. */
Test(runtime_hub_ride, a_request_to_the_rider_is_served_from_a_sleep)
{
    struct pair pair;
    void *context = zmq_ctx_new();
    void *client;
    void *other;

    pair_open(&pair);
    probe_start(&pair.driver);
    client = client_open(context, hub_endpoint(pair.rider.hub));
    other = client_open(context, hub_endpoint(pair.driver.hub));
    for (unsigned i = 0; i < ROUNDS; i++) {
        client_send(client, "to the rider");
        client_expect(client, "to the rider");
        if (i % 4 == 0) {
            client_send(other, "to the driver");
            client_expect(other, "to the driver");
        }
    }
    client_send(other, "stop");
    probe_join(&pair.driver);
    cr_assert_eq(pair.rider.requests, ROUNDS);
    cr_assert_eq(pair.driver.requests, ROUNDS / 4 + 1);
    cr_assert_eq(zmq_close(client), 0);
    cr_assert_eq(zmq_close(other), 0);
    cr_assert_eq(zmq_ctx_term(context), 0);
    pair_close(&pair);
}

/* The rider dials, and hears the answer. */
Test(runtime_hub_ride, the_riders_links_are_served)
{
    struct pair pair;
    struct probe server = {.hub = NULL};
    void *context = zmq_ctx_new();
    uint64_t deadline_us = hub_now_us() + PROBE_DEADLINE_US;
    uint32_t link;

    pair_open(&pair);
    probe_open(&server, ANY_PORT);
    probe_start(&server);
    link = pair.rider.effects->link_open(pair.rider.effects->context, hub_endpoint(server.hub));
    cr_assert_neq(link, 0);
    while (pair.rider.answers == 0 && hub_now_us() < deadline_us) {
        (void)pair.rider.effects->send(pair.rider.effects->context, link, span_text("hello"));
        hub_run_once(pair.driver.hub, 10000);
    }
    cr_assert_gt(pair.rider.answers, 0);
    cr_assert_eq(pair.driver.answers, 0);
    probe_stop(&server, context);
    cr_assert_eq(zmq_ctx_term(context), 0);
    pair_close(&pair);
}

Test(runtime_hub_ride, the_riders_timer_ends_a_sleep)
{
    struct pair pair;
    uint64_t due_us;

    pair_open(&pair);
    due_us = pair.rider.next_us = hub_now_us() + 30000;
    hub_run_once(pair.driver.hub, 10 * PROBE_DEADLINE_US);
    cr_assert_eq(pair.rider.timers, 1);
    cr_assert_geq(hub_now_us(), due_us);
    cr_assert_lt(hub_now_us(), due_us + 5 * PROBE_DEADLINE_US);
    pair_close(&pair);
}

static bool work_thrice(struct probe *self)
{
    return self->slices < 3;
}

/* Nobody sleeps while the rider has more to do; with the third slice it has none. */
Test(runtime_hub_ride, the_riders_work_is_done)
{
    struct pair pair;

    pair_open(&pair);
    pair.rider.work_hook = work_thrice;
    hub_run_once(pair.driver.hub, 10 * PROBE_DEADLINE_US);
    hub_run_once(pair.driver.hub, 10 * PROBE_DEADLINE_US);
    hub_run_once(pair.driver.hub, 0);
    cr_assert_eq(pair.rider.slices, 3);
    pair_close(&pair);
}

/* A flood of one does not keep the other waiting, whichever of the two has it. */
static void flood(struct probe *flooded, struct probe *quiet, struct probe *driver)
{
    void *context = zmq_ctx_new();
    void *loud = client_open(context, hub_endpoint(flooded->hub));
    void *soft = client_open(context, hub_endpoint(quiet->hub));

    flooded->quiet = true;
    probe_start(driver);
    for (unsigned i = 0; i < FLOOD; i++) {
        client_send(loud, "a flood");
        if (i % 500 == 0) {
            client_send(soft, "a word");
            client_expect(soft, "a word");
        }
    }
    client_send(soft, "stop");
    if (quiet != driver) {
        hub_stop(driver->hub); /* It only sets a flag; each pulse looks at it. */
    }
    probe_join(driver);
    cr_assert_eq(zmq_close(loud), 0);
    cr_assert_eq(zmq_close(soft), 0);
    cr_assert_eq(zmq_ctx_term(context), 0);
}

Test(runtime_hub_ride, a_flood_of_the_driver_leaves_the_rider_its_turns)
{
    struct pair pair;

    pair_open(&pair);
    flood(&pair.driver, &pair.rider, &pair.driver);
    pair_close(&pair);
}

Test(runtime_hub_ride, a_flood_of_the_rider_leaves_the_driver_its_turns)
{
    struct pair pair;

    pair_open(&pair);
    flood(&pair.rider, &pair.driver, &pair.driver);
    pair_close(&pair);
}

/* It may end while the other goes on, and another may ride then. */
Test(runtime_hub_ride, a_ride_ends_and_another_begins)
{
    struct pair pair;
    void *context = zmq_ctx_new();
    size_t before = heap_live();

    pair_open(&pair);
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(hub_ride(pair.driver.hub, NULL), STATUS_OK);
        hub_destroy(&pair.rider.hub);
        hub_run_once(pair.driver.hub, 1000);
        probe_open(&pair.rider, ANY_PORT);
        cr_assert_eq(hub_ride(pair.driver.hub, pair.rider.hub), STATUS_OK);
    }
    cr_assert_eq(hub_ride(pair.driver.hub, NULL), STATUS_OK);
    hub_destroy(&pair.rider.hub);
    probe_start(&pair.driver);
    probe_stop(&pair.driver, context);
    cr_assert_eq(zmq_ctx_term(context), 0);
    cr_assert_eq(heap_live(), before);
}
