/* run.h - sorted runs: files of ascending, distinct fingerprints of one filter, keyset and slice.
 *
 * The top bits of a fingerprint are its shard, so shards lie in a run one after the other, and a
 * stretch of a run is a stretch of an array. "run-<16 hex digits of its number>":
 *
 *    0  8    "ORBRUN\0" and the format's version, 1
 *    8  u64  cluster, u64 number, u64 filter id, u64 slice, u32 keyset, u32 0
 *   48  u64  count
 *   56  u64  checksum    XXH3-64, seed 0, of bytes 0 to 56
 *   64  blocks of RUN_BLOCK_KEYS fingerprints (u64), the last one shorter
 *       index: for each block u64 first fingerprint, u64 XXH3-64 of the block's bytes
 *       u64 XXH3-64 of the index's bytes
 *       u64 through, u64 XXH3-64 of cluster, number, count and through (u64 each): all its batches
 *       are below that offset of the log. Without it, or where the checksum is another, that is not
 *       known, which is no damage: releases before imprints wrote none and pass over it. It may be
 *       written later
 *
 * What follows in the file is room that was not needed. A run is written once, synced, and only
 * then named by a manifest record of the log; a file that none names is a leftover, to be removed
 * before its number is used.
 *
 * Errors:  STATUS_IO, STATUS_NOMEM, STATUS_NO_SPACE, STATUS_EXISTS, STATUS_NOT_FOUND,
 *          STATUS_VERSION; STATUS_MALFORMED: a file that was cut or changed, or another run
 *          than expected.
 * Threads: none; one at a time.
 */
#ifndef ORBLOOM_LOG_RUN_H
#define ORBLOOM_LOG_RUN_H

#include "base/disk.h"
#include "log/record.h"

#include <stdbool.h>

enum { RUN_BLOCK_KEYS = 8192, RUN_HEADER_BYTES = 64, RUN_VERSION = 1 };

void run_name(uint64_t number, char name[DISK_NAME_BYTES]);
bool run_name_parse(const char *name, uint64_t *number);

/* ---- writing ---- */

struct run_writer;

/* `run` without its count; its `through`, if known, is written. Room for `expected` fingerprints is
 * reserved; more may come, and need room then. Best is the least that it will be: a file never gets
 * shorter. */
MUST_USE enum status run_writer_create(struct disk *disk, uint64_t cluster,
                                       const struct record_run *run, uint64_t expected,
                                       struct run_writer **out);

/* More fingerprints, ascending; equal ones are written once. After an error every call repeats
 * it. */
MUST_USE enum status run_writer_add(struct run_writer *self, const uint64_t *fingerprints,
                                    size_t count);

/* Index, header, sync, sync of the folder. *run gets its count. A run of nothing is removed. */
MUST_USE enum status run_writer_finish(struct run_writer *self, struct record_run *run);

/* Unless finished the file is removed. */
void run_writer_destroy(struct run_writer **writer);

/* A run that is there says its `through` from now on; what else it has is not touched. Not synced:
 * where the words are lost it says nothing, as before. */
MUST_USE enum status run_write_through(struct disk *disk, uint64_t cluster,
                                       const struct record_run *run);

/* ---- reading ---- */

struct run_reader;

/* Opens it and checks header and index. Takes a block's memory and 16 bytes for each block. */
MUST_USE enum status run_reader_create(struct disk *disk, uint64_t cluster,
                                       const struct record_run *run, struct run_reader **out);
void run_reader_destroy(struct run_reader **reader);

/* As the file says; 0: it does not. */
uint64_t run_reader_through(const struct run_reader *self);

/* Is all that is in it below that offset of the log? */
static inline bool run_is_below(const struct record_run *run, uint64_t offset)
{
    return run->through != 0 && run->through <= offset;
}

/* Go to the first fingerprint that is not below `from`. */
void run_reader_seek(struct run_reader *self, uint64_t from);

/* The next stretch, at most a block, borrowed until the next call; *count 0 at the end. Its
 * checksum matches and it ascends. */
MUST_USE enum status run_reader_next(struct run_reader *self, const uint64_t **fingerprints,
                                     size_t *count);

/* Bytes of the file of a run of that many fingerprints. */
uint64_t run_bytes(uint64_t count);

#endif
