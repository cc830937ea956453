/* node_stage.h - one node on a stage: fed with documents, asked in segments, its replies read.
 *
 * The node is number 1 of the sample cluster; its documents name its incarnation unless a test
 * says otherwise.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_NODE_STAGE_H
#define ORBLOOM_TESTS_SUPPORT_NODE_STAGE_H

#include "map/document.h"
#include "node/node.h"
#include "tests/support/fake_effects.h"
#include "tests/support/job_lane.h"
#include "tests/support/memory_disk.h"

enum { STAGE_MAX_KEYS = 4096, STAGE_MAX_SEGMENTS = 8, STAGE_COORDINATOR = 1 /* its link */ };

struct node_stage {
    struct fake_effects fake; /* first */
    struct node_config config;
    struct node *node;
    struct actor actor;
    uint64_t now_us;
    uint64_t incarnation;

    /* Only with a disk: see node_disk_stage.h. */
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

/* A segment for the document's epoch, of its group 0. */
struct subrequest node_stage_subrequest(const struct filter_document *document,
                                        enum operation operation, uint32_t count);

/* Send segments in one request; answers[i] is about segments[i]. */
void node_stage_ask(struct node_stage *self, const struct subrequest *segments, size_t nsegments,
                    const uint64_t *fingerprints, struct node_answer *answers);

/* The next reply to segments that the node has sent: their answers in order; 0: none. */
size_t node_stage_take(struct node_stage *self, struct node_answer *answers, uint64_t *correlation);

/* Send segments and don't look at the answer; the tag of segments[i] is 100 + i. */
void node_stage_send(struct node_stage *self, const struct subrequest *segments, size_t nsegments,
                     const uint64_t *fingerprints, uint64_t correlation);

/* Value of one of the node's counters. */
uint64_t node_stage_counter(struct node_stage *self, const char *name);

/* `count` fingerprints of slot group `group`, different for each seed. */
void node_stage_fingerprints(const struct filter_document *document, uint32_t group, uint64_t seed,
                             uint32_t count, uint64_t *out);

#endif
