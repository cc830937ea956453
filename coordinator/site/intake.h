/* intake.h - what a link of this site brings along when it asks: what other sites say of filters,
 * and its own evidence. It goes to the filters that it is about, or to those that are to come.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_SITE_INTAKE_H
#define ORBLOOM_COORDINATOR_SITE_INTAKE_H

#include "coordinator/private.h"
#include "proto/site/state.h"

/* By a link that links_note() has taken down. What makes no sense is counted, and left out; so are
 * all states while links of this site say that they are of different sites. */
void intake_filters(struct coordinator *self, uint64_t now_us, const struct site_filter *filters,
                    size_t count);
void intake_evidence(struct coordinator *self, uint64_t now_us, const char *link,
                     const struct site_evidence *evidence, size_t count);

#endif
