/* cluster_file.h - which cluster a data folder belongs to: a small file of it, "cluster".
 *
 *    0  8    "ORBCLS\0" and the format's version, 1
 *    8  16   the cluster's id
 *   24  u64  checksum    XXH3-64, seed 0, of bytes 0 to 24
 *
 * It is written before anything else, and never changed. Headers of segments, runs and snapshots
 * have a tag of the id only; so where this file is lost the id can be learned again, and compared.
 *
 * Errors:  read: STATUS_NOT_FOUND, STATUS_MALFORMED (damaged, or can't be read any more),
 *          STATUS_VERSION, and what the disk says. write: what the disk says.
 * Threads: as the disk's.
 */
#ifndef ORBLOOM_LOG_CLUSTER_FILE_H
#define ORBLOOM_LOG_CLUSTER_FILE_H

#include "base/cluster_id.h"
#include "base/disk.h"

enum { CLUSTER_FILE_BYTES = 32, CLUSTER_FILE_VERSION = 1 };

#define CLUSTER_FILE_NAME "cluster"

void cluster_file_put(uint8_t bytes[CLUSTER_FILE_BYTES], const struct cluster_id *id);
MUST_USE enum status cluster_file_get(const uint8_t bytes[CLUSTER_FILE_BYTES],
                                      struct cluster_id *id);

MUST_USE enum status cluster_file_read(const struct disk *disk, struct cluster_id *id);

/* Durably, whole or not at all. */
MUST_USE enum status cluster_file_write(const struct disk *disk, const struct cluster_id *id);

#endif
