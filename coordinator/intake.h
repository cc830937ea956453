/* intake.h - what is to be served first while the store is slow, and what the others
 * are told where there is no room for them.
 *
 * Nodes' reports come first: a node that is not heard of is taken for gone, and its shards are
 * moved. One that is dropped is followed by a newer one. Routers and operators repeat what they
 * ask, too.
 *
 * Threads: none; pure functions of the bytes, called while a coordinator runs on another thread.
 */
#ifndef ORBLOOM_COORDINATOR_INTAKE_H
#define ORBLOOM_COORDINATOR_INTAKE_H

#include "base/buffer.h"
#include "base/span.h"

#include <stdbool.h>

/* Does a node report here? Not yet checked by its signature. */
bool coordinator_comes_first(struct span frame);

/* Append the answer OVERLOADED. False, nothing appended: it is no request, or memory is out. */
bool coordinator_refuse_crowded(struct span frame, struct buffer *out);

#endif
