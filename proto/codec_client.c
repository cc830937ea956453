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
    wire->keyset = request->keyset;
    *out = &wire->base;
    return codec_put_text(request->filter, &wire->filter);
}

#define WIRE_client_reply Orbloom__V1__ClientReply
static const struct binding client_reply_rows[] = {
    COUNT(client_reply, count, CODEC_MAX_KEYS),
    ROW_AS(client_reply, op.session[0], session_high, UINT64),
    ROW_AS(client_reply, op.session[1], session_low, UINT64),
    ROW_AS(client_reply, op.sequence, sequence, UINT64),
    ROW(client_reply, attempt, UINT32),
    ROW(client_reply, status, STATUS),
    ROW(client_reply, filter_id, UINT64),
    ROW(client_reply, epoch, UINT64),
    ROW(client_reply, copies, UINT32),
    ROW(client_reply, message, MESSAGE),
    PLANE(client_reply, present, count),
    PLANE(client_reply, absent, count),
};
BINDING_TABLE(client_reply, client_reply, NULL);
