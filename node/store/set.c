/* What belongs to a set. */
#include "base/mutant.h"
#include "node/store/private.h"

bool storage_set_has(const struct storage_set *set, const struct record_run *run)
{
    return run->filter_id == set->filter_id && run->keyset == set->keyset &&
           run->slice == set->slice;
}

bool storage_set_gets(const struct storage_set *set, const struct record_batch *batch)
{
    if (MUTANT(OLD_KEYSET_REPLAYED)) {
        return batch->filter_id == set->filter_id;
    }
    for (uint32_t i = 0; i < batch->ntargets; i++) {
        if (batch->filter_id == set->filter_id && batch->targets[i].keyset == set->keyset &&
            batch->targets[i].slice == set->slice) {
            return true;
        }
    }
    return false;
}
