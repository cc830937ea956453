/* expansion_view.h - what is known here of one filter's expansion, and how many keys it has now.
 *
 * Errors:  NULL, STATUS_NOMEM: out of memory.
 * Owner:   the caller of what is made or opened here.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_ASK_EXPANSION_VIEW_H
#define ORBLOOM_COORDINATOR_ASK_EXPANSION_VIEW_H

#include "coordinator/private.h"

/* A view for coordinator/plan/expansion.h; the arrays behind it are its own. */
struct expansion_view *expansion_view_make(const struct coordinator *self, uint64_t now_us,
                                           const struct document_entry *entry);
/* What each node's memory holds, or is to hold: dear, and needed only for a request. */
void expansion_view_weigh(const struct coordinator *self, struct expansion_view *view);
void expansion_view_free(struct expansion_view *view);

/* What nodes have answered, beside what they report anyway. */
MUST_USE enum status expansion_view_add(struct expansion_view *view, const struct inquiry *inquiry);

/* inquiry_close() frees, and takes NULL. */
struct inquiry *inquiry_open(struct coordinator *self);
void inquiry_close(struct inquiry **inquiry);

/* Ask all nodes that hold some of the filter and have not answered, unless that was just done. */
void inquiry_ask(struct coordinator *self, uint64_t now_us, struct inquiry *inquiry,
                 const struct filter_document *document);

void coordinator_on_info_reply(struct coordinator *self, uint32_t link, const struct frame *frame);

#endif
