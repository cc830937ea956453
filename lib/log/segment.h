/* segment.h - the files that a log is written to.
 *
 * A segment is a preallocated file "log-<16 hex digits of its number>": a header of 64 bytes, then
 * records without gaps (see record.h), then zeros or, after a crash, anything. Every boot and
 * every full segment begins a new one, of a higher number; numbers may be left out. A segment ends
 * where the next one's `first` says; the last one ends at the last readable record.
 *
 * Whoever writes a header has synced everything below its `first`, so that what can't be read there
 * is lost. Whoever removes segments begins with the oldest and syncs the folder after each: a
 * hole in the middle is a loss as well, but for segments that are bare: they hold nothing but
 * what each checkpoint repeats (record_is_state()), and may go once the next one's is durable.
 *
 *    0  8    "ORBLOG\0" and the format's version, 2
 *    8  u64  cluster     a tag of the cluster's id: a folder of another cluster is refused by it.
 *                         Version 1 had a tag of the cluster key there
 *   16  u64  number
 *   24  u64  first       offset in the log of its first record; a multiple of 8, below 2^63
 *   32  u64  boot
 *   40  u64  incarnation
 *   48  u64  bare        so many bytes of the log below `first` hold nothing but state
 *   56  u64  checksum    XXH3-64, seed 0, of bytes 0 to 56
 *
 * Magic and checksum stay as they are in every version of the format, so that a changed bit is not
 * taken for another version.
 *
 * Errors:  STATUS_VERSION: another version of the format; STATUS_MALFORMED: not a segment.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_LOG_SEGMENT_H
#define ORBLOOM_LOG_SEGMENT_H

#include "base/disk.h"

#include <stdbool.h>

enum { SEGMENT_HEADER_BYTES = 64, SEGMENT_VERSION = 2 };

struct segment_header {
    uint64_t cluster;
    uint64_t number;
    uint64_t first;
    uint64_t boot;
    uint64_t incarnation;
    uint64_t bare; /* at most `first`; 0: all below is needed, for all that is known */
};

void segment_name(uint64_t number, char name[DISK_NAME_BYTES]);

/* Is it the name of a segment? */
bool segment_name_parse(const char *name, uint64_t *number);

void segment_header_put(uint8_t bytes[SEGMENT_HEADER_BYTES], const struct segment_header *header);
MUST_USE enum status segment_header_get(const uint8_t bytes[SEGMENT_HEADER_BYTES],
                                        struct segment_header *header);

#endif
