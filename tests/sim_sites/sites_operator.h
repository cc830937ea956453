/* sites_operator.h - who adds a filter to sites and removes sites from it, insisting until their
 * documents say so.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_SITES_SITES_OPERATOR_H
#define ORBLOOM_TESTS_SIM_SITES_SITES_OPERATOR_H

#include <stdbool.h>
#include <stdint.h>

struct site;
struct sites;

/* `at` names `other`, after a while. */
void sites_operator_add(struct site *at, struct site *other, uint64_t delay_us);

/* `at` leaves, in order. */
void sites_operator_leave(struct site *at);

/* `at` hears that `other` is off for good. */
void sites_operator_remove(struct site *at, struct site *other);

/* The filter that `at` has is dropped everywhere. */
void sites_operator_drop(struct site *at);

/* It is removed: once all others know of that, and it does not, it drops the filter for all of
 * them, which is none of its business by then. If it hears of it before it is added again. */
void sites_operator_orphan(struct site *site);

/* It leaves, or is removed; once it is gone it is added again by one that counts, perhaps when it
 * has dropped what it had kept. */
void sites_operator_return(struct site *site, bool drops_first);

#endif
