/* restore.h - the halves of a restore: taking a backup's records in, and going past
 * what nodes hold. For coordinator/restore only.
 *
 * Both may be broken off and done again, by any coordinator: the store's mark says that a restore
 * is under way, and until it is gone nothing else is changed.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_RESTORE_RESTORE_H
#define ORBLOOM_COORDINATOR_RESTORE_RESTORE_H

#include "coordinator/private.h"

/* A backup's node list, until the restore is finished: the store's own may be of other nodes. */
#define RESTORE_NODES_KEY "restore/nodes"

/* One key as the store has it; a zeroed version when it has none. */
struct restore_record {
    struct buffer value;
    uint64_t version;
};

/* The caller finis record->value, also on errors. */
MUST_USE enum status restore_read(struct coordinator *self, const char *key,
                                  struct restore_record *record);

MUST_USE enum status restore_write(struct coordinator *self, const char *key, uint64_t version,
                                   struct span value);

/* A number of 8 bytes, as names and counters are kept. */
uint64_t restore_number(struct span value);
struct span restore_number_bytes(uint64_t number, uint8_t bytes[8]);

/* Go past what nodes hold, and end the restore. `message`: what was done, or why not yet;
 * COORDINATOR_MESSAGE_BYTES. */
MUST_USE enum status restore_finish(struct coordinator *self, uint64_t now_us,
                                    const struct map_parameters *map, char *message);

/* ---- nodes.c ---- */

/* The newest node list that anybody has. *by_node: a living node holds it. STATUS_OK also when
 * there is none: an empty one. Borrowed from the coordinator or from *backup, which the caller
 * finis. */
MUST_USE enum status restore_known_nodes(struct coordinator *self, struct node_list *backup,
                                         const struct node_list **known, bool *by_node);

/* Have all nodes said what they hold, and sent what the store lacks, or are they confirmed to be
 * off? Else `message` says who has not. */
MUST_USE enum status restore_check_nodes(struct coordinator *self, uint64_t now_us,
                                         const struct node_list *known,
                                         const struct map_parameters *map, char *message);

/* The list to be written, and the lives that were asked; the caller frees both, also on errors. */
MUST_USE enum status restore_make_nodes(struct coordinator *self, const struct node_list *known,
                                        bool by_node, const struct map_parameters *map,
                                        struct node_list *out);
struct member *restore_asked(const struct coordinator *self, const struct node_list *known,
                             size_t *count);

#endif
