/* evidence.h - what streams have brought, as proof that a site may join, or another one go.
 *
 * A coordinator has to know of each other site: when the last mark began that is applied here, and
 * the last whole copy that is done, what had been fenced there, and here? So before either begins
 * the fenced sets are noted, as they were heard last: what is fenced only grows, so an older set
 * proves less, and never too much.
 *
 * Marks:   wanted while one would prove more than is proved already. One counts here when it is
 *          noted by nodes: struct inflow_evidence in received.h says when it began.
 * Copies:  begun by opening the stream without any place, so that the source sends all that R
 *          replicas of each slot group have. It is done with the first mark on that stream, as a
 *          source answers none before. One is begun where it would prove what is awaited: that all
 *          is here that was there when this site took its first add, or when all had fenced that
 *          another one is gone.
 *
 * Evidence is of both sites' lives, as its stream is, and goes with the stream; it is not kept.
 *
 * Errors:  without memory nothing is noted, and nothing proved.
 * Owner:   of an inflow's evidence the inflow.
 * Threads: none.
 */
#ifndef ORBLOOM_LINK_RECEIVED_EVIDENCE_H
#define ORBLOOM_LINK_RECEIVED_EVIDENCE_H

#include "link/link.h"
#include "proto/codec.h"

struct inflow;

void evidence_free(struct link *self, struct inflow *inflow);

/* A site that joins is not copied before it takes adds: it would have to be copied once more. */
bool evidence_may_open(const struct inflow *inflow);

/* Nothing is proved any more: what was here may be lost. */
void evidence_void(struct inflow *inflow);

void evidence_turn(struct link *self, uint64_t now_us);
void evidence_tick(struct link *self, uint64_t now_us);

/* ---- to coordinators ---- */

bool evidence_has_news(const struct link *self);
void evidence_fill(struct link *self, struct sync_request *request);

/* What was filled in last. */
void evidence_heard(struct link *self, uint64_t now_us);
void evidence_tell_anew(struct link *self);

#endif
