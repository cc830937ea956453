/* movement.h - does a process move, or does it hang?
 *
 * The one judgement of that, for whoever would restart it: /healthz (http/pages.h) and the watchdog
 * of a supervisor (supervision.h).
 *
 * Threads: the loop's.
 */
#ifndef ORBLOOM_RUNTIME_MOVEMENT_H
#define ORBLOOM_RUNTIME_MOVEMENT_H

#include "base/telemetry/health.h"
#include "runtime/hub.h"

enum { MOVEMENT_STILL_US = 10000000 /* what has not moved for so long hangs */ };

/* Of a process that began its last turn so long ago, and has been at one commit for so long. Pure.
 */
void movement_judge(uint64_t silent_us, uint64_t commit_us, struct health *health);

/* ... of this one. `logs`: what it commits is a log, and one write that takes long is amiss. */
void movement_look(const struct hub *hub, bool logs, struct health *health);

#endif
