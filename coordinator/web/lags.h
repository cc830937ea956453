/* lags.h - how far other sites are, as this site's links say: they are asked while somebody looks,
 * as `orbloom site` asks them.
 *
 * Bounds:  COORDINATOR_MAX_LINKS links, asked each LAGS_EACH_US until nobody has wanted to know for
 *          LAGS_WANTED_US; SITE_MAX_LAGS of each. What one has said counts for LAGS_KNOWN_US.
 * Errors:  none: of what can't be asked or kept nothing is known.
 * Owner:   the coordinator.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_WEB_LAGS_H
#define ORBLOOM_COORDINATOR_WEB_LAGS_H

#include "coordinator/private.h"

enum { LAGS_EACH_US = 2000000, LAGS_WANTED_US = 10000000, LAGS_KNOWN_US = 10000000 };

struct lags;

/* NULL: no memory. */
struct lags *lags_create(void);
void lags_destroy(struct lags *self);

/* Somebody wants to know. */
void lags_want(struct lags *self, uint64_t now_us);

/* Where `self` asks at all: what is due now, and when more is. */
void lags_turn(struct coordinator *self, uint64_t now_us);
uint64_t lags_next_us(const struct coordinator *self);

/* A link has answered; another one's answer is nobody's. False: it was not asked. */
bool lags_hear(struct lags *self, uint64_t now_us, uint32_t link,
               const struct site_lag_reply *reply);

/* Of one filter, by all links that say anything of it. False: none does. */
bool lags_of(const struct lags *self, uint64_t now_us, uint64_t filter_id, const struct site_id *id,
             struct site_lag *out);

/* ... and of all filters in sum. */
struct lags_sum {
    bool told; /* of some filter, and that all of them are sent there; else the rest says nothing */
    uint64_t pending_keys; /* read here, and not applied there yet */
    uint64_t pending_us;   /* the longest that one of them waits */
};
struct lags_sum lags_sum(const struct lags *self, uint64_t now_us, const struct site_id *id);

#endif
