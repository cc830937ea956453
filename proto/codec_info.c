/* What anyone may ask anyone, and refusals. */
#include "proto/codec_body.h"

enum status codec_put_info_request(const struct frame *frame, struct codec_scratch *scratch,
                                   ProtobufCMessage **out)
{
    const struct info_request *request = &frame->body.info_request;
    Orbloom__V1__InfoRequest *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__InfoRequest)ORBLOOM__V1__INFO_REQUEST__INIT;
    wire->filter_id = request->filter_id;
    wire->timeout_ms = request->timeout_ms;
    *out = &wire->base;
    return codec_put_text(request->filter, &wire->filter);
}

enum status codec_get_info_request(const ProtobufCMessage *message, struct codec_arena *arena,
                                   struct frame *frame)
{
    const Orbloom__V1__InfoRequest *wire = (const Orbloom__V1__InfoRequest *)message;
    struct info_request *request = &frame->body.info_request;

    request->filter_id = wire->filter_id;
    request->timeout_ms = wire->timeout_ms;
    return codec_get_text(arena, wire->filter, &request->filter);
}

enum status codec_put_info_reply(const struct frame *frame, struct codec_scratch *scratch,
                                 ProtobufCMessage **out)
{
    const struct info_reply *reply = &frame->body.info_reply;
    Orbloom__V1__InfoReply *wire = codec_scratch_take(scratch, 1, sizeof *wire);
    enum status status = STATUS_OK;

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__InfoReply)ORBLOOM__V1__INFO_REPLY__INIT;
    wire->status = (Orbloom__V1__Status)reply->status;
    wire->n_replicas = reply->nreplicas;
    if (reply->has_filter) {
        wire->filter = codec_scratch_take(scratch, 1, sizeof *wire->filter);
        if (wire->filter == NULL) {
            return STATUS_NOMEM;
        }
        status = codec_put_filter_summary(scratch, &reply->filter, wire->filter);
    }
    *out = &wire->base;
    if (status == STATUS_OK) {
        status = codec_put_message(scratch, reply->message, &wire->message);
    }
    return status != STATUS_OK
               ? status
               : codec_put_reports(scratch, reply->replicas, reply->nreplicas, &wire->replicas);
}

enum status codec_get_info_reply(const ProtobufCMessage *message, struct codec_arena *arena,
                                 struct frame *frame)
{
    const Orbloom__V1__InfoReply *wire = (const Orbloom__V1__InfoReply *)message;
    struct info_reply *reply = &frame->body.info_reply;
    enum status status;

    *reply = (struct info_reply){
        .status = status_from_wire((unsigned)wire->status),
        .has_filter = wire->filter != NULL,
        .filter = {.name = ""},
        .nreplicas = wire->n_replicas,
    };
    status = codec_get_text(arena, wire->message, &reply->message);
    if (status == STATUS_OK && wire->filter != NULL) {
        status = codec_get_filter_summary(arena, wire->filter, &reply->filter);
    }
    return status != STATUS_OK
               ? status
               : codec_get_reports(arena, wire->replicas, wire->n_replicas, &reply->replicas);
}

enum status codec_put_stats_request(const struct frame *frame, struct codec_scratch *scratch,
                                    ProtobufCMessage **out)
{
    Orbloom__V1__StatsRequest *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    (void)frame;
    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__StatsRequest)ORBLOOM__V1__STATS_REQUEST__INIT;
    *out = &wire->base;
    return STATUS_OK;
}

enum status codec_get_stats_request(const ProtobufCMessage *message, struct codec_arena *arena,
                                    struct frame *frame)
{
    (void)message;
    (void)arena;
    (void)frame;
    return STATUS_OK;
}

static enum status put_values(const struct stats_reply *reply, struct codec_scratch *scratch,
                              Orbloom__V1__StatValue ***out)
{
    size_t n = reply->nvalues;
    Orbloom__V1__StatValue *items = codec_scratch_take(scratch, n, sizeof *items);
    Orbloom__V1__StatValue **list = codec_scratch_take(scratch, n, sizeof *list);
    enum status status = STATUS_OK;
    size_t i;

    if (items == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    for (i = 0; i < n && status == STATUS_OK; i++) {
        items[i] = (Orbloom__V1__StatValue)ORBLOOM__V1__STAT_VALUE__INIT;
        items[i].value = reply->values[i].value;
        list[i] = &items[i];
        status = codec_put_text(reply->values[i].name, &items[i].name);
    }
    *out = list;
    return status;
}

enum status codec_put_stats_reply(const struct frame *frame, struct codec_scratch *scratch,
                                  ProtobufCMessage **out)
{
    const struct stats_reply *reply = &frame->body.stats_reply;
    Orbloom__V1__StatsReply *wire = codec_scratch_take(scratch, 1, sizeof *wire);
    enum status status;

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__StatsReply)ORBLOOM__V1__STATS_REPLY__INIT;
    wire->n_values = reply->nvalues;
    *out = &wire->base;
    status = codec_put_text(reply->program, &wire->program);
    status = status != STATUS_OK ? status : codec_put_text(reply->name, &wire->name);
    return status != STATUS_OK ? status : put_values(reply, scratch, &wire->values);
}

static enum status get_values(struct codec_arena *arena, const Orbloom__V1__StatsReply *wire,
                              const struct stat_value **out)
{
    struct stat_value *items = arena_take(arena, wire->n_values, sizeof *items);
    enum status status = STATUS_OK;
    size_t i;

    if (items == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (i = 0; i < wire->n_values && status == STATUS_OK; i++) {
        items[i].value = wire->values[i]->value;
        status = codec_get_text(arena, wire->values[i]->name, &items[i].name);
    }
    *out = items;
    return status;
}

enum status codec_get_stats_reply(const ProtobufCMessage *message, struct codec_arena *arena,
                                  struct frame *frame)
{
    const Orbloom__V1__StatsReply *wire = (const Orbloom__V1__StatsReply *)message;
    struct stats_reply *reply = &frame->body.stats_reply;
    enum status status;

    reply->nvalues = wire->n_values;
    status = codec_get_text(arena, wire->program, &reply->program);
    status = status != STATUS_OK ? status : codec_get_text(arena, wire->name, &reply->name);
    return status != STATUS_OK ? status : get_values(arena, wire, &reply->values);
}

enum status codec_put_error(const struct frame *frame, struct codec_scratch *scratch,
                            ProtobufCMessage **out)
{
    Orbloom__V1__ErrorReply *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__ErrorReply)ORBLOOM__V1__ERROR_REPLY__INIT;
    wire->status = (Orbloom__V1__Status)frame->body.error.status;
    *out = &wire->base;
    return codec_put_message(scratch, frame->body.error.message, &wire->message);
}

enum status codec_get_error(const ProtobufCMessage *message, struct codec_arena *arena,
                            struct frame *frame)
{
    const Orbloom__V1__ErrorReply *wire = (const Orbloom__V1__ErrorReply *)message;

    frame->body.error.status = status_from_wire((unsigned)wire->status);
    return codec_get_text(arena, wire->message, &frame->body.error.message);
}
