/* filter_question.h - asking a node what it has of a filter: an info request by its link.
 *
 * Questions are numbered by coordinator.inquiries, whoever asks: so an answer tells to which one it
 * is.
 *
 * Errors:  none: what was not sent is to be asked again.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_ASK_FILTER_QUESTION_H
#define ORBLOOM_COORDINATOR_ASK_FILTER_QUESTION_H

#include "coordinator/private.h"

/* The link by which it was sent; 0: not heard of here, not connected yet. */
uint32_t filter_question_send(struct coordinator *self, uint32_t node, uint64_t number,
                              uint64_t filter_id);

#endif
