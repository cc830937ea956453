/* steps.h - how much a node does at once of what may be long: the most that one step takes.
 *
 * A step is small enough for requests to have their turn between two, a job to be short and an
 * answer to fit a message. Filters of some hundred keys end each loop with its first step; so the
 * simulator, whose filters are such, draws smaller steps, and looks at which loops went on.
 *
 * Units:   pages of 4 KiB, lines of 64 bytes, fingerprints, batches.
 * Errors:  none.
 * Threads: `most` does not change; steps_again() is the actor's.
 */
#ifndef ORBLOOM_NODE_BASE_STEPS_H
#define ORBLOOM_NODE_BASE_STEPS_H

#include "map/pull_message.h"

#include <stdint.h>

enum { STEPS_LOAD_PAGES = 1024, STEPS_SNAPSHOT_PAGES = 256, STEPS_TOLD_BATCHES = 512 };

/* name, most, what */
#define NODE_STEPS(X)                                                                       \
    X(LOAD_PAGES, STEPS_LOAD_PAGES, "of a snapshot read back by a job")                     \
    X(SNAPSHOT_PAGES, STEPS_SNAPSHOT_PAGES, "of an array copied by the actor: some 100 us") \
    X(LINES_PAGES, PULL_MAX_PAGES, "told in an answer")                                     \
    X(LOOK_PAGES, 4096, "looked at for an answer: some ms where all are zeros")             \
    X(HASH_PAGES, 1024, "whose digests are made at once: some 0.4 ms")                      \
    X(DIGEST_PAGES, PULL_MAX_PAGE_DIGESTS, "whose digests are in an answer")                \
    X(REPLAY_KEYS, 512 << 10, "read back into arrays at once: some ms")                     \
    X(RECORD_KEYS, 8192, "taken over from a peer by a record")                              \
    X(ANSWER_KEYS, PULL_MAX_KEYS, "told in an answer")                                      \
    X(EXPANSION_KEYS, 64 << 10, "read for new arrays at once")                              \
    X(WORK_KEYS, 8 << 10, "put into new arrays, or verified, at once")                      \
    X(MERGE_KEYS, 256 << 10, "of runs merged by a job: some ms")                            \
    X(WALK_KEYS, 256 << 10, "of runs digested by a job: some ms")                           \
    X(TOLD_BATCHES, STEPS_TOLD_BATCHES, "recalled at once")                                 \
    X(SPAN_LINES, 16 << 10, "of new arrays that take over together: 1 MiB")

enum step {
#define X(name, most, what) STEP_##name,
    NODE_STEPS(X)
#undef X
        NODE_NSTEPS
};

struct steps {
    uint32_t most[NODE_NSTEPS];
    uint64_t again[NODE_NSTEPS]; /* steps that were not the last of their loop */
};

/* `most`: 0 or more than in the table: as in the table. */
void steps_init(struct steps *self, const uint32_t most[NODE_NSTEPS]);

const char *steps_name(enum step step);

/* A step has left something for the next one. */
static inline void steps_again(struct steps *self, enum step step)
{
    self->again[step]++;
}

#endif
