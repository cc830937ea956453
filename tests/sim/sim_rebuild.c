/* Draws filters that are rebuilt, and plays the operator who begins, feeds, commits and aborts. */
#include "tests/sim/sim_rebuild.h"

#include "coordinator/plan/rebuild.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_command.h"

#include <inttypes.h>
#include <stdio.h>

#define MS UINT64_C(1000)

enum {
    NEWER_PERMILLE = 140,  /* seeds of the scenarios REBUILD, RENAME and REBALANCE */
    MIXED_PERMILLE = 250,  /* of the others: filters are rebuilt, too, */
    RARE_PERMILLE = 500,   /* ... where faults are rare that are to meet it */
    MOVING_PERMILLE = 350, /* of the scenario: replicas move */
    UNNAMED_PERMILLE = 100,
    STALE_PERMILLE = 80, /* commands and lists for what was open before */
    MOST_FED = 24,
    LISTS = 3, /* at once */
    FEED_LEAST_US = 50000,
    FEED_MOST_US = 900000,
    POLL_US = 20000,
};

/* ---- what is drawn ---- */

/* They wait for a moment at which replacements may begin, or have nothing to lose. */
static bool is_left_alone(const struct sim *sim)
{
    enum sim_scenario_kind kind = sim->scenario.kind;

    return kind == SIM_SCENARIO_LAG || kind == SIM_SCENARIO_TWO_JOIN ||
           kind == SIM_SCENARIO_COORDINATORS || kind == SIM_SCENARIO_LOST;
}

static bool is_rare(const struct sim *sim)
{
    return sim->scenario.kind == SIM_SCENARIO_OLD_LIFE || sim->scenario.kind == SIM_SCENARIO_RENAME;
}

void sim_rebuild_draw_scenario(struct sim *sim)
{
    static const enum sim_scenario_kind newer[] = {SIM_SCENARIO_REBUILD, SIM_SCENARIO_REBUILD,
                                                   SIM_SCENARIO_RENAME, SIM_SCENARIO_REBALANCE};
    struct sim_rebuild *self = &sim->rebuild;
    bool mixed;

    sim_random_init(&self->random, sim->seed, SIM_STREAM_REBUILD);
    if (sim_random_chance(&self->random, NEWER_PERMILLE) && sim->options.scenario == 0) {
        sim->scenario.kind = newer[sim_random_below(&self->random, sizeof newer / sizeof newer[0])];
    }
    mixed = sim_random_chance(&self->random, is_rare(sim) ? RARE_PERMILLE : MIXED_PERMILLE);
    if (sim->scenario.kind == SIM_SCENARIO_REBUILD) {
        sim->expansion.on = false;
        self->on = true;
    } else {
        self->on = mixed && !sim->expansion.on && !is_left_alone(sim);
    }
}

static void draw_moving(struct sim *sim)
{
    struct sim_random *random = &sim->rebuild.random;
    bool drains = sim_random_chance(random, 500);

    if (sim_random_chance(random, MOVING_PERMILLE) && !sim->settings.unsynced) {
        sim->expansion.moving = drains ? SIM_MOVING_DRAINS : SIM_MOVING_REPLACES;
    }
}

void sim_rebuild_draw(struct sim *sim)
{
    struct sim_rebuild *self = &sim->rebuild;

    self->on = self->on && sim->settings.disks;
    if (!self->on) {
        return;
    }
    self->pause_us = sim_random_between(&self->random, 5 * MS, 60 * MS);
    self->commits = sim_random_chance(&self->random, 600);
    sim->operator.names[0].parameters.keylog = KEYLOG_ON;
    if (sim->scenario.kind == SIM_SCENARIO_REBUILD) {
        draw_moving(sim);
    }
}

/* ---- what is so ---- */

/* NULL: the name has no filter that can be rebuilt, or not now. */
static const struct filter_document *ready(const struct sim *sim, uint32_t name)
{
    const struct filter_document *document = sim_view_document(sim, name);
    bool live = sim->operator.names[name].state == SIM_NAME_LIVE && document != NULL &&
                document->content.state == FILTER_ACTIVE && document->keylog == KEYLOG_ON;

    return live ? document : NULL;
}

bool sim_rebuild_is_open(const struct sim *sim)
{
    for (uint32_t name = 0; name < SIM_MAX_NAMES; name++) {
        const struct filter_document *document = sim_view_document(sim, name);

        if (document != NULL && rebuild_keyset(document) != 0) {
            return true;
        }
    }
    return false;
}

/* The last commit is written, and nobody was told that all heed it. */
static bool is_unconfirmed(const struct sim *sim, uint32_t name)
{
    const struct sim_name_history *history = &sim->oracle.names[name];
    const struct sim_keysets *keysets = history->bindings[history->nbindings - 1].keysets;

    for (size_t i = 0; i < keysets->count; i++) {
        if (keysets->items[i].passed_us != SIM_OPEN && keysets->items[i].gone_us == SIM_OPEN) {
            return true;
        }
    }
    return false;
}

/* Replacements come to their end, and enough members can fence. */
static bool can_end(const struct sim *sim, const struct filter_document *document)
{
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        if (!sim_view_can_replace(sim, document, group)) {
            return false;
        }
    }
    return true;
}

bool sim_rebuild_unrest(const struct sim *sim, char text[SIM_UNREST_BYTES])
{
    for (uint32_t name = 0; sim->rebuild.on && name < SIM_WEAK; name++) {
        const struct filter_document *document = ready(sim, name);

        if (document == NULL || !can_end(sim, document)) {
            continue;
        }
        if (rebuild_keyset(document) != 0 || is_unconfirmed(sim, name)) {
            (void)snprintf(text, SIM_UNREST_BYTES, "a rebuild of %s does not come to its end",
                           sim_name(name));
            return true;
        }
    }
    return sim->rebuild.asking;
}

/* ---- commands ---- */

static void take_ok(struct sim *sim, const struct session_result *result)
{
    const struct sim_rebuild *self = &sim->rebuild;
    const struct filter_document *document = sim_view_document(sim, self->name);
    const struct admin_reply *reply = &result->frame->body.admin_reply;
    uint32_t begun = reply->nfilters == 1 ? reply->filters[0].rebuild_keyset : 0;

    if (self->asked.step == REBUILD_BEGIN) {
        sim->rebuild.known[self->name] = begun;
        sim_keysets_begun(sim, self->name, self->filter_id, begun);
    } else if (self->asked.step == REBUILD_COMMIT) {
        sim_keysets_committed(sim, self->name, self->filter_id, self->asked.keyset);
    } else if (self->asked.step == REBUILD_ABORT && document != NULL &&
               document->id == self->filter_id && rebuild_keyset(document) == self->asked.keyset) {
        sim_fail(sim, "the abort of keyset %" PRIu32 " of %s has returned, and it is open",
                 self->asked.keyset, sim_name(self->name));
    }
}

/* Refusals need a reason that holds: no node is short of room, and such filters can be rebuilt. */
static void on_answer(struct sim *sim, const struct session_result *result)
{
    struct sim_rebuild *self = &sim->rebuild;

    self->asking = false;
    sim_coverage_end(sim, SIM_PHASE_STEP);
    if (result->status == STATUS_OK && result->frame != NULL) {
        take_ok(sim, result);
    } else if (result->status == STATUS_NO_SPACE ||
               (result->status == STATUS_INVALID && self->asked.step == REBUILD_BEGIN)) {
        sim_fail(sim, "a rebuild of %s is refused for no reason: %s: %s", sim_name(self->name),
                 status_code(result->status), result->message);
    }
}

static void ask(struct sim *sim, uint32_t name, const struct rebuild_parameters *wanted)
{
    struct sim_rebuild *self = &sim->rebuild;
    const struct admin_request request = {.action = ADMIN_REBUILD,
                                          .name = sim_name(name),
                                          .filter_id = sim_view_document(sim, name)->id,
                                          .rebuild = *wanted};

    if (self->asking || !sim_command(sim, &request, on_answer)) {
        return;
    }
    self->asking = true;
    self->name = name;
    self->filter_id = request.filter_id;
    self->asked = *wanted;
    sim_coverage_begin(sim, SIM_PHASE_STEP);
}

/* ---- lists ---- */

/* Distinct keys; most of them ones that are there. */
static uint32_t draw_list(struct sim *sim, uint32_t name, uint32_t keys[MOST_FED])
{
    struct sim_random *random = &sim->rebuild.random;
    uint32_t wanted = 1 + (uint32_t)sim_random_below(random, MOST_FED);
    uint32_t first = (uint32_t)sim_random_below(random, SIM_MAX_KEYS);
    uint32_t count = 0;

    for (uint32_t i = 0; i < SIM_MAX_KEYS && count < wanted; i++) {
        uint32_t key = (first + i) % SIM_MAX_KEYS;

        if (sim_random_chance(random, sim_oracle_acked(sim, name, 0, key) ? 700 : 60)) {
            keys[count++] = key;
        }
    }
    return count;
}

static void feed(struct sim *sim, uint32_t name, uint32_t keyset)
{
    struct sim_random *random = &sim->rebuild.random;
    struct sim_process *client = sim_process_of(
        sim, SIM_CLIENT, (uint32_t)sim_random_below(random, sim->settings.nclients));
    uint32_t keys[MOST_FED];
    uint32_t count = draw_list(sim, name, keys);

    if (sim_random_chance(random, UNNAMED_PERMILLE)) {
        keyset = 0;
    }
    if (count > 0 && session_inflight(client->session) < SIM_MAX_CLIENT_INFLIGHT) {
        (void)sim_load_feed(sim, client, name, keyset, keys, count,
                            sim_random_between(random, FEED_LEAST_US, FEED_MOST_US));
    }
}

/* ---- the course of it ---- */

static void ask_end(struct sim *sim, uint32_t name, uint32_t keyset, bool commits)
{
    const struct rebuild_parameters wanted = {
        .step = commits ? REBUILD_COMMIT : REBUILD_ABORT,
        .keyset = keyset,
        .empty = sim->scenario.calm || sim_random_chance(&sim->rebuild.random, 700),
    };

    ask(sim, name, &wanted);
}

static void go_on(struct sim *sim, uint32_t name, const struct filter_document *document)
{
    static const struct rebuild_parameters begin = {.step = REBUILD_BEGIN};
    struct sim_random *random = &sim->rebuild.random;
    uint32_t open = rebuild_keyset(document);
    uint32_t known = sim->rebuild.known[name];
    uint32_t keyset = known != 0 && sim_random_chance(random, STALE_PERMILLE) ? known : open;
    const struct rebuild_parameters fed = {.step = REBUILD_FED, .keyset = keyset, .fed_keys = 1};
    uint64_t choice = sim_random_below(random, 100);

    if (keyset == 0 || (open != known && choice < 50)) {
        ask(sim, name, &begin); /* Again, until it is answered. */
    } else if (choice < 65) {
        for (uint32_t i = 0; i < LISTS; i++) {
            feed(sim, name, keyset);
        }
    } else if (choice < 73) {
        ask(sim, name, &fed);
    } else if (choice < 89) {
        ask_end(sim, name, keyset, true);
    } else if (choice < 96) {
        ask_end(sim, name, keyset, false);
    } else {
        ask(sim, name, &begin);
    }
}

static void settle(struct sim *sim, uint32_t name, const struct filter_document *document)
{
    uint32_t open = rebuild_keyset(document);

    if (!can_end(sim, document)) {
        return;
    }
    if (open != 0) {
        ask_end(sim, name, open, sim->rebuild.commits);
    } else if (is_unconfirmed(sim, name)) {
        ask_end(sim, name, rebuild_serving(document), true);
    }
}

static void on_turn(struct sim *sim, void *data, uint64_t number)
{
    struct sim_rebuild *self = &sim->rebuild;
    uint32_t name = (uint32_t)sim_random_below(&self->random, sim->load.nnames);
    const struct filter_document *document = ready(sim, name);

    (void)data;
    if (document != NULL && sim->scenario.calm) {
        settle(sim, name, document);
    } else if (document != NULL) {
        go_on(sim, name, document);
    }
    sim_after(
        sim, sim->scenario.calm ? POLL_US : 1 + sim_random_below(&self->random, 2 * self->pause_us),
        on_turn, NULL, number);
}

void sim_rebuild_begin(struct sim *sim)
{
    if (sim->rebuild.on) {
        sim_after(sim, sim_random_below(&sim->rebuild.random, 2 * sim->rebuild.pause_us), on_turn,
                  NULL, 0);
    }
}
