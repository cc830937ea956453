/* run_format.h - what writer and reader of a run agree on; the format itself is in run.h.
 *
 * Errors:  STATUS_VERSION, STATUS_MALFORMED.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_LOG_RUN_FORMAT_H
#define ORBLOOM_LOG_RUN_FORMAT_H

#include "log/run.h"

enum { RUN_BLOCK_BYTES = RUN_BLOCK_KEYS * 8 };

/* An entry of the index, as it is in the file. */
struct run_block {
    uint64_t first;
    uint64_t checksum;
};

uint64_t run_nblocks(uint64_t count);

/* Where the index begins in the file of a run of that many fingerprints. */
uint64_t run_index_offset(uint64_t count);

void run_header_put(uint8_t bytes[RUN_HEADER_BYTES], uint64_t cluster,
                    const struct record_run *run);

/* Is it the header of that very run? */
MUST_USE enum status run_header_check(const uint8_t bytes[RUN_HEADER_BYTES], uint64_t cluster,
                                      const struct record_run *run);

#endif
