/* former.h - documents of a node's own log that no key of the ring vouches for.
 *
 * When the cluster key is replaced, coordinators sign all documents again, under higher revisions,
 * and nodes log these behind those that they had. So a folder may begin with documents of a key
 * that was retired since. They are of no use, and no harm once each has a later one that is
 * verified. One without means that the key file is the wrong one, or that this node was away while
 * the key was replaced: its fence must not be forgotten.
 *
 * Errors:  STATUS_NOMEM; STATUS_UNAUTHENTIC, logged with what helps.
 * Owner:   former_fini() frees what it owns; a zeroed one is empty and ready.
 * Threads: none.
 */
#ifndef ORBLOOM_NODE_FORMER_H
#define ORBLOOM_NODE_FORMER_H

#include "map/document_cache.h"
#include "proto/signed_document.h"

struct former {
    struct document_claim *items;
    size_t count;
    size_t capacity;
};

void former_fini(struct former *self);

/* The log has this one. */
MUST_USE enum status former_note(struct former *self, struct span bytes);

/* All was read: does each have a later one? Empty after that. */
MUST_USE enum status former_judge(struct former *self, const struct document_cache *documents);

#endif
