/* The router's conversation with a node. Requests, which are most of what nodes read, are copied by
 * hand. */
#include "proto/codec_body.h"

#include <assert.h>

static void put_segment(const struct segment *segment, Orbloom__V1__Segment *wire)
{
    *wire = (Orbloom__V1__Segment)ORBLOOM__V1__SEGMENT__INIT;
    wire->tag = segment->tag;
    wire->filter_id = segment->filter_id;
    wire->epoch = segment->epoch;
    wire->epoch_hash = segment->epoch_hash;
    wire->group = segment->group;
    wire->operation = (Orbloom__V1__Operation)segment->operation;
    wire->session_high = segment->op.session[0];
    wire->session_low = segment->op.session[1];
    wire->sequence = segment->op.sequence;
    wire->attempt = segment->attempt;
    wire->batch_boot = segment->batch.boot;
    wire->batch_number = segment->batch.number;
    wire->count = segment->count;
    wire->lineage = segment->lineage;
}

static enum status put_segments(const struct node_request *request, struct codec_scratch *scratch,
                                Orbloom__V1__Segment ***out)
{
    size_t n = request->nsegments;
    Orbloom__V1__Segment *items = codec_scratch_take(scratch, n, sizeof *items);
    Orbloom__V1__Segment **list = codec_scratch_take(scratch, n, sizeof *list);
    uint64_t sum = 0;
    size_t i;

    if (items == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    for (i = 0; i < n; i++) {
        put_segment(&request->segments[i], &items[i]);
        list[i] = &items[i];
        sum += request->segments[i].count;
    }
    assert(sum == request->count);
    *out = list;
    return STATUS_OK;
}

enum status codec_put_node_request(const struct frame *frame, struct codec_scratch *scratch,
                                   ProtobufCMessage **out)
{
    const struct node_request *request = &frame->body.node_request;
    Orbloom__V1__NodeRequest *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    if (request->count > CODEC_MAX_KEYS || request->nsegments > CODEC_MAX_SEGMENTS) {
        return STATUS_TOO_LARGE;
    }
    *wire = (Orbloom__V1__NodeRequest)ORBLOOM__V1__NODE_REQUEST__INIT;
    wire->n_fingerprints = request->count;
    wire->fingerprints = (uint64_t *)request->fingerprints;
    wire->n_segments = request->nsegments;
    *out = &wire->base;
    return put_segments(request, scratch, &wire->segments);
}

static void get_segment(const Orbloom__V1__Segment *wire, struct segment *segment)
{
    *segment = (struct segment){
        .tag = wire->tag,
        .filter_id = wire->filter_id,
        .epoch = wire->epoch,
        .epoch_hash = wire->epoch_hash,
        .group = wire->group,
        .operation = (enum operation)wire->operation,
        .op = {.session = {wire->session_high, wire->session_low}, .sequence = wire->sequence},
        .attempt = wire->attempt,
        .batch = {.boot = wire->batch_boot, .number = wire->batch_number},
        .count = wire->count,
        .lineage = wire->lineage,
    };
}

static enum status get_segments(const Orbloom__V1__NodeRequest *wire, struct codec_arena *arena,
                                const struct segment **out)
{
    struct segment *segments = arena_take(arena, wire->n_segments, sizeof *segments);
    uint64_t sum = 0;
    size_t i;

    if (segments == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (i = 0; i < wire->n_segments; i++) {
        if (!codec_enum_known((int)wire->segments[i]->operation, OPERATION_ADD)) {
            return STATUS_MALFORMED;
        }
        get_segment(wire->segments[i], &segments[i]);
        sum += segments[i].count;
    }
    *out = segments;
    return sum == wire->n_fingerprints ? STATUS_OK : STATUS_MALFORMED;
}

enum status codec_get_node_request(const ProtobufCMessage *message, struct codec_arena *arena,
                                   struct frame *frame)
{
    const Orbloom__V1__NodeRequest *wire = (const Orbloom__V1__NodeRequest *)message;
    struct node_request *request = &frame->body.node_request;

    if (wire->n_segments > CODEC_MAX_SEGMENTS || wire->n_fingerprints > CODEC_MAX_KEYS) {
        return STATUS_TOO_LARGE;
    }
    *request = (struct node_request){
        .nsegments = wire->n_segments,
        .fingerprints = wire->fingerprints,
        .count = wire->n_fingerprints,
    };
    return get_segments(wire, arena, &request->segments);
}

/* ---- the reply ---- */

/* Keys have votes where the segment was served, only. */
static enum status put_votes(struct codec_scratch *scratch, const void *ours, void *wire)
{
    const struct segment_reply *reply = ours;

    (void)scratch;
    (void)wire;
    assert(reply->status == STATUS_OK || reply->count == 0);
    return STATUS_OK;
}

static enum status get_votes(struct codec_arena *arena, const void *wire, void *ours)
{
    const struct segment_reply *reply = ours;

    (void)arena;
    (void)wire;
    return reply->status == STATUS_OK || reply->count == 0 ? STATUS_OK : STATUS_MALFORMED;
}

#define WIRE_segment_reply Orbloom__V1__SegmentReply
static const struct binding segment_reply_rows[] = {
    ROW(segment_reply, tag, UINT64),
    ROW(segment_reply, status, STATUS),
    ROW(segment_reply, epoch, UINT64),
    ROW(segment_reply, epoch_hash, UINT64),
    ROW_AS(segment_reply, repeated, seen_before, BOOL),
    ROW(segment_reply, at_capacity, BOOL),
    ROW(segment_reply, makes_room, BOOL),
    COUNT(segment_reply, count, CODEC_MAX_KEYS),
    ENUM(segment_reply, state, REPLICA_NONE, REPLICA_FULL),
    BY_HAND(segment_reply, count, put_votes, get_votes),
    PLANE(segment_reply, present, count),
    PLANE(segment_reply, absent, count),
};
static BINDING_TABLE(segment_reply, segment_reply, NULL);

/* Of all segments together. */
static enum status judge_keys(const struct node_reply *reply)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < reply->nsegments; i++) {
        sum += reply->segments[i].count;
    }
    return sum <= CODEC_MAX_KEYS ? STATUS_OK : STATUS_TOO_LARGE;
}

static enum status put_keys(struct codec_scratch *scratch, const void *ours, void *wire)
{
    (void)scratch;
    (void)wire;
    return judge_keys(ours);
}

static enum status get_keys(struct codec_arena *arena, const void *wire, void *ours)
{
    (void)arena;
    (void)wire;
    return judge_keys(ours);
}

#define WIRE_node_reply Orbloom__V1__NodeReply
static const struct binding node_reply_rows[] = {
    ROW(node_reply, node_id, UINT32),
    ROW(node_reply, incarnation, UINT64),
    LIST(node_reply, segments, nsegments, segment_reply, CODEC_MAX_SEGMENTS, STATUS_TOO_LARGE),
    BY_HAND(node_reply, segments, put_keys, get_keys),
    DOCUMENTS(node_reply, documents, ndocuments),
};
BINDING_TABLE(node_reply, node_reply, NULL);
