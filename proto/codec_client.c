/* The client's conversation with a router; requests are read in codec_client_request.c. */
#include "proto/codec_body.h"

enum status codec_put_client_request(const struct frame *frame, struct codec_scratch *scratch,
                                     ProtobufCMessage **out)
{
    const struct client_request *request = &frame->body.client_request;
    Orbloom__V1__ClientRequest *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    if (request->count > CODEC_MAX_KEYS) {
        return STATUS_TOO_LARGE;
    }
    *wire = (Orbloom__V1__ClientRequest)ORBLOOM__V1__CLIENT_REQUEST__INIT;
    wire->filter_id = request->filter_id;
    wire->operation = (Orbloom__V1__Operation)request->operation;
    wire->session_high = request->op.session[0];
    wire->session_low = request->op.session[1];
    wire->sequence = request->op.sequence;
    wire->attempt = request->attempt;
    wire->timeout_ms = request->timeout_ms;
    wire->slots = request->slots;
    wire->keys = codec_put_span(request->keys);
    wire->n_lengths = request->count;
    wire->lengths = (uint32_t *)request->lengths;
    wire->lineage = request->lineage;
    *out = &wire->base;
    return codec_put_text(request->filter, &wire->filter);
}

enum status codec_put_client_reply(const struct frame *frame, struct codec_scratch *scratch,
                                   ProtobufCMessage **out)
{
    const struct client_reply *reply = &frame->body.client_reply;
    Orbloom__V1__ClientReply *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    if (reply->count > CODEC_MAX_KEYS) {
        return STATUS_TOO_LARGE;
    }
    *wire = (Orbloom__V1__ClientReply)ORBLOOM__V1__CLIENT_REPLY__INIT;
    wire->session_high = reply->op.session[0];
    wire->session_low = reply->op.session[1];
    wire->sequence = reply->op.sequence;
    wire->attempt = reply->attempt;
    wire->status = (Orbloom__V1__Status)reply->status;
    wire->filter_id = reply->filter_id;
    wire->epoch = reply->epoch;
    wire->count = (uint32_t)reply->count;
    wire->present = codec_put_plane(reply->present, reply->count);
    wire->absent = codec_put_plane(reply->absent, reply->count);
    wire->copies = reply->copies;
    *out = &wire->base;
    return codec_put_message(scratch, reply->message, &wire->message);
}

enum status codec_get_client_reply(const ProtobufCMessage *message, struct codec_arena *arena,
                                   struct frame *frame)
{
    const Orbloom__V1__ClientReply *wire = (const Orbloom__V1__ClientReply *)message;
    struct client_reply *reply = &frame->body.client_reply;
    enum status status;

    if (wire->count > CODEC_MAX_KEYS) {
        return STATUS_TOO_LARGE;
    }
    *reply = (struct client_reply){
        .op = {.session = {wire->session_high, wire->session_low}, .sequence = wire->sequence},
        .attempt = wire->attempt,
        .status = status_from_wire((unsigned)wire->status),
        .filter_id = wire->filter_id,
        .epoch = wire->epoch,
        .count = wire->count,
        .copies = wire->copies,
    };
    status = codec_get_text(arena, wire->message, &reply->message);
    if (status == STATUS_OK) {
        status = codec_get_plane(arena, wire->present, reply->count, &reply->present);
    }
    if (status == STATUS_OK) {
        status = codec_get_plane(arena, wire->absent, reply->count, &reply->absent);
    }
    return status;
}
