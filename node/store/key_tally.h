/* key_tally.h - how many keys are in pages that are copied one by one while keys are added.
 *
 * A count taken before the first page is too low for what came into pages copied later, one taken
 * behind the last too high for what came into pages copied before: what is read back from elsewhere
 * besides the pages, and counted where it sets a bit, would be counted never, or twice.
 * Fingerprints fall on all pages alike. So of the keys that a slot group gains between two looks
 * that part is in the pages which these then lack: exact where nothing is added meanwhile, else to
 * within the square root of what was.
 *
 *   note(each group's count now), copied(the group of each page that follows) ... -> keys
 *
 * Errors:  STATUS_NOMEM.
 * Owner:   key_tally_init()'s caller calls key_tally_fini().
 * Threads: none.
 */
#ifndef ORBLOOM_NODE_STORE_KEY_TALLY_H
#define ORBLOOM_NODE_STORE_KEY_TALLY_H

#include "base/status.h"

#include <stdint.h>

struct key_tally_group {
    uint64_t pages;  /* of all its shards */
    uint64_t copied; /* of them */
    uint64_t seen;   /* its count when it was looked at last */
    uint64_t keys;   /* in what was copied, and what will be if nothing more is added */
};

struct key_tally {
    struct key_tally_group *groups;
    uint32_t ngroups;
};

MUST_USE enum status key_tally_init(struct key_tally *self, uint32_t ngroups);
void key_tally_fini(struct key_tally *self);

/* The group has that many more pages. */
void key_tally_expect(struct key_tally *self, uint32_t group, uint64_t pages);

/* Its count is that now. */
void key_tally_note(struct key_tally *self, uint32_t group, uint64_t count);

/* One more of its pages was copied, as it is now. */
void key_tally_copied(struct key_tally *self, uint32_t group);

#endif
