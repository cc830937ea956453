/* Makes the sites and the network between them, and steps all of them by one clock. */
#include "tests/sim_sites/sites.h"

#include "base/heap.h"
#include "tests/sim/sim_memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TWO_LINKS_PERMILLE = 350, BETWEEN = SITES_MAX };

static const char *const names[SITES_MAX] = {"eu", "us", "ap"};

/* ---- making ---- */

/* No two clusters of any two seeds draw the same. */
static uint64_t seed_of(const struct sites *self, uint32_t number)
{
    struct sim_random random;

    sim_random_init(&random, self->seed, UINT64_C(0x517e5000) + number);
    return sim_random_next(&random);
}

static struct sim *create_cluster(struct sites *self, uint32_t number, void *owner)
{
    struct sim *sim = sim_create_empty(seed_of(self, number), (struct sim_options){0},
                                       &self->coverage->clusters);

    sim->owner = owner;
    sim->load.nnames = 1;
    sim->load.nkeys = SITES_KEYS;
    sim->trace.label = number == BETWEEN ? "  " : names[number];
    return sim;
}

static void create_site(struct sites *self, uint32_t number)
{
    struct site *site = &self->items[number];
    const uint8_t master[SEAL_KEY_BYTES] = {(uint8_t)(0x60 + number)};

    *site = (struct site){.all = self, .number = number, .name = names[number]};
    site->id = (struct site_id){.high = 0x517e + number, .low = 1};
    site->sim = create_cluster(self, number, site);
    cluster_key_derive(master, &site->sim->key);
    sites_settings_of_cluster(self, site->sim);
    (void)snprintf(site->sim->settings.site, SITE_NAME_BYTES, "%s", site->name);
    sim_populate(site->sim);
    site->nlinks = sim_random_chance(&site->sim->random, TWO_LINKS_PERMILLE) ? 2 : 1;
    if (site->nlinks > 1) {
        sites_coverage_fault(self, SITES_FAULT_LINK_DOUBLED);
    }
    for (uint32_t i = 0; i < site->nlinks; i++) {
        sites_link_add(site, i);
    }
}

/* Who has two links dials, so that both are connected. */
static void settle_dials(struct sites *self)
{
    for (uint32_t a = 0; a < self->count; a++) {
        for (uint32_t b = 0; b < self->count; b++) {
            self->settings.dials[a][b] |= self->items[a].nlinks > 1;
        }
    }
}

struct sites *sites_create(uint64_t seed, struct sites_coverage *coverage)
{
    struct sites *self = sim_memory_alloc(1, sizeof *self);

    self->seed = seed;
    self->coverage = coverage;
    sites_settings_draw(self);
    self->count = self->settings.count;
    self->between = create_cluster(self, BETWEEN, self);
    self->between->network.weather = self->settings.weather;
    for (uint32_t i = 0; i < self->count; i++) {
        create_site(self, i);
    }
    settle_dials(self);
    self->now_us = self->between->now_us;
    return self;
}

void sites_destroy(struct sites **sites)
{
    struct sites *self = *sites;

    *sites = NULL;
    for (uint32_t i = 0; i < self->count; i++) { /* Cores before what they act through. */
        sim_destroy(&self->items[i].sim);
        sites_copy_free(&self->items[i].copy);
    }
    sim_destroy(&self->between);
    heap_free(self);
}

/* ---- running ---- */

/* Of what is due at one time that of the first site. */
static struct sim *next_of(const struct sites *self)
{
    struct sim *next = self->between;

    for (uint32_t i = self->count; i-- > 0;) {
        struct sim *sim = self->items[i].sim;

        if (sim_queue_next_us(&sim->queue) <= sim_queue_next_us(&next->queue)) {
            next = sim;
        }
    }
    return next;
}

static void set_clocks(struct sites *self, uint64_t now_us)
{
    self->now_us = now_us;
    self->between->now_us = now_us;
    for (uint32_t i = 0; i < self->count; i++) {
        self->items[i].sim->now_us = now_us;
    }
}

static void take_failure(struct sites *self, const struct sim *sim)
{
    if (sim->failed) {
        sites_fail(self, "%s: %s", sim->trace.label, sim->failure);
    }
}

static bool step(struct sites *self)
{
    struct sim *sim = next_of(self);
    uint64_t at_us = sim_queue_next_us(&sim->queue);

    if (at_us == UINT64_MAX) {
        return false;
    }
    set_clocks(self, at_us);
    (void)sim_step(sim);
    sites_oracle_look(self);
    take_failure(self, sim);
    return true;
}

static bool has_grown(const struct sites *self)
{
    bool any = false;

    for (uint32_t i = 0; i < self->count; i++) {
        const struct filter_document *document = site_document(&self->items[i]);

        any = any || (document != NULL && document_generation(document)->id > 1);
    }
    return any;
}

static void count(struct sites *self)
{
    struct sites_coverage *coverage = self->coverage;

    coverage->runs++;
    coverage->three += self->count == 3;
    coverage->virtual_us += self->now_us;
    coverage->answers += self->oracle.answers;
    coverage->between += self->between->network.delivered;
    for (uint32_t i = 0; i < self->count; i++) {
        coverage->clusters.delivered += self->items[i].sim->network.delivered;
        coverage->clusters.held += self->items[i].sim->invariant.checks;
    }
    if (self->settings.filter.rule.replicas == 5) {
        sites_coverage_fault(self, SITES_FAULT_FIVE);
    }
    if (has_grown(self)) {
        sites_coverage_fault(self, SITES_FAULT_GROWN);
    }
}

void sites_run(struct sites *self)
{
    sites_course_begin(self);
    while (!self->done && !self->failed && step(self)) {
    }
    for (uint32_t i = 0; i < self->count; i++) {
        take_failure(self, self->items[i].sim);
    }
    count(self);
}

void sites_fail(struct sites *self, const char *format, ...)
{
    va_list arguments;

    if (self->failed) {
        return;
    }
    self->failed = true;
    va_start(arguments, format);
    (void)vsnprintf(self->failure, sizeof self->failure, format, arguments);
    va_end(arguments);
    sites_say(self, "BROKEN: %s", self->failure);
}

void sites_say(struct sites *self, const char *format, ...)
{
    char text[SIM_FAILURE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sim_trace_line(&self->between->trace, self->now_us, "---- %s", text);
}

void sites_after(struct sites *self, uint64_t delay_us, sim_event_fn run, void *data,
                 uint64_t number)
{
    sim_after(self->between, delay_us, run, data, number);
}

/* ---- traces ---- */

void sites_trace(struct sites *self, bool detailed, bool printed)
{
    self->between->trace.detailed = detailed;
    self->between->trace.printed = printed;
    for (uint32_t i = 0; i < self->count; i++) {
        self->items[i].sim->trace.detailed = detailed;
        self->items[i].sim->trace.printed = printed;
    }
}

void sites_print(const struct sites *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        sim_trace_print(&self->items[i].sim->trace);
    }
    sim_trace_print(&self->between->trace);
}

uint64_t sites_hash(const struct sites *self)
{
    uint64_t hash = self->between->trace.hash;

    for (uint32_t i = 0; i < self->count; i++) {
        hash = hash * UINT64_C(0x9e3779b97f4a7c15) + self->items[i].sim->trace.hash;
    }
    return hash;
}

/* ---- what is seen ---- */

const struct filter_document *site_document(const struct site *self)
{
    return sim_view_document(self->sim, 0);
}

const struct site_set *site_sites(const struct site *self)
{
    static const struct site_set none;
    const struct filter_document *document = site_document(self);

    return document != NULL ? document_sites(document) : &none;
}

bool site_counts(const struct site *self)
{
    const struct site_entry *own = site_set_own(site_sites(self));

    return !self->off && own != NULL && own->state == SITE_COUNTED;
}

bool site_has_left(const struct site *self)
{
    const struct site_entry *own = site_set_own(site_sites(self));

    return self->over || (own != NULL && (own->state == SITE_LEAVING || own->state == SITE_GONE));
}

const struct site_entry *site_entry_of(const struct site *self, const struct site *other)
{
    return site_set_find(site_sites(self), &other->id);
}
