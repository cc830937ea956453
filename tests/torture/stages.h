/* stages.h - which phase of its change a filter is in, as the logs of the daemons say.
 *
 * An expansion: the coordinators log that it is asked for and that it is over, each node (at debug)
 * what it does with its shards; names as in docs/expansion.md. A move: the coordinators log every
 * edit, v1 to v4 as in docs/replicas.md. A daemon's log has what it did until it was killed, so a
 * look at it after that tells the very phase that it died in.
 *
 * There is one filter, so that no line is about another one.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_TORTURE_STAGES_H
#define ORBLOOM_TESTS_TORTURE_STAGES_H

#include "tests/torture/cluster.h"

enum stage {
    STAGE_PLANNED, /* it is asked for, and no node has begun */
    STAGE_STAND,   /* of the node that builds, from here on */
    STAGE_AWAIT,
    STAGE_FILL,
    STAGE_CHECK,
    STAGE_WEIGH,
    STAGE_SERVE,
    STAGE_TURN,  /* nobody builds: between two spans, or two nodes' turns */
    STAGE_VALVE, /* beside another one: keys in arrays of the wanted generation alone */
    STAGE_ENDED, /* one generation is left, a moment ago */
    STAGE_V1,    /* a move is asked for, and nothing is written */
    STAGE_V2,
    STAGE_V3,
    STAGE_V4, /* written, a moment ago */
    STAGES
};

struct stages {
    enum change change;
    uint64_t asked_ms; /* 0: nothing is under way */
    bool wanted;       /* two generations */
    bool begun;        /* a node has begun */
    uint64_t ended_ms;
    enum stage building[CLUSTER_MAX_DAEMONS]; /* STAGE_STAND to SERVE, TURN: between spans; */
    bool builds[CLUSTER_MAX_DAEMONS];         /* ... while this is set */
    uint32_t pairs;                           /* in v2 */
    uint32_t moved;                           /* in v3 */
    uint64_t left_ms;                         /* one of them came to its end */
};

/* A change is asked for from here on; `none`: it is over, for the driver. */
void stages_begin(struct stages *self, enum change change, uint64_t now_ms);
void stages_end(struct stages *self);

/* A line of a daemon's log. */
void stages_hear(struct stages *self, uint32_t daemon, const char *line, uint64_t now_ms);

/* A node was killed: when it is back it does not go on with what it was building. */
void stages_forget(struct stages *self, uint32_t daemon);

/* A bit set; 0: nothing is under way. */
uint32_t stages_now(const struct stages *self, bool valve, uint64_t now_ms);

/* The node that builds, in a phase of a span; CLUSTER_MAX_DAEMONS: none. */
uint32_t stages_builder(const struct stages *self);

const char *stage_name(enum stage stage);

/* The stages of a change: a bit set. */
uint32_t stages_of(enum change change);

#endif
