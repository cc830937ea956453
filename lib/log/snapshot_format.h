/* snapshot_format.h - what writer and reader of a snapshot agree on; the format is in snapshot.h.
 *
 * Errors:  STATUS_VERSION, STATUS_MALFORMED.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_LOG_SNAPSHOT_FORMAT_H
#define ORBLOOM_LOG_SNAPSHOT_FORMAT_H

#include "log/snapshot.h"

enum { SNAPSHOT_MAX_SHARDS = 1 << 16 };

/* Where the tables begin, and how long they are. */
uint64_t snapshot_tables_offset(const struct snapshot_shape *shape);
uint64_t snapshot_tables_bytes(const struct snapshot_shape *shape);

/* Where the lists of shards and groups begin within the tables. */
uint64_t snapshot_shards_at(const struct snapshot_shape *shape);
uint64_t snapshot_groups_at(const struct snapshot_shape *shape);

void snapshot_header_put(uint8_t bytes[SNAPSHOT_HEADER_BYTES], uint64_t cluster,
                         const struct record_snapshot *id, const struct snapshot_shape *shape,
                         uint64_t tables_sum);

/* Is it the header of the imprint of that number? Else as below. */
MUST_USE enum status imprint_header_get(const uint8_t bytes[SNAPSHOT_HEADER_BYTES],
                                        uint64_t cluster, uint64_t number,
                                        struct record_snapshot *id, struct snapshot_shape *shape,
                                        uint64_t *tables_sum);

/* Is it the header of that very snapshot? Gives the shape without its lists; its numbers may still
 * be more than the file has. */
MUST_USE enum status snapshot_header_get(const uint8_t bytes[SNAPSHOT_HEADER_BYTES],
                                         uint64_t cluster, const struct record_snapshot *id,
                                         struct snapshot_shape *shape, uint64_t *tables_sum);

#endif
