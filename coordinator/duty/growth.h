/* growth.h - filters that get another capacity or rate; for that duty only.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_DUTY_GROWTH_H
#define ORBLOOM_COORDINATOR_DUTY_GROWTH_H

#include "coordinator/ask/growth_view.h"
#include "coordinator/duty.h"
#include "coordinator/records.h"

/* ---- growth.c ---- */

/* An edit of the cached document, into the store. */
MUST_USE enum status growth_write(struct coordinator *self, uint64_t now_us,
                                  const struct document_entry *entry, records_edit_fn edit,
                                  const void *context);

/* How fast keys arrive, with those that the view tells of. */
struct growth_coming growth_coming_of(const struct coordinator *self, uint64_t now_us,
                                      const struct growth_view *view);

/* ---- growth_show.c ---- */

/* Why it can't grow, in words for operators: cause and remedy. */
void growth_explain(const struct coordinator *self, const struct filter_document *document,
                    const struct growth_answer *answer, char text[COORDINATOR_MESSAGE_BYTES]);

/* What a coordinator knows beyond the document. */
void growth_describe(struct coordinator *self, uint64_t now_us, const struct document_entry *entry,
                     struct telling *out);

/* ---- growth_expand.c ---- */

void growth_on_expand(struct coordinator *self, uint64_t now_us, const struct peer *from,
                      const struct frame *frame);

/* It goes on as nodes answer. */
void growth_wait(struct coordinator *self, uint64_t now_us, struct waiter *waiter);

#endif
