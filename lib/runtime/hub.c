/* The loop itself: when to serve, when to look for events, when to sleep and until when. */
#include "runtime/hub.h"

#include "runtime/hub_internal.h"

#include <assert.h>
#include <sched.h>

enum {
    HUB_TURN_ROUNDS = 16,        /* how long arriving frames may keep background work waiting */
    HUB_TURN_US = PULSE_US,      /* ... and signals, where the actor is slow */
    HUB_LOOK_US = 250,           /* ... and descriptors: streams, above all */
    HUB_MAX_SLEEP_US = 60000000, /* also keeps libuv from returning for want of handles */
};

uint64_t hub_now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t hub_wall_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void hub_nap(uint32_t nap_us)
{
    struct timespec nap = {.tv_nsec = (long)nap_us * 1000};

    (void)nanosleep(&nap, NULL);
}

void hub_count(struct hub *hub, unsigned counter)
{
    assert(counter < HUB_NCOUNTERS);
    hub->counters[counter]++;
}

void hub_refuse(struct hub *hub, unsigned counter, enum actor_refusal what)
{
    hub_count(hub, counter);
    if (hub->actor.refused != NULL) {
        hub->actor.refused(hub->actor.self, what);
    }
}

static bool drain(struct hub *hub, uint64_t now_us)
{
    bool arrived = false;

    /* Sockets that stay dirty come again at the end: each gets its share of a round. */
    for (size_t n = hub->ndirty; n > 0 && !TAILQ_EMPTY(&hub->dirty); n--) {
        arrived |= hub_socket_drain(TAILQ_FIRST(&hub->dirty), now_us);
    }
    return arrived;
}

/* Has something arrived that was not served? */
static bool waits(struct hub *hub)
{
    return hub->ndirty > 0 || hub_lanes_ready(&hub->lanes) ||
           (hub->rider != NULL && waits(hub->rider));
}

/* Serve what has arrived. True if anything had, or a timer was due. */
static bool serve(struct hub *hub)
{
    const struct actor *actor = &hub->actor;
    bool served = false;
    unsigned rounds = 0;
    uint64_t start_us = hub_now_us();
    uint64_t now_us = start_us;
    uint64_t looked_us = start_us;

    do {
        /* An actor that sends in each turn has something waiting each time. */
        if (now_us - looked_us >= HUB_LOOK_US) {
            (void)uv_run(&hub->loop, UV_RUN_NOWAIT);
            looked_us = now_us = hub_now_us(); /* It heard of streams by a later clock. */
        }
        pulse_beat(&hub->pulse, now_us);
        served |= hub->streamed;
        hub->streamed = false;
        served |= drain(hub, now_us);
        hub_links_tick(hub, now_us);
        hub_curve_tick(hub, now_us);
        served |= hub_lanes_deliver(&hub->lanes, now_us);
        if (actor->next_us(actor->self) <= now_us) {
            actor->time(actor->self, now_us);
            served = true;
        }
        actor->turn(actor->self, now_us);
        served |= hub->rider != NULL && serve(hub->rider);
        now_us = hub_now_us();
    } while (waits(hub) && ++rounds < HUB_TURN_ROUNDS && now_us - start_us < HUB_TURN_US);
    return served;
}

static bool work(struct hub *hub)
{
    bool more = hub->actor.work(hub->actor.self, hub_now_us());

    return (hub->rider != NULL && work(hub->rider)) || more;
}

/* It only ends the sleep; serve() looks at the clock itself. uv_run() may find it due before it
 * looks at the descriptors, and would then wait for them without any limit: hence the stop. */
static void on_timer(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

static bool spin_until(struct hub *hub, uint64_t left_us)
{
    uint64_t limit_us = left_us < hub->spin_us ? left_us : hub->spin_us;
    uint64_t start_us;

    if (limit_us == 0 || hub->actor.awaits == NULL || !hub->actor.awaits(hub->actor.self)) {
        return false;
    }
    start_us = hub_now_us();
    do {
        (void)uv_run(&hub->loop, UV_RUN_NOWAIT);
        if (waits(hub) || hub->streamed || hub->stopping) {
            return true;
        }
        (void)sched_yield();
    } while (hub_now_us() - start_us < limit_us);
    return limit_us == left_us;
}

/* Look for events for a while, at most until the timer is due; true when there is something to
 * serve. */
static bool spin(struct hub *hub, uint64_t left_us)
{
    uint64_t start_ns = uv_hrtime();
    bool found = spin_until(hub, left_us);

    hub->spun_ns += uv_hrtime() - start_ns;
    return found;
}

/* What the actor or the hub itself has to do next by the clock. */
static uint64_t next_event_us(const struct hub *hub)
{
    uint64_t next_us = hub->actor.next_us(hub->actor.self);

    next_us = hub->links_next_us < next_us ? hub->links_next_us : next_us;
    next_us = hub->rebind_us < next_us ? hub->rebind_us : next_us;
    if (hub->rider != NULL) {
        uint64_t rider_us = next_event_us(hub->rider);

        next_us = rider_us < next_us ? rider_us : next_us;
    }
    return next_us;
}

/* libuv hands a loop's new descriptors to the kernel when that loop runs: until then the driver
 * would not be told of them. */
static void look_at_rider(const struct hub *hub)
{
    if (hub->rider != NULL) {
        (void)uv_run(&hub->rider->loop, UV_RUN_NOWAIT);
    }
}

/* Let libuv look at the descriptors; sleep at most `limit_us`, and not past the actor's timer. */
static void sleep_for(struct hub *hub, uint64_t limit_us)
{
    uint64_t now_us = hub_now_us();
    uint64_t next_us = next_event_us(hub);
    uint64_t left_us = next_us > now_us ? next_us - now_us : 0;

    look_at_rider(hub);
    left_us = left_us < limit_us ? left_us : limit_us;
    left_us = left_us < HUB_MAX_SLEEP_US ? left_us : HUB_MAX_SLEEP_US;
    if (left_us == 0 || waits(hub)) {
        (void)uv_run(&hub->loop, UV_RUN_NOWAIT);
        return;
    }
    if (spin(hub, left_us)) {
        return;
    }
    uv_update_time(&hub->loop);
    (void)uv_timer_start(&hub->timer, on_timer, (left_us + 999) / 1000, 0);
    (void)uv_run(&hub->loop, UV_RUN_ONCE);
    (void)uv_timer_stop(&hub->timer);
}

static bool ending(const struct hub *hub)
{
    return hub->stopping || (hub->actor.over != NULL && hub->actor.over(hub->actor.self));
}

void hub_each_turn(struct hub *hub, hub_turn_fn *turn, void *context)
{
    assert(hub->turn == NULL);
    hub->turn = turn;
    hub->turn_context = context;
}

static void take_turn(struct hub *hub)
{
    if (hub->turn != NULL && hub->turn(hub->turn_context)) {
        hub->turn = NULL;
    }
}

/* What so far was no work: it slept in the kernel, as libuv tells, or spun. What descriptors had it
 * do on waking is. */
static uint64_t idle_ns(struct hub *hub)
{
    return uv_metrics_idle_time(&hub->loop) + hub->spun_ns;
}

/* Its clock and libuv's stand still while the machine sleeps. */
static void run_turn(struct hub *hub)
{
    uint64_t start_ns = uv_hrtime();
    uint64_t idle_start_ns = idle_ns(hub);
    uint64_t all_ns;
    uint64_t rest_ns;

    (void)serve(hub);
    take_turn(hub);
    sleep_for(hub, work(hub) || ending(hub) ? 0 : PULSE_US);
    all_ns = uv_hrtime() - start_ns;
    rest_ns = idle_ns(hub) - idle_start_ns;
    histogram_add(&hub->turns, all_ns > rest_ns ? (all_ns - rest_ns) / 1000 : 0);
}

void hub_run(struct hub *hub)
{
    assert(hub->actor.self != NULL);
    (void)uv_loop_configure(&hub->loop, UV_METRICS_IDLE_TIME);
    while (!ending(hub)) {
        run_turn(hub);
    }
    hub->stopping = false;
}

void hub_run_once(struct hub *hub, uint64_t timeout_us)
{
    bool served;

    assert(hub->actor.self != NULL);
    served = serve(hub);
    sleep_for(hub, work(hub) || served ? 0 : timeout_us);
    if (!served) {
        (void)serve(hub);
    }
}

/* ---- one along with another ---- */

/* Its loop has events: they make its sockets dirty, and waits() sees that. */
static void on_ride(void *context)
{
    struct hub *rider = context;

    (void)uv_run(&rider->loop, UV_RUN_NOWAIT);
}

enum status hub_ride(struct hub *hub, struct hub *rider)
{
    enum status status;

    if (rider == NULL) {
        hub->rider = NULL;
        hub_watch_close(&hub->ride);
        return STATUS_OK;
    }
    assert(hub->rider == NULL && rider != hub && rider->rider == NULL && rider->actor.self != NULL);
    status = hub_watch_open(hub, uv_backend_fd(&rider->loop), on_ride, rider, &hub->ride);
    hub->rider = status == STATUS_OK ? rider : NULL;
    return status;
}

void hub_stop(struct hub *hub)
{
    hub->stopping = true;
}

void hub_wake(struct hub *hub)
{
    (void)uv_async_send(&hub->finished);
}

void hub_stop_lanes(struct hub *hub)
{
    hub_lanes_stop(&hub->lanes);
}

void hub_attach(struct hub *hub, const struct actor *actor)
{
    assert(hub->actor.self == NULL && actor->self != NULL);
    assert(actor->on_request != NULL && actor->on_answer != NULL && actor->turn != NULL);
    assert(actor->next_us != NULL && actor->time != NULL && actor->work != NULL);
    hub->actor = *actor;
}

void hub_set_spin(struct hub *hub, uint64_t spin_us)
{
    hub->spin_us = spin_us;
}

const struct effects *hub_effects(struct hub *hub)
{
    return &hub->effects;
}

const char *hub_endpoint(const struct hub *hub)
{
    return hub->endpoint;
}

uint64_t hub_silent_us(const struct hub *hub)
{
    uint64_t now_us = hub_now_us();

    return hub->pulse.last_us != 0 && now_us > hub->pulse.last_us ? now_us - hub->pulse.last_us : 0;
}

uint64_t hub_busy_us(const struct hub *hub, enum job_lane lane)
{
    return hub_lanes_busy_us(&hub->lanes, lane, hub_now_us());
}

const struct histogram *hub_turns(const struct hub *hub)
{
    return &hub->turns;
}

void hub_jobs(struct hub *hub, enum job_lane lane, struct histogram *out)
{
    hub_lanes_times(&hub->lanes, lane, out);
}

uint64_t hub_counter(const struct hub *hub, unsigned counter)
{
    assert(counter < HUB_NCOUNTERS);
    return hub->counters[counter];
}
