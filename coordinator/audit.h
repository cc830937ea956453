/* audit.h - what operators have asked to be changed, and what became of it: a line of JSON each.
 *
 *   request -> audit_begin -> answered at once ---------------> audit_end -> a line -> the sink
 *                         \-> a waiter takes it -> its end -/
 *
 * A line is written once, with the answer. What is told by pages or chunks (a load, a fed list) is
 * one line, its beginning; questions, and what only tells what it would do, are none unless whoever
 * asks may not ask; map backup is one for each page, as that holds the documents.
 *
 * Errors:  none: whatever is asked for goes on without its line (see base/audit_log.h).
 * Owner:   the coordinator; the sink is borrowed.
 * Threads: the actor's.
 */
#ifndef ORBLOOM_COORDINATOR_AUDIT_H
#define ORBLOOM_COORDINATOR_AUDIT_H

#include "base/telemetry/audit_log.h"
#include "coordinator/coordinator.h"
#include "proto/admin_message.h"

/* A request whose answer is not known yet. */
struct audit_entry;

struct audit {
    struct audit_log log;
    const char *name;            /* of the coordinator */
    struct audit_entry *current; /* of the command under way; NULL: none */
    struct audit_limit refusals;
};

/* `name` and `lost` are borrowed. */
void audit_init(struct audit *self, const struct audit_sink *sink, const struct effects *effects,
                const char *name, uint64_t *lost);

/* There are no lanes any more; what waits for them is written here and now. */
void audit_leave_lanes(struct audit *self);
void audit_fini(struct audit *self);

/* A command begins. `who`: the user's name; NULL: nobody's. */
void audit_begin(struct audit *self, const struct peer *from, const char *who,
                 const struct admin_request *request);

/* The command that has begun is refused, as its user, or one of the peer's role, may not ask for
 * that: it is noted whatever it is, with the answer to come. False: it is not, as too many were
 * within a second; the next line that is written tells how many. */
MUST_USE bool audit_refuse(struct audit *self, uint64_t now_us, const struct peer *from,
                           const char *who, const struct admin_request *request);

/* It is answered. Without one under way, or one that is not noted, nothing is done. */
void audit_end(struct audit *self, uint64_t now_us, const struct admin_reply *reply);

/* It is not answered yet: whoever waits keeps it meanwhile, and gives it back when none is under
 * way. `filter_id`: that it has turned out to be about; 0: nothing new. */
MUST_USE struct audit_entry *audit_suspend(struct audit *self, uint64_t filter_id);
void audit_resume(struct audit *self, struct audit_entry *entry);

#endif
