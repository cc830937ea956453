/* expiry.h - filters that are dropped by themselves.
 *
 * What is decided, and why: map/expiry.h. Nodes count, and the document has what was counted,
 * so any coordinator goes on after another one.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_DUTY_EXPIRY_H
#define ORBLOOM_COORDINATOR_DUTY_EXPIRY_H

#include "coordinator/private.h"

/* The operator's `expire`. `created` of the answer: something was changed. */
void coordinator_on_expire(struct coordinator *self, uint64_t now_us, const struct peer *from,
                           const struct frame *frame);

/* Ask how long nodes have counted; note it, and begin the drops that are due. Of all filters. */
void coordinator_check_expiries(struct coordinator *self, uint64_t now_us);

/* When to look again without news; ACTOR_NEVER: no need. */
uint64_t expiries_next_us(const struct coordinator *self);

/* What a node says about an expiry. */
void expiries_note(struct coordinator *self, const struct fence_reply *reply);

/* `text`: COORDINATOR_MESSAGE_BYTES, which the summary points to. */
void expiries_describe(const struct coordinator *self, uint64_t now_us,
                       const struct filter_document *document, struct filter_summary *summary,
                       char *text);

#endif
