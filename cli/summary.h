/* summary.h - filters, nodes and replicas as `info` and `status` print them.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SUMMARY_H
#define ORBLOOM_CLI_SUMMARY_H

#include "cli/output.h"
#include "proto/codec.h"

/* Of all arrays of one copy: a window has one a slice, and two more. */
uint64_t summary_copy_bytes(const struct filter_summary *filter);

/* One filter, a line a property. */
void summary_filter_text(const struct filter_summary *filter);

/* All filters, a line each. */
void summary_filters_text(const struct admin_reply *reply);

/* All nodes, a line each. */
void summary_nodes_text(const struct admin_reply *reply);

/* Nodes that are to be emptied: how far, and what is waited for. */
void summary_moves_text(const struct admin_reply *reply);

/* Where the replacing of the cluster key stands; nothing where none is under way. */
void summary_keys_text(const struct admin_reply *reply);

/* An object with that name. */
void summary_keys_json(struct json *json, const char *name, const struct admin_reply *reply);

/* Members of an open object. */
void summary_filter_json(struct json *json, const struct filter_summary *filter);

/* One object in an open array. */
void summary_replica_json(struct json *json, const struct replica_report *replica);

/* Arrays of objects, named where they are members. */
void summary_filters_json(struct json *json, const char *name, const struct admin_reply *reply);
void summary_nodes_json(struct json *json, const char *name, const struct admin_reply *reply);

/* That an operator accepted a loss: in the lines of one filter, of all filters, as members of an
 * open object. */
void summary_loss_text(const struct filter_summary *filter);
void summary_losses_text(const struct admin_reply *reply);
void summary_loss_json(struct json *json, const struct filter_summary *filter);

/* What JOINING means, and what to do. */
const char *summary_joining_note(void);

#endif
