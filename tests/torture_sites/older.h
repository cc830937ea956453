/* older.h - a site that becomes again what it was, or loses all that it had.
 *
 * Before that all sites are equal, so that nothing is lost for good. From then on, also while the
 * site has not noticed yet, no fresh check there may call absent what any site has acknowledged;
 * and in the end it has all of it again.
 *
 * Threads: the main thread.
 */
#ifndef ORBLOOM_TESTS_TORTURE_SITES_OLDER_H
#define ORBLOOM_TESTS_TORTURE_SITES_OLDER_H

#include "tests/torture_sites/faults.h"
#include "tests/torture_sites/load.h"

#include <stdatomic.h>

/* Copy the data of all nodes and the store of a site as they are at one moment. */
bool older_copy(struct faults *faults, uint32_t site);

/* Loads end, the site is put back to its copy, or emptied, and loads go on once all is well again.
 * False: said by verdict_fail(). */
bool older_put_back(struct faults *faults, struct load *loads, uint32_t site);
bool older_wipe(struct faults *faults, struct load *loads, uint32_t site);

/* On purpose: what a site that is cut off has acknowledged for a while is gone. `acknowledged` is
 * how many keys that are by now, at that site. */
void older_rewind(struct faults *faults, uint32_t site, const _Atomic uint64_t *acknowledged);

#endif
