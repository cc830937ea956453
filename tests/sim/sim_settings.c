/* What sim_scenario_draw() draws: cluster, rules, load and weather of a seed. */
#include "tests/sim/sim.h"
#include "tests/sim/sim_scenario.h"

#define MS UINT64_C(1000)

enum {
    FAULTS_US = 1600000,
    FORGETFUL_WINDOW = 120,  /* wide: few keys are added by two clients */
    REPLACED_WINDOW = 40,    /* moves so fast that there are always keys that nobody has added */
    DISKS_PERMILLE = 700,    /* seeds whose nodes have disks; the others' keep all in memory */
    RETAIN_DELAYS = 10,      /* as in the daemon */
    SLOW_GOSSIP = 256 << 10, /* bytes a second */
    SYNC_PERMILLE = 900,     /* filters of those that are acknowledged once synced */
    PAGED_PERMILLE = 500,    /* seeds whose nodes report page by page */
    BITS_PERMILLE = 250,     /* ... that keep bits only */
    IMPRINTS_PERMILLE = 400, /* seeds whose nodes take imprints, of all arrays */
    SMALL_STEP = 4,
    KEYS_A_PAGE = 8,
};

static bool moves(const struct sim *sim)
{
    return sim->scenario.kind == SIM_SCENARIO_DRAIN || sim->scenario.kind == SIM_SCENARIO_REPLACE ||
           sim->scenario.kind == SIM_SCENARIO_REBALANCE ||
           sim->scenario.kind == SIM_SCENARIO_ACCEPT;
}

/* Directed at replacements, expansion or rebuilds, which take a log. */
static bool replaces(const struct sim *sim)
{
    return moves(sim) || sim->scenario.kind == SIM_SCENARIO_GROW ||
           sim->scenario.kind == SIM_SCENARIO_REBUILD ||
           sim->scenario.kind == SIM_SCENARIO_WINDOW || sim->scenario.kind == SIM_SCENARIO_LAG ||
           sim->scenario.kind == SIM_SCENARIO_TWO_JOIN ||
           sim->scenario.kind == SIM_SCENARIO_OLD_LIFE;
}

static struct quorum_rule draw_rule(struct sim *sim)
{
    static const struct quorum_rule rules[] = {
        {3, 2, 2}, {3, 2, 2}, {3, 2, 2}, {3, 2, 2}, {3, 2, 3},
        {3, 3, 1}, {3, 3, 2}, {2, 2, 1}, {1, 1, 1}, {5, 3, 3},
    };
    struct quorum_rule rule;

    do {
        rule = rules[sim_random_below(&sim->random, sizeof rules / sizeof rules[0])];
    } while (rule.replicas > sim->settings.nnodes);
    return rule;
}

static struct create_parameters draw_parameters(struct sim *sim)
{
    return (struct create_parameters){
        .capacity = 4096,
        .rate = 1e-5,
        .max_capacity = 4096,
        .rule = draw_rule(sim),
        .hash = sim_random_chance(&sim->random, 500) ? HASH_SIPHASH24 : HASH_XXH3,
        .when_unavailable = sim_random_chance(&sim->random, 800) ? WHEN_UNAVAILABLE_ERROR
                                                                 : WHEN_UNAVAILABLE_MAYBE,
        .when_full = WHEN_FULL_REFUSE,
        .keylog = KEYLOG_ON,
        .durability = DURABILITY_MEMORY,
    };
}

static void draw_names(struct sim *sim)
{
    static const struct quorum_rule weak = {.replicas = 3, .write = 2, .read = 1};

    sim->load.nnames = sim_random_chance(&sim->random, 300) ? 2 : 1;
    for (uint32_t i = 0; i < SIM_MAX_NAMES; i++) {
        sim->operator.names[i].parameters = draw_parameters(sim);
    }
    sim->operator.names[SIM_WEAK].parameters.rule = weak;
    if (sim->scenario.kind == SIM_SCENARIO_MOVE || sim->scenario.kind == SIM_SCENARIO_PAUSED ||
        sim->scenario.kind == SIM_SCENARIO_LOST || sim->scenario.kind == SIM_SCENARIO_LAG ||
        sim->scenario.kind == SIM_SCENARIO_OLD_LIFE) {
        sim->operator.names[0].parameters.rule =(struct quorum_rule){
            .replicas = 3, .write = 2, .read = 2};
    } else if (sim->scenario.kind == SIM_SCENARIO_TWO_JOIN) {
        sim->operator.names[0].parameters.rule =(struct quorum_rule){
            .replicas = 5, .write = 3, .read = 3};
    } else if (sim->scenario.kind == SIM_SCENARIO_FORGETFUL) {
        /* One replica's wrong vote is enough. */
        sim->operator.names[0].parameters.rule =(struct quorum_rule){
            .replicas = 1, .write = 1, .read = 1};
    } else if (sim->scenario.kind == SIM_SCENARIO_REBALANCE ||
               sim->scenario.kind == SIM_SCENARIO_RENAME) {
        sim->load.nnames = 2;
    }
}

static void draw_load(struct sim *sim)
{
    sim->load.pause_us = sim->options.lengthy ? sim_random_between(&sim->random, 2 * MS, 6 * MS)
                                              : sim_random_between(&sim->random, 4 * MS, 25 * MS);
    sim->load.timeout_us = sim_random_between(&sim->random, 300 * MS, 1500 * MS);
    sim->load.add_permille = (uint32_t)sim_random_between(&sim->random, 300, 700);
    sim->load.slide_us = 25 * MS;
    sim->load.window = (uint32_t)sim_random_between(&sim->random, 4, 40);
    if (sim->scenario.kind == SIM_SCENARIO_FORGETFUL) {
        sim->load.window = FORGETFUL_WINDOW;
    } else if (replaces(sim)) {
        sim->load.pause_us = sim_random_between(&sim->random, 2 * MS, 6 * MS);
        sim->load.timeout_us = 1500 * MS;
        sim->load.window = REPLACED_WINDOW;
        sim->load.slide_us = 8 * MS;
    }
}

static void draw_weather(struct sim *sim)
{
    static const uint32_t losses[] = {0, 0, 5, 20, 80};
    static const uint32_t repeats[] = {0, 0, 10, 100};
    static const uint32_t slows[] = {0, 20, 20, 100};
    static const uint32_t mixes[] = {0, 0, 10, 100};
    static const uint64_t longest_us[] = {2000, 20000, 150000, 600000};
    struct sim_weather *weather = &sim->network.weather;
    struct sim_random *random = &sim->random;

    *weather = (struct sim_weather){
        .loss = losses[sim_random_below(random, 5)],
        .repeat = repeats[sim_random_below(random, 4)],
        .slow = slows[sim_random_below(random, 4)],
        .mixed = mixes[sim_random_below(random, 4)],
        .slow_us = longest_us[sim_random_below(random, 4)],
    };
    if (sim->scenario.kind == SIM_SCENARIO_REPEATS) {
        weather->repeat = 400;
        weather->slow = 150;
    } else if (sim->scenario.kind == SIM_SCENARIO_MOVE) {
        /* Votes added up over epochs only do harm where another replica missed the add. */
        weather->loss = (uint32_t)sim_random_below(random, 200);
    } else if (sim->scenario.kind == SIM_SCENARIO_FORGETFUL) {
        weather->loss = 250;
        weather->slow = 300;
        weather->slow_us = 400 * MS;
    } else if (sim->scenario.kind == SIM_SCENARIO_COORDINATORS) {
        *weather = (struct sim_weather){0};
    } else if (replaces(sim) && sim_random_chance(random, 700)) {
        *weather = (struct sim_weather){.mixed = sim_random_chance(random, 500) ? 300 : 0};
    }
}

/* Shorter than a daemon's defaults, so that seconds of virtual time hold many of each. */
static void draw_times(struct sim *sim)
{
    struct sim_settings *settings = &sim->settings;
    struct sim_random *random = &sim->random;

    settings->faults_us = sim->options.lengthy ? SIM_LENGTHY_TIMES * FAULTS_US : FAULTS_US;
    settings->sync_us = sim_random_between(random, 40 * MS, 250 * MS);
    settings->hedge_us = sim_random_between(random, 4 * MS, 20 * MS);
    if (sim_random_chance(random, 500)) {
        settings->hedge_us = 0; /* learned */
    }
    settings->retry_us = sim_random_between(random, 20 * MS, 100 * MS);
    settings->attempt_us = sim_random_between(random, 60 * MS, 300 * MS);
    settings->node_timeout_us = 3 * settings->sync_us;
    settings->fence_retry_us = sim_random_between(random, 10 * MS, 60 * MS);
    settings->replace_after_us = 0;
    settings->moves_at_once = 2;
    if (sim->scenario.kind == SIM_SCENARIO_REBALANCE) {
        settings->moves_at_once = sim_random_between(random, 1, 4);
    }
    if (replaces(sim)) {
        settings->sync_us = sim_random_between(random, 40 * MS, 80 * MS);
        settings->node_timeout_us = 3 * settings->sync_us;
        settings->attempt_us = sim_random_between(random, 200 * MS, 500 * MS);
    }
    if (sim->scenario.kind == SIM_SCENARIO_REPLACE && sim_random_chance(random, 300)) {
        settings->replace_after_us = 2 * settings->node_timeout_us;
    }
}

/* All that a node has, or a few slot groups at a time. */
static void draw_reports(struct sim *sim)
{
    struct sim_random random;

    sim_random_init(&random, sim->seed, SIM_STREAM_REPORTS);
    if (sim_random_chance(&random, PAGED_PERMILLE)) {
        sim->settings.report_groups = sim_random_between(&random, 1, 4);
    }
}

/* Enough for the whole run, or so little that the first attempt is forgotten while the client
 * still waits. */
static void draw_retry_memory(struct sim *sim)
{
    struct sim_settings *settings = &sim->settings;
    struct sim_random *random = &sim->random;

    settings->retry_memory_bytes = 1 << 20;
    settings->retry_memory_us = 60000 * MS;
    if (sim->scenario.kind == SIM_SCENARIO_FORGETFUL) {
        settings->retry_memory_us = sim_random_between(random, 1 * MS, 60 * MS);
        settings->retry_us = sim_random_between(random, 10 * MS, 80 * MS);
        settings->attempt_us = sim_random_between(random, 20 * MS, 100 * MS);
    } else if (sim_random_chance(random, 400)) {
        settings->retry_memory_bytes = sim_random_between(random, 0, 1500);
    } else if (sim_random_chance(random, 200)) {
        settings->retry_memory_us = sim_random_between(random, 1, 400 * MS);
    }
}

static void draw_processes(struct sim *sim)
{
    struct sim_settings *settings = &sim->settings;
    enum sim_scenario_kind kind = sim->scenario.kind;

    settings->nnodes = 3;
    if (kind == SIM_SCENARIO_CUT_REPLICAS) {
        settings->nnodes = (uint32_t)sim_random_between(&sim->random, 1, 3);
        settings->nspares = settings->nnodes;
    } else if (kind == SIM_SCENARIO_MOVE || kind == SIM_SCENARIO_MIX || kind == SIM_SCENARIO_GROW ||
               kind == SIM_SCENARIO_REBUILD || kind == SIM_SCENARIO_WINDOW ||
               kind == SIM_SCENARIO_RENAME || moves(sim)) {
        settings->nspares = (uint32_t)sim_random_between(&sim->random, 1, 2);
    } else if (kind == SIM_SCENARIO_STORM || kind == SIM_SCENARIO_STALE_ROUTER ||
               kind == SIM_SCENARIO_REPEATS) {
        settings->nnodes = (uint32_t)sim_random_between(&sim->random, 3, 5);
    }
    if (kind == SIM_SCENARIO_TWO_JOIN) {
        settings->nnodes = 5;
    } else if (moves(sim) || kind == SIM_SCENARIO_GROW || kind == SIM_SCENARIO_REBUILD ||
               kind == SIM_SCENARIO_WINDOW) {
        settings->nnodes = (uint32_t)sim_random_between(&sim->random, 3, 4); /* several groups */
    }
    settings->nrouters = sim_random_chance(&sim->random, 800) ? 2 : 1;
    if (kind == SIM_SCENARIO_STALE_ROUTER || kind == SIM_SCENARIO_CUT_REPLICAS ||
        kind == SIM_SCENARIO_FORGETFUL || kind == SIM_SCENARIO_OLD_LIFE) {
        settings->nrouters = 2;
    }
    settings->nstandbys = kind == SIM_SCENARIO_OLD_LIFE;
    settings->ncoordinators = (uint32_t)sim_random_between(&sim->random, 1, 2);
    settings->nclients = (uint32_t)sim_random_between(&sim->random, 2, 3);
    if (sim->options.lengthy) {
        settings->nclients = 3;
    }
}

/* Files so small that runs of seconds fill, merge and remove some. */
static void draw_files(struct sim_settings *settings, struct sim_random *random)
{
    static const uint64_t segments[] = {64 << 10, 64 << 10, 128 << 10};
    static const uint64_t retained[] = {0, 64 << 10, 256 << 10};
    static const uint64_t reserves[] = {0, 64 << 10, 192 << 10};

    settings->segment_bytes = segments[sim_random_below(random, 3)];
    settings->retain_bytes = retained[sim_random_below(random, 3)];
    settings->reserve_bytes = reserves[sim_random_below(random, 3)];
    settings->gossip_delay_us = sim_random_between(random, 20 * MS, 200 * MS);
    settings->retain_us = sim_random_chance(random, 500) ? RETAIN_DELAYS * settings->gossip_delay_us
                                                         : 0;
    settings->gossip_rate = sim_random_chance(random, 200) ? SLOW_GOSSIP : 0;
    settings->scrub_interval_us = sim_random_between(random, 300 * MS, 2000 * MS);
}

/* Of a stream of their own: a seed without disks is what it was before there were any. */
static void draw_durability(struct sim *sim)
{
    struct sim_random random;

    sim_random_init(&random, sim->seed, SIM_STREAM_DURABILITY);
    sim->settings.disks = sim_random_chance(&random, DISKS_PERMILLE) || replaces(sim);
    sim->settings.disks = sim->options.disks == SIM_DISKS_DRAWN
                              ? sim->settings.disks
                              : sim->options.disks == SIM_DISKS_ALWAYS;
    draw_files(&sim->settings, &random);
    if (sim->scenario.kind == SIM_SCENARIO_TWO_JOIN) {
        sim->settings.gossip_delay_us = 200 * MS; /* It must not heal what is to be missed. */
    }
    for (uint32_t i = 0; sim->settings.disks && i < SIM_MAX_NAMES; i++) {
        bool bits = sim_random_chance(&random, BITS_PERMILLE);
        bool synced = sim_random_chance(&random, SYNC_PERMILLE) || replaces(sim);

        sim->operator.names[i].parameters.durability = synced ? DURABILITY_SYNC : DURABILITY_OS;
        sim->operator.names[i].parameters.keylog = bits ? KEYLOG_OFF : KEYLOG_ON;
        if (bits && sim->scenario.kind != SIM_SCENARIO_GROW) { /* Of several pages. */
            sim->operator.names[i].parameters.capacity *= 8;
            sim->operator.names[i].parameters.max_capacity *= 8;
        }
        sim->settings.unsynced = sim->settings.unsynced || !synced;
    }
}

/* Eight segments of a node in a run are rare, so with them fewer runs become one: what an imprint
 * has with what it has not. */
static void draw_imprints(struct sim *sim)
{
    struct sim_random random;

    sim_random_init(&random, sim->seed, SIM_STREAM_IMPRINTS);
    sim->settings.imprint_bytes = sim_random_chance(&random, IMPRINTS_PERMILLE);
    sim->settings.merge_runs = sim->settings.imprint_bytes > 0 ? 2 : 0;
}

/* So small that loops over a few pages and keys take several. A message takes some 100 us, a job
 * perhaps longer: of keys there are more than of pages and lines. */
static void draw_steps(struct sim *sim)
{
    static const bool few[NODE_NSTEPS] = {
        [STEP_LOAD_PAGES] = true, [STEP_SNAPSHOT_PAGES] = true, [STEP_LINES_PAGES] = true,
        [STEP_LOOK_PAGES] = true, [STEP_HASH_PAGES] = true,     [STEP_DIGEST_PAGES] = true,
        [STEP_SPAN_LINES] = true,
    };
    struct sim_random random;

    sim_random_init(&random, sim->seed, SIM_STREAM_STEPS);
    for (uint32_t i = 0; i < NODE_NSTEPS; i++) {
        uint32_t small = (uint32_t)sim_random_between(&random, 1, SMALL_STEP);
        bool drawn = sim_random_chance(&random, 500);

        /* Few comparisons come to digests of pages, and few of those have several. */
        if (i == STEP_DIGEST_PAGES) {
            drawn = true;
            small = 1;
        }
        /* One span is soon over: faults are to meet an expansion, too. */
        drawn = drawn || i == STEP_SPAN_LINES;
        sim->settings.steps[i] = !drawn ? 0 : few[i] ? small : small * KEYS_A_PAGE;
    }
}

void sim_scenario_draw(struct sim *sim)
{
    sim->scenario.kind = (enum sim_scenario_kind)sim_random_below(&sim->random, SIM_SCENARIO_GROW);
    if (sim->options.scenario != 0) {
        sim->scenario.kind = (enum sim_scenario_kind)(sim->options.scenario - 1);
    }
    sim_expansion_draw_scenario(sim);
    sim_rebuild_draw_scenario(sim);
    sim_window_draw_scenario(sim);
    sim_accept_draw_scenario(sim);
    sim->scenario.node_kills = sim_random_chance(&sim->random, 100) ? 2 : 1;
    draw_processes(sim);
    draw_times(sim);
    draw_reports(sim);
    draw_retry_memory(sim);
    draw_names(sim);
    draw_durability(sim);
    draw_load(sim);
    draw_weather(sim);
    sim_expansion_draw(sim);
    sim_rebuild_draw(sim);
    sim_window_draw(sim);
    sim_accept_draw(sim);
    sim_users_draw(sim);
    draw_steps(sim);
    draw_imprints(sim);
}
