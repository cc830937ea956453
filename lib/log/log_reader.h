/* log_reader.h - reading a log back: recovery, merging, catching up.
 *
 * log_survey_make() looks at all segments of a folder and judges them; a log_reader then goes
 * through records in order, as far as its caller likes.
 *
 * The judgement (enum log_state) follows from `durable` in the records (record.h) and `first` in
 * the segments (segment.h):
 *
 *   LOG_EMPTY      no segment, or only ones that were never used
 *   LOG_OK         all records are readable up to an end; what follows may be torn: never
 *                  acknowledged, `torn_bytes` of it look written
 *   LOG_CORRUPT    something below a durable record, or a whole segment in the middle, can't be
 *                  read, and no later checkpoint makes it needless; `bad_name` and `bad_at`
 *                  say where. The extents end before that place, and there may be none
 *   LOG_FOREIGN    a folder of another cluster
 *   LOG_VERSION    a format that is not served
 *
 * A new boot's `first` is the last extent's end (0 without one), also after LOG_CORRUPT: whatever
 * lies above it in older segments is no part of the log from then on. Its number is `next_number`.
 * Segments that are in no extent may be removed or stay; but after LOG_CORRUPT they must stay,
 * under their names, until the new boot has synced something: until then they alone tell of the
 * loss. Then they must go, or one that lies before the first extent tells of it again.
 *
 * What only the owner of the log can tell: that older segments than those found should be there,
 * or younger ones. The first extent must begin at or below where batches are merged into runs; the
 * last boot found must be the last that others know of.
 *
 * Errors:  STATUS_IO, STATUS_NOMEM.
 * Threads: none; one at a time.
 */
#ifndef ORBLOOM_LOG_LOG_READER_H
#define ORBLOOM_LOG_LOG_READER_H

#include "base/disk.h"
#include "log/record.h"
#include "log/segment.h"

#include <stdbool.h>

enum log_state { LOG_EMPTY, LOG_OK, LOG_CORRUPT, LOG_FOREIGN, LOG_VERSION };

struct log_extent {
    uint64_t number;
    uint64_t first; /* offsets of the log */
    uint64_t end;
    uint64_t bare; /* so many bytes below `first` hold nothing but state, see segment.h */
};

/* Does the segment behind which `next` follows hold nothing that is not repeated there? */
bool log_extent_is_bare(const struct log_extent *self, const struct log_extent *next);

/* Every segment that is part of the log, in order. Between two extents may be a hole, of records
 * that are not needed: the second begins with a whole checkpoint, and what was in the hole was
 * nothing but state. */
struct log_survey {
    enum log_state state;
    struct log_extent *extents;
    size_t count;
    uint64_t next_number; /* above any number in the folder */
    uint64_t incarnation; /* as the header of the last extent's segment says; 0 without one */
    uint64_t bare; /* so many bytes below the end hold nothing but state; LOG_OK only, else 0 */
    uint64_t torn_bytes;
    char bad_name[DISK_NAME_BYTES];
    uint64_t bad_at;    /* in that file */
    uint64_t behind;    /* LOG_CORRUPT: the number of the segment that the log goes on with behind
                           the bad place; 0: none */
    const char *reason; /* a constant text; "" when OK */
};

/* Reads everything once, and syncs the last segment first: what a killed process wrote without
 * syncing is relied upon from now on. `visit` (may be NULL) sees every record of a LOG_OK log in
 * order, and those before the bad place of a corrupt one; a status other than OK ends the survey
 * with it. *out is written without being looked at, and only on OK. */
MUST_USE enum status log_survey_make(struct disk *disk, uint64_t cluster,
                                     enum status (*visit)(void *context,
                                                          const struct record_header *header,
                                                          struct span record),
                                     void *context, struct log_survey *out);

/* The same as if no segment had a number below `begin`: what lies behind a bad place. */
MUST_USE enum status log_survey_make_behind(struct disk *disk, uint64_t cluster, uint64_t begin,
                                            enum status (*visit)(void *context,
                                                                 const struct record_header *header,
                                                                 struct span record),
                                            void *context, struct log_survey *out);
void log_survey_fini(struct log_survey *self);

struct log_reader;

/* Records from log offset `from` up to `to`; both are ends of records, or the extents' bounds, or
 * in a hole between two extents, which is passed over. `to` must have been written. The extents are
 * copied. */
MUST_USE enum status log_reader_create(struct disk *disk, const struct log_extent *extents,
                                       size_t count, uint64_t from, uint64_t to,
                                       struct log_reader **out);
void log_reader_destroy(struct log_reader **reader);

/* The next record, borrowed until the next call; STATUS_NOT_FOUND at the end;
 * STATUS_MALFORMED when what should be readable is not. */
MUST_USE enum status log_reader_next(struct log_reader *self, struct record_header *header,
                                     struct span *record);

uint64_t log_reader_offset(const struct log_reader *self); /* of the next record */

#endif
