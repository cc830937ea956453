/* states.h - the courier of what sites say of their filters: see proto/site/state.h.
 *
 * What a link's own coordinators say goes to the links of all sites that it concerns, what those
 * say to the coordinators. A site is believed of itself only, by the key that it has proved to
 * have. Nothing here is kept on a disk: whoever loses it is told again.
 *
 * To another site: a link that has just greeted is told everything, page by page, later what
 *          changes. The hash secret goes along while that site joins.
 * To coordinators: with each question for news what the one that is asked has not heard, and the
 *          evidence of evidence.h; to one that counts anew all of it. Who has not answered is asked
 *          as often as a router asks, and not sooner for what is new.
 *
 * Errors:  states_create: STATUS_NOMEM. What is refused is logged and counted.
 * Owner:   the link.
 * Threads: none.
 */
#ifndef ORBLOOM_LINK_STATES_H
#define ORBLOOM_LINK_STATES_H

#include "link/link.h"
#include "proto/codec.h"

struct channel;
struct states;

MUST_USE enum status states_create(struct states **out);
void states_destroy(struct states **states);

/* From another site. */
void states_on_filters(struct link *self, uint64_t now_us, const struct channel *channel,
                       const struct site_filters *message);

/* What a question for coordinators has besides the router's own, and what they answer: see
 * router_set_sync_extra(). */
void states_fill(struct link *self, uint64_t now_us, uint32_t coordinator,
                 struct sync_request *request);
void states_answered(struct link *self, uint64_t now_us, const struct sync_reply *reply, bool last);

void states_turn(struct link *self, uint64_t now_us);
void states_tick(struct link *self, uint64_t now_us);
uint64_t states_next_us(const struct link *self);

/* ---- what is known of a filter; valid until something else is asked here ---- */

MUST_USE bool states_own(const struct link *self, const struct filter_uid *uid,
                         struct site_filter *out);
MUST_USE bool states_of_peer(const struct link *self, uint32_t peer, const struct filter_uid *uid,
                             struct site_filter *out);

/* Rises with what the first, or the second of them tells. */
uint64_t states_version(const struct link *self, uint32_t peer, const struct filter_uid *uid);

/* Does this site wait for others of the filter, or they for it? */
bool states_unsettled(const struct link *self, const struct filter_uid *uid);

#endif
