/* Draws the operations of clients, submits them to their sessions, and tells the oracle. */
#include "tests/sim/sim_client.h"

#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const names[SIM_MAX_NAMES] = {"f1", "f2", "weak"};

const char *sim_name(uint32_t name)
{
    return names[name];
}

uint32_t sim_load_key(uint32_t key, char text[SIM_KEY_BYTES])
{
    return (uint32_t)snprintf(text, SIM_KEY_BYTES, "key-%u", key);
}

static const char *word_of(enum operation operation)
{
    return operation == OPERATION_ADD ? "add" : operation == OPERATION_FEED ? "feed" : "check";
}

static enum sim_phase phase_of(enum operation operation)
{
    return operation == OPERATION_ADD    ? SIM_PHASE_ADD
           : operation == OPERATION_FEED ? SIM_PHASE_FEED
                                         : SIM_PHASE_CHECK;
}

static void on_done(void *context, const struct session_result *result)
{
    struct sim_op *op = context;
    struct sim *sim = op->client->sim;

    sim_trace_hash(&sim->trace, sim->now_us, op->serial, (uint64_t)result->status);
    sim_trace_line(&sim->trace, sim->now_us,
                   "%s: %s %" PRIu64 " of %s ends %s after %u attempts, p%02" PRIx64 " a%02" PRIx64,
                   op->client->name, word_of(op->operation), op->serial, sim_name(op->name),
                   status_code(result->status), result->attempts, result->present[0],
                   result->absent[0]);
    sim_oracle_op_ends(sim, op, result);
    sim_users_op_ends(sim, op, result);
    sim_coverage_end(sim, phase_of(op->operation));
    sim->load.nopen--;
    op->used = false;
}

static struct sim_op *free_op(struct sim_load *self)
{
    for (uint32_t i = 0; i < SIM_MAX_OPS; i++) {
        if (!self->ops[i].used) {
            return &self->ops[i];
        }
    }
    return NULL;
}

/* The oracle hears of the operation before it can be answered. */
static void begin(struct sim *sim, struct sim_op *op)
{
    char text[3 * SIM_MAX_BATCH * SIM_KEY_BYTES];
    int used = 0;

    sim->load.nopen++;
    sim_oracle_op_begins(sim, op);
    sim_coverage_begin(sim, phase_of(op->operation));
    text[0] = '\0';
    for (uint32_t i = 0; i < op->count; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, " %u", op->keys[i]);
    }
    sim_trace_line(&sim->trace, sim->now_us, "%s: %s %" PRIu64 " of %s, keys%s", op->client->name,
                   word_of(op->operation), op->serial, sim_name(op->name), text);
}

static bool submit(struct sim *sim, struct sim_process *client, enum operation operation,
                   uint32_t name, uint32_t keyset, const uint32_t *keys, uint32_t count,
                   uint64_t timeout_us)
{
    struct sim_op *op = free_op(&sim->load);
    char blob[SIM_MAX_BATCH * SIM_KEY_BYTES];
    uint32_t lengths[SIM_MAX_BATCH];
    uint32_t size = 0;
    enum status status;

    if (op == NULL) {
        return false;
    }
    *op = (struct sim_op){
        .used = true,
        .client = client,
        .serial = ++sim->load.serial,
        .operation = operation,
        .name = name,
        .keyset = keyset,
        .count = count,
        .begun_us = sim->now_us,
        .deadline_us = sim->now_us + timeout_us,
        .expect = sim->load.expect,
    };
    for (uint32_t i = 0; i < count; i++) {
        op->keys[i] = keys[i];
        lengths[i] = sim_load_key(keys[i], blob + size);
        size += lengths[i];
    }
    begin(sim, op);
    status = session_submit(client->session, sim_process_now(client), timeout_us,
                            &(struct session_keys){
                                .filter = sim_name(name),
                                .operation = operation,
                                .blob = (const uint8_t *)blob,
                                .lengths = lengths,
                                .count = count,
                                .keyset = keyset,
                            },
                            on_done, op);
    if (status != STATUS_OK) {
        sim_fail(sim, "a client cannot submit: %s", status_code(status));
    }
    sim_process_arm(client);
    return true;
}

bool sim_load_submit(struct sim *sim, struct sim_process *client, enum operation operation,
                     uint32_t name, const uint32_t *keys, uint32_t count, uint64_t timeout_us)
{
    return submit(sim, client, operation, name, 0, keys, count, timeout_us);
}

bool sim_load_feed(struct sim *sim, struct sim_process *client, uint32_t name, uint32_t keyset,
                   const uint32_t *keys, uint32_t count, uint64_t timeout_us)
{
    return submit(sim, client, OPERATION_FEED, name, keyset, keys, count, timeout_us);
}

/* ---- the stream of operations ---- */

static uint32_t draw_name(struct sim *sim)
{
    uint32_t name = (uint32_t)sim_random_below(&sim->load_random, sim->load.nnames + 1);

    if (name < sim->load.nnames) {
        return name;
    }
    return sim->operator.weak_exists ? SIM_WEAK : 0;
}

/* Distinct keys out of the window. */
static uint32_t draw_keys(struct sim *sim, uint32_t *keys)
{
    uint32_t base = (uint32_t)(sim->now_us / sim->load.slide_us) % (SIM_MAX_KEYS / 2);
    uint32_t count = 1 + (uint32_t)sim_random_below(&sim->load_random, SIM_LOAD_BATCH);
    uint32_t drawn = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t key = base + (uint32_t)sim_random_below(&sim->load_random, sim->load.window);
        bool known = false;

        for (uint32_t k = 0; k < drawn; k++) {
            known = known || keys[k] == key;
        }
        if (!known) {
            keys[drawn++] = key;
        }
    }
    return drawn;
}

bool sim_load_add_is_fresh(const struct sim *sim, uint32_t name, uint64_t within_us)
{
    for (uint32_t i = 0; i < SIM_MAX_OPS; i++) {
        const struct sim_op *op = &sim->load.ops[i];

        if (op->used && op->operation == OPERATION_ADD && op->name == name &&
            sim->now_us - op->begun_us <= within_us) {
            return true;
        }
    }
    return false;
}

uint32_t sim_load_fresh_key(const struct sim *sim)
{
    return SIM_MAX_KEYS - 1 - (uint32_t)(sim->load.serial % 64);
}

static void on_think(struct sim *sim, void *data, uint64_t number)
{
    struct sim_process *client = data;
    struct sim_load *self = &sim->load;
    uint32_t keys[SIM_LOAD_BATCH];

    (void)number;
    if (!self->running) {
        return;
    }
    if (session_inflight(client->session) < SIM_MAX_CLIENT_INFLIGHT) {
        enum operation operation = sim_random_chance(&sim->load_random, self->add_permille)
                                       ? OPERATION_ADD
                                       : OPERATION_CHECK;
        uint32_t count = draw_keys(sim, keys);
        uint64_t timeout_us = self->timeout_us / 4 +
                              sim_random_below(&sim->load_random, self->timeout_us);

        (void)sim_load_submit(sim, client, operation, draw_name(sim), keys, count, timeout_us);
    }
    sim_after(sim, 1 + sim_random_below(&sim->load_random, 2 * self->pause_us), on_think, client,
              0);
}

void sim_load_start(struct sim *sim)
{
    sim->load.running = true;
    for (uint32_t i = 0; i < sim->settings.nclients; i++) {
        sim_after(sim, sim_random_below(&sim->load_random, 2 * sim->load.pause_us), on_think,
                  sim_process_of(sim, SIM_CLIENT, i), 0);
    }
}

void sim_load_stop(struct sim *sim)
{
    sim->load.running = false;
}
