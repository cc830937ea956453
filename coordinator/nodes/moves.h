/* moves.h - replicas on their way between nodes, and those that are lost; private to
 * the coordinator. */
#ifndef ORBLOOM_COORDINATOR_NODES_MOVES_H
#define ORBLOOM_COORDINATOR_NODES_MOVES_H

#include "coordinator/private.h"

/* ---- moves.c ---- */

/* Has it been asked to leave, or been silent for longer than replace_after? */
bool moves_leaves(const struct coordinator *self, uint64_t now_us,
                  const struct node_record *record);

/* Is a slot of the filter on such a node? */
bool moves_any_leaves(const struct coordinator *self, uint64_t now_us,
                      const struct filter_document *document);

/* Where the slots of such nodes go. */
MUST_USE enum status moves_plan(const struct coordinator *self, uint64_t now_us,
                                const struct filter_document *document, struct move_plan *plan);

/* Why what is to leave can't; "" if nothing lacks. */
void moves_tell(const struct node_list *nodes, const struct move_plan *plan, char *text,
                size_t size);

/* What could not leave a node, by this list, each in its turn. */
struct moves_stuck {
    uint32_t slots;
    uint64_t bytes;
    enum move_lack lack; /* of the first of them */
    bool shares_host;    /* what can will share a host with another replica of its group */
    char text[COORDINATOR_MESSAGE_BYTES / 2 + DOCUMENT_NAME_BYTES + 16]; /* the first: why */
};

/* Of all filters. Nothing is stuck on a node that is not to leave. STATUS_NOMEM. */
MUST_USE enum status moves_judge(const struct coordinator *self, uint64_t now_us,
                                 const struct node_list *nodes, const struct node_record *record,
                                 struct moves_stuck *out);

/* ---- rebalance.c ---- */

bool rebalance_is_on(const struct coordinator *self);

/* Into an empty plan: the next move, if it is one of this document's. */
MUST_USE enum status rebalance_plan(const struct coordinator *self, uint64_t now_us,
                                    const struct filter_document *document, struct move_plan *plan);

/* Switch it off when nothing is left to gain; false: it is off. */
bool rebalance_check(struct coordinator *self, uint64_t now_us);

void coordinator_on_rebalance(struct coordinator *self, uint64_t now_us, const struct peer *from,
                              const struct frame *frame);

/* ---- wishes.c ---- */

void coordinator_on_drain(struct coordinator *self, uint64_t now_us, const struct peer *from,
                          const struct frame *frame);
void coordinator_on_replace(struct coordinator *self, uint64_t now_us, const struct peer *from,
                            const struct frame *frame);
void coordinator_on_remove(struct coordinator *self, uint64_t now_us, const struct peer *from,
                           const struct frame *frame);

/* ---- view/lack.c ---- */

struct telling;

/* Shards with fewer than N FULL replicas: why, and what helps. After all duties have told of the
 * filter: a replacement may be under way. */
void lack_describe(const struct coordinator *self, uint64_t now_us,
                   const struct filter_document *document, struct telling *out);

#endif
