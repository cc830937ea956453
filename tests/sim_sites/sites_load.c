/* Draws operations at all sites, submits them, and tells the oracle. */
#include "tests/sim_sites/sites_load.h"

#include "map/acks.h"
#include "map/staleness.h"
#include "tests/sim_sites/sites.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MS UINT64_C(1000)

enum {
    WINDOW = 24,
    SLIDE_US = 60000,
    FEW_KEYS = 5,
    MOST_INFLIGHT = 12,
    ADD_PERMILLE = 450,
    MANY_PERMILLE = 150, /* in half of the seeds */
};

static void on_done(void *context, const struct session_result *result)
{
    struct sites_op *op = context;
    struct sites *sites = op->site->all;
    struct sim *sim = op->site->sim;

    sim_trace_hash(&sim->trace, sim->now_us, op->serial, (uint64_t)result->status);
    sim_trace_line(&sim->trace, sim->now_us,
                   "%s: operation %" PRIu64 " ends %s, p%02" PRIx64 " a%02" PRIx64 " %s",
                   op->client->name, op->serial, status_code(result->status), result->present[0],
                   result->absent[0], result->message);
    sim_view_follow(sim);
    sites_oracle_op_ends(sites, op, result);
    sites->load.nopen--;
    op->used = false;
}

static struct sites_op *free_op(struct sites_load *self)
{
    for (uint32_t i = 0; i < SITES_MAX_OPS; i++) {
        if (!self->ops[i].used) {
            return &self->ops[i];
        }
    }
    return NULL;
}

static void say(const struct sites_op *op)
{
    struct sim *sim = op->site->sim;
    char keys[SITES_BATCH * 6 + 1] = "";
    size_t used = 0;

    for (uint32_t i = 0; sim->trace.detailed && i < op->count && i < 8; i++) {
        used += (size_t)snprintf(keys + used, sizeof keys - used, " %u", op->keys[i]);
    }
    sim_trace_line(&sim->trace, sim->now_us,
                   "%s: %s %" PRIu64 " of %u keys%s, bound %" PRId64 ", acks %u", op->client->name,
                   op->operation == OPERATION_ADD ? "add" : "check", op->serial, op->count, keys,
                   (int64_t)op->bound_us, op->acks);
}

/* Of what is asked for and what the filter has the stricter one holds. */
static void settle(const struct sites *sites, struct sites_op *op)
{
    uint64_t filter_us = staleness_bound(sites->settings.filter.max_staleness);

    op->bound_us = op->bound_us < filter_us ? op->bound_us : filter_us;
    op->acks = acks_most(op->acks, sites->settings.filter.acks);
}

void sites_load_submit(struct sites *sites, const struct sites_op *wanted, uint64_t timeout_us)
{
    struct sites_op *op = free_op(&sites->load);
    struct sim_process *client = wanted->client;
    char blob[SITES_BATCH * SIM_KEY_BYTES];
    uint32_t lengths[SITES_BATCH];
    uint32_t size = 0;
    struct session_keys keys = {
        .filter = sim_name(0),
        .operation = wanted->operation,
        .blob = (const uint8_t *)blob,
        .lengths = lengths,
        .count = wanted->count,
        .max_staleness = wanted->operation == OPERATION_CHECK && wanted->bound_us != SITES_UNBOUND
                             ? staleness_of(wanted->bound_us)
                             : 0,
        .acks = wanted->operation == OPERATION_ADD ? wanted->acks : 0,
    };

    if (op == NULL) {
        return;
    }
    *op = *wanted;
    op->used = true;
    op->serial = ++sites->load.serial;
    op->begun_us = sites->now_us;
    op->deadline_us = sites->now_us + timeout_us;
    settle(sites, op);
    for (uint32_t i = 0; i < op->count; i++) {
        lengths[i] = sim_load_key(op->keys[i], blob + size);
        size += lengths[i];
    }
    sites->load.nopen++;
    say(op);
    sites_oracle_op_begins(sites, op);
    if (session_submit(client->session, sim_process_now(client), timeout_us, &keys, on_done, op) !=
        STATUS_OK) {
        sites_fail(sites, "a client of %s cannot submit", op->site->name);
    }
    sim_process_arm(client);
}

/* ---- the stream of operations ---- */

static uint32_t draw_few(struct sites *sites, uint32_t *keys)
{
    struct sim_random *random = &sites->load.random;
    uint32_t base = (uint32_t)(sites->now_us / SLIDE_US) % (SIM_MAX_KEYS - WINDOW);
    uint32_t count = 1 + (uint32_t)sim_random_below(random, FEW_KEYS);
    uint32_t first = (uint32_t)sim_random_below(random, WINDOW - FEW_KEYS);

    for (uint32_t i = 0; i < count; i++) {
        keys[i] = base + first + i;
    }
    return count;
}

static uint32_t draw_many(struct sites *sites, uint32_t *keys)
{
    uint32_t blocks = (SITES_KEYS - SIM_MAX_KEYS) / SITES_BATCH;
    uint32_t first = SIM_MAX_KEYS +
                     SITES_BATCH * (uint32_t)sim_random_below(&sites->load.random, blocks);

    for (uint32_t i = 0; i < SITES_BATCH; i++) {
        keys[i] = first + i;
    }
    return SITES_BATCH;
}

static uint64_t draw_bound(struct sim_random *random)
{
    static const uint64_t bounds_us[] = {SITES_UNBOUND, SITES_UNBOUND, 0, 0, 400000, 2500000};

    return bounds_us[sim_random_below(random, 6)];
}

static uint32_t draw_acks(struct sim_random *random)
{
    static const uint32_t acks[] = {0, 0, 0, 2, 2, ACKS_EACH, ACKS_EACH};

    return acks[sim_random_below(random, 7)];
}

static void on_think(struct sim *sim, void *data, uint64_t number)
{
    struct sim_process *client = data;
    struct site *site = sim->owner;
    struct sites_load *self = &site->all->load;
    struct sites_op op = {.site = site, .client = client};

    if (!self->running || !client->alive) {
        return;
    }
    op.operation = sim_random_chance(&self->random, ADD_PERMILLE) ? OPERATION_ADD : OPERATION_CHECK;
    op.bound_us = draw_bound(&self->random);
    op.acks = draw_acks(&self->random);
    op.count = sim_random_chance(&self->random, self->many_permille) ? draw_many(site->all, op.keys)
                                                                     : draw_few(site->all, op.keys);
    if (session_inflight(client->session) < MOST_INFLIGHT) {
        sites_load_submit(site->all, &op, sim_random_between(&self->random, 300 * MS, 3000 * MS));
    }
    sim_after(sim, 1 + sim_random_below(&self->random, 2 * self->pause_us), on_think, client,
              number);
}

void sites_load_start(struct sites *sites)
{
    struct sites_load *self = &sites->load;

    sim_random_init(&self->random, sites->seed, SITES_STREAM_LOAD);
    self->running = true;
    self->pause_us = sim_random_between(&self->random, 30 * MS, 150 * MS);
    self->many_permille = sim_random_chance(&self->random, 500) ? MANY_PERMILLE : 0;
    for (uint32_t i = 0; i < sites->count; i++) {
        struct sim *sim = sites->items[i].sim;

        for (uint32_t k = 0; k < sim->settings.nclients; k++) {
            sim_after(sim, sim_random_below(&self->random, 2 * self->pause_us), on_think,
                      sim_process_of(sim, SIM_CLIENT, k), 0);
        }
    }
}

void sites_load_stop(struct sites *sites)
{
    sites->load.running = false;
}

void sites_load_forget(struct sites *sites, const struct site *site)
{
    for (uint32_t i = 0; i < SITES_MAX_OPS; i++) {
        struct sites_op *op = &sites->load.ops[i];

        if (op->used && op->site == site) {
            op->used = false;
            sites->load.nopen--;
        }
    }
}
