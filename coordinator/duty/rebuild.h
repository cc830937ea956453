/* rebuild.h - rebuilding filters from a list: the parts that other files of the
 * coordinator use.
 */
#ifndef ORBLOOM_COORDINATOR_DUTY_REBUILD_H
#define ORBLOOM_COORDINATOR_DUTY_REBUILD_H

#include "coordinator/private.h"

/* ---- coordinator_rebuild.c ---- */

void coordinator_on_rebuild(struct coordinator *self, uint64_t now_us, const struct peer *from,
                            const struct frame *frame);

/* Ask for fences, go on where they have come, give up waiters. */
void coordinator_check_rebuilds(struct coordinator *self, uint64_t now_us);

/* Does an operator wait for fences of this filter's rebuild? */
bool rebuild_waits(const struct coordinator *self, uint64_t filter_id);

/* ---- rebuild_show.c ---- */

/* Why a step can't be, in words for operators: cause and remedy. */
void rebuild_explain(const struct coordinator *self, const struct filter_document *document,
                     const struct rebuild_answer *answer, char text[COORDINATOR_MESSAGE_BYTES]);

/* Who has not confirmed the step that is written, and what to do. */
void rebuild_explain_fences(const struct coordinator *self, const struct filter_document *document,
                            enum rebuild_step step, char text[COORDINATOR_MESSAGE_BYTES]);

/* What a coordinator knows beyond the document. `text`: COORDINATOR_MESSAGE_BYTES, which the
 * summary points to. */
void rebuild_describe(const struct coordinator *self, const struct filter_document *document,
                      struct filter_summary *summary, char *text);

#endif
