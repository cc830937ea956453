/* Plans a run from the first create until faults are over. */
#include "tests/sim_sites/sites_course.h"

#include "tests/sim_sites/sites.h"
#include "tests/sim_sites/sites_end.h"
#include "tests/sim_sites/sites_faults.h"
#include "tests/sim_sites/sites_operator.h"

#define MS UINT64_C(1000)

enum {
    START_SPREAD_US = 20000,
    SPARE_US = 3000000,
    SECOND_LINK_US = 4000000,
    CREATE_US = 400000,
    JOIN_US = 2500000,
    JOIN_PATIENCE_US = 12000000, /* then things go wrong all the same */
    POLL_US = 50000,
    AGAIN_POLL_US = 1000,
    AGAIN_MOST_US = 100000, /* by then it may have been told, and fenced or not */
    SAME_PERMILLE = 500,
    DOOM_US = 1500000,
    COPY_SPREAD_US = 250000, /* two copies are not of one moment */
    BACK_LEAST_US = 300000,
    BACK_MOST_US = 3700000,
    BACK_SPREAD_US = 900000,
    OUTCAST_LEAST_US = 1000000,
    OUTCAST_MOST_US = 5000000,
};

/* ---- who is where ---- */

bool site_stays(const struct site *site)
{
    return !site->off && !site_has_left(site);
}

uint32_t sites_counted(const struct sites *sites)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < sites->count; i++) {
        count += site_counts(&sites->items[i]);
    }
    return count;
}

/* ---- start ---- */

static void on_start(struct sim *sim, void *data, uint64_t number)
{
    struct sim_process *process = data;

    (void)number;
    if (!process->alive && !sim_accept_holds(sim, process)) {
        sim_process_start(process);
    }
}

static void on_link_start(struct sim *sim, void *data, uint64_t number)
{
    struct sites_link *link = data;

    (void)sim;
    (void)number;
    if (!sites_link_lives(link) && !link->site->off) {
        sites_link_start(link);
    }
}

static void start_links(struct site *site)
{
    struct sim_random *random = &site->all->course.random;

    for (uint32_t i = 0; i < site->nlinks; i++) {
        uint64_t spread_us = i == 0 ? START_SPREAD_US : SECOND_LINK_US;

        sites_after(site->all, sim_random_below(random, spread_us), on_link_start, &site->links[i],
                    0);
    }
}

static void start_site(struct site *site)
{
    struct sim *sim = site->sim;
    uint32_t first = sim->settings.nnodes; /* nodes from that one on come later */

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        struct sim_process *process = sim->processes[i];
        bool spare = process->kind == SIM_NODE && first == 0;

        first -= process->kind == SIM_NODE && first > 0;
        if (process->kind == SIM_CLIENT) {
            sim_process_start(process);
        } else if (process->kind != SIM_LINK) {
            sim_after(sim, sim_random_below(&sim->random, START_SPREAD_US) + (spare ? SPARE_US : 0),
                      on_start, process, 0);
        }
    }
    start_links(site);
}

/* ---- joins ---- */

static void on_later(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;
    bool chain = sites->course.joining == SITES_JOIN_CHAIN;

    (void)sim;
    if (!site_counts(&sites->items[1]) && site_stays(&sites->items[1])) {
        sites_after(sites, POLL_US, on_later, sites, number);
        return;
    }
    if (chain) {
        sites_coverage_fault(sites, SITES_FAULT_LATER);
    }
    sites_operator_add(&sites->items[chain ? 1 : 0], &sites->items[2],
                       sim_random_below(&sites->course.random, JOIN_US));
}

static void plan_joins(struct sites *sites)
{
    struct sites_course *self = &sites->course;
    uint64_t first_us = sim_random_below(&self->random, JOIN_US);

    sites_operator_add(&sites->items[0], &sites->items[1], first_us);
    if (sites->count < 3) {
        return;
    }
    self->joining = (enum sites_joining)sim_random_below(&self->random, 3);
    if (self->joining == SITES_JOIN_AT_ONCE) {
        sites_coverage_fault(sites, SITES_FAULT_TWO_AT_ONCE);
        sites_operator_add(&sites->items[0], &sites->items[2], first_us);
    } else {
        sites_after(sites, POLL_US, on_later, sites, 0);
    }
}

/* ---- another filter of the name ---- */

static bool has_former(const struct sites *sites)
{
    bool any = false;

    for (uint32_t i = 0; i < sites->count; i++) {
        const struct filter_document *document = site_document(&sites->items[i]);

        any = any || (document != NULL && document->content.state == FILTER_ACTIVE &&
                      sites->items[i].filter < sites->oracle.newest);
    }
    return any;
}

static bool any_joins(const struct sites *sites)
{
    bool any = false;

    for (uint32_t i = 0; i < sites->count; i++) {
        any = any || (site_document(&sites->items[i]) != NULL && !site_counts(&sites->items[i]));
    }
    return any;
}

static void add_others(struct sites *sites, struct site *at)
{
    if (has_former(sites)) {
        sites_coverage_fault(sites, SITES_FAULT_DROP_LATE);
    }
    for (uint32_t i = 0; i < sites->count; i++) {
        if (&sites->items[i] != at) {
            sites_operator_add(at, &sites->items[i],
                               sim_random_below(&sites->course.random, JOIN_US));
        }
    }
}

/* The name is free at once where the former one is gone. */
static void on_another(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;
    struct site *site = &sites->items[number];

    (void)sim;
    if (site->filter == sites->oracle.newest && sites->oracle.newest > 0 &&
        sim_operator_settled(site->sim)) {
        sites->course.pending--;
        add_others(sites, site);
        return;
    }
    if (site_document(site) == NULL) {
        (void)sim_operator_create(site->sim, 0);
    }
    sites_after(sites, POLL_US, on_another, sites, number);
}

/* Where it is dropped, or at another one, which first has to hear of it. */
static void on_drop(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;
    uint32_t at = (uint32_t)sim_random_below(&sites->course.random, sites->count);
    uint32_t creator = sim_random_chance(&sites->course.random, SAME_PERMILLE)
                           ? at
                           : (uint32_t)sim_random_below(&sites->course.random, sites->count);

    (void)sim;
    if (sites->course.calm) {
        sites->course.pending--;
        return;
    }
    if (!site_counts(&sites->items[at]) || site_document(&sites->items[creator]) == NULL) {
        sites_after(sites, POLL_US, on_drop, sites, number);
        return;
    }
    sites_coverage_fault(sites, SITES_FAULT_DROPPED);
    if (any_joins(sites)) {
        sites_coverage_fault(sites, SITES_FAULT_DROP_JOIN);
    }
    sites->items[0].sim->operator.names[0].state = SIM_NAME_FREE; /* Nobody asks for it any more. */
    sites_operator_drop(&sites->items[at]);
    for (uint32_t i = 0; i < sites->count; i++) {
        sites_fault_joining_anew(&sites->items[i]);
    }
    sites_after(sites, POLL_US, on_another, sites, creator);
}

/* ---- one site ends ---- */

/* It counts until its own coordinators have written that it leaves. */
static bool is_leaving(const struct sites *sites, const struct site *site)
{
    const struct site_entry *own = site_set_own(site_sites(site));

    return sites->course.leaves && site->number == sites->settings.leaver && own != NULL &&
           site_life_return(own->life.number) == 0;
}

/* ... and is to stay so. */
static struct site *another_that_counts(struct sites *sites, const struct site *site)
{
    uint32_t first = (uint32_t)sim_random_below(&sites->course.random, sites->count);

    for (uint32_t i = 0; i < sites->count; i++) {
        struct site *other = &sites->items[(first + i) % sites->count];

        if (other != site && other != sites->course.doomed && site_counts(other) &&
            !is_leaving(sites, other)) {
            return other;
        }
    }
    return NULL;
}

static void on_removal(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;
    struct site *site = &sites->items[number];
    struct site *other = another_that_counts(sites, site);

    (void)sim;
    if (other == NULL) { /* It joins anew just now. */
        sites_after(sites, POLL_US, on_removal, sites, number);
    } else {
        sites_operator_remove(other, site);
    }
}

static void burn(struct sites *sites, struct site *site)
{
    uint64_t before = sites->oracle.let_off;

    sites_coverage_fault(sites, SITES_FAULT_BURNT);
    sites_fault_burn(site);
    if (sites->oracle.let_off > before) {
        sites_coverage_fault(sites, SITES_FAULT_LOST_WITH_IT);
    }
    sites_after(sites, sim_random_below(&sites->course.random, 3000 * MS), on_removal, sites,
                site->number);
}

/* Only once another one counts: else nobody would be left who has its keys. False: not yet; or
 * never, as all is calm. */
static bool may_end(struct sites *sites, const struct site *site)
{
    bool may = another_that_counts(sites, site) != NULL && site_document(site) != NULL;

    sites->course.pending -= may || sites->course.calm;
    return may;
}

static void on_leave(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;
    struct site *site = &sites->items[sites->settings.leaver];

    (void)sim;
    if (may_end(sites, site)) {
        sites->course.leaves = true;
        sites_coverage_fault(sites, SITES_FAULT_LEFT);
        sites_operator_leave(site);
        if (sites->settings.returns) {
            sites_coverage_fault(sites, SITES_FAULT_RETURNED);
            sites_operator_return(site, sites->settings.drops_first);
        }
    } else if (!sites->course.calm) {
        sites_after(sites, POLL_US, on_leave, sites, number);
    }
}

/* As it is not heard of, somebody takes it for burnt. */
static void on_outcast(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;
    struct site *site = &sites->items[sites->settings.outcast];
    uint64_t cut_us;

    (void)sim;
    if (may_end(sites, site) && !sites->course.calm) {
        cut_us = sim_random_between(&sites->course.random, OUTCAST_LEAST_US, OUTCAST_MOST_US);
        sites_coverage_fault(sites, SITES_FAULT_OUTCAST);
        sites_fault_cast_out(site, cut_us);
        sites_after(sites, sim_random_below(&sites->course.random, cut_us), on_removal, sites,
                    site->number);
        if (sites->settings.orphan) {
            sites_operator_orphan(site);
        } else {
            sites_operator_return(site, false);
        }
    } else if (!sites->course.calm) {
        sites_after(sites, POLL_US, on_outcast, sites, number);
    }
}

static void on_burn(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;

    (void)sim;
    if (sites->course.leaves) {
        sites_coverage_fault(sites, SITES_FAULT_BOTH);
    }
    burn(sites, &sites->items[number]);
}

static void on_doom(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;
    struct site *site = &sites->items[sites->settings.burner];

    (void)sim;
    if (may_end(sites, site)) {
        sites->course.doomed = site;
        sites_fault_part(site, DOOM_US);
        sites_after(sites, sim_random_below(&sites->course.random, DOOM_US), on_burn, sites,
                    site->number);
    } else if (!sites->course.calm) {
        sites_after(sites, POLL_US, on_doom, sites, number);
    }
}

static void put_back(struct site *site)
{
    struct sites *sites = site->all;
    uint64_t before = sites->oracle.let_off;

    sites_put_back(site);
    if (sites->oracle.let_off > before) {
        sites_coverage_fault(sites, SITES_FAULT_LOST_SINCE);
    }
    sites_fault_joining_anew(site);
}

static void on_back_again(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;

    (void)sim;
    sites->course.pending--;
    if (!sites->course.calm) {
        sites_coverage_fault(sites, SITES_FAULT_BACK_AGAIN);
        put_back(&sites->items[number]);
    }
}

/* It has another life by its store, which few have heard of by the time that it is lost. */
static void on_begun(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;
    struct site *site = &sites->items[number];
    const struct site_entry *own = site_set_own(site_sites(site));
    const struct site_life *former = &sites->course.former[number];

    (void)sim;
    if (!sites->course.calm &&
        (site->down || own == NULL || site_life_compare(&own->life, former) == 0)) {
        sites_after(sites, AGAIN_POLL_US, on_begun, sites, number);
    } else {
        sites_after(sites, sim_random_below(&sites->course.random, AGAIN_MOST_US), on_back_again,
                    sites, number);
    }
}

static void plan_again(struct site *site)
{
    struct sites *sites = site->all;
    const struct site_entry *own = site_set_own(site_sites(site));

    if (sites->settings.goes_again) {
        sites->course.former[site->number] = own != NULL ? own->life : (struct site_life){0};
        sites->course.pending++;
        sites_after(sites, AGAIN_POLL_US, on_begun, sites, site->number);
    }
}

static void on_back(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;
    struct site *site = &sites->items[number];

    (void)sim;
    put_back(site);
    plan_again(site);
    sites->course.pending--;
}

static void on_copy(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;

    (void)sim;
    sites_copy_take(&sites->items[number]);
}

/* One that counts keeps something. Where all that do lose all, nobody has all keys any more, and
 * who only joins is not taken for one that does: it waits until the filter is dropped. */
static bool is_kept(const struct sites *sites)
{
    bool kept = false;

    for (uint32_t i = 0; i < sites->count; i++) {
        kept = kept || (site_counts(&sites->items[i]) &&
                        !(sites->settings.goes_back[i] && sites->settings.to_nothing[i]));
    }
    return kept;
}

/* Each has all that it is to have, and is then put back to that. */
static bool may_go_back(const struct sites *sites)
{
    bool may = sites_counted(sites) > 1 && is_kept(sites);

    for (uint32_t i = 0; i < sites->count; i++) {
        const struct site *site = &sites->items[i];

        may = may && (!sites->settings.goes_back[i] ||
                      (site_counts(site) && site_sites(site)->says_absent));
    }
    return may;
}

static void plan_back(struct sites *sites, uint32_t number, uint64_t at_us)
{
    if (!sites->settings.to_nothing[number]) {
        sites_after(sites, sim_random_below(&sites->course.random, COPY_SPREAD_US), on_copy, sites,
                    number);
    }
    sites_after(sites, at_us, on_back, sites, number);
}

/* Of two the second one goes while the first is down, or has just come up. */
static void on_backs(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;
    uint64_t at_us = BACK_LEAST_US;
    uint32_t count = 0;

    (void)sim;
    if (!sites->course.calm && !may_go_back(sites)) {
        sites_after(sites, POLL_US, on_backs, sites, number);
        return;
    }
    sites->course.pending--;
    for (uint32_t i = 0; i < sites->count && !sites->course.calm; i++) {
        if (sites->settings.goes_back[i]) {
            at_us += sim_random_below(&sites->course.random,
                                      count == 0 ? BACK_MOST_US : BACK_SPREAD_US);
            plan_back(sites, i, at_us);
            sites->course.pending++;
            count++;
        }
    }
    if (count > 1) {
        sites_coverage_fault(sites, SITES_FAULT_TWO_BACK);
    }
}

static void plan_end(struct sites *sites, bool wanted, sim_event_fn run)
{
    uint64_t faults_us = sites->settings.faults_us;

    if (wanted) {
        sites->course.pending++;
        sites_after(sites, faults_us / 4 + sim_random_below(&sites->course.random, faults_us / 2),
                    run, sites, 0);
    }
}

/* ---- the course ---- */

static void on_faults(struct sim *sim, void *data, uint64_t until_us)
{
    struct sites *sites = data;
    const struct sites_settings *settings = &sites->settings;

    (void)sim;
    if (!settings->early && sites->now_us < until_us && sites_counted(sites) < sites->count) {
        sites_after(sites, POLL_US, on_faults, sites, until_us);
        return;
    }
    sites_say(sites, "faults");
    sites_faults_begin(sites);
    plan_end(sites, settings->leaver != SITES_NOBODY, on_leave);
    plan_end(sites, settings->burner != SITES_NOBODY, on_doom);
    plan_end(sites, settings->drops, on_drop);
    plan_end(sites, settings->outcast != SITES_NOBODY, on_outcast);
    plan_end(sites, sites_settings_any_back(settings), on_backs);
    sites_after(sites, settings->faults_us, sites_end_on_calm, sites, 0);
}

static void on_created(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;

    (void)sim;
    if (!sim_operator_settled(sites->items[0].sim)) {
        sites_after(sites, POLL_US, on_created, sites, number);
        return;
    }
    plan_joins(sites);
    on_faults(sites->between, sites, sites->now_us + JOIN_PATIENCE_US);
}

static void on_create(struct sim *sim, void *data, uint64_t number)
{
    (void)data;
    (void)number;
    (void)sim_operator_create(sim, 0);
}

void sites_course_begin(struct sites *sites)
{
    sim_random_init(&sites->course.random, sites->seed, SITES_STREAM_COURSE);
    for (uint32_t i = 0; i < sites->count; i++) {
        start_site(&sites->items[i]);
    }
    sites_load_start(sites);
    sim_after(sites->items[0].sim, sim_random_below(&sites->course.random, CREATE_US), on_create,
              NULL, 0);
    sites_after(sites, POLL_US, on_created, sites, 0);
}
