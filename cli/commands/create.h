/* create.h - how far a filter is whose nodes are being waited for.
 *
 * Threads: any; pure.
 */
#ifndef ORBLOOM_CLI_COMMANDS_CREATE_H
#define ORBLOOM_CLI_COMMANDS_CREATE_H

#include "proto/codec.h"

/* How far a filter that is being made is. */
struct create_state {
    bool found;
    uint32_t ready;    /* replicas of slot groups that can serve ... */
    uint32_t replicas; /* ... of so many */
    double share;      /* 0 to 1, parts of replicas included */
};

struct create_state create_state_of(const struct admin_reply *reply, const char *name);

enum { CREATE_LINE_BYTES = 128 };

/* "[#####...............]  25 %, 1 of 3 replicas ready" */
const char *create_line(const struct create_state *state, char text[CREATE_LINE_BYTES]);

#endif
