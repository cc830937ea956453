/* hub_watch.h - somebody else's events in a hub's loop: a descriptor that is readable while there
 * are any, and a time after which there may be some.
 *
 * Errors:  hub_watch_open: STATUS_IO: the loop can't watch that descriptor; STATUS_NOMEM.
 * Owner:   hub_watch_open()'s caller calls hub_watch_close(), before the descriptor is closed and
 *          before hub_destroy().
 * Threads: the loop's.
 */
#ifndef ORBLOOM_RUNTIME_HUB_WATCH_H
#define ORBLOOM_RUNTIME_HUB_WATCH_H

#include "runtime/hub.h"

struct hub_watch;

typedef void hub_watch_fn(void *context);

/* Call `on_event` whenever the loop finds the descriptor readable. */
MUST_USE enum status hub_watch_open(struct hub *hub, int descriptor, hub_watch_fn *on_event,
                                    void *context, struct hub_watch **out);

/* ... and once more in so long, unless this is called again meanwhile. UINT64_MAX: not so. */
void hub_watch_within(struct hub_watch *watch, uint64_t wait_ms);

/* No event is told any more. NULL: nothing. */
void hub_watch_close(struct hub_watch **watch);

#endif
