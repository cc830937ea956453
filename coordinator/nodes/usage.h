/* usage.h - what documents give to each node.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_NODES_USAGE_H
#define ORBLOOM_COORDINATOR_NODES_USAGE_H

#include "coordinator/private.h"

/* heap_free() it; NULL: out of memory. */
struct usage *usage_create(void);

/* A document that was not there before was the last one taken: the sums go on. */
void usage_add(struct coordinator *self, const struct filter_document *document);

/* Bytes, and slots, that all documents name a node of the list in. */
uint64_t usage_bytes(const struct coordinator *self, uint32_t node);
uint32_t usage_slots(const struct coordinator *self, uint32_t node);

/* Slot groups on their way between nodes, of all filters. */
uint64_t usage_under_way(const struct coordinator *self);

/* Memory that documents give to a node, expansion under way at its peak. */
uint64_t usage_peak_bytes(const struct coordinator *self, uint32_t node);

#endif
