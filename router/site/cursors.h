/* cursors.h - cursors of other sites' logs on their way to and from the nodes of a slot group;
 * for router only.
 *
 * Each is about one slot group, and all of its replicas are asked. Put: done once W slots have it
 * durably, a pair both halves of it, as an add. Got: done once R FULL replicas of one epoch have
 * told theirs, and what these come to is the answer. Under a newer epoch it begins anew.
 */
#ifndef ORBLOOM_ROUTER_SITE_CURSORS_H
#define ORBLOOM_ROUTER_SITE_CURSORS_H

#include "router/private.h"

void site_asks_destroy(struct router *self);
bool site_asks_idle(const struct router *self);
void site_asks_tick(struct router *self, uint64_t now_us);

/* Is something about the filter under way? */
bool site_asks_use(const struct router *self, uint64_t filter_id);
void site_asks_on_reply(struct router *self, uint64_t now_us, const struct frame *frame);

#endif
