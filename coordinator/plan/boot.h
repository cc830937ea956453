/* boot.h - does a boot get its node's place in the node list? What a boot is: map/boot.h.
 *
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_COORDINATOR_PLAN_BOOT_H
#define ORBLOOM_COORDINATOR_PLAN_BOOT_H

#include "map/boot.h"

struct boot_claim {
    uint64_t incarnation;
    uint64_t boot;
    uint64_t boot_before;      /* 0: this is the first boot of the incarnation */
    struct boot_life replaces; /* a first boot's: whose place it wants */
};

enum boot_verdict {
    BOOT_KNOWN, /* the record names this very boot */
    BOOT_NEXT,  /* it continues the one in the record, which is to be swapped for it */
    BOOT_FRESH, /* an incarnation that begins: the record is to be replaced, or made */
    BOOT_BLIND, /* one that begins, but does not name what the record does: to be told, and asked
                   again */
    BOOT_OLD,   /* older data, or an incarnation that has lost its place: never again */
};

/* `record`: NULL when the node list has none of that name. */
enum boot_verdict boot_judge(const struct node_record *record, const struct boot_claim *claim);

#endif
