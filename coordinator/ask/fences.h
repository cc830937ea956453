/* fences.h - asking nodes for fences, and what they have said about an epoch.
 *
 * Errors:  NULL: out of memory.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_ASK_FENCES_H
#define ORBLOOM_COORDINATOR_ASK_FENCES_H

#include "coordinator/private.h"

/* Slots of a group whose members' fences are still wanted, a bit each. */
typedef uint8_t (*fences_wanted_fn)(const struct coordinator *self,
                                    const struct filter_document *document,
                                    const struct evidence *evidence, uint32_t group);

struct fencing *fences_find(const struct coordinator *self, uint64_t filter_id);

/* Begin, or go on, with evidence about this document's epoch; that of another epoch is dropped.
 * NULL: out of memory. */
struct fencing *fences_open(struct coordinator *self, const struct filter_document *document);

/* Evidence stays while a duty opens it in each turn: what none has opened since the turn began is
 * ended. Only after a turn in which all duties have looked. */
void fences_begin_turn(struct coordinator *self);
void fences_end_turn(struct coordinator *self);

/* Ask the nodes of the wanted slots, unless that was done less than fence_retry ago. */
void fences_ask(struct coordinator *self, uint64_t now_us, struct fencing *fencing,
                const struct document_entry *entry, fences_wanted_fn wanted);

/* One node. `slice`: it is to count that one, 0: none. */
void fences_ask_node(struct coordinator *self, uint32_t node, const struct document_entry *entry,
                     uint64_t slice);

/* Each node that holds a replica of the filter, or is to; as above. */
void fences_ask_members(struct coordinator *self, const struct document_entry *entry,
                        uint64_t slice);

/* A node's answer, as evidence; duties have heard of it already. */
void coordinator_on_fence_reply(struct coordinator *self, const struct fence_reply *reply);

#endif
