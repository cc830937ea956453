/* The verdict on a request's epoch: only the very content that the node holds is served, older
 * is STALE, newer is NEED_DOC. */
#include "map/fence.h"

#include <stddef.h>

void fence_raise(struct fence *self, const struct filter_document *held)
{
#ifdef ORBLOOM_MUTANT_ERASE_NO_TOMBSTONE
    if (held->content.state == FILTER_ACTIVE) {
        self->epoch = held->epoch; /* What came before was erased. */
    }
#endif
    if (held->epoch > self->epoch) {
        self->epoch = held->epoch;
    }
}

enum status fence_judge(const struct fence *self, const struct filter_document *held,
                        uint64_t epoch, uint64_t epoch_hash)
{
#ifdef ORBLOOM_MUTANT_ERASE_NO_TOMBSTONE
    held = held != NULL && held->content.state == FILTER_DROPPED ? NULL : held;
#endif
    if (held == NULL || epoch > held->epoch) {
        return STATUS_NEED_DOC;
    }
    if (epoch < self->epoch || epoch < held->epoch) {
        return STATUS_STALE;
    }
#ifdef ORBLOOM_MUTANT_BARE_NUMBER_FENCE
    epoch_hash = held->epoch_hash;
#endif
    if (epoch_hash != held->epoch_hash) {
        return STATUS_CONFLICT;
    }
    if (held->content.state != FILTER_ACTIVE) {
        return STATUS_DROPPED;
    }
    return STATUS_OK;
}
