/* boot_memory.h - what a node remembers of the other nodes' logs and boots.
 *
 * A folder that was put back continues a boot, or a place in its log, that was left behind. The
 * node itself can't see that; others may: each remembers how far the logs of the others were
 * durable, as their answers told, and which boot it has confirmed in the store's place. A start
 * asks all nodes that share shards whether they remember more.
 *
 * Positions are kept apart by boot: what a boot has written itself says nothing about what it
 * found, nor does what starts have written that nobody heard of. So what a boot was known to have
 * is compared with where that boot ended in the log that was found.
 *
 * The boot that counts as a node's newest is the one in the node list, unless this node has
 * confirmed a later one while the list still names the one before, its base.
 *
 * Units:   bytes of a node's log.
 * Errors:  STATUS_NOMEM: nothing was kept.
 * Owner:   boot_memory_fini(); a zeroed struct is empty.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_PULL_BOOT_MEMORY_H
#define ORBLOOM_NODE_PULL_BOOT_MEMORY_H

#include "map/boot.h"

/* Boots of one node that are kept apart; answers of older ones are rare. */
enum { BOOT_MAX_TOLD = 4 };

/* How far a boot's log was durable. */
struct boot_told {
    uint64_t boot;
    uint64_t position;
};

struct boot_entry {
    uint32_t node;
    uint64_t incarnation;
    uint64_t boot; /* confirmed here; 0: none */
    uint64_t base;
    struct boot_told told[BOOT_MAX_TOLD]; /* in the order in which they were first heard of */
    uint32_t ntold;
    uint64_t floor; /* of an unknown boot, of before it was told */
};

struct boot_memory {
    struct boot_entry *items;
    uint32_t count;
    size_t capacity;
};

void boot_memory_fini(struct boot_memory *self);

/* That node's log is durable up to `position`, says its boot. `floor`: how far its log is known to
 * have come in boots before this one, from elsewhere than this memory. */
MUST_USE enum status boot_memory_note(struct boot_memory *self, const struct member *who,
                                      uint64_t boot, uint64_t position, uint64_t floor);

/* `record`: the node's in the newest node list; NULL: none. `floor`: as above. *remembered: where
 * the log is known to have been, when that is why. */
enum boot_answer boot_memory_judge(const struct boot_memory *self, const struct node_record *record,
                                   const struct boot_question *question, uint64_t floor,
                                   uint64_t *remembered);

/* Of a question that fits: what is to be made durable, and kept then, before anybody is told yes.
 * False: it is known as the newest boot already. */
bool boot_memory_confirms(const struct boot_memory *self, const struct node_record *record,
                          const struct boot_question *question, struct boot_entry *out);

/* It is durable: just now, or was found in the log. */
MUST_USE enum status boot_memory_keep(struct boot_memory *self, const struct boot_entry *confirmed);

#endif
