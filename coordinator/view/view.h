/* view.h - what is told of nodes, filters and sites, for whoever shows it: what is filled borrows
 * from documents, and from what was passed in.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_VIEW_VIEW_H
#define ORBLOOM_COORDINATOR_VIEW_VIEW_H

#include "coordinator/duty.h"

/* ---- status.c ---- */

/* A node of the list, but for what it waits for. */
void view_describe_node(const struct coordinator *self, uint64_t now_us,
                        const struct node_record *record, struct node_summary *out);

/* A filter, with what each duty tells of it; and what it lacks. */
void view_describe_filter(struct coordinator *self, uint64_t now_us,
                          const struct document_entry *entry, struct telling *out);

/* ---- sites.c ---- */

struct view_sites;

/* All sites, and filters that are in several: all, or that one. NULL: no memory. */
struct view_sites *view_sites_list(const struct coordinator *self, uint64_t now_us,
                                   const char *name);
void view_sites_page(const struct view_sites *self, struct site_page *out);

/* NULL: nothing. */
void view_sites_free(struct view_sites *self);

#endif
