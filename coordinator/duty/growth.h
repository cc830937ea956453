/* growth.h - filters that get another capacity or rate; private to
 * the coordinator. */
#ifndef ORBLOOM_COORDINATOR_DUTY_GROWTH_H
#define ORBLOOM_COORDINATOR_DUTY_GROWTH_H

#include "coordinator/ask/growth_view.h"
#include "coordinator/records.h"

/* ---- coordinator_growth.c ---- */

/* Give turns, end and begin growth, of all filters. */
void coordinator_check_growth(struct coordinator *self, uint64_t now_us);

/* A node tells at once of that filter: it may be due already. One that can't grow has time. */
void growth_wake(struct coordinator *self, uint64_t filter_id);

/* An edit of the cached document, into the store. */
MUST_USE enum status growth_write(struct coordinator *self, uint64_t now_us,
                                  const struct document_entry *entry, records_edit_fn edit,
                                  const void *context);

/* How fast keys arrive, with those that the view tells of. */
struct growth_coming growth_coming_of(const struct coordinator *self, uint64_t now_us,
                                      const struct growth_view *view);

/* NULL: this one has not been looked at. */
const struct growing *growth_find(const struct coordinator *self, uint64_t filter_id);

/* ---- growth_show.c ---- */

/* Why it can't grow, in words for operators: cause and remedy. */
void growth_explain(const struct coordinator *self, const struct filter_document *document,
                    const struct growth_answer *answer, char text[COORDINATOR_MESSAGE_BYTES]);

/* What a coordinator knows beyond the document. `text`: two of COORDINATOR_MESSAGE_BYTES, which the
 * summary points to. */
void growth_describe(const struct coordinator *self, uint64_t now_us,
                     const struct document_entry *entry, struct filter_summary *summary,
                     char text[2][COORDINATOR_MESSAGE_BYTES]);

/* ---- coordinator_expand.c ---- */

void coordinator_on_expand(struct coordinator *self, uint64_t now_us, const struct peer *from,
                           const struct frame *frame);

/* Go on with those that wait for what nodes answer. */
void coordinator_check_expands(struct coordinator *self, uint64_t now_us);

#endif
