/* sim_log.h - what a node's disk holds of a filter, read without the node: segments and runs.
 *
 * A reader of its own, apart from that of lib/storage but for the form of a record. A file is read
 * once; what is appended to it is read when it is asked for, and a file that was changed otherwise
 * is read again.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_LOG_H
#define ORBLOOM_TESTS_SIM_LOG_H

#include "cluster/document.h"
#include "tests/sim/sim_disk.h"

/* Is the fingerprint in some readable batch or run of that lineage of the filter; or, without key
 * log, are its bits set by batches, lines and snapshots together? `durable`: what a power loss
 * would leave for sure; else what the process sees. Ask for one of the two of a disk only. */
bool sim_log_has(const struct sim_disk *disk, bool durable, const struct filter_document *document,
                 uint32_t lineage, uint64_t fingerprint);

#endif
