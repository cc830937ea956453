/* Cuts ways between sites, strikes links and what is inside of sites, and burns one. */
#include "tests/sim_sites/sites_faults.h"

#include "tests/sim/sim_damage.h"
#include "tests/sim/sim_drain.h"
#include "tests/sim/sim_faults.h"
#include "tests/sim_sites/sites.h"

#define MS UINT64_C(1000)

enum {
    CUT_LEAST_US = 100000,
    CUT_MOST_US = 4000000,
    DOWN_MOST_US = 1500000,
    PAUSE_MOST_US = 3000000,
    BEHIND_MOST_US = 4000000,
    ALONE_MOST_US = 12000000,
    SPARED_PERMILLE = 700,
    MADE_POLL_US = 20000,
    LINKS_ALONE_PERMILLE = 400,
    TEMPT_WITHIN_US = 500000,
    TEMPTED_LEAST_US = 1500000,
    BURN_CUT_PERMILLE = 600,
    BOTH_WAYS_PERMILLE = 600,
    SILENT_PERMILLE = 700,
    RESET_PERMILLE = 200,
    ONE_PERMILLE = 500, /* of these: one connection of several */
    KILL_PERMILLE = 500,
    RESTART_MOST_US = 300000,
    ANEW_CUT_MOST_US = 1000000,
    ANEW_MOST_US = 10000000,
    CALM_STALL_US = 50000,
    PAIR_BITS = 8,
};

static struct sim_random *chance(struct sites *sites)
{
    return &sites->course.random;
}

static uint64_t soon_us(struct sites *sites, uint64_t mean_us)
{
    return 1 + sim_random_below(chance(sites), 2 * mean_us);
}

/* ---- cuts ---- */

/* What one site sends to the other. */
static void set_cut(struct sites *sites, uint32_t from, uint32_t to, enum sim_cut cut)
{
    const struct site *a = &sites->items[from];
    const struct site *b = &sites->items[to];

    for (uint32_t i = 0; i < a->nlinks; i++) {
        for (uint32_t k = 0; k < b->nlinks; k++) {
            sim_network_cut(sites->between, a->links[i].outer->index, b->links[k].outer->index,
                            cut);
        }
    }
}

/* A longer one may have begun meanwhile. */
static void on_cut_end(struct sim *sim, void *data, uint64_t pair)
{
    struct sites *sites = data;
    uint32_t from = (uint32_t)pair >> PAIR_BITS;
    uint32_t to = (uint32_t)pair & ((1U << PAIR_BITS) - 1);

    if (sim->now_us >= sites->course.cut_until_us[from][to]) {
        set_cut(sites, from, to, SIM_CUT_NONE);
    }
}

static void cut_way(struct sites *sites, uint32_t from, uint32_t to, enum sim_cut cut,
                    uint64_t duration_us)
{
    uint64_t *until_us = &sites->course.cut_until_us[from][to];

    *until_us = sites->now_us + duration_us > *until_us ? sites->now_us + duration_us : *until_us;
    set_cut(sites, from, to, cut);
    sites_after(sites, duration_us, on_cut_end, sites, (uint64_t)from << PAIR_BITS | to);
}

static bool joins(const struct site *site)
{
    const struct site_entry *own = site_set_own(site_sites(site));

    return own != NULL && (own->state == SITE_JOINING || !site_sites(site)->says_absent);
}

/* ... and another one. */
static void cut_one(struct sites *sites, uint32_t a, uint64_t duration_us, enum sites_fault fault)
{
    uint32_t b = (a + 1 + (uint32_t)sim_random_below(chance(sites), sites->count - 1)) %
                 sites->count;
    enum sim_cut how = sim_random_chance(chance(sites), SILENT_PERMILLE) ? SIM_CUT_SILENT
                                                                         : SIM_CUT_NOTICED;
    bool both = sim_random_chance(chance(sites), BOTH_WAYS_PERMILLE);

    sites_coverage_fault(sites, fault);
    if (!both) {
        sites_coverage_fault(sites, SITES_FAULT_ONE_WAY);
    }
    if (joins(&sites->items[a]) || joins(&sites->items[b])) {
        sites_coverage_fault(sites, SITES_FAULT_JOIN_CUT);
    }
    sites_say(sites, "cut off: %s %s %s for %llu ms", sites->items[a].name, both ? "and" : "to",
              sites->items[b].name, (unsigned long long)(duration_us / MS));
    cut_way(sites, a, b, how, duration_us);
    if (both) {
        cut_way(sites, b, a, how, duration_us);
    }
}

static void cut(struct sites *sites, uint64_t duration_us, enum sites_fault fault)
{
    cut_one(sites, (uint32_t)sim_random_below(chance(sites), sites->count), duration_us, fault);
}

static void on_cut(struct sim *sim, void *data, uint64_t mean_us)
{
    struct sites *sites = data;
    uint32_t count = sites->between->nprocesses;

    (void)sim;
    if (sites->course.calm) {
        return;
    }
    if (sim_random_chance(chance(sites), RESET_PERMILLE)) {
        uint32_t one = (uint32_t)sim_random_below(chance(sites), count);
        uint32_t other = (uint32_t)sim_random_below(chance(sites), count);
        bool all = !sim_random_chance(&sites->between->network_random, ONE_PERMILLE);

        sites_coverage_fault(sites, all ? SITES_FAULT_RESET : SITES_FAULT_BROKEN);
        if (all) {
            sim_network_reset(sites->between, one, other);
        } else {
            sim_network_break(sites->between, one, other);
        }
    } else {
        cut(sites, sim_random_between(chance(sites), CUT_LEAST_US, CUT_MOST_US), SITES_FAULT_CUT);
    }
    sites_after(sites, soon_us(sites, mean_us), on_cut, sites, mean_us);
}

static void on_long_cut(struct sim *sim, void *data, uint64_t duration_us)
{
    struct sites *sites = data;

    (void)sim;
    if (!sites->course.calm) {
        cut(sites, duration_us, SITES_FAULT_LONG_CUT);
    }
}

/* ---- links ---- */

static void on_link_start(struct sim *sim, void *data, uint64_t number)
{
    struct sites_link *link = data;

    (void)sim;
    (void)number;
    if (!sites_link_lives(link) && !link->site->off && !link->site->down) {
        sites_link_start(link);
    }
}

static void on_link_resume(struct sim *sim, void *data, uint64_t generation)
{
    struct sites_link *link = data;

    (void)sim;
    if (sites_link_lives(link) && link->inner->generation == generation && link->inner->paused) {
        sites_link_resume(link);
    }
}

static void strike(struct sites *sites, struct sites_link *link)
{
    if (!sites_link_lives(link) || link->inner->paused) {
        return;
    }
    if (sim_random_chance(chance(sites), KILL_PERMILLE)) {
        sites_coverage_fault(sites, SITES_FAULT_LINK_KILLED);
        sites_link_kill(link);
        sites_after(sites, sim_random_between(chance(sites), 10 * MS, DOWN_MOST_US), on_link_start,
                    link, 0);
    } else {
        sites_coverage_fault(sites, SITES_FAULT_LINK_PAUSED);
        sites_link_pause(link);
        sites_after(sites, sim_random_between(chance(sites), 10 * MS, PAUSE_MOST_US),
                    on_link_resume, link, link->inner->generation);
    }
}

static void strike_any(struct sites *sites)
{
    struct site *site = &sites->items[sim_random_below(chance(sites), sites->count)];

    strike(sites, &site->links[sim_random_below(chance(sites), site->nlinks)]);
}

static void on_link(struct sim *sim, void *data, uint64_t mean_us)
{
    struct sites *sites = data;

    (void)sim;
    if (!sites->course.calm) {
        strike_any(sites);
        sites_after(sites, soon_us(sites, mean_us), on_link, sites, mean_us);
    }
}

/* ---- a part of a site that is behind ---- */

/* A router, a link, clients and some nodes, cut off from coordinators and the rest: what they serve
 * meanwhile they serve under an old epoch. So it is where a step that goes on with too few fences
 * shows, and where one site's set of sites lags. Of two links the other one mostly hears of it. */
static uint32_t draw_behind(struct sites *sites, const struct sim *sim)
{
    uint32_t without = (uint32_t)sim_random_below(chance(sites), sim->settings.nnodes);
    uint32_t router = (uint32_t)sim_random_below(chance(sites), sim->settings.nrouters);
    const struct sim_process *spared = sim_random_chance(chance(sites), SPARED_PERMILLE)
                                           ? sim_process_of(sim, SIM_LINK, 1)
                                           : NULL;
    uint32_t set = 0;

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        const struct sim_process *process = sim->processes[i];
        bool behind = process->kind == SIM_CLIENT ||
                      (process->kind == SIM_LINK && process != spared) ||
                      process == sim_process_of(sim, SIM_ROUTER, router) ||
                      (process->kind == SIM_NODE &&
                       process != sim_process_of(sim, SIM_NODE, without));

        set |= (uint32_t)behind << i;
    }
    return set;
}

/* The links of a site reach none of its routers and nodes: what others have sent waits. */
static uint32_t links_of(const struct sim *sim)
{
    uint32_t set = 0;

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        set |= (uint32_t)(sim->processes[i]->kind == SIM_LINK) << i;
    }
    return set;
}

static void strike_inside(struct sites *sites, struct site *site, uint64_t least_us)
{
    bool links = sim_random_chance(chance(sites), LINKS_ALONE_PERMILLE);
    uint32_t set = links ? links_of(site->sim) : draw_behind(sites, site->sim);
    uint64_t duration_us = sim_random_between(chance(sites), least_us,
                                              links ? ALONE_MOST_US : BEHIND_MOST_US);

    if (!site->off && sites->now_us >= site->parted_until_us) { /* Its end would heal the former. */
        site->parted_until_us = sites->now_us + duration_us;
        sites_say(sites, "%s at %s alone for %llu ms", links ? "links" : "a part", site->name,
                  (unsigned long long)(duration_us / MS));
        sites_coverage_fault(sites, links ? SITES_FAULT_LINKS_ALONE : SITES_FAULT_BEHIND);
        sim_fault_separate(site->sim, set, ~set, duration_us);
    }
}

static void on_behind(struct sim *sim, void *data, uint64_t mean_us)
{
    struct sites *sites = data;

    (void)sim;
    if (!sites->course.calm) {
        strike_inside(sites, &sites->items[sim_random_below(chance(sites), sites->count)],
                      300 * MS);
        sites_after(sites, soon_us(sites, mean_us), on_behind, sites, mean_us);
    }
}

static void on_tempted(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;

    (void)sim;
    if (!sites->course.calm) {
        strike_inside(sites, &sites->items[number], TEMPTED_LEAST_US);
    }
}

void sites_fault_tempt(struct sites *sites)
{
    if (sites->settings.behind_us != 0 && sites->settings.early) {
        sites_after(sites, sim_random_below(chance(sites), TEMPT_WITHIN_US), on_tempted, sites,
                    sim_random_below(chance(sites), sites->count));
    }
}

/* ---- a site that joins anew ---- */

static void restart(struct sites *sites, struct sim *sim, enum sim_kind kind,
                    enum sites_fault fault)
{
    uint32_t number = (uint32_t)sim_random_below(chance(sites), sim_count(sim, kind));

    sites_coverage_fault(sites, fault);
    sim_fault_restart(sim, sim_process_of(sim, kind, number),
                      sim_random_between(chance(sites), 1 * MS, RESTART_MOST_US));
}

static void strike_joining(struct sites *sites, struct site *site)
{
    switch (sim_random_below(chance(sites), 4)) {
    case 0:
        cut_one(sites, site->number,
                sim_random_between(chance(sites), CUT_LEAST_US, ANEW_CUT_MOST_US),
                SITES_FAULT_ANEW_CUT);
        break;
    case 1:
        sites_coverage_fault(sites, SITES_FAULT_ANEW_LINK);
        strike_any(sites);
        break;
    case 2:
        restart(sites, site->sim, SIM_NODE, SITES_FAULT_ANEW_NODE);
        break;
    default:
        restart(sites, site->sim, SIM_COORDINATOR, SITES_FAULT_ANEW_COORDINATOR);
        break;
    }
}

static void on_joining(struct sim *sim, void *data, uint64_t until_us)
{
    struct site *site = data;
    struct sites *sites = site->all;

    (void)sim;
    if (sites->course.calm || sites->now_us > until_us) {
        return;
    }
    if (joins(site) && !site->down) {
        strike_joining(sites, site);
    }
    sites_after(sites, soon_us(sites, sites->settings.struck_us), on_joining, site, until_us);
}

void sites_fault_joining_anew(struct site *site)
{
    struct sites *sites = site->all;

    if (sites->settings.struck_us != 0) {
        on_joining(sites->between, site, sites->now_us + ANEW_MOST_US);
    }
}

/* ---- all of them ---- */

/* What a filter is made on may have lost its data before anybody noticed: of that there is no
 * budget. */
static bool is_made(const struct site *site)
{
    const struct filter_document *document = site_document(site);

    return document != NULL &&
           sim_view_least_full(site->sim, 0, OPERATION_ADD) == document->content.rule.replicas;
}

static void on_inside(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;
    struct site *site = &sites->items[number];

    (void)sim;
    if (sites->course.calm || site->off || sites->settings.goes_back[number]) {
        return; /* Of what is put back nothing else is lost. */
    }
    if (!is_made(site)) {
        sites_after(sites, MADE_POLL_US, on_inside, sites, number);
        return;
    }
    if (sites->settings.storm_us != 0) {
        sites_coverage_fault(sites, SITES_FAULT_STORM);
        sim_fault_storm(site->sim, sites->settings.storm_us);
        sim_damage_begin(site->sim);
    }
    if (sites->settings.moves) {
        sites_coverage_fault(sites, SITES_FAULT_MOVES);
        sim_drain_begin(site->sim);
    }
}

void sites_faults_begin(struct sites *sites)
{
    const struct sites_settings *settings = &sites->settings;

    if (settings->cut_us != 0) {
        sites_after(sites, soon_us(sites, settings->cut_us), on_cut, sites, settings->cut_us);
    }
    if (settings->long_cut_us != 0) {
        sites_after(sites, soon_us(sites, settings->faults_us / 20), on_long_cut, sites,
                    settings->long_cut_us);
    }
    if (settings->link_us != 0) {
        sites_after(sites, soon_us(sites, settings->link_us), on_link, sites, settings->link_us);
    }
    if (settings->behind_us != 0) {
        sites_after(sites, soon_us(sites, settings->behind_us), on_behind, sites,
                    settings->behind_us);
    }
    for (uint32_t i = 0; i < sites->count; i++) {
        on_inside(sites->between, sites, i);
    }
}

static void calm_links(struct site *site)
{
    for (uint32_t i = 0; i < site->nlinks && !site->down; i++) {
        struct sites_link *link = &site->links[i];

        if (!sites_link_lives(link)) {
            sites_link_start(link);
        } else if (link->inner->paused) {
            sites_link_resume(link);
        }
    }
}

void sites_faults_calm(struct sites *sites)
{
    for (uint32_t i = 0; i < sites->count; i++) {
        if (!sites->items[i].off) {
            calm_links(&sites->items[i]);
            sim_faults_calm(sites->items[i].sim);
        }
    }
    sim_faults_calm(sites->between);
    sites->between->network.weather.latency_us = sites->settings.weather.latency_us;
    sites->between->network.weather.in_order = true;
    sites->between->network.weather.stall = sites->settings.weather.stall;
    sites->between->network.weather.stall_us = CALM_STALL_US;
}

/* ---- a site burns ---- */

/* Before that one of the others hears nothing more of it, so that what it lacks then only some
 * have.
 */
void sites_fault_part(struct site *site, uint64_t duration_us)
{
    struct sites *sites = site->all;
    uint32_t other = (site->number + 1 + (uint32_t)sim_random_below(chance(sites), 2)) %
                     sites->count;

    if (other != site->number && sim_random_chance(chance(sites), BURN_CUT_PERMILLE)) {
        sites_coverage_fault(sites, SITES_FAULT_CUT);
        sites_say(sites, "cut off before it burns: %s to %s", site->name, sites->items[other].name);
        cut_way(sites, site->number, other, SIM_CUT_SILENT, duration_us);
    }
}

void sites_fault_cast_out(struct site *site, uint64_t duration_us)
{
    struct sites *sites = site->all;

    sites_say(sites, "cut off from all: %s for %llu ms", site->name,
              (unsigned long long)(duration_us / MS));
    for (uint32_t i = 0; i < sites->count; i++) {
        if (i != site->number) {
            cut_way(sites, site->number, i, SIM_CUT_SILENT, duration_us);
            cut_way(sites, i, site->number, SIM_CUT_SILENT, duration_us);
        }
    }
}

void sites_fault_burn(struct site *site)
{
    struct sim *sim = site->sim;

    sites_say(site->all, "%s burns", site->name);
    site->off = true;
    sim->scenario.calm = true;    /* Nothing more goes wrong there ... */
    sim->accept.off = UINT32_MAX; /* ... and nobody starts again. */
    for (uint32_t i = 0; i < site->nlinks; i++) {
        sites_link_hold(&site->links[i]);
        if (sites_link_lives(&site->links[i])) {
            sites_link_kill(&site->links[i]);
        }
    }
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        if (sim->processes[i]->alive) {
            sim_process_kill(sim->processes[i]);
        }
    }
    sites_load_forget(site->all, site);
    sites_oracle_burnt(site->all, site);
}
