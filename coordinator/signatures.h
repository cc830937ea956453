/* signatures.h - which records of the store another key than the ring's first one has signed.
 *
 * While the cluster key is replaced the ring has more than one key, and the store holds records by
 * each. Trying the keys where a record is taken from the store tells by which; it is remembered
 * here by what the record is, as some have no document in the cache. Whoever retires a key must
 * know that nothing is left by it: what is not known counts as left.
 *
 * A coordinator whose ring has another order signs with another key. Where such news come this one
 * waits for SIGNATURES_QUIET_US: of two that sign everything anew for each other neither ends, and
 * whose ring is changed last will read all of it.
 *
 * Errors:  STATUS_NOMEM, STATUS_TOO_LARGE.
 * Owner:   the coordinator; signatures_fini() frees what it owns.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_SIGNATURES_H
#define ORBLOOM_COORDINATOR_SIGNATURES_H

#include "base/span.h"
#include "map/id_set.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIGNATURES_QUIET_US = 60000000 };

struct coordinator;

struct signatures {
    struct id_set filters; /* whose documents are by another key ... */
    struct id_set secrets; /* ... whose hash secrets are sealed with one */
    bool nodes;            /* ... and the records that there are one of */
    bool dropped;
    bool cluster;
    bool features;
    bool users;
    bool restored;     /* the node list of a backup */
    uint64_t ring;     /* counts the rings that this process has had, from 1 */
    uint64_t read;     /* the one that all of the store was read with; 0: none */
    uint64_t quiet_us; /* nothing is signed anew before this */
    uint64_t next_us;  /* ... nor, as there is a pace, before this */
};

void signatures_fini(struct signatures *self);

/* All of the store is to be read, before anything is known. */
bool signatures_unread(const struct coordinator *self);

/* That begins: what is known is forgotten. */
void signatures_begin(struct coordinator *self);

/* A record of the store, which was verified. `news`: it was written since the last look. */
MUST_USE enum status signatures_note(struct coordinator *self, const char *key, struct span value,
                                     bool news);

/* It is not there any more. */
void signatures_forget(struct coordinator *self, const char *key);

/* The number of an id in a key of that kind ("filter/7"); 0: it is no such key. */
uint64_t signatures_id(const char *key, const char *kind);

/* How many are left; at least 1 while not all is known. */
uint64_t signatures_left(const struct coordinator *self);

/* One of those that are left, as a key of the store; false: none is known. */
bool signatures_next(const struct coordinator *self, char *key, size_t size);

#endif
