/* Plays operators who add, remove and drop sites, and look whether it was done. */
#include "tests/sim_sites/sites_operator.h"

#include "tests/sim/sim_command.h"
#include "tests/sim_sites/sites.h"
#include "tests/sim_sites/sites_faults.h"

#define MS UINT64_C(1000)

enum { ORPHAN_US = 30000, WATCH_US = 100000 };

/* Asked again until it is so: answers get lost, and some are refused for now. */
static void insist(struct site *at, struct site *other, enum site_step step)
{
    const struct admin_request request = {
        .action = ADMIN_SITE_CHANGE,
        .name = sim_name(0),
        .successor = "",
        .site = {.step = step, .site = other->name},
    };

    if (site_document(at) != NULL) {
        (void)sim_command(at->sim, &request, NULL);
    }
}

static uint64_t again_us(struct site *at)
{
    return sim_random_between(&at->all->course.random, 150 * MS, 700 * MS);
}

/* ---- add ---- */

/* Where the one that was to name it has left, or has burnt, another one does. */
static struct site *who_names(struct site *at)
{
    struct sites *all = at->all;

    for (uint32_t i = 0; (at->off || site_has_left(at)) && i < all->count; i++) {
        at = site_counts(&all->items[i]) ? &all->items[i] : at;
    }
    return at;
}

static bool has_keys(const struct sites *sites)
{
    bool any = false;

    for (uint32_t key = 0; !any && key < SITES_KEYS; key++) {
        any = sites_oracle_promised(sites, key);
    }
    return any;
}

static void on_add(struct sim *sim, void *data, uint64_t number);

static bool is_known(const struct site *other)
{
    const struct sites *all = other->all;
    bool known = false;

    for (uint32_t i = 0; i < all->count; i++) {
        known = known || (i != other->number && site_entry_of(&all->items[i], other) != NULL);
    }
    return known;
}

/* The order itself may be lost: who had heard of it are all put back to before it. Once a newcomer
 * takes adds they find that out by themselves; before that nobody goes by its word, and it has to
 * be added again. */
static void on_watch(struct sim *sim, void *data, uint64_t number)
{
    struct site *other = data;
    struct sites *all = other->all;

    if (site_document(&all->items[number]) != NULL && !is_known(other) &&
        !site_sites(other)->takes_adds) {
        sites_say(all, "nobody knows any more that %s was to be added", other->name);
        on_add(sim, data, number);
        return;
    }
    sites_after(all, WATCH_US, on_watch, other, number);
}

static void on_add(struct sim *sim, void *data, uint64_t number)
{
    struct site *other = data;
    struct sites *all = other->all;
    struct site *at = who_names(&all->items[number]);

    (void)sim;
    if (other->off) {
        return;
    }
    if (site_entry_of(at, other) != NULL) {
        other->named = true;
        if (sites_settings_any_back(&all->settings)) {
            on_watch(sim, data, number);
        }
        return;
    }
    if (!at->off) {
        if (has_keys(all)) {
            sites_coverage_fault(all, SITES_FAULT_WITH_KEYS);
        }
        insist(at, other, SITE_STEP_ADD);
        sites_fault_tempt(all);
    }
    sites_after(all, again_us(at), on_add, other, number);
}

void sites_operator_add(struct site *at, struct site *other, uint64_t delay_us)
{
    sites_after(at->all, delay_us, on_add, other, at->number);
}

/* ---- leave ---- */

static void on_leave(struct sim *sim, void *data, uint64_t number)
{
    struct site *at = sim->owner;
    const struct site_entry *own = site_set_own(site_sites(at));

    if (own != NULL && (own->state == SITE_LEAVING || own->state == SITE_GONE)) {
        return;
    }
    insist(at, at, SITE_STEP_LEAVE);
    sim_after(sim, again_us(at), on_leave, data, number);
}

void sites_operator_leave(struct site *at)
{
    on_leave(at->sim, NULL, 0);
}

/* ---- drop ---- */

/* Nobody there asks for that filter any more. */
static void drop(struct site *site, enum drop_scope scope, uint64_t filter_id)
{
    const struct admin_request request = {
        .action = ADMIN_DROP,
        .name = sim_name(0),
        .successor = "",
        .scope = scope,
        .filter_id = filter_id,
    };

    site->sim->operator.names[0].state = SIM_NAME_FREE;
    (void)sim_command(site->sim, &request, NULL);
}

static void on_drop(struct sim *sim, void *data, uint64_t filter_id)
{
    struct site *at = sim->owner;
    const struct filter_document *document = site_document(at);

    if (document != NULL && document->id == filter_id && document->content.state == FILTER_ACTIVE) {
        drop(at, DROP_EVERYWHERE, filter_id);
        sim_after(sim, again_us(at), on_drop, data, filter_id);
    }
}

void sites_operator_drop(struct site *at)
{
    on_drop(at->sim, NULL, site_document(at)->id);
}

/* ---- add again ---- */

/* One that counts and knows that it is gone, or back. NULL: there is none yet. */
static struct site *who_brings_back(struct site *site)
{
    struct sites *all = site->all;

    for (uint32_t i = 0; i < all->count; i++) {
        struct site *at = &all->items[i];
        const struct site_entry *entry = site_entry_of(at, site);

        if (at != site && site_counts(at) && entry != NULL && site_entry_gone(entry) > 0) {
            return at;
        }
    }
    return NULL;
}

/* What it has kept it need not: false once it has nothing. */
static bool drop_here(struct site *site)
{
    if (site_document(site) != NULL && site_has_left(site)) {
        drop(site, DROP_HERE, site_document(site)->id);
    }
    return site_document(site) != NULL;
}

static void on_return(struct sim *sim, void *data, uint64_t drops_first)
{
    struct site *site = data;
    struct site *at = who_brings_back(site);

    (void)sim;
    if (at != NULL && site_entry_of(at, site)->state != SITE_GONE) {
        site->returns = false;
        return;
    }
    if (drops_first && at != NULL && !drop_here(site)) {
        sites_coverage_fault(site->all, SITES_FAULT_DROPPED_HERE);
        drops_first = false;
    }
    if (!drops_first && at != NULL) {
        insist(at, site, SITE_STEP_ADD);
    }
    sites_after(site->all, again_us(site), on_return, site, drops_first);
}

void sites_operator_return(struct site *site, bool drops_first)
{
    site->returns = true;
    on_return(site->all->between, site, drops_first);
}

static bool all_know_it_gone(const struct site *site)
{
    bool all = true;

    for (uint32_t i = 0; i < site->all->count; i++) {
        const struct site *other = &site->all->items[i];
        const struct site_entry *entry = site_entry_of(other, site);

        all = all && (other == site || site_document(other) == NULL ||
                      (entry != NULL && entry->state == SITE_GONE));
    }
    return all;
}

static void on_orphan(struct sim *sim, void *data, uint64_t number)
{
    struct site *site = data;
    const struct filter_document *document = site_document(site);

    (void)sim;
    (void)number;
    if (document == NULL || document->content.state != FILTER_ACTIVE) {
        sites_coverage_fault(site->all, SITES_FAULT_ORPHAN);
        site->over = true;
        sites_oracle_burnt(site->all, site);
        return;
    }
    if (site_has_left(site)) {
        sites_operator_return(site, false);
        return;
    }
    if (all_know_it_gone(site)) {
        drop(site, DROP_EVERYWHERE, document->id);
    }
    sites_after(site->all, ORPHAN_US, on_orphan, site, 0);
}

void sites_operator_orphan(struct site *site)
{
    on_orphan(site->all->between, site, 0);
}

/* ---- remove ---- */

/* Whom only the one that is removed had named: that is lost with whatever else nobody had but it.
 */
static void name_again(struct site *at)
{
    for (uint32_t i = 0; i < at->all->count; i++) {
        struct site *other = &at->all->items[i];

        if (other->named && site_entry_of(at, other) == NULL) {
            sites_operator_add(at, other, 0);
        }
    }
}

static void on_remove(struct sim *sim, void *data, uint64_t number)
{
    struct site *at = sim->owner;
    struct site *other = data;
    const struct site_entry *entry = site_entry_of(at, other);

    if (entry != NULL && site_entry_gone(entry) > 0) {
        name_again(at);
        return;
    }
    insist(at, other, SITE_STEP_REMOVE);
    sim_after(sim, again_us(at), on_remove, other, number);
}

void sites_operator_remove(struct site *at, struct site *other)
{
    on_remove(at->sim, other, 0);
}
