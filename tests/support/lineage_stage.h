/* lineage_stage.h - a node on a disk in memory whose filter is rebuilt from a list.
 *
 * The documents of the rebuild are signed here: begin, commit and abort are each an epoch.
 *
 * Errors:  a failed cr_assert.
 * Owner:   lineage_stage_init()'s caller calls lineage_stage_fini().
 */
#ifndef ORBLOOM_TESTS_SUPPORT_LINEAGE_STAGE_H
#define ORBLOOM_TESTS_SUPPORT_LINEAGE_STAGE_H

#include "node/private.h"
#include "tests/support/node_disk_stage.h"

struct lineage_stage {
    struct node_stage stage;
    struct filter_document document;
    uint32_t last; /* lineage that ever was */
};

/* Started, registered, the filter made with lineage 1, FULL and empty. */
void lineage_stage_init(struct lineage_stage *self);
void lineage_stage_fini(struct lineage_stage *self);

/* The document as it is after that, under another epoch; not handed over. */
void lineage_stage_begin(struct lineage_stage *self);
void lineage_stage_commit(struct lineage_stage *self);
void lineage_stage_abort(struct lineage_stage *self);

/* Handed over and settled. */
void lineage_stage_hand(struct lineage_stage *self);

/* Fingerprints into the newest lineage alone, and the answer. */
enum status lineage_stage_feed(struct lineage_stage *self, uint32_t lineage, const uint64_t *keys,
                               uint32_t count);

/* Ended so, started again, settled, and served as what it was. */
void lineage_stage_restart(struct lineage_stage *self, enum stage_end how);

const struct hosted_filter *lineage_stage_hosted(const struct lineage_stage *self);

#endif
