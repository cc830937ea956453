/* sim_written.h - what must hold of every filter document that is written to the store, beside the
 * one before it: not only of those that are there when the simulator looks.
 *
 * The uid is drawn once and is no other filter's, but that of one in sites which was dropped here
 * and is made anew. Numbers of keysets only ever rise. A slot names
 * the epoch since which its reader is read: the one in which that reader came, and no other one as
 * long as it stays.
 *
 * Owner:   sim_written_fini() frees what it keeps.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_WRITTEN_H
#define ORBLOOM_TESTS_SIM_WRITTEN_H

#include "base/span.h"
#include "map/document.h"

#include <stddef.h>

struct sim;

struct sim_written {
    struct filter_document *documents; /* the newest of each filter */
    size_t count;
    size_t capacity;
};

/* A record of the store, just written; `context`: the struct sim. */
void sim_written_note(void *context, const char *key, struct span value);

/* The store was put back to a copy: what is written next comes after what is there now. */
void sim_written_put_back(struct sim *sim);

void sim_written_fini(struct sim_written *self);

#endif
