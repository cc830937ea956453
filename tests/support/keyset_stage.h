/* keyset_stage.h - a node on a disk in memory whose filter is rebuilt from a list.
 *
 * The documents of the rebuild are signed here: begin, commit and abort are each an epoch.
 *
 * Errors:  a failed cr_assert.
 * Owner:   keyset_stage_init()'s caller calls keyset_stage_fini().
 */
#ifndef ORBLOOM_TESTS_SUPPORT_KEYSET_STAGE_H
#define ORBLOOM_TESTS_SUPPORT_KEYSET_STAGE_H

#include "node/private.h"
#include "tests/support/node_stage.h"

struct keyset_stage {
    struct node_stage stage;
    struct filter_document document;
    uint32_t last; /* keyset that ever was */
};

/* Started, registered, the filter made with keyset 1, FULL and empty. */
void keyset_stage_init(struct keyset_stage *self);
void keyset_stage_fini(struct keyset_stage *self);

/* The document as it is after that, under another epoch; not handed over. */
void keyset_stage_begin(struct keyset_stage *self);
void keyset_stage_commit(struct keyset_stage *self);
void keyset_stage_abort(struct keyset_stage *self);

/* Handed over and settled. */
void keyset_stage_hand(struct keyset_stage *self);

/* Fingerprints into the newest keyset alone, and the answer. */
enum status keyset_stage_feed(struct keyset_stage *self, uint32_t keyset, const uint64_t *keys,
                              uint32_t count);

/* Ended so, started again, settled, and served as what it was. */
void keyset_stage_restart(struct keyset_stage *self, enum stage_end how);

const struct hosted_filter *keyset_stage_hosted(const struct keyset_stage *self);

#endif
