/* sites_course.h - the course of a run: what operators do, when things go wrong, and the end.
 *
 *   start - a filter is created at the first site - it is added to the others - faults under load -
 *   one site leaves, or burns and is removed - calm - the final questions - end
 *
 * In the end, with everybody well, all sites that are left must come to rest by themselves: each of
 * them counts, may say "absent" and knows the same set. Then fresh checks at each of them must be
 * answered and find all that was ever acknowledged, and plain checks after them, too; and each site
 * must get adds acknowledged by all others.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_SITES_SITES_COURSE_H
#define ORBLOOM_TESTS_SIM_SITES_SITES_COURSE_H

#include "tests/sim/sim_random.h"
#include "tests/sim_sites/sites_settings.h"

enum sites_joining {
    SITES_JOIN_BY_TURNS, /* each once the one before counts */
    SITES_JOIN_AT_ONCE,  /* all named by the first */
    SITES_JOIN_CHAIN,    /* the third one is named by the second */
};

struct site;

struct sites_course {
    struct sim_random random;
    enum sites_joining joining;
    bool calm;                          /* faults are over */
    bool leaves;                        /* the site that is to leave does */
    const struct site *doomed;          /* it is to burn, or has; NULL: none */
    struct site_life former[SITES_MAX]; /* of each that was put back: what it went on with */
    uint32_t pending; /* sites that are to leave, burn or be put back, and have not begun to */
    uint64_t rest_us; /* since then all is quiet */
    uint32_t tries;   /* left, of final questions that others have no answer to yet */
    bool again;       /* ... to one of those that are asked */
    uint64_t cut_until_us[SITES_MAX][SITES_MAX];
};

void sites_course_begin(struct sites *sites);

/* It is there, and neither leaves the filter nor has left it. */
bool site_stays(const struct site *site);

/* How many count. */
uint32_t sites_counted(const struct sites *sites);

#endif
