/* sim_log.h - what a node's disk holds of a filter, read without the node: segments and runs.
 *
 * A reader of its own, apart from that of lib/log but for the form of a record. A file is read
 * once; what is appended to it is read when it is asked for, and a file that was changed otherwise
 * is read again.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_LOG_H
#define ORBLOOM_TESTS_SIM_LOG_H

#include "map/document.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_keys.h"

/* Is the fingerprint in some readable batch or run of that keyset of the filter; or, without key
 * log, are its bits set by batches, lines and snapshots together? `durable`: what a power loss
 * would leave for sure; else what the process sees. Ask for one of the two of a disk only. */
bool sim_log_has(const struct sim_disk *disk, bool durable, const struct filter_document *document,
                 uint32_t keyset, uint64_t fingerprint);

struct log_writer;

struct sim_log_set {
    uint64_t filter_id;
    uint64_t slice;
    uint32_t keyset;
};

/* Is the fingerprint in a readable batch or run of that very set? */
bool sim_log_has_key(const struct sim_disk *disk, bool durable, const struct sim_log_set *set,
                     uint64_t fingerprint);

/* Is the bit, of all of a shard's array, in a readable page or snapshot of that set? */
bool sim_log_has_bit(const struct sim_disk *disk, bool durable, const struct sim_log_set *set,
                     uint64_t shard, uint64_t bit);

/* What was read of a file, up to where; forgotten when it changes before that. */
struct sim_reading {
    struct memory_reader reader;
    struct sim_keys keys;
    uint64_t read_to;
};

/* Records that were appended, and which no job has brought to the disk yet, as far as is known:
 * into a reading that is zero. The same questions about it. */
void sim_log_read_appended(const struct log_writer *writer, struct sim_reading *reading);
bool sim_reading_has_key(const struct sim_reading *reading, const struct sim_log_set *set,
                         uint64_t fingerprint);
bool sim_reading_has_bit(const struct sim_reading *reading, const struct sim_log_set *set,
                         uint64_t shard, uint64_t bit);
void sim_reading_fini(struct sim_reading *self);

#endif
