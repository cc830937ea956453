/* evidence.h - what members have said about one epoch of one filter.
 *
 * A fence: the member accepts nothing below that epoch any more. Complete: an incoming member
 * holds all that a SYNC under that epoch's document asks for. Both are worth something only for
 * the very epoch, and for the very incarnation that the document names: evidence of another
 * epoch is void, and whoever wants to act on an edited document gathers anew.
 *
 * An operator may vouch by name for lives that are gone for good, where what they would say can't
 * be had any more and nothing replaces them: a filter that is dropped, or renamed. The word is
 * about that epoch, too, and counts only while nothing is heard of that life.
 *
 * Shape:   a byte a slot group and kind, bit s for slot s.
 * Errors:  evidence_open: STATUS_NOMEM, and what was there stays.
 * Owner:   evidence_fini() frees; a zeroed struct is ready and holds nothing.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_COORDINATOR_PLAN_EVIDENCE_H
#define ORBLOOM_COORDINATOR_PLAN_EVIDENCE_H

#include "base/status.h"
#include "map/document.h"
#include "proto/admin_message.h"

struct evidence_group {
    uint8_t current_fenced;
    uint8_t incoming_fenced;
    uint8_t complete;
    uint8_t current_off; /* an operator vouches for these */
    uint8_t incoming_off;
};

struct evidence {
    uint64_t filter_id;
    uint64_t epoch;
    uint32_t ngroups;
    struct evidence_group *groups;
};

/* Be about this document's epoch: nothing is kept from another one. */
MUST_USE enum status evidence_open(struct evidence *self, const struct filter_document *document);
void evidence_fini(struct evidence *self);

/* Does it belong to the document as it is now? What follows is for such evidence only. */
bool evidence_fits(const struct evidence *self, const struct filter_document *document);

/* (node, incarnation) has fenced the epoch. False: it is no member of any slot. */
bool evidence_fence(struct evidence *self, const struct filter_document *document, uint32_t node,
                    uint64_t incarnation);

/* (node, incarnation) is complete for a group. False: it is no incoming member of it. */
bool evidence_complete(struct evidence *self, const struct filter_document *document,
                       uint32_t group, uint32_t node, uint64_t incarnation);

/* Bit s: slot s can't serve requests of older epochs any more, neither under the document as it is
 * nor under the one before it. A slot that reads its incoming member may have been read at its old
 * one a moment ago: both must have fenced. */
uint8_t evidence_silenced(const struct evidence *self, const struct filter_document *document,
                          uint32_t group);

/* ---- the operator's word ---- */

/* What is known of the nodes of the list. */
struct evidence_nodes {
    const struct node_list *nodes;
    const bool *alive; /* each by its place there: heard of lately? */
};

/* Take the word. It is worth nothing once the node has another life by the list. Of a node that is
 * not listed it is about that very life.
 * False: nothing that is meant is a member of any slot, or all of that is heard of. */
bool evidence_vouch(struct evidence *self, const struct filter_document *document,
                    const struct evidence_nodes *nodes, const struct vouched_life *word);

/* As evidence_silenced; and slots whose members never answer again: given up
 * (loss.h), or vouched for, here or in the node list. A life that is heard of has
 * to fence all the same. */
uint8_t evidence_quiet(const struct evidence *self, const struct filter_document *document,
                       const struct evidence_nodes *nodes, uint32_t group);

#endif
