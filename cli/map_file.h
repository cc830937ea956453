/* map_file.h - a backup of the store, as the bytes of one file. Pure.
 *
 *   header   64 bytes: magic 8, format (2) 4, 0 4, key 8, store 8, change 8, cluster 16, XXH3-64
 *            (seed 0) of these 56
 *   record   16 bytes: key size 4, value size 4, XXH3-64 of key and value 8; then key and value
 *   end      16 bytes: 0 8, XXH3-64 of all before 8; then nothing
 *
 * Little-endian. `key` tells cluster keys apart, `cluster` is the cluster's id, `store` tells
 * stores of one cluster apart. Format 1 was made before clusters had ids, and is refused. A key may
 * be there more than once: the last one counts. Values are as the store has them: documents signed
 * with the cluster key, secrets encrypted with it. The key itself is not in it.
 *
 * Errors:  STATUS_MALFORMED, STATUS_VERSION with *reason set to a constant text; STATUS_NOMEM;
 *          STATUS_TOO_LARGE.
 * Owner:   what is read points into the file's bytes; keys are copied out.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_MAP_FILE_H
#define ORBLOOM_CLI_MAP_FILE_H

#include "base/buffer.h"
#include "base/cluster_id.h"
#include "base/span.h"
#include "base/status.h"

#include <stdint.h>

enum {
    MAP_FILE_MAX_BYTES = 1 << 30,
    MAP_FILE_KEY_BYTES = 160, /* a NUL included */
    MAP_FILE_MAX_VALUE_BYTES = 1 << 20,
};

struct map_header {
    uint64_t key;
    struct cluster_id cluster;
    uint64_t store;
    uint64_t change;
};

/* Into an empty buffer: room for the header, records, then the rest. */
MUST_USE enum status map_file_begin(struct buffer *file);
MUST_USE enum status map_file_put(struct buffer *file, const char *key, struct span value);
MUST_USE enum status map_file_end(struct buffer *file, const struct map_header *header);

/* The header alone, of the first bytes of a file. */
MUST_USE enum status map_file_header(struct span file, struct map_header *header,
                                     const char **reason);

/* All of it: header, each record, nothing missing, nothing behind. */
MUST_USE enum status map_file_check(struct span file, struct map_header *header,
                                    const char **reason);

/* The record at *at of a checked file, 0 for the first one; *at moves on. STATUS_NOT_FOUND: that
 * was all. */
MUST_USE enum status map_file_next(struct span file, size_t *at, char key[MAP_FILE_KEY_BYTES],
                                   struct span *value);

#endif
