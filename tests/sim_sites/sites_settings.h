/* sites_settings.h - how the sites of a seed are configured, and what is planned for them.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_SITES_SITES_SETTINGS_H
#define ORBLOOM_TESTS_SIM_SITES_SITES_SETTINGS_H

#include "proto/admin_message.h"
#include "tests/sim/sim_network.h"

#include <stdbool.h>
#include <stdint.h>

enum { SITES_MAX = 3, SITES_NOBODY = SITES_MAX };

struct sites;
struct sim;

struct sites_settings {
    uint32_t count;
    bool dials[SITES_MAX][SITES_MAX]; /* links of the one those of the other */
    uint64_t flush_us;
    uint64_t mark_interval_us;
    uint64_t scrub_us;
    uint64_t window;
    uint64_t held;
    uint32_t offered;
    uint64_t rate;
    uint64_t connections[SITES_MAX]; /* at most, to one link of another */
    uint64_t crowd;                  /* bytes under way from which there are more than one */
    struct sim_weather weather;      /* between them */
    struct create_parameters filter; /* as it is created at the first one */
    uint64_t faults_us;              /* how long things go wrong */
    uint64_t cut_us;                 /* mean time between two cuts; 0: there are none */
    uint64_t long_cut_us;            /* one cut takes so long; 0: none does */
    uint64_t link_us;                /* mean time between two faults of links; 0: none */
    uint64_t behind_us;              /* ... in which a part of a site hears of nothing new; 0 */
    uint64_t storm_us;               /* ... between two faults inside a site; 0: none */
    bool moves;                      /* slots move between nodes */
    bool early;                      /* faults meet the joins already */
    uint32_t leaver;                 /* the site that leaves, in order; SITES_NOBODY */
    bool returns;                    /* ... and is added again */
    bool drops_first;                /* ... once it has dropped what it had kept */
    uint32_t outcast; /* ... that is cut off, removed at once though it lives, and added again */
    bool orphan;      /* ... or drops the filter for all sites, by then none of them */
    uint32_t burner;  /* ... whose processes die for good, and that is removed at once */
    bool goes_back[SITES_MAX];  /* ... which is put back to an older copy as a whole, two at once */
    bool to_nothing[SITES_MAX]; /* ... or to nothing */
    bool goes_again;            /* ... and once more as soon as it has begun another life */
    bool drops;         /* the filter is dropped at all sites, and another one of its name made */
    uint64_t struck_us; /* mean time between two faults as sites join anew; 0: none */
};

/* All of it but what each cluster has; before there are any. */
void sites_settings_draw(struct sites *sites);

/* Is any site put back? */
bool sites_settings_any_back(const struct sites_settings *self);

/* What a cluster has beside that; before its processes are made. */
void sites_settings_of_cluster(const struct sites *sites, struct sim *sim);

#endif
