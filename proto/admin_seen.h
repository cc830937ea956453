/* admin_seen.h - what a change has seen of what it is about, for whoever asks for one.
 *
 *   look     a question to a coordinator, which has no effect: as often and as late as may be
 *   change   names what was found. With something else there by then it is refused as moved
 *   again    ... a look once more: is it still the same filter, target and node? Else the answer is
 *            CONFLICT, as whoever asked meant others
 *
 * Threads: none.
 */
#ifndef ORBLOOM_PROTO_ADMIN_SEEN_H
#define ORBLOOM_PROTO_ADMIN_SEEN_H

#include "proto/admin_message.h"

/* All but questions. */
bool admin_is_change(enum admin_action action);

/* Does it rest on the operator's word about lives of nodes? Not those that came after it. */
bool admin_vouches(const struct admin_request *change);

/* The look that it takes; borrows its names. */
struct admin_request admin_look(const struct admin_request *change);

/* Take what was found, the first time. A change that names a filter already means that one. */
void admin_take_seen(struct admin_request *change, const struct admin_seen *seen);

/* ... once more. False: what was meant is not there any more, or nothing has changed; nothing is
 * taken then. */
bool admin_take_again(struct admin_request *change, const struct admin_seen *seen);

#endif
