/* node_private.h - the parts of a node; shared by node/node_*.c only. */
#ifndef ORBLOOM_NODE_NODE_PRIVATE_H
#define ORBLOOM_NODE_NODE_PRIVATE_H

#include "base/link_ring.h"
#include "base/log.h"
#include "cluster/document_cache.h"
#include "cluster/recent_adds.h"
#include "cluster/repeats.h"
#include "node/node.h"
#include "node/replica.h"

/* name, unit, help */
#define NODE_COUNTERS(X)                                                                     \
    X(requests_total, "frames", "requests received from routers")                            \
    X(segments_total, "segments", "parts of requests executed or refused")                   \
    X(keys_checked_total, "keys", "keys looked up")                                          \
    X(keys_added_total, "keys", "keys written, new or not")                                  \
    X(stale_total, "segments", "refused: epoch behind the fence")                            \
    X(need_doc_total, "segments", "refused: epoch ahead of the document held")               \
    X(not_ready_total, "segments", "refused: replica building, joining or not hosted")       \
    X(conflict_total, "segments", "refused: another content under the same epoch")           \
    X(dropped_total, "segments", "refused: the filter has been dropped")                     \
    X(full_total, "segments",                                                                \
      "adds with new keys that were not accepted, the filter being at its capacity")         \
    X(remembered_total, "segments", "adds that came again and voted as the first time")      \
    X(repeated_total, "segments",                                                            \
      "adds that had, or may have, come before, without sure memory of their first vote")    \
    X(documents_taken_total, "documents", "newer documents taken over")                      \
    X(documents_refused_total, "documents", "documents with a wrong MAC, form or content")   \
    X(fences_total, "requests", "fences confirmed to coordinators")                          \
    X(malformed_total, "frames",                                                             \
      "frames that could not be decoded or do not belong here, connections that break ZMTP") \
    X(version_total, "frames", "frames of a protocol version that is not served")            \
    X(replies_dropped_total, "frames", "answers that could not be sent")                     \
    X(recent_adds_bytes, "bytes", "memory of the votes of recent adds (a gauge)")            \
    X(incarnation, "", "this life of the node's data (a gauge)")                             \
    X(memory_used_bytes, "bytes", "arrays allocated (a gauge)")

enum node_counter {
#define X(name, unit, help) NODE_##name,
    NODE_COUNTERS(X)
#undef X
        NODE_NCOUNTERS
};

/* What a node keeps for one filter document. */
struct hosted_filter {
    struct fence fence;
    struct replica_set *set; /* NULL: nothing hosted here, or no room */
    bool refused;            /* no room: said once */
};

struct node {
    struct node_config config;
    struct effects effects;
    uint64_t incarnation;
    uint32_t id; /* 0: not registered yet */

    struct document_cache documents;
    uint64_t memory_used_bytes;
    bool building; /* some replica set is not ready */

    struct link_ring coordinators; /* in turn: all of them hear of every node */
    uint64_t since;
    uint64_t next_sync_us;

    struct repeats repeats; /* batches that arrived */
    struct recent_adds *recent;
    struct codec_arena *arena;
    struct buffer out;
    uint64_t *words; /* planes of the answer under way */
    size_t words_capacity;
    struct segment_reply *replies;

    struct log_limit bad_frame_limit;
    struct log_limit bad_document_limit;
    uint64_t counters[NODE_NCOUNTERS];
};

static inline void node_count(struct node *self, enum node_counter counter)
{
    self->counters[counter]++;
}

/* Encode and send an answer; counts what could not be sent. */
void node_reply_frame(struct node *self, const struct peer *to, const struct frame *frame);

/* A document that was handed on: verify, take, act on it. */
void node_take_document(struct node *self, uint64_t now_us, struct span bytes);

/* Bring what is hosted in line with a filter's document; needs an id. */
void node_apply(struct node *self, struct document_entry *entry);

/* A slice of building; true while more is left. */
bool node_build(struct node *self, uint64_t slice_bytes);

/* node_requests.c */
void node_on_node_request(struct node *self, uint64_t now_us, const struct peer *from,
                          const struct frame *frame);

/* node_retries.c: of an add that was just executed, replace the planes by those of its first
 * execution. False: it may have been executed before and nobody knows how it voted then, so a
 * "present" may be its own doing. */
MUST_USE bool node_settle_vote(struct node *self, uint64_t now_us, const struct segment *segment,
                               const uint64_t *fingerprints, enum replica_state state,
                               uint64_t *present, uint64_t *absent);

/* node_questions.c: fences, info, stats */
void node_on_fence_request(struct node *self, uint64_t now_us, const struct peer *from,
                           const struct frame *frame);
void node_on_info_request(struct node *self, const struct peer *from, const struct frame *frame);
void node_on_stats_request(struct node *self, const struct peer *from, const struct frame *frame);

/* node_sync.c */
void node_sync(struct node *self, uint64_t now_us);
void node_on_sync_reply(struct node *self, uint64_t now_us, const struct sync_reply *reply);
void node_on_hint(struct node *self, uint64_t now_us, const struct hint *hint);

#endif
