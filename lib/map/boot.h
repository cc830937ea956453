/* boot.h - is a node's data the newest that it ever had?
 *
 * A node with a disk draws a random id at each start, its boot, writes it into its log, and tells
 * the one before along with it. Its record in the node list names the boot that came last. Whoever
 * continues from another one holds an older copy: a restored folder, a machine that was rolled
 * back, or the second of two that were started from one copy. It has lost acknowledged keys and
 * must not answer for the incarnation whose data it holds.
 *
 * An incarnation that begins names the life whose place it takes. So a first registration that
 * the network delays or repeats, of one that did not live on, can't replace what came later: by
 * then the record names something else.
 *
 * Nodes that keep memory only have boot 0, and an incarnation for each start.
 *
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_BOOT_H
#define ORBLOOM_MAP_BOOT_H

#include "map/document.h"

/* A boot of an incarnation, as a record names the present one; 0, 0: none. */
struct boot_life {
    uint64_t incarnation;
    uint64_t boot;
};

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
