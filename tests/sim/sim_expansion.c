/* Draws filters that grow, and plays the operator who asks for other sizes and rates. */
#include "tests/sim/sim_expansion.h"

#include "coordinator/plan/expansion.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_command.h"
#include "tests/sim/sim_grown.h"

#define MS UINT64_C(1000)

enum {
    GROW_PERMILLE = 70,    /* seeds of the scenario GROW */
    MIXED_PERMILLE = 200,  /* of the others: filters that grow, */
    RARE_PERMILLE = 600,   /* ... where faults are rare that are to meet it */
    MOVING_PERMILLE = 350, /* of all these: replicas move, too */
    EXPAND_PERMILLE = 650, /* filters that grow by themselves */
    KEYLOG_PERMILLE = 850,
    CHAINED_PERMILLE = 300, /* all filters without key log, growing by themselves or when asked */
    TWO_PAGES_KEYS = 20000, /* of a shard, at the rates here */
    MAX_KEYS = 65536,
    INSIST_US = 300000,
};

/* ---- what is drawn ---- */

static bool is_directed(const struct sim *sim)
{
    return sim->scenario.kind == SIM_SCENARIO_GROW;
}

static bool is_rare(const struct sim *sim)
{
    return sim->scenario.kind == SIM_SCENARIO_OLD_LIFE;
}

void sim_expansion_draw_scenario(struct sim *sim)
{
    struct sim_random *random = &sim->expansion.random;

    sim_random_init(random, sim->seed, SIM_STREAM_EXPANSION);
    if (sim_random_chance(random, GROW_PERMILLE) && sim->options.scenario == 0) {
        sim->scenario.kind = SIM_SCENARIO_GROW;
    }
    sim->expansion.on = sim_random_chance(random, is_rare(sim) ? RARE_PERMILLE : MIXED_PERMILLE) ||
                        is_directed(sim);
}

static void draw_filter(struct sim *sim, uint32_t name)
{
    struct sim_random *random = &sim->expansion.random;
    struct create_parameters *parameters = &sim->operator.names[name].parameters;

    parameters->capacity = sim_random_between(random, 12, is_directed(sim) ? 90 : 60);
    parameters->max_capacity = MAX_KEYS;
    parameters->rate = sim_random_chance(random, 500) ? 1e-5 : 1e-2;
    parameters->keylog = sim_random_chance(random, KEYLOG_PERMILLE) || name == 0 ? KEYLOG_ON
                                                                                 : KEYLOG_OFF;
    parameters->when_full = sim_random_chance(random, EXPAND_PERMILLE) ? WHEN_FULL_EXPAND
                                                                       : WHEN_FULL_REFUSE;
    sim->expansion.least[name] = parameters->capacity;
}

static void chain_all(struct sim *sim)
{
    for (uint32_t i = 0; i < SIM_WEAK; i++) {
        sim->operator.names[i].parameters.keylog = KEYLOG_OFF;
        sim->operator.names[i].parameters.when_full = WHEN_FULL_EXPAND;
    }
}

/* Those that move already do so in their own way. */
static void draw_moving(struct sim *sim)
{
    struct sim_random *random = &sim->expansion.random;
    bool drains = sim_random_chance(random, 500);

    if (!sim_random_chance(random, is_rare(sim) ? RARE_PERMILLE : MOVING_PERMILLE) ||
        sim->settings.unsynced) {
        return;
    }
    sim->expansion.moving = drains ? SIM_MOVING_DRAINS : SIM_MOVING_REPLACES;
    sim->settings.nspares += sim->settings.nspares == 0;
}

void sim_expansion_draw(struct sim *sim)
{
    static const uint64_t rates[] = {0, 0, 500, 1000, 3000};
    struct sim_expansion *self = &sim->expansion;

    self->on = self->on && sim->settings.disks;
    if (!self->on) {
        return;
    }
    self->rate = rates[sim_random_below(&self->random, 5)];
    self->hosts = sim_random_chance(&self->random, 700) ? 1 : 2;
    self->pause_us = sim_random_between(&self->random, 30 * MS, 400 * MS);
    for (uint32_t i = 0; i < SIM_WEAK; i++) {
        draw_filter(sim, i);
    }
    draw_moving(sim);
    if (sim_random_chance(&self->random, CHAINED_PERMILLE)) {
        chain_all(sim);
    }
}

/* ---- the operator ---- */

static uint64_t most_of(uint64_t capacity)
{
    return capacity < MAX_KEYS ? capacity : MAX_KEYS;
}

static struct expand_parameters draw_wish(struct sim *sim, const struct filter_document *document,
                                          uint32_t name)
{
    static const double rates[] = {1e-2, 1e-5, 1e-8};
    struct sim_random *random = &sim->expansion.random;
    uint64_t capacity = document->capacity;

    switch (sim_random_below(random, 12)) {
    case 0:
    case 1:
    case 2:
        return (struct expand_parameters){.capacity = most_of(2 * capacity)};
    case 3:
        return (struct expand_parameters){.capacity = most_of(8 * capacity), .rate = 1e-5};
    case 4:
        return (struct expand_parameters){.capacity = TWO_PAGES_KEYS};
    case 5:
    case 6:
        return (struct expand_parameters){.capacity = capacity / 2 + 1};
    case 7:
        return (struct expand_parameters){.rate = rates[sim_random_below(random, 3)]};
    case 8:
    case 9:
        return (struct expand_parameters){.abort = true};
    case 10:
        return (struct expand_parameters){.capacity = MAX_KEYS + 1};
    default:
        return sim->expansion.last[name];
    }
}

/* What is estimated may be a little wrong. Where it grows by itself it may do so from half full. */
static uint64_t too_few(struct sim *sim, uint32_t name)
{
    bool refuses = sim->operator.names[name].parameters.when_full == WHEN_FULL_REFUSE;
    uint64_t tried = sim_oracle_tried(sim, name);

    return refuses ? tried + 8 : 2 * tried + tried / 16 + 16;
}

/* A refusal needs a reason that holds. */
static void on_answer(struct sim *sim, const struct session_result *result)
{
    uint32_t name = sim->expansion.asked;
    const struct expand_parameters *wish = &sim->expansion.last[name];
    bool may_fail = wish->abort || wish->capacity == 0 || wish->capacity > MAX_KEYS ||
                    sim->operator.names[name].parameters.keylog == KEYLOG_OFF ||
                    wish->capacity <= too_few(sim, name);

    if (result->status == STATUS_NO_SPACE || (result->status == STATUS_INVALID && !may_fail)) {
        sim_fail(sim, "expand %s is refused for no reason: %s: %s", sim_name(name),
                 status_code(result->status), result->message);
    } else if (result->status == STATUS_OK && wish->capacity > MAX_KEYS) {
        sim_fail(sim, "expand %s beyond its max-capacity is accepted", sim_name(name));
    }
}

static void ask(struct sim *sim, const struct filter_document *document, uint32_t name,
                const struct expand_parameters *wish)
{
    struct sim_expansion *self = &sim->expansion;
    bool by_id = sim_random_chance(&self->random, 500);
    const struct admin_request request = {.action = ADMIN_EXPAND,
                                          .name = sim_name(name),
                                          .filter_id = by_id ? document->id : 0,
                                          .expand = *wish};

    if (!sim_command(sim, &request, on_answer)) {
        return;
    }
    self->asked = name;
    self->last[name] = *wish;
    if (wish->capacity > 0 && wish->capacity < self->least[name]) {
        self->least[name] = wish->capacity;
    }
}

/* What an operator is told to do about an expansion that can't end. */
static void insist(struct sim *sim, const struct filter_document *document, uint32_t name)
{
    const struct generation *left = &document->generations[0];
    const struct expand_parameters back = {.abort = true};
    const struct expand_parameters forth = {.capacity = left->capacity, .rate = left->rate};

    const struct expand_parameters more = {.capacity = MAX_KEYS};

    if (!sim_grown_is_stuck(sim, name)) {
        return;
    }
    if (!expansion_running(document)) { /* It was silent when the others ended. */
        ask(sim, document, name, &more);
    } else {
        ask(sim, document, name, expansion_goes_back(document) ? &forth : &back);
    }
}

static void on_turn(struct sim *sim, void *data, uint64_t number)
{
    struct sim_expansion *self = &sim->expansion;
    uint32_t name = (uint32_t)sim_random_below(&self->random, sim->load.nnames);
    const struct filter_document *document = sim_view_document(sim, name);

    (void)data;
    if (document != NULL && sim->operator.names[name].state == SIM_NAME_LIVE) {
        if (sim->scenario.calm) {
            insist(sim, document, name);
        } else {
            const struct expand_parameters wish = draw_wish(sim, document, name);

            ask(sim, document, name, &wish);
        }
    }
    sim_after(sim,
              sim->scenario.calm ? INSIST_US
                                 : 1 + sim_random_below(&self->random, 2 * self->pause_us),
              on_turn, NULL, number);
}

void sim_expansion_begin(struct sim *sim)
{
    if (sim->expansion.on) {
        sim_after(sim, sim_random_below(&sim->expansion.random, 2 * sim->expansion.pause_us),
                  on_turn, NULL, 0);
    }
}
