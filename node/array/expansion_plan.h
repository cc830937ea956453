/* expansion_plan.h - what a set of arrays does next to come to the wanted generation. Pure
 * decisions.
 *
 * A set goes from one layer to another, some shards at a time: a span. There are never more than
 * two layers. So when another generation is wanted meanwhile it either turns around (the layer
 * being left is wanted again), or drops the new one (no shard is served from it yet), or first goes
 * on to its end.
 *
 * Invariant: a set that is made (a start, a new host) is of the wanted generation, and is filled
 * from the whole log before it answers. So a restart ends this node's part of an expansion in any
 * phase, and nothing about expansion is ever logged: what came through a valve is in the log like
 * every add.
 *
 * Threads: none; no state.
 */
#ifndef ORBLOOM_NODE_ARRAY_EXPANSION_PLAN_H
#define ORBLOOM_NODE_ARRAY_EXPANSION_PLAN_H

#include "map/document.h"

#include <stdbool.h>

/* What is known of a set. Generations by id. */
struct expansion_sight {
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

enum expansion_move {
    MOVE_STAY,
    MOVE_STAY_SMALL, /* as the wanted generation would not hold what is there */
    MOVE_STAY_ROOM,  /* as memory does not suffice */
    MOVE_BEGIN,      /* a layer of the wanted generation */
    MOVE_GO_ON,      /* with the shards that are left */
    MOVE_FINISH,     /* `to` serves all: leave `from` */
    MOVE_TURN,       /* go from `to` to `from` */
    MOVE_DROP,       /* `to`, which serves nothing */
};

enum expansion_move expansion_decide(const struct expansion_sight *sight);

/* ---- a span ---- */

enum expansion_phase {
    EXPANSION_REST,       /* none is under way */
    EXPANSION_STANDING,   /* its arrays take memory */
    EXPANSION_AWAITING,   /* the log is to be written up to where both arrays get every add */
    EXPANSION_FILL_RUNS,  /* what came before, from sorted runs, */
    EXPANSION_FILL_LOG,   /* ... and from the log, where it is in no run */
    EXPANSION_CHECK_RUNS, /* the same once more: is all of it there? */
    EXPANSION_CHECK_LOG,
    EXPANSION_WEIGHING, /* are the bits those of so many keys? */
    EXPANSION_SERVING,  /* the new arrays take over */
    EXPANSION_NPHASES
};

enum expansion_event {
    EXPANSION_ON_BEGUN,
    EXPANSION_ON_DONE,  /* what the phase is about has come to its end */
    EXPANSION_ON_STALE, /* what was read is not there any more: read it all again */
    EXPANSION_ON_WRONG, /* a key is missing, or the bits can't be */
    EXPANSION_ON_GONE,  /* the span is given up */
    EXPANSION_NEVENTS
};

/* An event that a phase does not know leaves it as it is. */
enum expansion_phase expansion_next(enum expansion_phase phase, enum expansion_event event);

/* As docs/expansion.md calls it: "stand", "fill" ... */
const char *expansion_phase_name(enum expansion_phase phase);

bool expansion_reads(enum expansion_phase phase);     /* the log or runs */
bool expansion_reads_log(enum expansion_phase phase); /* ... the log */
bool expansion_checks(enum expansion_phase phase);    /* and only looks */

/* What speaks for a set whose shards are to be built next: one at a time is. */
struct expansion_urgency {
    bool pressing;  /* see expansion_sight */
    uint64_t bytes; /* of the new arrays that it is to have */
};

/* Does `a` go before `b`? Else a filter of some keys, which is done in no time, would wait as long
 * as one of millions takes, and its clients with it. */
bool expansion_goes_first(const struct expansion_urgency *a, const struct expansion_urgency *b);

/* Nearly all: arrays for the valve are to stand before it is needed. */
bool expansion_is_near(uint64_t keys, uint64_t capacity);

#endif
