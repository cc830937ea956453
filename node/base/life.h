/* life.h - who a node is in this life of its data, and how far its start has come.
 *
 * The node writes it; its rooms read it.
 *
 * Errors:  none.
 * Threads: the actor's.
 */
#ifndef ORBLOOM_NODE_BASE_LIFE_H
#define ORBLOOM_NODE_BASE_LIFE_H

#include "log/record.h"

#include <stdbool.h>
#include <stdint.h>

struct node_life {
    uint32_t id; /* 0: not registered yet */
    uint64_t incarnation;
    struct record_identity identity;
    uint64_t identity_end; /* where its record ends in the log */
    bool recovering;       /* the log is being read back, or waits for the cluster's id */
    bool torn;             /* the process before did not end in order, or the folder was put back */
    bool refetched;        /* all documents of the store have come since the start */
    bool store_heard;      /* a coordinator has answered since the start */
    bool confirmed;        /* the store names this boot, or will: what is held is all there is */
    bool changed;          /* something of it that coordinators should hear of at once */
    bool failed;           /* the log can't be written: nothing is answered any more */
};

#endif
