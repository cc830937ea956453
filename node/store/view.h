/* view.h - a set as it was at one moment, to be compared with another node's: a view.
 *
 * A view is the runs of that moment, pinned until it is closed, and the batches of the log that are
 * in none of them, up to its end; every fingerprint once. Only shards of one slot group are looked
 * at. Work on it is cut into steps of some milliseconds on the background lane: begin one of the
 * four, then storage_view_step() until `stepped` says that it is finished. One at a time.
 *
 *   survey    digests of every shard of the group, a few levels deep; also reads the log: first
 *   split     digests of the 64 parts of some ranges
 *   collect   the fingerprints in some ranges
 *   subtract  which of some fingerprints the view does not have
 *
 * Memory:  8 bytes for each fingerprint in no run yet, STORAGE_VIEW_TAIL of them at most, twice
 *          that while they are sorted; 64 KiB for each run; survey: 4 MiB at most; split: 1.1 KiB a
 *          range.
 * Errors:  STATUS_OVERLOADED (too many views or runs), STATUS_TOO_LARGE (more than
 * STORAGE_VIEW_TAIL fingerprints are in no run), STATUS_NOMEM, STATUS_STALE (a run was damaged),
 * STATUS_IO. Owner:   storage_view_open()'s caller calls storage_view_close(), at any time;
 * storage_destroy() closes those that are left. Threads: the actor's.
 */
#ifndef ORBLOOM_NODE_STORE_VIEW_H
#define ORBLOOM_NODE_STORE_VIEW_H

#include "log/run_digest.h"
#include "node/store/storage.h"

enum { STORAGE_VIEWS = 8, STORAGE_VIEW_TAIL = 16 << 20, STORAGE_VIEW_PARTS = 64 };

struct storage_view;

struct storage_view_config {
    struct storage_set set;
    uint64_t end; /* of the log; what is behind it is left out */
    uint32_t shard_bits;
    const uint16_t *group_of_shard; /* borrowed for the call */
    uint32_t group;
    void *context;
    /* A step has ended, having read so many bytes. */
    void (*stepped)(void *context, uint64_t now_us, enum status status, bool finished,
                    uint64_t bytes);
};

MUST_USE enum status storage_view_open(struct storage *storage,
                                       const struct storage_view_config *config,
                                       struct storage_view **out);
void storage_view_close(struct storage_view **view);

/* Prefixes ascend; they are copied. Those of shards of other groups have no fingerprints. */
MUST_USE enum status storage_view_survey(struct storage_view *self);
MUST_USE enum status storage_view_split(struct storage_view *self, uint32_t bits,
                                        const uint64_t *prefixes, size_t count);
MUST_USE enum status storage_view_collect(struct storage_view *self, uint32_t bits,
                                          const uint64_t *prefixes, size_t count, uint64_t from,
                                          size_t room);
MUST_USE enum status storage_view_subtract(struct storage_view *self, uint32_t bits,
                                           const uint64_t *prefixes, size_t count,
                                           const uint64_t *fingerprints, size_t nfingerprints);

void storage_view_step(struct storage_view *self);

/* ---- after a survey ---- */

size_t storage_view_nshards(const struct storage_view *self);

/* Of the group's shards, ascending. */
struct run_digest_range storage_view_shard(const struct storage_view *self, size_t shard);

/* Of a range's parts; false: no survey or split has them, split first. */
bool storage_view_parts(const struct storage_view *self, uint32_t bits, uint64_t prefix,
                        struct run_digest_range out[STORAGE_VIEW_PARTS]);

/* ---- after collect or subtract: valid until the next one ---- */

const uint64_t *storage_view_keys(const struct storage_view *self, size_t *count);

/* collect: where to go on; false: that was all. */
bool storage_view_more(const struct storage_view *self, uint64_t *next);

#endif
