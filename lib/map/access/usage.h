/* usage.h - what users use of one router: keys a second, and bytes of requests under way.
 *
 * Limits of a user are of the whole cluster. As each router knows how many of them there are, each
 * allows its share of keys_per_s, and all of them together what the record says; in_flight is of
 * one router as it is.
 *
 * Rates are token buckets: a request of any size passes once what was taken before is paid, so the
 * rate holds over time; a quarter of a second may be saved up. What is owed is paid at the rate
 * that it was taken at, or at a higher one from when that is known.
 *
 * Bounds:  as many as the record has users with limits.
 * Errors:  usages_learn: STATUS_NOMEM. Limits that could not be kept are not enforced; learn again.
 * Threads: none; time is an argument.
 */
#ifndef ORBLOOM_MAP_ACCESS_USAGE_H
#define ORBLOOM_MAP_ACCESS_USAGE_H

#include "base/number_table.h"
#include "base/token_bucket.h"
#include "map/access/users.h"

/* Of a user with limits. Stays where it is while the user has them, or has anything under way. */
struct usage {
    struct number_entry user; /* first: its id */
    char name[USER_NAME_BYTES];
    struct user_limits limits; /* as the record has them; all 0 of a user that has gone */
    struct token_bucket keys;
    uint64_t rate;      /* that the debt of `keys` was made at */
    uint64_t in_flight; /* bytes */
    uint64_t had;       /* keys, in all, while keys_per_s was limited */
};

/* Zeroed: there are none. */
struct usages {
    struct number_table users;
    uint64_t revision; /* of the record that they are of */
};

void usages_fini(struct usages *self);

/* Take over the limits of a record. What is under way stays, and what is owed while there are
 * limits. */
MUST_USE enum status usages_learn(struct usages *self, const struct user_list *users);

/* NULL: it has no limits. */
struct usage *usages_find(const struct usages *self, uint32_t user);

/* How many of a user's keys a second are one router's, where there are so many routers; 0 of either
 * counts as 1 router and as no limit. Never 0 of a limit. */
uint64_t usage_share(uint64_t keys_per_s, uint32_t routers);

/* May it ask for so many keys now? They are taken then. False: *retry_us is when to ask again, from
 * now on. */
bool usage_take_keys(struct usage *self, uint64_t now_us, uint64_t keys, uint32_t routers,
                     uint64_t *retry_us);

/* It has had so many, which was not known before. */
void usage_owe_keys(struct usage *self, uint64_t now_us, uint64_t keys, uint32_t routers);

/* May it have so many bytes more under way? They are until usages_end(). One request alone always
 * may, however large. */
bool usage_begin(struct usage *self, uint64_t bytes);
void usages_end(struct usages *self, uint32_t user, uint64_t bytes);

#endif
