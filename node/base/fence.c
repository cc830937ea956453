/* The verdict on a request's epoch: only the very content that the node holds is served, older
 * is STALE, newer is NEED_DOC. */
#include "node/base/fence.h"

#include "base/mutant.h"

#include <assert.h>
#include <stddef.h>

void fence_raise(struct fence *self, const struct filter_document *held)
{
    if (MUTANT(ERASE_NO_TOMBSTONE) && held->content.state == FILTER_ACTIVE) {
        self->epoch = held->epoch; /* What came before was erased. */
    }
    if (held->epoch > self->epoch) {
        self->epoch = held->epoch;
    }
    assert(self->epoch >= held->epoch); /* No document that is held lets a fence go back. */
}

enum status fence_judge(const struct fence *self, const struct filter_document *held,
                        uint64_t epoch, uint64_t epoch_hash)
{
    if (MUTANT(ERASE_NO_TOMBSTONE) && held != NULL && held->content.state == FILTER_DROPPED) {
        held = NULL;
    }
    if (held == NULL || epoch > held->epoch) {
        return STATUS_NEED_DOC;
    }
    if (epoch < self->epoch || epoch < held->epoch) {
        return STATUS_STALE;
    }
    if (epoch_hash != held->epoch_hash && !MUTANT(BARE_NUMBER_FENCE)) {
        return STATUS_CONFLICT;
    }
    if (held->content.state != FILTER_ACTIVE) {
        return STATUS_DROPPED;
    }
    return STATUS_OK;
}
