/* growth.h - filters that get another capacity or rate; private to
 * the coordinator. */
#ifndef ORBLOOM_COORDINATOR_DUTY_GROWTH_H
#define ORBLOOM_COORDINATOR_DUTY_GROWTH_H

#include "coordinator/records.h"

/* ---- growth_view.c: what is known of one filter's growth ---- */

/* A view for map/growth.h; the arrays behind it are its own. NULL: out of memory. */
struct growth_view *growth_view_make(const struct coordinator *self, uint64_t now_us,
                                     const struct document_entry *entry);
/* What each node's memory holds, or is to hold: dear, and needed only for a request. */
void growth_view_weigh(const struct coordinator *self, struct growth_view *view);
void growth_view_free(struct growth_view *view);

/* Those of a filter that tell how many keys there are; `out` has room for `count`. Returns how
 * many. */
size_t growth_view_take(const struct replica_report *reports, size_t count, uint64_t filter_id,
                        uint32_t node, struct growth_report *out);

/* What nodes have answered, beside what they report anyway. */
MUST_USE enum status growth_view_add(struct growth_view *view, const struct inquiry *inquiry);

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

/* ---- coordinator/inquiry.c: how many keys there are now ---- */

/* NULL: out of memory. inquiry_close() frees, and takes NULL. */
struct inquiry *inquiry_open(struct coordinator *self);
void inquiry_close(struct inquiry **inquiry);

bool inquiry_has_told(const struct inquiry *inquiry, uint32_t node);

/* Ask all nodes that hold some of the filter and have not answered, unless that was just done. */
void inquiry_ask(struct coordinator *self, uint64_t now_us, struct inquiry *inquiry,
                 const struct filter_document *document);

void coordinator_on_info_reply(struct coordinator *self, uint32_t link, const struct frame *frame);

#endif
