/* growth_private.h - what growth.c and growth_chain.c share; for them only.
 *
 * Threads: none; pure.
 */
#ifndef ORBLOOM_CLUSTER_GROWTH_PRIVATE_H
#define ORBLOOM_CLUSTER_GROWTH_PRIVATE_H

#include "cluster/growth.h"

/* Above what there was and is; the revision suffices as long as every id comes from one. */
uint64_t growth_next_id(const struct filter_document *document);

/* Whether every node has room for `more` bytes a shard that it holds, and `peak` once; else the one
 * that lacks most is in the answer. */
bool growth_fits(const struct growth_view *view, uint64_t more, uint64_t peak,
                 struct growth_answer *answer);

#endif
