/* Draws how a seed's sites are configured, and what is to happen to them. */
#include "tests/sim_sites/sites_settings.h"

#include "map/acks.h"
#include "map/staleness.h"
#include "node/array/expansion_throttle.h"
#include "tests/sim_sites/sites.h"

#define MS UINT64_C(1000)

enum {
    SECOND_US = 1000000,
    THREE_PERMILLE = 400,       /* seeds with three sites; the others have two */
    GROWS_PERMILLE = 250,       /* ... whose filter is made too small */
    SLOW_GROWTH_PERMILLE = 500, /* sites where that takes a while */
    OS_PERMILLE = 150,          /* ... and is acknowledged without a sync */
    BOUND_PERMILLE = 150,       /* ... and has a bound of its own */
    ACKS_PERMILLE = 250,        /* ... and acks */
    SLOW_WIRE_PERMILLE = 150,
    SMALL_WINDOW_PERMILLE = 500,
    SMALL_HELD_PERMILLE = 300,
    CUT_PERMILLE = 700,
    LONG_CUT_PERMILLE = 250,
    LINK_PERMILLE = 500,
    BEHIND_PERMILLE = 600,
    STORM_PERMILLE = 500,
    MOVES_PERMILLE = 300,
    EARLY_PERMILLE = 500,
    END_PERMILLE = 350,
    BACK_PERMILLE = 300, /* of the others */
    NOTHING_PERMILLE = 250,
    AGAIN_PERMILLE = 400,
    TWO_BACK_PERMILLE = 400, /* of those */
    STRUCK_PERMILLE = 600,
    RETURN_PERMILLE = 600, /* of those that leave */
    DROP_PERMILLE = 500,   /* ... */
    DROPS_PERMILLE = 250,  /* seeds where nobody goes */
    ORPHAN_PERMILLE = 300,
    OUTCAST_PERMILLE = 250, /* of seeds where nobody else goes */
    USUAL_CAPACITY = 8192,
    SMALLEST_SEGMENT = 64 << 10,
};

/* ---- between sites ---- */

static void draw_wire(struct sites_settings *self, struct sim_random *random)
{
    static const uint32_t losses[] = {0, 0, 0, 2, 20};
    static const uint32_t repeats[] = {0, 0, 20};
    static const uint32_t slows[] = {0, 0, 5, 30};
    static const uint64_t longest_us[] = {20000, 200000, 1500000};
    static const uint64_t latencies_us[] = {0, 5000, 40000};

    self->weather = (struct sim_weather){
        .loss = losses[sim_random_below(random, 5)],
        .repeat = repeats[sim_random_below(random, 3)],
        .slow = slows[sim_random_below(random, 4)],
        .slow_us = longest_us[sim_random_below(random, 3)],
        .latency_us = latencies_us[sim_random_below(random, 3)],
        .in_order = true,
    };
}

static void draw_dials(struct sites_settings *self, struct sim_random *random)
{
    for (uint32_t a = 0; a < SITES_MAX; a++) {
        for (uint32_t b = a + 1; b < SITES_MAX; b++) {
            uint64_t who = sim_random_below(random, 3);

            self->dials[a][b] = who != 1;
            self->dials[b][a] = who != 0;
        }
    }
}

static void draw_links(struct sites_settings *self, struct sim_random *random)
{
    self->flush_us = sim_random_between(random, 2 * MS, 60 * MS);
    self->mark_interval_us = sim_random_between(random, 20 * MS, 250 * MS);
    self->window = sim_random_chance(random, SMALL_WINDOW_PERMILLE) ? LINK_WINDOW_MIN : 1 << 20;
    self->held = sim_random_chance(random, SMALL_HELD_PERMILLE) ? LINK_WINDOW_MIN : 0;
    self->rate = sim_random_chance(random, SLOW_WIRE_PERMILLE)
                     ? sim_random_between(random, 500, 8000)
                     : 0;
    /* A few keys, too, which takes a line that is not slow; or hardly ever. */
    self->offered = self->rate == 0 && self->flush_us % 2 == 0;
    /* Mostly never: it would mend what is to be found. */
    self->scrub_us = self->mark_interval_us % 4 == 0 ? 5 * self->mark_interval_us : 0;
}

/* Mostly several, and those as soon as anything is to be sent; each of them stalls for itself. */
static void draw_connections(struct sites_settings *self, struct sim_random *random)
{
    static const uint32_t stalls[] = {0, 20, 100};
    static const uint64_t longest_us[] = {50000, 300000, 2000000};

    for (uint32_t i = 0; i < SITES_MAX; i++) {
        self->connections[i] = sim_random_between(random, 1, 5);
    }
    self->crowd = sim_random_chance(random, SMALL_WINDOW_PERMILLE) ? 1 : 500;
    self->weather.stall = stalls[sim_random_below(random, 3)];
    self->weather.stall_us = longest_us[sim_random_below(random, 3)];
}

/* ---- the filter ---- */

/* Such as can be fenced when as many replicas are lost as may be. */
static struct quorum_rule draw_rule(struct sim_random *random)
{
    static const struct quorum_rule rules[] = {
        {3, 2, 2}, {3, 2, 2}, {3, 2, 2}, {3, 2, 2}, {3, 2, 3}, {1, 1, 1}, {5, 4, 3},
    };

    return rules[sim_random_below(random, sizeof rules / sizeof rules[0])];
}

/* Such are in one slot group: where they are so small one group of several is full by chance long
 * before the filter is to grow. */
static bool grows(const struct sites_settings *self)
{
    return self->filter.capacity < USUAL_CAPACITY;
}

/* As many replicas as may be lost are more than can be fenced without. */
static bool has_five(const struct sites_settings *self)
{
    return self->filter.rule.replicas == 5;
}

static void draw_filter(struct sites_settings *self, struct sim_random *random)
{
    static const uint64_t bounds_us[] = {0, 300 * 1000, 2000 * 1000};
    bool small = sim_random_chance(random, GROWS_PERMILLE);

    self->filter = (struct create_parameters){
        .capacity = small ? sim_random_between(random, 12, 120) : USUAL_CAPACITY,
        .rate = 1e-5,
        .max_capacity = 1 << 16,
        .rule = draw_rule(random),
        .hash = sim_random_chance(random, 500) ? HASH_SIPHASH24 : HASH_XXH3,
        .when_unavailable = WHEN_UNAVAILABLE_ERROR,
        .when_full = WHEN_FULL_EXPAND,
        .keylog = KEYLOG_ON,
        .durability = sim_random_chance(random, OS_PERMILLE) ? DURABILITY_OS : DURABILITY_SYNC,
    };
    if (small) {
        self->filter.rule = (struct quorum_rule){.replicas = 3, .write = 2, .read = 2};
    }
    if (sim_random_chance(random, BOUND_PERMILLE)) {
        self->filter.max_staleness = staleness_of(bounds_us[sim_random_below(random, 3)]);
    }
    if (sim_random_chance(random, ACKS_PERMILLE)) {
        self->filter.acks = sim_random_chance(random, 500) ? ACKS_EACH : 2;
    }
}

/* ---- what goes wrong ---- */

static uint64_t sometimes(struct sim_random *random, uint32_t permille, uint64_t least_us,
                          uint64_t most_us)
{
    uint64_t drawn_us = sim_random_between(random, least_us, most_us);

    return sim_random_chance(random, permille) ? drawn_us : 0;
}

/* May so many go at a time? Else too few would be left to acknowledge, and it is refused. */
static bool may_go(const struct sites_settings *self, uint32_t going)
{
    return self->filter.acks == ACKS_EACH || self->count - going >= self->filter.acks;
}

/* Of three also both, one after the other. */
static void draw_ends(struct sites_settings *self, struct sim_random *random)
{
    uint32_t first = (uint32_t)sim_random_below(random, self->count);
    uint64_t how = sim_random_below(random, self->count == 3 ? 4 : 2);
    bool any = sim_random_chance(random, END_PERMILLE);

    self->leaver = any && how != 0 ? first : SITES_NOBODY;
    self->burner = any && how != 1 ? (first + (how > 1)) % self->count : SITES_NOBODY;
    if (!may_go(self, 1 + (self->burner != SITES_NOBODY))) {
        self->leaver = SITES_NOBODY;
    }
}

/* What it loses then others have, so nobody else goes. */
static void draw_back(struct sites_settings *self, struct sim_random *random)
{
    uint32_t who = (uint32_t)sim_random_below(random, self->count);
    bool any = sim_random_chance(random, BACK_PERMILLE);

    self->to_nothing[who] = sim_random_chance(random, NOTHING_PERMILLE);
    self->goes_back[who] = any && self->leaver == SITES_NOBODY && self->burner == SITES_NOBODY;
}

bool sites_settings_any_back(const struct sites_settings *self)
{
    bool any = false;

    for (uint32_t i = 0; i < self->count; i++) {
        any = any || self->goes_back[i];
    }
    return any;
}

/* One that has something is left; of three it may be one that joins, which is waited for. */
static void draw_second_back(struct sites_settings *self, struct sim_random *random)
{
    uint32_t first = 0;
    uint32_t second;
    bool to_nothing = sim_random_chance(random, NOTHING_PERMILLE);

    while (!self->goes_back[first]) {
        first++;
    }
    second = (first + 1 + (uint32_t)sim_random_below(random, self->count - 1)) % self->count;
    self->goes_back[second] = true;
    self->to_nothing[second] = to_nothing && !(self->count == 2 && self->to_nothing[first]);
}

static void draw_return(struct sites_settings *self, struct sim_random *random)
{
    uint32_t who = (uint32_t)sim_random_below(random, self->count);
    bool any = sim_random_chance(random, OUTCAST_PERMILLE);
    bool alone = self->leaver == SITES_NOBODY && self->burner == SITES_NOBODY &&
                 !sites_settings_any_back(self);

    self->returns = sim_random_chance(random, RETURN_PERMILLE) && self->leaver != SITES_NOBODY;
    self->drops_first = sim_random_chance(random, DROP_PERMILLE);
    self->outcast = any && alone && may_go(self, 1) ? who : SITES_NOBODY;
    self->orphan = sim_random_chance(random, ORPHAN_PERMILLE) && self->outcast != SITES_NOBODY;
    self->drops = sim_random_chance(random, DROPS_PERMILLE) && alone &&
                  self->outcast == SITES_NOBODY;
}

/* Machines fail in no way that takes data: a filter that is made anew has no budget of losses yet.
 * And all of them are free for it. */
static void spare(struct sites_settings *self)
{
    self->storm_us = 0;
    self->moves = false;
}

static void draw_more(struct sites_settings *self, struct sim_random *random)
{
    uint64_t struck_us = sometimes(random, STRUCK_PERMILLE, 20 * MS, 300 * MS);
    bool two = sim_random_chance(random, TWO_BACK_PERMILLE);

    if (sites_settings_any_back(self) && two) {
        draw_second_back(self, random);
    }
    draw_return(self, random);
    if (sites_settings_any_back(self) || self->drops) {
        self->struck_us = struck_us;
        self->faults_us += struck_us != 0 ? 8 * SECOND_US : 0; /* for it to join anew meanwhile */
    }
    if (self->drops || (self->returns && self->drops_first)) {
        spare(self);
    }
    self->goes_again = sim_random_chance(random, AGAIN_PERMILLE) && sites_settings_any_back(self);
}

static void draw_faults(struct sites_settings *self, struct sim_random *random)
{
    self->faults_us = sim_random_between(random, 6, 14) * SECOND_US;
    self->cut_us = sometimes(random, CUT_PERMILLE, 500 * MS, 4000 * MS);
    self->long_cut_us = sometimes(random, LONG_CUT_PERMILLE, self->faults_us / 2,
                                  self->faults_us * 9 / 10);
    self->link_us = sometimes(random, LINK_PERMILLE, 500 * MS, 4000 * MS);
    self->behind_us = sometimes(random, BEHIND_PERMILLE, 700 * MS, 4000 * MS);
    self->storm_us = sometimes(random, STORM_PERMILLE, 150 * MS, 1500 * MS);
    self->moves = sim_random_chance(random, MOVES_PERMILLE);
    self->early = sim_random_chance(random, EARLY_PERMILLE);
    self->moves = self->moves && !grows(self);
    draw_ends(self, random);
    draw_back(self, random);
    self->moves = self->moves && !sites_settings_any_back(self);
    self->storm_us = has_five(self) ? 0 : self->storm_us;
}

void sites_settings_draw(struct sites *sites)
{
    struct sites_settings *self = &sites->settings;
    struct sim_random random;

    sim_random_init(&random, sites->seed, SITES_STREAM_SETTINGS);
    self->count = sim_random_chance(&random, THREE_PERMILLE) ? 3 : 2;
    draw_wire(self, &random);
    draw_dials(self, &random);
    draw_links(self, &random);
    draw_filter(self, &random);
    draw_faults(self, &random);
    draw_connections(self, &random);
    sim_random_init(&random, sites->seed, SITES_STREAM_MORE);
    draw_more(self, &random);
}

/* ---- inside a site ---- */

static void draw_processes(struct sim *sim, const struct sites_settings *settings)
{
    struct sim_settings *self = &sim->settings;

    self->nnodes = (uint32_t)sim_random_between(&sim->random, 3, 4); /* 4: several groups */
    if (grows(settings)) {
        self->nnodes = 3;
    } else if (has_five(settings)) {
        self->nnodes = 5;
    }
    self->nspares = settings->moves;
    self->nrouters = (uint32_t)sim_random_between(&sim->random, 1, 2);
    self->ncoordinators = (uint32_t)sim_random_between(&sim->random, 1, 2);
    self->nclients = 2;
}

static void draw_times(struct sim_settings *self, struct sim_random *random)
{
    self->sync_us = sim_random_between(random, 80 * MS, 250 * MS);
    self->hedge_us = sim_random_between(random, 4 * MS, 20 * MS);
    self->retry_us = sim_random_between(random, 20 * MS, 100 * MS);
    self->attempt_us = sim_random_between(random, 200 * MS, 1000 * MS);
    self->node_timeout_us = 3 * self->sync_us;
    self->fence_retry_us = sim_random_between(random, 10 * MS, 60 * MS);
    self->moves_at_once = 2;
    self->retry_memory_bytes = 1 << 20;
    self->retry_memory_us = 60000 * MS;
}

static void draw_files(struct sim_settings *self, struct sim_random *random)
{
    static const uint64_t kept[] = {0, SMALLEST_SEGMENT, 1 << 20, 1 << 30};

    self->disks = true;
    self->segment_bytes = SMALLEST_SEGMENT;
    self->retain_bytes = sim_random_chance(random, 500) ? 0 : SMALLEST_SEGMENT;
    self->site_retain_bytes = kept[sim_random_below(random, 4)];
    self->gossip_delay_us = sim_random_between(random, 20 * MS, 400 * MS);
    self->scrub_interval_us = sim_random_between(random, 500 * MS, 4000 * MS);
}

static void draw_weather(struct sim_weather *self, struct sim_random *random)
{
    static const uint32_t losses[] = {0, 0, 5, 20, 80};
    static const uint32_t slows[] = {0, 0, 20, 100};
    static const uint64_t longest_us[] = {2000, 20000, 150000};

    *self = (struct sim_weather){
        .loss = losses[sim_random_below(random, 5)],
        .repeat = sim_random_chance(random, 300) ? 20 : 0,
        .slow = slows[sim_random_below(random, 4)],
        .slow_us = longest_us[sim_random_below(random, 3)],
    };
}

void sites_settings_of_cluster(const struct sites *sites, struct sim *sim)
{
    draw_processes(sim, &sites->settings);
    draw_times(&sim->settings, &sim->random);
    draw_files(&sim->settings, &sim->random);
    draw_weather(&sim->network.weather, &sim->random);
    if (sim_random_chance(&sim->random, SLOW_GROWTH_PERMILLE)) {
        sim->expansion.rate = sim_random_between(&sim->random, 150, 1000);
    }
    /* Few keys are sent anew each time they are compared, and nodes leave out what they are sent:
     */
    sim->expansion.rate *= sites->settings.scrub_us > 0 ? EXPANSION_THROTTLE_FLOOR : 1;
    sim->settings.unsynced = sites->settings.filter.durability != DURABILITY_SYNC;
    sim->settings.faults_us = sites->settings.faults_us;
    sim->scenario.kind = !sites->settings.moves ? SIM_SCENARIO_STORM
                         : has_five(&sites->settings) || sim_random_chance(&sim->random, 500)
                             ? SIM_SCENARIO_DRAIN
                             : SIM_SCENARIO_REPLACE;
    sim->operator.names[0].parameters = sites->settings.filter;
    sim->operator.names[SIM_WEAK].tries = 1; /* Nobody makes that one: its session is free. */
}
