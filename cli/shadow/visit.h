/* visit.h - one client: what it sends goes to the old server as it is, and what that answers
 * comes back; commands about keys are noted, and go to the new one once the old one has taken them.
 * Pure: it sends by its port.
 *
 *   client bytes -> old server, and through a framer: one entry a command
 *   old bytes    -> through a framer: the answer of the oldest entry that has none -> client
 *                   +QUEUED: kept until EXEC; an error: not for the new one either
 *   answers new: an answer about keys is held until the new one's has come, or is late
 *
 * Where answers do not come one a command (SUBSCRIBE, MONITOR...), and where what comes is not the
 * protocol, all is passed on unseen from there on, and that is counted. As far as it can still be
 * told what the client sends, adds are missed.
 *
 * Bounds:  visit_reads_client() and visit_reads_old() say when enough is kept. What is noted of
 *          commands takes the mirror's bytes; what finds none there passes, and is missed.
 * Owner:   visit_create()'s caller calls visit_destroy(); items of the mirror that wait for it
 *          forget it then.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHADOW_VISIT_H
#define ORBLOOM_CLI_SHADOW_VISIT_H

#include "cli/shadow/mirror.h"
#include "cli/shadow/tally.h"

struct visit_port {
    void (*to_client)(void *owner, struct span bytes);
    void (*to_old)(void *owner, struct span bytes);
    struct mirror *mirror;
    struct tally *tally;
    uint32_t database; /* whose filters go to both */
    bool answers_new;
};

struct visit;

/* NULL: no memory. The port is borrowed. */
struct visit *visit_create(const struct visit_port *port, void *owner);
void visit_destroy(struct visit **visit);

void visit_client_bytes(struct visit *visit, struct span bytes);
void visit_old_bytes(struct visit *visit, uint64_t now_us, struct span bytes);

/* One of the servers has gone: what waits for the new one is let go, as the old one has answered.
 */
void visit_server_gone(struct visit *visit);

/* The new one has answered the item, or never will (empty). */
void visit_new_answered(struct mirror_item *item, struct span reply);

/* Likewise of answers that have waited for the new one since before then. */
void visit_give_up(struct visit *visit, uint64_t before_us);

bool visit_reads_client(const struct visit *visit);
bool visit_reads_old(const struct visit *visit);

/* Has the old server answered all that is to be noted? */
bool visit_is_settled(const struct visit *visit);

/* Has the client got all answers? Of one that is unseen nobody knows of any. */
bool visit_is_answered(const struct visit *visit);

/* Memory was out: the client is to be dropped. */
bool visit_is_torn(const struct visit *visit);

#endif
