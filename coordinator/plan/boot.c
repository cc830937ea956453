/* The verdict on a boot that asks for its place: the next one, one that is known, an old copy,
 * or one that nobody can judge. */
#include "coordinator/plan/boot.h"

#include "base/mutant.h"

#include <stddef.h>

static enum boot_verdict judge_same(const struct node_record *record,
                                    const struct boot_claim *claim)
{
    if (record->boot == claim->boot) {
        return BOOT_KNOWN;
    }
    return record->boot == claim->boot_before && claim->boot != 0 ? BOOT_NEXT : BOOT_OLD;
}

enum boot_verdict boot_judge(const struct node_record *record, const struct boot_claim *claim)
{
    if (record == NULL) {
        return BOOT_FRESH; /* It may have been started before any coordinator was. */
    }
    if (MUTANT(ANY_BOOT)) {
        return record->incarnation != claim->incarnation ? BOOT_FRESH
               : record->boot != claim->boot             ? BOOT_NEXT
                                                         : BOOT_KNOWN;
    }
    if (record->incarnation == claim->incarnation) {
        return judge_same(record, claim);
    }
    /* What was ever started twice has a boot before: it had its place once and has lost it. */
    if (claim->boot_before != 0) {
        return BOOT_OLD;
    }
    return MUTANT(REPLACES_ANY) || (claim->replaces.incarnation == record->incarnation &&
                                    claim->replaces.boot == record->boot)
               ? BOOT_FRESH
               : BOOT_BLIND;
}
