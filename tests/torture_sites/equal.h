/* equal.h - at the end: does every site have every key that any of them has acknowledged?
 *
 * Threads: the main thread, once no load runs any more.
 */
#ifndef ORBLOOM_TESTS_TORTURE_SITES_EQUAL_H
#define ORBLOOM_TESTS_TORTURE_SITES_EQUAL_H

#include "tests/torture_sites/load.h"

/* Ask each site's router for all keys of all sites, until it has them. What an own key's site calls
 * absent, or any site after --patience, is lost: said by verdict_fail(). */
bool equal_wait(const struct sites *sites, struct load *loads);

/* The site may have less than all sites have acknowledged. Fresh checks there say "absent" of none
 * of it, and "present" of all in the end. */
bool equal_heal(const struct sites *sites, struct load *loads, uint32_t site);

/* What each site estimates of its keys fits what was added. */
bool equal_count(const struct sites *sites, struct load *loads);

#endif
