/* growth_plan.h - what a replica set does next to come to the wanted generation. Pure decisions.
 *
 * A set goes from one layer to another, some shards at a time: a span. There are never more than
 * two layers. So when another generation is wanted meanwhile it either turns around (the layer
 * being left is wanted again), or drops the new one (no shard is served from it yet), or first goes
 * on to its end.
 *
 * Invariant: a set that is made (a start, a new host) is of the wanted generation, and is filled
 * from the whole log before it answers. So a restart ends this node's part of an expansion in any
 * phase, and nothing about growth is ever logged: what came through a valve is in the log like
 * every add.
 *
 * Threads: none; no state.
 */
#ifndef ORBLOOM_NODE_ARRAY_GROWTH_PLAN_H
#define ORBLOOM_NODE_ARRAY_GROWTH_PLAN_H

#include "map/document.h"

#include <stdbool.h>

/* What is known of a set. Generations by id. */
struct growth_sight {
    uint32_t from;   /* the one that serves, or is being left */
    uint32_t to;     /* the one that is being built; 0: none */
    uint32_t wanted; /* by the document */
    bool ready;      /* the arrays cover the log, and the filter can grow so */
    bool has_turn;
    bool pressing;    /* a group has nearly what `from` holds, and the wanted one holds more */
    bool refused;     /* a shard was built in vain too often, for this generation */
    bool fits_to;     /* `to` holds the keys that are there, */
    bool fits_wanted; /* ... the wanted one does */
    bool has_room;    /* of memory for what comes next */
    bool in_span;     /* shards are being built */
    bool served;      /* some shard is served from `to`, */
    bool all_served;  /* ... all of them are */
    bool open;        /* a valve is */
};

enum growth_move {
    MOVE_STAY,
    MOVE_STAY_SMALL, /* as the wanted generation would not hold what is there */
    MOVE_STAY_ROOM,  /* as memory does not suffice */
    MOVE_BEGIN,      /* a layer of the wanted generation */
    MOVE_GO_ON,      /* with the shards that are left */
    MOVE_FINISH,     /* `to` serves all: leave `from` */
    MOVE_TURN,       /* go from `to` to `from` */
    MOVE_DROP,       /* `to`, which serves nothing */
};

enum growth_move growth_decide(const struct growth_sight *sight);

/* ---- a span ---- */

enum growth_phase {
    GROWTH_REST,       /* none is under way */
    GROWTH_STANDING,   /* its arrays take memory */
    GROWTH_AWAITING,   /* the log is to be written up to where both arrays get every add */
    GROWTH_FILL_RUNS,  /* what came before, from sorted runs, */
    GROWTH_FILL_LOG,   /* ... and from the log, where it is in no run */
    GROWTH_CHECK_RUNS, /* the same once more: is all of it there? */
    GROWTH_CHECK_LOG,
    GROWTH_WEIGHING, /* are the bits those of so many keys? */
    GROWTH_SERVING,  /* the new arrays take over */
    GROWTH_NPHASES
};

enum growth_event {
    GROWTH_ON_BEGUN,
    GROWTH_ON_DONE,  /* what the phase is about has come to its end */
    GROWTH_ON_STALE, /* what was read is not there any more: read it all again */
    GROWTH_ON_WRONG, /* a key is missing, or the bits can't be */
    GROWTH_ON_GONE,  /* the span is given up */
    GROWTH_NEVENTS
};

/* An event that a phase does not know leaves it as it is. */
enum growth_phase growth_next(enum growth_phase phase, enum growth_event event);

/* As docs/expansion.md calls it: "stand", "fill" ... */
const char *growth_phase_name(enum growth_phase phase);

bool growth_reads(enum growth_phase phase);     /* the log or runs */
bool growth_reads_log(enum growth_phase phase); /* ... the log */
bool growth_checks(enum growth_phase phase);    /* and only looks */

/* What speaks for a set whose shards are to be built next: one at a time is. */
struct growth_urgency {
    bool pressing;  /* see growth_sight */
    uint64_t bytes; /* of the new arrays that it is to have */
};

/* Does `a` go before `b`? Else a filter of some keys, which is done in no time, would wait as long
 * as one of millions takes, and its clients with it. */
bool growth_goes_first(const struct growth_urgency *a, const struct growth_urgency *b);

/* Nearly all: arrays for the valve are to stand before it is needed. */
bool growth_is_near(uint64_t keys, uint64_t capacity);

#endif
