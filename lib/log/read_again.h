/* read_again.h - reading what a disk may not be able to give any more.
 *
 * A sector that can't be read, however often, is as lost as one whose checksum is wrong: who reads
 * does the same about both. Storage that several nodes share may only hesitate, and must not make
 * all of them give up what they hold: there are pauses between the tries.
 *
 * Errors:  as disk.read, but STATUS_MALFORMED in place of STATUS_IO after a few tries.
 * Threads: as the disk's.
 */
#ifndef ORBLOOM_LOG_READ_AGAIN_H
#define ORBLOOM_LOG_READ_AGAIN_H

#include "base/disk.h"

enum { READ_TRIES = 6 };

MUST_USE enum status read_again(const struct disk *disk, uint32_t file, uint64_t offset, void *into,
                                size_t size);

#endif
