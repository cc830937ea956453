/* The end of a run: faults are over, all sites come to rest, and each is asked once more. */
#include "tests/sim_sites/sites_end.h"

#include "map/acks.h"
#include "tests/sim/sim_grown.h"
#include "tests/sim_sites/sites.h"
#include "tests/sim_sites/sites_course.h"
#include "tests/sim_sites/sites_faults.h"

#include <stdio.h>

enum {
    POLL_US = 50000,
    QUIET_US = 1500000,
    NOTICED_US = 10000000, /* a link of before is taken for dead by then, and another one for it */
    PATIENCE_US = 400000000, /* until nothing is under way any more */
    SURE_US = 9000000,       /* in the end each operation is answered within */
    FRESH_KEYS = 3,
    FINAL_TRIES = 4,
    TAIL_US = 300000,
};

static bool unrest_of_set(const struct sites *sites, const struct site *site,
                          char text[SIM_UNREST_BYTES])
{
    const struct site_set *set = site_sites(site);
    const struct site_set *first = NULL;

    if (!site_counts(site) || !set->says_absent || !set->settled) {
        (void)snprintf(text, SIM_UNREST_BYTES, "%s %s", site->name,
                       site_document(site) == NULL ? "has no filter"
                       : !site_counts(site)        ? "does not count"
                       : !set->says_absent         ? "may not say \"absent\""
                                                   : "is not settled");
        return true;
    }
    for (uint32_t i = 0; i < sites->count; i++) {
        const struct site_entry *entry = site_entry_of(site, &sites->items[i]);
        bool gone = !site_stays(&sites->items[i]);

        if (entry == NULL || (entry->state == SITE_GONE) != gone) {
            (void)snprintf(text, SIM_UNREST_BYTES, "%s is %s at %s", sites->items[i].name,
                           entry == NULL ? "unknown" : site_state_name(entry->state), site->name);
            return true;
        }
        first = first == NULL && site_stays(&sites->items[i]) ? site_sites(&sites->items[i])
                                                              : first;
    }
    if (!site_set_agrees(set, first)) {
        (void)snprintf(text, SIM_UNREST_BYTES, "%s knows another set", site->name);
        return true;
    }
    return false;
}

static bool receives(const struct site *site, const struct site *from)
{
    bool any = false;

    for (uint32_t i = 0; i < site->nlinks; i++) {
        any = any ||
              (sites_link_lives(&site->links[i]) && sites_link_receives(&site->links[i], from));
    }
    return any;
}

static bool unrest_of_streams(const struct sites *sites, const struct site *site,
                              char text[SIM_UNREST_BYTES])
{
    for (uint32_t i = 0; i < sites->count; i++) {
        const struct site *from = &sites->items[i];

        if (from != site && site_stays(from) && !receives(site, from)) {
            (void)snprintf(text, SIM_UNREST_BYTES, "%s receives nothing from %s", site->name,
                           from->name);
            return true;
        }
    }
    return false;
}

static bool unrest(const struct sites *sites, char text[SIM_UNREST_BYTES])
{
    if (sites->load.nopen > 0 || sites->course.pending > 0) {
        (void)snprintf(text, SIM_UNREST_BYTES, "operations never end");
        return true;
    }
    for (uint32_t i = 0; i < sites->count; i++) {
        const struct site *site = &sites->items[i];

        if (site->put_back_us != 0 && sites->now_us < site->put_back_us + NOTICED_US) {
            (void)snprintf(text, SIM_UNREST_BYTES, "%s was put back just now", site->name);
            return true;
        }
        if (site->filter < sites->oracle.newest) {
            (void)snprintf(text, SIM_UNREST_BYTES, "%s has the former filter", site->name);
            return true;
        }
        if (site->returns) {
            (void)snprintf(text, SIM_UNREST_BYTES, "%s is not added again", site->name);
            return true;
        }
        if (site_stays(site) &&
            (unrest_of_set(sites, site, text) || unrest_of_streams(sites, site, text) ||
             sim_view_unrest(site->sim, text) || sim_grown_unrest(site->sim, text))) {
            return true;
        }
    }
    if (sites->course.leaves && !sites->settings.returns &&
        site_stays(&sites->items[sites->settings.leaver])) {
        (void)snprintf(text, SIM_UNREST_BYTES, "%s does not leave",
                       sites->items[sites->settings.leaver].name);
        return true;
    }
    return false;
}

static bool can(const struct sites *sites, enum operation operation)
{
    bool all = true;

    for (uint32_t i = 0; i < sites->count; i++) {
        const struct site *site = &sites->items[i];
        const struct filter_document *document = site_document(site);

        all = all &&
              (!site_stays(site) || sim_view_least_full(site->sim, 0, operation) >=
                                        (operation == OPERATION_ADD ? document->content.rule.write
                                                                    : document->content.rule.read));
    }
    return all;
}

static void check_all(struct sites *sites, struct site *site, uint64_t bound_us)
{
    struct sites_op op = {
        .site = site,
        .client = sim_process_of(site->sim, SIM_CLIENT, 0),
        .operation = OPERATION_CHECK,
        .bound_us = bound_us,
        .must_succeed = can(sites, OPERATION_CHECK) && can(sites, OPERATION_ADD),
    };

    for (uint32_t key = 0; key < SITES_KEYS; key++) {
        if (sites_oracle_promised(sites, key) || sites_oracle_forgotten(sites, key)) {
            op.keys[op.count++] = key;
        }
        if (op.count == SITES_BATCH || (key == SITES_KEYS - 1 && op.count > 0)) {
            sites_load_submit(sites, &op, SURE_US);
            op.count = 0;
        }
    }
}

/* ... to acknowledge what the filter asks for? */
static bool enough_count(const struct sites *sites)
{
    uint32_t acks = sites->settings.filter.acks;

    return acks == ACKS_EACH || sites_counted(sites) >= acks;
}

static void add_some(struct sites *sites, struct site *site)
{
    struct sites_op op = {
        .site = site,
        .client = sim_process_of(site->sim, SIM_CLIENT, 1),
        .operation = OPERATION_ADD,
        .bound_us = SITES_UNBOUND,
        .acks = ACKS_EACH,
        .count = FRESH_KEYS,
        .must_succeed = can(sites, OPERATION_ADD) && can(sites, OPERATION_CHECK) &&
                        enough_count(sites),
    };

    for (uint32_t i = 0; i < op.count; i++) {
        op.keys[i] = SITES_KEYS - 1 - FRESH_KEYS * site->number - i;
    }
    sites_load_submit(sites, &op, SURE_US);
}

static void on_asked(struct sim *sim, void *data, uint64_t round);

/* First what waits for the others, then what does not: all of it is here by then. */
static void ask(struct sites *sites, uint64_t round)
{
    for (uint32_t i = 0; i < sites->count; i++) {
        if (site_stays(&sites->items[i])) {
            check_all(sites, &sites->items[i], round == 0 ? 0 : SITES_UNBOUND);
            if (round == 1) {
                add_some(sites, &sites->items[i]);
            }
        }
    }
    sites_after(sites, POLL_US, on_asked, sites, round);
}

/* A replica that was copied in vain is copied again after seconds; until R are nobody is told of
 * what is there. */
static void on_asked(struct sim *sim, void *data, uint64_t round)
{
    struct sites *sites = data;
    struct sites_course *self = &sites->course;

    (void)sim;
    if (sites->load.nopen > 0) {
        sites_after(sites, POLL_US, on_asked, sites, round);
        return;
    }
    if (self->again) {
        self->tries--;
        self->again = false;
        ask(sites, round);
    } else if (round < 2) {
        self->tries = FINAL_TRIES;
        ask(sites, round + 1);
    } else {
        sites->done = true;
    }
}

static void on_rest(struct sim *sim, void *data, uint64_t until_us)
{
    struct sites *sites = data;
    char text[SIM_UNREST_BYTES] = "";

    (void)sim;
    if (unrest(sites, text)) {
        sites->course.rest_us = sites->now_us;
        if (sites->now_us > until_us) {
            sites_fail(sites, "nothing is wrong any more, yet %s", text);
        }
    }
    if (sites->now_us < sites->course.rest_us + QUIET_US) {
        sites_after(sites, POLL_US, on_rest, sites, until_us);
    } else {
        sites->course.tries = FINAL_TRIES;
        ask(sites, 0);
    }
}

static void on_load_stop(struct sim *sim, void *data, uint64_t number)
{
    (void)sim;
    (void)number;
    sites_load_stop(data);
}

void sites_end_on_calm(struct sim *sim, void *data, uint64_t number)
{
    struct sites *sites = data;

    (void)sim;
    (void)number;
    sites_say(sites, "calm");
    sites->course.calm = true;
    sites_faults_calm(sites);
    sites->course.rest_us = sites->now_us;
    sites_after(sites, TAIL_US, on_load_stop, sites, 0);
    sites_after(sites, POLL_US, on_rest, sites, sites->now_us + PATIENCE_US);
}
