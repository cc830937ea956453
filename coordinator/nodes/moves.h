/* moves.h - replicas on their way between nodes, and those that are lost; private to
 * the coordinator. */
#ifndef ORBLOOM_COORDINATOR_DUTY_MOVES_H
#define ORBLOOM_COORDINATOR_DUTY_MOVES_H

#include "coordinator/private.h"

/* ---- move.c ---- */

/* Has it been asked to leave, or been silent for longer than replace_after? */
bool moves_leaves(const struct coordinator *self, uint64_t now_us,
                  const struct node_record *record);

/* Where the slots of nodes that are to leave go; empty when there are none. */
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

/* Sees to it that what waits for another reason than the store's news is looked at again. */
void moves_check(struct coordinator *self, uint64_t now_us);

/* ---- coordinator_rebalance.c ---- */

bool rebalance_is_on(const struct coordinator *self);

/* Into an empty plan: the next move, if it is one of this document's. */
MUST_USE enum status rebalance_plan(const struct coordinator *self, uint64_t now_us,
                                    const struct filter_document *document, struct move_plan *plan);

/* Switch it off when nothing is left to gain; false: it is off. */
bool rebalance_check(struct coordinator *self, uint64_t now_us);

void coordinator_on_rebalance(struct coordinator *self, uint64_t now_us, const struct peer *from,
                              const struct frame *frame);

/* ---- coordinator/node.c ---- */

void coordinator_on_drain(struct coordinator *self, uint64_t now_us, const struct peer *from,
                          const struct frame *frame);
void coordinator_on_replace(struct coordinator *self, uint64_t now_us, const struct peer *from,
                            const struct frame *frame);
void coordinator_on_remove(struct coordinator *self, uint64_t now_us, const struct peer *from,
                           const struct frame *frame);

/* ---- coordinator_change.c ---- */

/* What is to be done for a filter by what is known here. Both are the caller's to free. */
struct changes_view {
    struct slot_group *next; /* the next epoch's groups; NULL: out of memory */
    struct move_plan plan;
    struct change_decision decision;
};

struct changes_view changes_decide(struct coordinator *self, uint64_t now_us,
                                   const struct filter_document *document);
void changes_view_fini(struct changes_view *view);

/* Begin, resume and go on with replacing replicas, of all filters. */
void coordinator_check_changes(struct coordinator *self, uint64_t now_us);

/* ---- change_show.c ---- */

/* False: nothing is being replaced, or should be. `text`: COORDINATOR_MESSAGE_BYTES, which the
 * summary points to. */
bool changes_describe(struct coordinator *self, uint64_t now_us,
                      const struct filter_document *document, struct change_summary *summary,
                      char *text);

/* ---- coordinator_loss.c ---- */

void coordinator_on_accept_loss(struct coordinator *self, uint64_t now_us, const struct peer *from,
                                const struct frame *frame);

/* ---- coordinator_lack.c ---- */

/* Shards with fewer than N FULL replicas: why, and what helps. `changes`: changes_describe() has
 * something to tell. `text`: two, which the summary points to. */
void lack_describe(const struct coordinator *self, uint64_t now_us,
                   const struct filter_document *document, bool changes,
                   struct filter_summary *summary, char text[2][COORDINATOR_MESSAGE_BYTES]);

/* Is a replica of the filter being replaced? */
bool changes_has_pairs(const struct filter_document *document);

#endif
