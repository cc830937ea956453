/* coordinator_stage.h - one coordinator on a stage: nodes report, operators command, the test
 * answers fences as nodes would. Several stages may share a store.
 *
 * Node n is node-n on host-n at tcp://node-n:7000; its incarnation is SAMPLE_INCARNATION + n.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_COORDINATOR_STAGE_H
#define ORBLOOM_TESTS_SUPPORT_COORDINATOR_STAGE_H

#include "coordinator/coordinator.h"
#include "tests/support/fake_effects.h"

enum {
    COORDINATOR_STAGE_MAX = 128,
    COORDINATOR_STAGE_TIMEOUT_MS = 5000,
    COORDINATOR_STAGE_STATES = 64,
};

/* Do the nodes to come have a disk? Then node n's boot is COORDINATOR_STAGE_BOOT + n. */
extern bool coordinator_stage_disks;

/* How many filters the stages to come let live; 0: as many as a coordinator does by itself. */
extern uint64_t coordinator_stage_max_filters;

/* Opens what is told of the cluster; NULL: sample_key(). */
extern const struct cluster_key *coordinator_stage_key;

enum { COORDINATOR_STAGE_BOOT = 100 };

/* Where the stages to come ask their store; NULL: it answers at once. */
extern struct job_lanes *coordinator_stage_lanes;

struct coordinator_told {
    uint64_t correlation;
    enum status status;
    bool created;
    char message[CODEC_MAX_TEXT_BYTES + 1];
    size_t nfilters;
    size_t nreplicas;
    enum durability durability; /* of the first filter */
    uint64_t expires_left_us;   /* ... */
    char expiry_awaited[CODEC_MAX_TEXT_BYTES + 1];
    uint32_t shards_lacking;
    char lacking[CODEC_MAX_TEXT_BYTES + 1];
    char remedy[CODEC_MAX_TEXT_BYTES + 1];
    size_t nchanges;
    struct change_summary change; /* the first one */
    char awaited[CODEC_MAX_TEXT_BYTES + 1];
    size_t nnodes;
    char node_awaited[CODEC_MAX_TEXT_BYTES + 1]; /* of the first node that awaits anything */
    bool moved;
    struct admin_seen seen;
};

/* The answer to a node's or router's sync. */
struct coordinator_synced {
    enum status status;
    uint32_t node_id;
    struct boot_life present;
    uint64_t change;
    size_t ndocuments;
    size_t nsecrets;
    uint32_t routers;          /* that live, as a router is told */
    struct cluster_id cluster; /* that the answer names; none: it names none */
    char message[CODEC_MAX_TEXT_BYTES + 1];
};

/* What a link was told of filters in sites, with the last answer. */
struct coordinator_states {
    struct site_filter items[COORDINATOR_STAGE_STATES];
    char names[COORDINATOR_STAGE_STATES][DOCUMENT_NAME_BYTES];
    size_t count;
    uint64_t to;
    uint64_t of;
    bool more;
};

/* A fence asked of a node. */
struct coordinator_fence {
    uint32_t node;
    uint32_t link;
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t epoch_hash;
    size_t document_size;
    uint64_t slice; /* to be counted */
};

/* How many keys a node has of a filter, asked of it. */
struct coordinator_question {
    uint32_t node;
    uint32_t link;
    uint64_t correlation;
    uint64_t filter_id;
};

struct coordinator_stage {
    struct fake_effects fake;
    struct coordinator *coordinator;
    struct actor actor;
    uint64_t now_us;
    struct coordinator_told told[COORDINATOR_STAGE_MAX];
    size_t ntold;
    struct coordinator_fence fences[COORDINATOR_STAGE_MAX];
    size_t nfences;
    struct coordinator_question questions[COORDINATOR_STAGE_MAX];
    size_t nquestions; /* not answered yet */
    struct coordinator_synced synced;
    struct coordinator_states states;
    uint64_t sent; /* numbers the requests that have no number */
    size_t nhints;
};

/* Where the stages to come note what operators change; NULL: nowhere. */
extern const struct audit_sink *coordinator_stage_audit;

/* What coordinators made from here on know; 0: this version's. */
extern uint64_t coordinator_stage_features;

/* Do they look at all filters, for browsers? */
extern bool coordinator_stage_survey;

void coordinator_stage_init(struct coordinator_stage *self, struct store *store);
void coordinator_stage_fini(struct coordinator_stage *self);

/* A request of node n as it would make it; change what matters before sending. */
struct sync_request coordinator_stage_node(uint32_t n);
/* As a node does it: one that begins, and is told what it replaces, asks again with that. */
struct coordinator_synced coordinator_stage_sync(struct coordinator_stage *self, uint32_t peer,
                                                 const struct sync_request *request);

/* This one request; of this version, unless it tells which features it knows. */
struct coordinator_synced coordinator_stage_send(struct coordinator_stage *self, uint32_t peer,
                                                 const struct sync_request *request);

/* Nodes 1 to n report; with a filter, that its `ngroups` groups are in this state there. */
void coordinator_stage_report(struct coordinator_stage *self, uint32_t nnodes, uint64_t filter_id,
                              uint32_t ngroups, enum replica_state state);

/* create "urls": capacity 10,000, rate 1 %, N 3, W 2, R 2. */
struct admin_request coordinator_stage_create(void);
struct admin_request coordinator_stage_drop(void);
/* As operators give it: before a change what it is to name is looked at. */
void coordinator_stage_command(struct coordinator_stage *self, uint64_t correlation,
                               const struct admin_request *request);

/* The two halves: look, and fill in what was seen; this very frame. */
struct admin_request coordinator_stage_look(struct coordinator_stage *self,
                                            const struct admin_request *request);
void coordinator_stage_ask(struct coordinator_stage *self, uint64_t correlation,
                           const struct admin_request *request);

/* Create a filter of nodes 1 to 3 that all report it ready; its id. */
uint64_t coordinator_stage_make_filter(struct coordinator_stage *self);

/* Take note of what was sent meanwhile. */
void coordinator_stage_collect(struct coordinator_stage *self);

/* One turn of the loop, in which nothing has come. */
void coordinator_stage_turn(struct coordinator_stage *self);

void coordinator_stage_pass(struct coordinator_stage *self, uint64_t duration_us);

/* Node n answers the newest fence asked of it, under this incarnation. */
void coordinator_stage_confirm(struct coordinator_stage *self, uint32_t node, uint64_t incarnation,
                               enum status status);

/* The same, by its own incarnation: it has counted the slice that it was asked to for so long. */
void coordinator_stage_count(struct coordinator_stage *self, uint32_t node, uint64_t slice,
                             uint64_t counted_us);

/* The same, of the filter's expiry of that number. */
void coordinator_stage_count_expiry(struct coordinator_stage *self, uint32_t node, uint64_t expiry,
                                    uint64_t counted_us);

/* A node answers this question, which is forgotten only when the test sets nquestions back. */
void coordinator_stage_answer(struct coordinator_stage *self,
                              const struct coordinator_question *question,
                              const struct replica_report *reports, size_t nreports);

/* The only answer told so far, which is then forgotten. */
struct coordinator_told coordinator_stage_told(struct coordinator_stage *self);

uint64_t coordinator_stage_counter(struct coordinator_stage *self, const char *name);

#endif
