/* The coordinator's questions to nodes. */
#include "proto/codec_body.h"

enum status codec_put_fence_request(const struct frame *frame, struct codec_scratch *scratch,
                                    ProtobufCMessage **out)
{
    const struct fence_request *request = &frame->body.fence_request;
    Orbloom__V1__FenceRequest *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    if (request->document.size > DOCUMENT_MAX_BYTES) {
        return STATUS_TOO_LARGE;
    }
    *wire = (Orbloom__V1__FenceRequest)ORBLOOM__V1__FENCE_REQUEST__INIT;
    wire->filter_id = request->filter_id;
    wire->epoch = request->epoch;
    wire->epoch_hash = request->epoch_hash;
    wire->document = codec_put_span(request->document);
    wire->slice = request->slice;
    *out = &wire->base;
    return STATUS_OK;
}

enum status codec_get_fence_request(const ProtobufCMessage *message, struct codec_arena *arena,
                                    struct frame *frame)
{
    const Orbloom__V1__FenceRequest *wire = (const Orbloom__V1__FenceRequest *)message;

    (void)arena;
    if (wire->document.len > DOCUMENT_MAX_BYTES) {
        return STATUS_TOO_LARGE;
    }
    frame->body.fence_request = (struct fence_request){
        .filter_id = wire->filter_id,
        .epoch = wire->epoch,
        .epoch_hash = wire->epoch_hash,
        .document = codec_get_span(wire->document),
        .slice = wire->slice,
    };
    return STATUS_OK;
}

enum status codec_put_fence_reply(const struct frame *frame, struct codec_scratch *scratch,
                                  ProtobufCMessage **out)
{
    const struct fence_reply *reply = &frame->body.fence_reply;
    Orbloom__V1__FenceReply *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__FenceReply)ORBLOOM__V1__FENCE_REPLY__INIT;
    wire->status = (Orbloom__V1__Status)reply->status;
    wire->filter_id = reply->filter_id;
    wire->epoch = reply->epoch;
    wire->epoch_hash = reply->epoch_hash;
    wire->node_id = reply->node_id;
    wire->incarnation = reply->incarnation;
    wire->position = reply->position;
    wire->boot = reply->boot;
    wire->slice = reply->slice;
    wire->counted_us = reply->counted_us;
    wire->expiry = reply->expiry;
    wire->expiry_us = reply->expiry_us;
    *out = &wire->base;
    return STATUS_OK;
}

enum status codec_get_fence_reply(const ProtobufCMessage *message, struct codec_arena *arena,
                                  struct frame *frame)
{
    const Orbloom__V1__FenceReply *wire = (const Orbloom__V1__FenceReply *)message;

    (void)arena;
    frame->body.fence_reply = (struct fence_reply){
        .status = status_from_wire((unsigned)wire->status),
        .filter_id = wire->filter_id,
        .epoch = wire->epoch,
        .epoch_hash = wire->epoch_hash,
        .node_id = wire->node_id,
        .incarnation = wire->incarnation,
        .position = wire->position,
        .boot = wire->boot,
        .slice = wire->slice,
        .counted_us = wire->counted_us,
        .expiry = wire->expiry,
        .expiry_us = wire->expiry_us,
    };
    return STATUS_OK;
}
