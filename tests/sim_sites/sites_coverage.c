/* Counts, prints, and says what no run has reached. */
#include "tests/sim_sites/sites_coverage.h"

#include "link/counters.h"
#include "tests/sim_sites/sites.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const words[SITES_NFAULTS] = {
#define X(name, words) words,
    SITES_FAULTS(X)
#undef X
};

void sites_coverage_fault(struct sites *sites, enum sites_fault fault)
{
    sites->coverage->faults[fault]++;
}

struct figure {
    const char *what;
    uint64_t value;
};

static size_t list(const struct sites_coverage *self, struct figure figures[8])
{
    const struct figure all[] = {
        {"seeds with three sites", self->three},
        {"keys absent", self->absents},
        {"... within a bound", self->bounded_absents},
        {"... of fresh checks", self->fresh_absents},
        {"keys found that others had added", self->foreign_presents},
        {"keys acknowledged by each, elsewhere", self->each_acks},
        {"keys acknowledged by several", self->several_acks},
        {"answers BEHIND", self->behind},
    };

    memcpy(figures, all, sizeof all);
    return sizeof all / sizeof all[0];
}

void sites_coverage_print(const struct sites_coverage *self)
{
    struct counter_table table = link_counters();
    struct figure figures[8];
    size_t count = list(self, figures);

    for (uint32_t i = 0; i < SITES_NFAULTS; i++) {
        (void)printf("%-44s %10" PRIu64 "\n", words[i], self->faults[i]);
    }
    for (size_t i = 0; i < count; i++) {
        (void)printf("%-44s %10" PRIu64 "\n", figures[i].what, figures[i].value);
    }
    for (size_t i = 0; i < table.count; i++) {
        (void)printf("%-44s %10" PRIu64 "\n", table.defs[i].name,
                     self->clusters.counters[SIM_LINK][i]);
    }
}

static uint32_t gap(const char *what)
{
    (void)printf("never reached: %s\n", what);
    return 1;
}

/* Nobody comes without a pinned key here, and nothing comes that a link can't read. */
static bool is_wanted(size_t counter)
{
    return counter != LINK_site_refused_peers_total && counter != LINK_site_shut_out_total &&
           counter != LINK_site_refused_total && counter != LINK_site_states_refused_total;
}

uint32_t sites_coverage_gaps(const struct sites_coverage *self)
{
    struct counter_table table = link_counters();
    struct figure figures[8];
    size_t count = list(self, figures);
    uint32_t gaps = 0;

    for (uint32_t i = 0; i < SITES_NFAULTS; i++) {
        gaps += self->faults[i] == 0 ? gap(words[i]) : 0;
    }
    for (size_t i = 0; i < count; i++) {
        gaps += figures[i].value == 0 ? gap(figures[i].what) : 0;
    }
    for (size_t i = 0; i < table.count; i++) {
        gaps += self->clusters.counters[SIM_LINK][i] == 0 && is_wanted(i) ? gap(table.defs[i].name)
                                                                          : 0;
    }
    return gaps;
}
