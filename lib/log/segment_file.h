/* segment_file.h - making segments' files, and what becomes of those that are not needed any more.
 *
 * The one dropped last may be kept as a spare ("spare"), from which the next is made: overwriting
 * blocks that have been written before is cheaper to sync than the first write to reserved ones,
 * and their pages may still be in memory.
 *
 *   log-5 -> spare -> [first sector zero, synced] -> log-9 -> header and records of segment 9
 *
 * So behind the records of a segment there may be those of an older one. They never pass for its
 * own, as each says its offset; and a file made ahead has no header until it is begun.
 *
 * Errors:  those of base/disk.h.
 * Threads: any, but one at a time for a folder's spare.
 */
#ifndef ORBLOOM_LOG_SEGMENT_FILE_H
#define ORBLOOM_LOG_SEGMENT_FILE_H

#include "log/segment.h"

#define SEGMENT_SPARE "spare"

/* An open file of `size` bytes under the segment's name, durably. `spare`: of the spare, if there
 * is one of that size. */
MUST_USE enum status segment_file_make(const struct disk *disk, uint64_t number, uint64_t size,
                                       bool spare, uint32_t *file);

/* The segment is durably no part of the log any more. `spare`: its file becomes the spare, in the
 * place of one that is there; else it is removed. OK if it is gone already. */
MUST_USE enum status segment_file_drop(const struct disk *disk, uint64_t number, bool spare);

/* OK if there is none. */
MUST_USE enum status segment_file_remove_spare(const struct disk *disk);

#endif
