/* window.h - filters with a time window: when another slice begins.
 *
 * What is decided, and why: map/window.h. Nodes count, so any coordinator goes on after another
 * one; it only has to hear again that F of every slot group have fenced.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_DUTY_WINDOW_H
#define ORBLOOM_COORDINATOR_DUTY_WINDOW_H

#include "coordinator/private.h"

/* Ask for fences, then how long nodes have counted; write what is due. Of all filters. */
void coordinator_check_windows(struct coordinator *self, uint64_t now_us);

/* When to look again without news; ACTOR_NEVER: no need. */
uint64_t windows_next_us(const struct coordinator *self);

/* What a node says about the newest slice. */
void windows_note(struct coordinator *self, const struct fence_reply *reply);

/* Are fences of this filter's newest slice still being asked for? */
bool windows_wait(const struct coordinator *self, uint64_t filter_id);

/* `text`: COORDINATOR_MESSAGE_BYTES, which the summary points to. */
void windows_describe(const struct coordinator *self, uint64_t now_us,
                      const struct filter_document *document, struct filter_summary *summary,
                      char *text);

#endif
