/* restore_plan.h - what a store becomes that was lost or is older than its nodes.
 *
 * Of each filter the newest document that a backup, the store or any node has is taken, and goes on
 * under numbers past all that were seen: whoever holds an older one takes it, and nobody holds
 * another one of its numbers. A filter whose secret nobody has kept is dropped; so is one whose
 * name another filter has, which could only get it when this one had lost it.
 *
 * What only nodes know that were not asked can't be known. Of a slot group's N members that the
 * newest known document names, max(min(W, R), N - W + 1) must have been asked: one of them would
 * have fenced a later epoch that had come into force, and one of them would have seen any add that
 * was acknowledged under it.
 *
 * Errors:  restore_plan_nodes: STATUS_NOMEM, STATUS_TOO_LARGE.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_COORDINATOR_PLAN_RESTORE_PLAN_H
#define ORBLOOM_COORDINATOR_PLAN_RESTORE_PLAN_H

#include "coordinator/plan/boot.h"
#include "map/document_cache.h"

/* How far past the highest number seen: whoever was not asked may hold some more. */
enum { RESTORE_MARGIN = 1 << 16 };

/* ---- filters ---- */

struct restore_filter {
    const struct document_entry *stored; /* NULL: neither the store nor the backup has it */
    const struct document_entry *found;  /* NULL: nodes hold nothing newer */
    uint64_t fence;                      /* the highest that a node reports */
    bool has_secret;
    bool name_taken; /* another filter has its name: see rename_lost() */
};

enum restore_action {
    RESTORE_KEEP,  /* the store's tombstone stays */
    RESTORE_COPY,  /* write the newest one, a tombstone, as it is */
    RESTORE_RENEW, /* write it under new numbers, in this state */
};

struct restore_decision {
    enum restore_action action;
    const struct document_entry *newest;
    uint64_t revision;
    uint64_t epoch;
    enum filter_state state;
    bool lost;         /* its secret is: it is dropped */
    bool two_contents; /* nodes hold different documents under one number */
    bool too_few;      /* asked; what they don't know may be lost */
};

/* `asked`: the lives of nodes that told what they hold. */
struct restore_decision restore_decide(const struct restore_filter *filter,
                                       const struct member *asked, size_t nasked);

/* Make the newest document what is decided: RESTORE_RENEW. Other readers, keysets and expiries may
 * have come and gone since that nobody who was asked has heard of: all of that begins anew, past
 * them. */
void restore_renew(struct filter_document *document, const struct restore_decision *decision);

/* ---- nodes ---- */

/* What a node says of itself. */
struct restore_claim {
    const struct node_record *record; /* without id */
    struct boot_claim life;
};

struct restore_nodes {
    const struct node_list *known; /* the newest that is known */
    bool known_by_node;            /* a living node holds it: it is not older than they are */
    const struct restore_claim *claims;
    size_t nclaims;
    const char *const *off; /* names of nodes that never come back with their data */
    size_t noff;
    uint32_t last_id;  /* the highest that was ever seen */
    uint64_t revision; /* the highest that was ever seen */
    uint64_t random;   /* to draw incarnations from for nodes that are off */
};

/* Nodes keep their ids; others get ids that were never given. A node is taken for what it claims to
 * be, unless living nodes know that it is an older copy. *out is the caller's, also on errors. */
MUST_USE enum status restore_plan_nodes(const struct restore_nodes *plan, struct node_list *out);

/* Do both give one id to one name, and one name to one id? */
bool restore_same_nodes(const struct node_list *a, const struct node_list *b);

/* Is the name among these? */
bool restore_is_named(const char *const *names, size_t count, const char *name);

#endif
