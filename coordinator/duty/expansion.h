/* expansion.h - filters that get another capacity or rate; for that duty only.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_DUTY_EXPANSION_H
#define ORBLOOM_COORDINATOR_DUTY_EXPANSION_H

#include "coordinator/ask/expansion_view.h"
#include "coordinator/duty.h"
#include "coordinator/records.h"

/* ---- expansion.c ---- */

/* An edit of the cached document, into the store. */
MUST_USE enum status expansion_write(struct coordinator *self, uint64_t now_us,
                                     const struct document_entry *entry, records_edit_fn edit,
                                     const void *context);

/* How fast keys arrive, with those that the view tells of. */
struct expansion_coming expansion_coming_of(const struct coordinator *self, uint64_t now_us,
                                            const struct expansion_view *view);

/* ---- expansion_show.c ---- */

/* Why it can't grow, in words for operators: cause and remedy. */
void expansion_explain(const struct coordinator *self, const struct filter_document *document,
                       const struct expansion_answer *answer, char text[COORDINATOR_MESSAGE_BYTES]);

/* What a coordinator knows beyond the document. */
void expansion_describe(struct coordinator *self, uint64_t now_us,
                        const struct document_entry *entry, struct telling *out);

/* ---- expansion_expand.c ---- */

void expansion_on_expand(struct coordinator *self, uint64_t now_us, const struct peer *from,
                         const struct frame *frame);

/* It goes on as nodes answer. */
void expansion_wait(struct coordinator *self, uint64_t now_us, struct waiter *waiter);

#endif
