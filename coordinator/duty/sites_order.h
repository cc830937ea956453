/* sites_order.h - what an operator orders about another site and changes no set of sites: to send
 * it nothing and take nothing from it, of one filter or of all, for as long as that is said; and to
 * compare all that it has of a filter once more.
 *
 * The order stands in this site's store: of a filter in the entry of that site in its document, of
 * all in the list of nodes. Links learn of it as of every document.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_DUTY_SITES_ORDER_H
#define ORBLOOM_COORDINATOR_DUTY_SITES_ORDER_H

#include "coordinator/private.h"

bool sites_order_is_one(enum site_step step);

/* Of a valid name of a site. */
void sites_order_command(struct coordinator *self, uint64_t now_us, const struct peer *from,
                         const struct frame *frame);

#endif
