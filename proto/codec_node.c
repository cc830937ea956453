/* The router's conversation with a node. Segments, of which each message has up to thousands, are
 * copied by hand: rows cost a fifth more. */
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

static void put_segment_reply(const struct segment_reply *reply, Orbloom__V1__SegmentReply *wire)
{
    assert(reply->status == STATUS_OK || reply->count == 0);
    *wire = (Orbloom__V1__SegmentReply)ORBLOOM__V1__SEGMENT_REPLY__INIT;
    wire->tag = reply->tag;
    wire->status = (Orbloom__V1__Status)reply->status;
    wire->epoch = reply->epoch;
    wire->epoch_hash = reply->epoch_hash;
    wire->state = (Orbloom__V1__ReplicaState)reply->state;
    wire->seen_before = reply->repeated;
    wire->at_capacity = reply->at_capacity;
    wire->makes_room = reply->makes_room;
    wire->count = reply->count;
    wire->present = codec_put_plane(reply->present, reply->count);
    wire->absent = codec_put_plane(reply->absent, reply->count);
}

static enum status put_segment_replies(struct codec_scratch *scratch, const void *ours, void *wire)
{
    const struct node_reply *reply = ours;
    Orbloom__V1__NodeReply *message = wire;
    size_t n = reply->nsegments;
    Orbloom__V1__SegmentReply *items = codec_scratch_take(scratch, n, sizeof *items);
    Orbloom__V1__SegmentReply **list = codec_scratch_take(scratch, n, sizeof *list);
    uint64_t sum = 0;
    size_t i;

    if (items == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    if (n > CODEC_MAX_SEGMENTS) {
        return STATUS_TOO_LARGE;
    }
    for (i = 0; i < n; i++) {
        put_segment_reply(&reply->segments[i], &items[i]);
        list[i] = &items[i];
        sum += reply->segments[i].count;
    }
    message->segments = list;
    message->n_segments = n;
    return sum <= CODEC_MAX_KEYS ? STATUS_OK : STATUS_TOO_LARGE;
}

static enum status get_segment_reply(const Orbloom__V1__SegmentReply *wire,
                                     struct codec_arena *arena, struct segment_reply *reply)
{
    enum status status;

    *reply = (struct segment_reply){
        .tag = wire->tag,
        .status = status_from_wire((unsigned)wire->status),
        .epoch = wire->epoch,
        .epoch_hash = wire->epoch_hash,
        .state = (enum replica_state)wire->state,
        .repeated = wire->seen_before,
        .at_capacity = wire->at_capacity,
        .makes_room = wire->makes_room,
        .count = wire->count,
    };
    if (reply->count > CODEC_MAX_KEYS) {
        return STATUS_TOO_LARGE;
    }
    if ((unsigned)wire->state > REPLICA_FULL || (reply->status != STATUS_OK && reply->count > 0)) {
        return STATUS_MALFORMED;
    }
    status = codec_get_plane(arena, wire->present, reply->count, &reply->present);
    return status != STATUS_OK ? status
                               : codec_get_plane(arena, wire->absent, reply->count, &reply->absent);
}

static enum status get_segment_replies(struct codec_arena *arena, const void *message, void *ours)
{
    const Orbloom__V1__NodeReply *wire = message;
    struct node_reply *reply = ours;
    struct segment_reply *replies;
    enum status status;
    uint64_t sum = 0;
    size_t i;

    if (wire->n_segments > CODEC_MAX_SEGMENTS) {
        return STATUS_TOO_LARGE;
    }
    replies = arena_take(arena, wire->n_segments, sizeof *replies);
    if (replies == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (i = 0; i < wire->n_segments; i++) {
        status = get_segment_reply(wire->segments[i], arena, &replies[i]);
        if (status != STATUS_OK) {
            return status;
        }
        sum += replies[i].count;
    }
    reply->segments = replies;
    reply->nsegments = wire->n_segments;
    return sum <= CODEC_MAX_KEYS ? STATUS_OK : STATUS_TOO_LARGE;
}

#define WIRE_node_reply Orbloom__V1__NodeReply
static const struct binding node_reply_rows[] = {
    ROW(node_reply, node_id, UINT32),
    ROW(node_reply, incarnation, UINT64),
    BY_HAND(node_reply, segments, put_segment_replies, get_segment_replies),
    DOCUMENTS(node_reply, documents, ndocuments),
};
BINDING_TABLE(node_reply, node_reply, NULL);
