/* answers.h - answers that several programs give alike.
 *
 * Each fills a frame that borrows what is passed in.
 */
#ifndef ORBLOOM_PROTO_ANSWERS_H
#define ORBLOOM_PROTO_ANSWERS_H

#include "base/telemetry/counter.h"
#include "proto/codec.h"

/* A whole frame is refused. */
void answer_refusal(uint64_t correlation, enum status status, struct frame *frame);

/* All counters; `values` has room for table.count of them. */
void answer_stats(uint64_t correlation, const char *program, const char *name,
                  struct counter_table table, const uint64_t *counters, struct stat_value *values,
                  struct frame *frame);

/* What clients are told of a filter; borrows the document. */
void answer_filter_summary(const struct filter_document *document, struct filter_summary *summary);

#endif
