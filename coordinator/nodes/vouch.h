/* vouch.h - an operator's word, life by life, for filters that are dropped or renamed;
 * see evidence_vouch(). Private to the coordinator.
 *
 * A word is kept with the evidence about the filter's epoch, in memory: a coordinator that is
 * started anew, or another one, is to be told again. */
#ifndef ORBLOOM_COORDINATOR_NODES_VOUCH_H
#define ORBLOOM_COORDINATOR_NODES_VOUCH_H

#include "coordinator/private.h"

/* Has each of these nodes still the life that the operator saw? Else STATUS_CONFLICT, and `message`
 * (COORDINATOR_MESSAGE_BYTES) says which has not. A node that is not listed any more has none. */
MUST_USE enum status vouch_check(const struct coordinator *self,
                                 const struct admin_request *request, char *message);

/* The same, and: is each of them awaited for this filter? STATUS_INVALID: it is alive, or holds
 * nothing of it. */
MUST_USE enum status vouch_judge(const struct coordinator *self, uint64_t now_us,
                                 const struct admin_request *request,
                                 const struct filter_document *document, char *message);

/* Keep the word for this filter, under its present epoch. */
void vouch_note(struct coordinator *self, uint64_t now_us, const struct admin_request *request,
                const struct filter_document *document);

/* Slot groups for which fewer than `needed` members have fenced, or never answer again: the first
 * of them, or the number of groups when there is none. */
uint32_t vouch_open_group(const struct coordinator *self, uint64_t now_us,
                          const struct filter_document *document, const struct evidence *evidence,
                          uint32_t needed);

/* Whose word is missing there, as `--confirmed-off` takes them: "node-2@0000000000000007, ...". */
void vouch_tell_awaited(const struct coordinator *self, uint64_t now_us,
                        const struct filter_document *document, const struct evidence *evidence,
                        uint32_t group, char *text, size_t size);

#endif
