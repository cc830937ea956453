/* sites.h - several whole sites, and what is between them: one run of it.
 *
 * Each site is a cluster as tests/sim has it, with processes, disks, a store and a network of its
 * own; its links are processes of its, too. What is between the sites is one more network, whose
 * processes are the outer faces of links. All of them have one clock: of all that is planned
 * anywhere the earliest comes next.
 *
 * A run is a function of its seed.
 *
 * Owner:   sites_create()'s caller calls sites_destroy().
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_SITES_SITES_H
#define ORBLOOM_TESTS_SIM_SITES_SITES_H

#include "map/sites.h"
#include "tests/sim/sim.h"
#include "tests/sim_sites/sites_course.h"
#include "tests/sim_sites/sites_coverage.h"
#include "tests/sim_sites/sites_link.h"
#include "tests/sim_sites/sites_load.h"
#include "tests/sim_sites/sites_oracle.h"
#include "tests/sim_sites/sites_put_back.h"
#include "tests/sim_sites/sites_settings.h"

/* The streams of a seed; those of clusters have seeds of their own. */
enum sites_stream {
    SITES_STREAM_SETTINGS = 1,
    SITES_STREAM_COURSE,
    SITES_STREAM_LOAD,
    SITES_STREAM_MORE,
};

struct site {
    struct sites *all;
    uint32_t number;
    const char *name;
    struct site_id id;
    struct sim *sim;
    struct sites_link links[SITES_MAX_LINKS];
    uint32_t nlinks;
    bool off;  /* for good, as an operator will say */
    bool down; /* while it is put back */
    struct sites_copy copy;
    uint64_t parted_until_us; /* a part of it is cut off from the rest */
    uint64_t put_back_us;     /* what it was asked before is over; 0: never */
    bool over;                /* it has dropped what it had, and is none of them any more */
    bool named;               /* an order to add it was obeyed somewhere */
    bool returns;             /* it is to be added again, and has not been yet */
    uint64_t outcast_us;      /* it lived when another one had it removed; 0: it was not */
    uint64_t back_us;         /* ... and has all others ask it again; 0: not yet */
    uint32_t filter;          /* whose document it has, or had last: of the oracle's records */
    uint64_t former_id;       /* of the one before, here; 0: there was none */
    struct sites_standing standing;
};

struct sites {
    uint64_t seed;
    struct sites_settings settings;
    uint64_t now_us;
    bool done;
    bool failed;
    char failure[SIM_FAILURE_BYTES];
    struct site items[SITES_MAX];
    uint32_t count;
    struct sim *between;
    struct sites_course course;
    struct sites_load load;
    struct sites_oracle oracle;
    struct sites_coverage *coverage; /* of all runs */
};

struct sites *sites_create(uint64_t seed, struct sites_coverage *coverage);
void sites_destroy(struct sites **sites);

/* To the end, or to the first broken promise. */
void sites_run(struct sites *self);

/* A promise is broken: the run ends. Only the first one is kept. */
void sites_fail(struct sites *self, const char *format, ...) PRINTF_LIKE(2, 3);

/* What happens between sites, for the trace. */
void sites_say(struct sites *self, const char *format, ...) PRINTF_LIKE(2, 3);

/* Call `run` after `delay_us`: with what is between the sites for its first argument. */
void sites_after(struct sites *self, uint64_t delay_us, sim_event_fn run, void *data,
                 uint64_t number);

/* All traces, of each cluster and of what is between them. */
void sites_trace(struct sites *self, bool detailed, bool printed);
void sites_print(const struct sites *self);
uint64_t sites_hash(const struct sites *self);

/* Its document of the filter; NULL: it has none. */
const struct filter_document *site_document(const struct site *self);

/* Its own set of sites; an empty one: none. */
const struct site_set *site_sites(const struct site *self);

/* It lives, and counts by its own document; or leaves by that, or has left. */
bool site_counts(const struct site *self);
bool site_has_left(const struct site *self);

/* Of another site in the set of this one; NULL: it is not in it. */
const struct site_entry *site_entry_of(const struct site *self, const struct site *other);

#endif
