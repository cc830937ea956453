/* node_disk_stage.h - a node on a disk in memory: killed, cut off the power, started again.
 *
 *   node_stage_init_disk -> node_stage_start -> ... -> node_stage_end -> node_stage_start -> ...
 *
 * Nothing runs by itself: node_stage_turn() and node_stage_run() go on step by step,
 * node_stage_settle() until nothing is left. A coordinator's store is played by `record`, judged
 * as the real one does; node_stage_meet() lets the node and it talk.
 *
 * Errors:  a failed cr_assert.
 * Owner:   node_stage_init_disk()'s caller calls node_stage_fini_disk().
 */
#ifndef ORBLOOM_TESTS_SUPPORT_NODE_DISK_STAGE_H
#define ORBLOOM_TESTS_SUPPORT_NODE_DISK_STAGE_H

#include "tests/support/node_stage.h"

enum {
    STAGE_KERNEL = 77,
    STAGE_DISK_SEGMENT_BYTES = 64 << 10,
    STAGE_CAPACITY = 100000, /* of node_stage_filter()'s */
    STAGE_LINES = 1024
};

enum stage_end {
    STAGE_END_CLEAN, /* SIGTERM */
    STAGE_END_KILL,  /* kill -9: what was written stays */
    STAGE_END_POWER, /* what was synced stays, and some of the rest; another boot of the kernel */
};

/* An empty disk, segments of 64 KiB, none retained, no reserve; not started. */
void node_stage_init_disk(struct node_stage *self);
void node_stage_fini_disk(struct node_stage *self);

/* The process starts on what is on the disk, and has not read it back. */
void node_stage_start(struct node_stage *self);
void node_stage_end(struct node_stage *self, enum stage_end how);

void node_stage_turn(struct node_stage *self);

/* One job of the lane, and that its actor hears of it; false: there is none. */
bool node_stage_run(struct node_stage *self, enum job_lane lane);

/* Turns, work and jobs until nothing is left to do now, or the node has failed. */
void node_stage_settle(struct node_stage *self);

/* Settle, and so again when a second has passed, for background work that waits. */
void node_stage_settle_long(struct node_stage *self);

/* What the coordinator answers to a question, and `record` after it. */
struct frame node_stage_judge(struct node_stage *self, const struct sync_request *request,
                              uint64_t correlation);

/* The node asks the coordinator until it is registered, answers judged by `record`. Returns how
 * many STALE it was told; the incarnation it ends with is self->incarnation. */
unsigned node_stage_meet(struct node_stage *self);

/* Start, settle, meet, settle. */
unsigned node_stage_open(struct node_stage *self);

/* As node_stage_ask(), for one subrequest, driving the lanes; false: no answer came. */
bool node_stage_ask_disk(struct node_stage *self, const struct subrequest *subrequest,
                         const uint64_t *fingerprints, struct node_answer *answer);

/* Add and be acknowledged; the answer's status, or STATUS_UNAVAILABLE when none came. */
enum status node_stage_add(struct node_stage *self, const struct filter_document *document,
                           const uint64_t *fingerprints, uint32_t count);

/* Checks all, of the document's group 0, some thousand at a time: how many are absent. Every
 * answer must be OK. */
uint32_t node_stage_absent(struct node_stage *self, const struct filter_document *document,
                           const uint64_t *fingerprints, uint32_t count);

/* The document of a filter on three nodes, of that durability; with its hash. */
void node_stage_make_filter(const struct node_stage *self, uint64_t id, enum durability durability,
                            struct filter_document *document);

/* The same, handed over and settled. */
void node_stage_filter(struct node_stage *self, uint64_t id, enum durability durability,
                       struct filter_document *document);

/* How many files have a name that begins so. */
unsigned node_stage_files(struct node_stage *self, const char *prefix);

/* The name of the file of that number, counted from 0 in order of names; false: there is none. */
bool node_stage_file(struct node_stage *self, const char *prefix, unsigned number,
                     char name[DISK_NAME_BYTES]);

/* A copy of the folder as it is now, and another disk in place of this one, which is destroyed;
 * while no process runs. */
struct memory_disk *node_stage_copy_disk(struct node_stage *self);
void node_stage_use_disk(struct node_stage *self, struct memory_disk *disk);

/* What a start on a damaged or older folder came to. */
enum stage_outcome {
    STAGE_SAME,    /* the incarnation goes on */
    STAGE_ANOTHER, /* a new one */
    STAGE_REFUSED, /* the process ends */
};

/* Open, and see: `incarnation` is the one of before. */
enum stage_outcome node_stage_outcome(struct node_stage *self, uint64_t incarnation);

/* Make what a new incarnation holds count, so that it answers for it: the document names it, under
 * another epoch if it did not. */
void node_stage_name(const struct node_stage *self, struct filter_document *document);

/* The same, handed over and settled. */
void node_stage_adopt(struct node_stage *self, struct filter_document *document);

#endif
