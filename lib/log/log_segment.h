/* log_segment.h - one segment of the log, read record by record.
 *
 * Places are in the file, offsets in the log: offset = first + place - SEGMENT_HEADER_BYTES.
 * A record is readable where its checksum, its offset and its boot are right.
 *
 * Errors:  STATUS_IO, STATUS_NOMEM and what is said. STATUS_MALFORMED: not readable.
 * Threads: none; one at a time.
 */
#ifndef ORBLOOM_LOG_LOG_SEGMENT_H
#define ORBLOOM_LOG_LOG_SEGMENT_H

#include "log/log_window.h"
#include "log/record.h"
#include "log/segment.h"

struct log_segment {
    struct log_window window;
    struct segment_header header; /* all zero where it can't be read */
    bool has_header;
};

void log_segment_init(struct log_segment *self, const struct disk *disk);
void log_segment_fini(struct log_segment *self);

/* MALFORMED: no readable header (but the file is open); VERSION; NOT_FOUND. */
MUST_USE enum status log_segment_open(struct log_segment *self, uint64_t number);

/* The record that begins at `offset` and ends at `limit` or before; borrowed until the next call.
 */
MUST_USE enum status log_segment_read(struct log_segment *self, uint64_t offset, uint64_t limit,
                                      struct record_header *header, struct span *record);

/* What is found from a place on where no record can be read. */
struct log_traces {
    uint64_t readable; /* records */
    uint64_t durable;  /* the highest that they tell */
    uint64_t lowest;   /* offset of any; UINT64_MAX without one */
    bool begun;        /* one was written when the segment's header had been synced */
    uint64_t written;  /* where the last ends that is readable, or looks like a torn one */
    bool doubtful;     /* too much looks like records to be gone through */
};

/* Which segments the file may have been before. */
struct log_former {
    bool (*was)(const void *context, uint64_t first); /* one that began there; NULL: none */
    const void *context;
};

/* Look for records from `place` on, through the whole file, in a time that is linear in its size.
 * Without a header any boot will do, and any offset that agrees with the place, unless it is left
 * of a segment that the file was before. */
MUST_USE enum status log_segment_search(struct log_segment *self, uint64_t place,
                                        const struct log_former *former, struct log_traces *traces);

#endif
