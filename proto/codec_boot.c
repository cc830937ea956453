/* What nodes ask each other about a start. */
#include "proto/codec_body.h"

enum status codec_put_boot_request(const struct frame *frame, struct codec_scratch *scratch,
                                   ProtobufCMessage **out)
{
    const struct boot_request *request = &frame->body.boot_request;
    Orbloom__V1__BootRequest *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    if (request->nodes.size > DOCUMENT_MAX_BYTES || request->question.nbefore > BOOT_MAX_BEFORE) {
        return STATUS_TOO_LARGE;
    }
    *wire = (Orbloom__V1__BootRequest)ORBLOOM__V1__BOOT_REQUEST__INIT;
    wire->node = request->question.node;
    wire->incarnation = request->question.incarnation;
    wire->boot = request->question.boot;
    wire->before = (uint64_t *)request->question.before;
    wire->n_before = request->question.nbefore;
    wire->ends = (uint64_t *)request->question.ends;
    wire->n_ends = request->question.nbefore;
    wire->position = request->question.position;
    wire->reached = request->question.reached;
    wire->confirm = request->confirm;
    wire->nodes = codec_put_span(request->nodes);
    wire->mac = codec_put_span(span_of(request->mac, sizeof request->mac));
    *out = &wire->base;
    return STATUS_OK;
}

enum status codec_get_boot_request(const ProtobufCMessage *message, struct codec_arena *arena,
                                   struct frame *frame)
{
    const Orbloom__V1__BootRequest *wire = (const Orbloom__V1__BootRequest *)message;
    struct boot_request *request = &frame->body.boot_request;

    (void)arena;
    if (wire->nodes.len > DOCUMENT_MAX_BYTES || wire->n_before > BOOT_MAX_BEFORE) {
        return STATUS_TOO_LARGE;
    }
    if (wire->n_ends != wire->n_before) {
        return STATUS_MALFORMED;
    }
    *request = (struct boot_request){
        .question = {.node = wire->node,
                     .incarnation = wire->incarnation,
                     .boot = wire->boot,
                     .nbefore = (uint32_t)wire->n_before,
                     .position = wire->position,
                     .reached = wire->reached},
        .confirm = wire->confirm != 0,
        .nodes = codec_get_span(wire->nodes),
    };
    for (size_t i = 0; i < wire->n_before; i++) {
        request->question.before[i] = wire->before[i];
        request->question.ends[i] = wire->ends[i];
    }
    if (wire->mac.len == sizeof request->mac) {
        memcpy(request->mac, wire->mac.data, sizeof request->mac);
    }
    return STATUS_OK;
}

enum status codec_put_boot_reply(const struct frame *frame, struct codec_scratch *scratch,
                                 ProtobufCMessage **out)
{
    const struct boot_reply *reply = &frame->body.boot_reply;
    Orbloom__V1__BootReply *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__BootReply)ORBLOOM__V1__BOOT_REPLY__INIT;
    wire->status = (Orbloom__V1__Status)reply->status;
    wire->node = reply->node;
    wire->incarnation = reply->incarnation;
    wire->boot = reply->boot;
    wire->confirmed = reply->confirmed;
    wire->position = reply->position;
    wire->mac = codec_put_span(span_of(reply->mac, sizeof reply->mac));
    *out = &wire->base;
    return STATUS_OK;
}

enum status codec_get_boot_reply(const ProtobufCMessage *message, struct codec_arena *arena,
                                 struct frame *frame)
{
    const Orbloom__V1__BootReply *wire = (const Orbloom__V1__BootReply *)message;
    struct boot_reply *reply = &frame->body.boot_reply;

    (void)arena;
    *reply = (struct boot_reply){
        .status = status_from_wire((unsigned)wire->status),
        .node = wire->node,
        .incarnation = wire->incarnation,
        .boot = wire->boot,
        .confirmed = wire->confirmed != 0,
        .position = wire->position,
    };
    if (wire->mac.len == sizeof reply->mac) {
        memcpy(reply->mac, wire->mac.data, sizeof reply->mac);
    }
    return STATUS_OK;
}
