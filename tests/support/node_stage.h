/* node_stage.h - one node on a stage: fed with documents, asked in subrequests, its replies read.
 *
 * The node is number 1 of the sample cluster; its documents name its incarnation unless a test
 * says otherwise. With a disk, in memory, it is killed, cut off the power, started again:
 *
 *   node_stage_init_disk -> node_stage_start -> ... -> node_stage_end -> node_stage_start -> ...
 *
 * Nothing runs by itself then: node_stage_turn() and node_stage_run() go on step by step,
 * node_stage_settle() until nothing is left. A coordinator's store is played by `record`, judged
 * as the real one does; node_stage_meet() lets the node and it talk.
 *
 * Errors:  a failed cr_assert.
 * Owner:   the caller of node_stage_init*() calls node_stage_fini(), or node_stage_fini_disk().
 */
#ifndef ORBLOOM_TESTS_SUPPORT_NODE_STAGE_H
#define ORBLOOM_TESTS_SUPPORT_NODE_STAGE_H

#include "map/document.h"
#include "node/node.h"
#include "tests/support/fake_effects.h"
#include "tests/support/job_lane.h"
#include "tests/support/memory_disk.h"

enum { STAGE_MAX_KEYS = 4096, STAGE_MAX_SUBREQUESTS = 8, STAGE_COORDINATOR = 1 /* its link */ };

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

struct node_stage {
    struct fake_effects fake; /* first */
    struct node_config config;
    struct node *node;
    struct actor actor;
    uint64_t now_us;
    uint64_t incarnation;

    /* Only with a disk. */
    struct memory_disk *disk;
    struct job_lanes lanes;
    struct node_record record; /* what the coordinators' store says; name "": nothing */
    uint64_t starts;
    uint64_t batches; /* number of the last one added */
    uint64_t random;  /* for what a power loss keeps */
};

/* The reply to one subrequest, and what came with it. */
struct node_answer {
    struct subrequest_reply subrequest;
    size_t ndocuments;
    uint64_t present[STAGE_MAX_KEYS / 64];
    uint64_t absent[STAGE_MAX_KEYS / 64];
};

/* Node 1 of the sample cluster, without a disk. */
struct node_config node_stage_config(void);

void node_stage_init(struct node_stage *self, uint64_t memory_limit_bytes);

/* The same with another memory of recent adds than 1 MiB and a minute. */
void node_stage_init_retries(struct node_stage *self, uint64_t memory_limit_bytes,
                             uint64_t retry_memory_bytes, uint64_t retry_memory_us);
void node_stage_fini(struct node_stage *self);

/* A coordinator gives the node its id and no documents. */
void node_stage_register(struct node_stage *self);

/* As sample_document(), with this node's own incarnation in its slots. */
void node_stage_document(const struct node_stage *self, uint64_t id, const char *name,
                         const struct quorum_rule *rule, uint32_t nnodes,
                         struct filter_document *out);

/* Sign the document and hand it to the node, as a router would; `document` stays the caller's. */
void node_stage_hand(struct node_stage *self, struct filter_document *document);
void node_stage_hand_signed(struct node_stage *self, struct span bytes);

/* Let it build until everything is ready. */
void node_stage_build(struct node_stage *self);

/* A subrequest for the document's epoch, of its group 0. */
struct subrequest node_stage_subrequest(const struct filter_document *document,
                                        enum operation operation, uint32_t count);

/* Send subrequests in one request; answers[i] is about subrequests[i]. */
void node_stage_ask(struct node_stage *self, const struct subrequest *subrequests,
                    size_t nsubrequests, const uint64_t *fingerprints, struct node_answer *answers);

/* The next reply to subrequests that the node has sent: their answers in order; 0: none. */
size_t node_stage_take(struct node_stage *self, struct node_answer *answers, uint64_t *correlation);

/* Send subrequests and don't look at the answer; the tag of subrequests[i] is 100 + i. */
void node_stage_send(struct node_stage *self, const struct subrequest *subrequests,
                     size_t nsubrequests, const uint64_t *fingerprints, uint64_t correlation);

/* Value of one of the node's counters. */
uint64_t node_stage_counter(struct node_stage *self, const char *name);

/* ---- with a disk ---- */

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
