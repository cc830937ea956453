/* sim_view.h - what is true of the cluster, seen by somebody who sees everything.
 *
 * It reads the documents in the store and looks into the node processes, to say how many
 * FULL replicas a name has: what the oracle and the end of a run judge by.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_VIEW_H
#define ORBLOOM_TESTS_SIM_VIEW_H

#include "proto/codec.h"

enum { SIM_MAX_NAMES = 3, SIM_MAX_NODES = 24 };

struct sim;
struct sim_process;

struct sim_view {
    uint64_t change; /* of the store, when it was read */
    struct node_list nodes;
    struct sim_process *processes[SIM_MAX_NODES];    /* of each node in the list */
    struct filter_document documents[SIM_MAX_NAMES]; /* id 0: the name is free */
    uint64_t changed_us[SIM_MAX_NAMES];              /* when its document became what it is */
};

void sim_view_fini(struct sim_view *self);

/* The store may have changed: read it. */
void sim_view_follow(struct sim *sim);

/* ... or was put back to a copy, so that its versions tell nothing. */
void sim_view_anew(struct sim *sim);

/* NULL when the name is not bound. */
const struct filter_document *sim_view_document(const struct sim *sim, uint32_t name);

/* The process that is registered under a node id; NULL: none is. */
struct sim_process *sim_view_node(const struct sim *sim, uint32_t node);

/* The one that lives, or was last, in the very incarnation, registered or replaced; else the
 * registered one. */
struct sim_process *sim_view_member(const struct sim *sim, const struct member *member);

/* The member's data is still there: its process lives in the incarnation that was named. */
bool sim_view_is_full(const struct sim *sim, const struct member *member);

/* The node's process lives, and has answers: its boot is confirmed, if it keeps a log. */
bool sim_view_answers(const struct sim_process *node);

/* Slots that count for an operation, in the name's slot group that has the fewest, or the most: for
 * a check those whose reader is FULL, for an add those all of whose writers live. Paused ones
 * count. */
uint32_t sim_view_least_full(const struct sim *sim, uint32_t name, enum operation operation);
uint32_t sim_view_most_full(const struct sim *sim, uint32_t name, enum operation operation);

/* Does the node's disk hold the fingerprint in a batch or a run of that keyset? Where adds are
 * acknowledged unsynced what the process wrote counts, else what a power loss would leave. */
bool sim_view_log_has(const struct sim_process *node, const struct filter_document *document,
                      uint32_t keyset, uint64_t fingerprint);

/* Some slot is on its way from a node to another one. */
bool sim_view_moves(const struct sim *sim);

/* Can a slot group's replacements come to their end? They take fences of F current members, and
 * N - W + 1 readers to copy from. */
bool sim_view_can_replace(const struct sim *sim, const struct filter_document *document,
                          uint32_t group);

enum { SIM_UNREST_BYTES = 320 };

/* Is somebody in the midst of something that ends by itself? A node that reads its log or fills
 * arrays; a slot under change, or of a life that is gone, unless too few replicas are left to end
 * that. Says who. */
bool sim_view_unrest(const struct sim *sim, char text[SIM_UNREST_BYTES]);

/* FULL replicas that ran at some time since then, in the slot group that has the most. */
uint32_t sim_view_most_ran(const struct sim *sim, uint32_t name, uint64_t since_us);

#endif
