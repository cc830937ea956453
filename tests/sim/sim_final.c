/* The last questions of a run, one stage after the other, each waited for. */
#include "tests/sim/sim_final.h"

#include "tests/sim/sim.h"
#include "tests/sim/sim_grown.h"

#include <inttypes.h>

enum {
    SETTLE_US = 1200000,      /* suspects are probed, syncs find another coordinator */
    PATIENCE_US = 15000000,   /* until creates and drops must have come to an end */
    EXPANSION_US = 900000000, /* ... and slow nodes in turn, of steps of a key, have built bigger
                              arrays, thrice perhaps */
    QUIET_US = 1200000,       /* so long that everybody has heard of everything */
    POLL_US = 20000,
    SURE_TIMEOUT_US = 3000000,
    UNSURE_TIMEOUT_US = 300000, /* these end at their deadline */
    FRESH_KEYS = 3,
};

static enum sim_expectation expectation(const struct sim *sim, uint32_t name,
                                        enum operation operation)
{
    const struct filter_document *document = sim_view_document(sim, name);
    uint32_t needed = operation == OPERATION_ADD ? document->content.rule.write
                                                 : document->content.rule.read;

    if (sim_view_least_full(sim, name, operation) >= needed) {
        return SIM_EXPECT_SUCCESS;
    }
    return sim_view_most_full(sim, name, operation) < needed ? SIM_EXPECT_NO_CERTAINTY
                                                             : SIM_EXPECT_NOTHING;
}

static void submit(struct sim *sim, struct sim_process *client, enum operation operation,
                   uint32_t name, const uint32_t *keys, uint32_t count)
{
    sim->load.expect = expectation(sim, name, operation);
    if (count > 0 && !sim_load_submit(sim, client, operation, name, keys, count,
                                      sim->load.expect == SIM_EXPECT_SUCCESS ? SURE_TIMEOUT_US
                                                                             : UNSURE_TIMEOUT_US)) {
        sim_fail(sim, "operations are left over");
    }
}

static void ask_name(struct sim *sim, struct sim_process *client, uint32_t name)
{
    uint32_t keys[SIM_MAX_BATCH];
    uint32_t count = 0;

    for (uint32_t key = 0; key < SIM_MAX_KEYS; key++) {
        if (sim->rebuild.on || sim_oracle_acked(sim, name, 0, key)) {
            keys[count++] = key;
        }
        if (count == SIM_MAX_BATCH) {
            submit(sim, client, OPERATION_CHECK, name, keys, count);
            count = 0;
        }
    }
    submit(sim, client, OPERATION_CHECK, name, keys, count);
    for (count = 0; count < FRESH_KEYS; count++) {
        keys[count] = sim_load_fresh_key(sim) - count;
    }
    submit(sim, client, OPERATION_ADD, name, keys, count);
}

static void ask_as_users(struct sim *sim)
{
    for (uint32_t name = 0; name < SIM_MAX_NAMES; name++) {
        if (sim->operator.names[name].state == SIM_NAME_LIVE) {
            sim_users_ask(sim, name, expectation(sim, name, OPERATION_CHECK),
                          expectation(sim, name, OPERATION_ADD));
        }
    }
}

/* Gossip and repair need a log, and get time. */
static bool converged(struct sim *sim, char text[SIM_UNREST_BYTES])
{
    return !sim->settings.disks || sim_invariant_agreement(sim, text) == SIM_EQUAL;
}

static void on_end(struct sim *sim, void *data, uint64_t until_us)
{
    char text[SIM_UNREST_BYTES] = "operations never end";
    bool ended = sim->load.nopen == 0 && sim->operator.status_done;

    (void)data;
    if (!ended || sim_grown_unrest(sim, text) || !converged(sim, text)) {
        if (sim->now_us > until_us) {
            sim_fail(sim, "nothing is wrong any more, yet %s", text);
        }
        sim_after(sim, POLL_US, on_end, NULL, until_us);
        return;
    }
    if (sim->operator.weak_exists) {
        sim_fail(sim, "a filter of N=3 W=2 R=1 was created, and lost no key by luck alone");
    }
    sim->invariant.due = true;
    sim->done = true;
}

static void on_settled(struct sim *sim, void *data, uint64_t until_us)
{
    char unrest[SIM_UNREST_BYTES] = "a create, a drop or an operation does not come to its end";
    bool ended = sim->load.nopen == 0 && sim_operator_settled(sim);

    (void)data;
    if (!ended || sim_view_unrest(sim, unrest) || sim_grown_unrest(sim, unrest) ||
        sim_rebuild_unrest(sim, unrest) || sim_accept_unrest(sim, unrest) ||
        sim_users_unrest(sim, unrest)) {
        if (sim->now_us > until_us) {
            sim_fail(sim, "nothing is wrong any more, yet %s", unrest);
        }
        sim->scenario.unrest_us = sim->now_us;
    }
    for (uint32_t name = 0; name < SIM_MAX_NAMES; name++) {
        /* A window moves on for ever. */
        if (sim->view.changed_us[name] > sim->scenario.unrest_us && !sim_window_renews(sim, name)) {
            sim->scenario.unrest_us = sim->view.changed_us[name];
        }
    }
    if (sim->now_us < sim->scenario.unrest_us + QUIET_US) {
        sim_after(sim, POLL_US, on_settled, NULL, until_us);
        return;
    }
    for (uint32_t client = 0; client < 2; client++) {
        for (uint32_t name = 0; name < SIM_MAX_NAMES; name++) {
            if (sim->operator.names[name].state == SIM_NAME_LIVE) {
                ask_name(sim, sim_process_of(sim, SIM_CLIENT, client), name);
            }
        }
    }
    ask_as_users(sim);
    sim_operator_ask_status(sim);
    sim_after(sim, POLL_US, on_end, NULL,
              sim->now_us + 2 * SURE_TIMEOUT_US + (sim->expansion.on ? EXPANSION_US : 0));
}

void sim_final_plan(struct sim *sim)
{
    sim_after(sim, SETTLE_US, on_settled, NULL,
              sim->now_us + PATIENCE_US + (sim->expansion.on ? EXPANSION_US : 0));
}
