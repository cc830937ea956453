/* kills.h - the table of a directed course: how many kills of what in which phase, which cell wants
 * one most.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_TORTURE_KILLS_H
#define ORBLOOM_TESTS_TORTURE_KILLS_H

#include "tests/torture/stages.h"

#include <stdio.h>

enum kills_who {
    KILLS_ACTOR,   /* the node that builds, or that replicas leave */
    KILLS_JOINING, /* the node that they go to */
    KILLS_OTHER,
    KILLS_NODES, /* all at once */
    KILLS_ROUTER,
    KILLS_COORDINATOR,
    KILLS_NWHO
};

struct kills {
    enum change change;
    uint64_t wanted; /* in each cell */
    uint64_t cells[STAGES][KILLS_NWHO];
    uint64_t all[KILLS_NWHO];
    uint64_t missed; /* the phase had changed by then */
};

/* Can there be such a cell at all? Nobody builds in between, nobody joins an expansion. */
bool kills_possible(enum change change, enum stage stage, enum kills_who who);

/* Of the phases of the bit set the fewest kills of these; UINT64_MAX: none is wanted any more. */
uint64_t kills_fewest(const struct kills *self, uint32_t stages, enum kills_who who);

/* A kill seen in these phases; 0: in none for certain. */
void kills_count(struct kills *self, uint32_t stages, enum kills_who who);

/* Every cell has what is wanted. */
bool kills_done(const struct kills *self);

uint64_t kills_sum(const struct kills *self);

/* Returns how many cells that can be have none. */
uint32_t kills_print(const struct kills *self, FILE *out);

#endif
