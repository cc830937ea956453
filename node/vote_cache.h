/* vote_cache.h - what a replica said of the adds that it executed lately.
 *
 * A client that hears nothing asks again, perhaps through another router. The retry is executed
 * like any add; but by then its own first attempt may have set the bits, and would make it
 * look like a duplicate of itself. So the vote of the first execution is kept for a while and
 * given again. What has been forgotten is not made up: the caller answers "unsure".
 *
 * Bounds:  max_bytes of memory (and at most a quarter more for an index) and max_age_us of time,
 *          whichever comes first; the oldest go.
 * Epochs:  a vote is given again under its own epoch only. Two adds may each be new to most
 *          replicas, if to some of one epoch and to some of the next.
 * Shape:   an add is named by the client's op id, the filter, its epoch and the slot group, and
 *          belongs to one list of fingerprints. Planes: ceil(count / 64) words, see
 *          map/quorum.h.
 * Errors:  vote_cache_create: STATUS_NOMEM. Keeping never fails: what is larger than the whole
 *          memory is forgotten at once.
 * Owner:   vote_cache_create()'s caller calls vote_cache_destroy(). Planes are copied when
 *          kept; those found are borrowed until the next call.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_VOTE_CACHE_H
#define ORBLOOM_NODE_VOTE_CACHE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vote_cache;

struct vote_cache_add {
    uint64_t session[2]; /* op id */
    uint64_t sequence;
    uint64_t filter_id;
    uint64_t epoch; /* under which it is executed */
    uint64_t list;  /* vote_cache_list() of its fingerprints */
    uint32_t group;
    uint32_t count; /* of fingerprints */
};

/* The vote of the first execution that is remembered. */
struct cached_vote {
    uint64_t *present;
    uint64_t *absent;
    uint64_t batch[2]; /* the message that was executed */
    bool unsure; /* ... which may not have been the very first: "present" may be its own doing */
};

enum vote_cache_match {
    VOTE_CACHE_NONE,  /* never met, or forgotten */
    VOTE_CACHE_VOTE,  /* executed before, and this was its vote */
    VOTE_CACHE_OTHER, /* executed before, but without a vote, or as another list of fingerprints */
};

/* `seed`: a random number, so that nobody can choose op ids that are slow to find. */
MUST_USE enum status vote_cache_create(size_t max_bytes, uint64_t max_age_us, uint64_t seed,
                                       struct vote_cache **out);
void vote_cache_destroy(struct vote_cache **adds);

/* A name for an immutable list of fingerprints: XXH3-64, seed 0. */
uint64_t vote_cache_list(const uint64_t *fingerprints, uint32_t count);

enum vote_cache_match vote_cache_find(struct vote_cache *self, uint64_t now_us,
                                      const struct vote_cache_add *add, struct cached_vote *vote);

/* Keep an add that vote_cache_find() did not find; `vote` NULL: it had none that counts. */
void vote_cache_keep(struct vote_cache *self, uint64_t now_us, const struct vote_cache_add *add,
                     const struct cached_vote *vote);

/* Bytes that adds take now. */
size_t vote_cache_bytes(const struct vote_cache *self);

#endif
