/* Who wrote the log up to a place is who writes it now, or it is another log. */
#include "node/tail/tail_place.h"

#include "base/mutant.h"

#include <stddef.h>

bool tail_place_tells_put_back(const struct tail_place *place,
                               const struct record_identity *identity, uint64_t end)
{
    uint32_t count = identity->nbefore + identity->nformer;

    if (place->incarnation != identity->incarnation) {
        return false;
    }
    if (place->boot == identity->boot || MUTANT(SITE_PLACE_ANY_BOOT)) {
        return place->offset > end;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (identity->before[i] == place->boot) {
            return place->offset > identity->ends[i];
        }
    }
    return true;
}

const char *tail_place_why_not(const struct tail_place *place,
                               const struct record_identity *identity, uint64_t end)
{
    uint32_t last = identity->nbefore - 1;

    if (place->incarnation != identity->incarnation) {
        return "the place is of another incarnation of this node: its log has not what that one "
               "had; compare the sites' replicas, and begin where that view ends";
    }
    if (place->boot == identity->boot || MUTANT(SITE_PLACE_ANY_BOOT)) {
        return place->offset <= end ? NULL
                                    : "the place is beyond the end of this node's log; compare the "
                                      "sites' replicas, and begin where that view ends";
    }
    if (identity->nbefore == 0 || place->boot != identity->before[last]) {
        return "the place is of a boot that this one does not follow; compare the sites' replicas, "
               "and begin where that view ends";
    }
    if (place->offset > identity->ends[last] && !MUTANT(TAIL_ANY_END)) {
        return "the log of the boot before ended in front of the place: what was there is lost; "
               "compare the sites' replicas, and begin where that view ends";
    }
    return NULL;
}
