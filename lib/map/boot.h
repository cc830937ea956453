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
 * Whether a boot gets its place is for coordinator/plan/boot.h; whether other nodes remember more
 * of it than it has, for node/pull/boot_memory.h.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_MAP_BOOT_H
#define ORBLOOM_MAP_BOOT_H

#include "map/document.h"

/* A boot of an incarnation, as a record names the present one; 0, 0: none. */
struct boot_life {
    uint64_t incarnation;
    uint64_t boot;
};

enum { BOOT_MAX_BEFORE = 64 };

/* A start, as the node that starts tells it. */
struct boot_question {
    uint32_t node;
    uint64_t incarnation;
    uint64_t boot;
    uint64_t before[BOOT_MAX_BEFORE]; /* it continues one of these: the store knows which */
    uint64_t ends[BOOT_MAX_BEFORE];   /* where each of them ended, in the log that was found */
    uint32_t nbefore;
    uint64_t position; /* where the log ended that it found; UINT64_MAX: was asked before */
    uint64_t reached;  /* where it ends now: what is known of unknown boots may be of this one */
};

/* What the others say to it. */
enum boot_answer {
    BOOT_FITS,       /* it is the newest known here, or continues that one */
    BOOT_UNKNOWN,    /* nothing speaks against it, nor for it */
    BOOT_SUPERSEDED, /* another boot went on from there, or its log was longer once */
};

#endif
