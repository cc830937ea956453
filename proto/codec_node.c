/* The router's conversation with a node. Subrequests, of which each message has up to thousands,
 * are copied by hand: rows cost a fifth more. */
#include "proto/codec_body.h"

#include <assert.h>

static void put_subrequest(const struct subrequest *subrequest, Orbloom__V1__Subrequest *wire)
{
    *wire = (Orbloom__V1__Subrequest)ORBLOOM__V1__SUBREQUEST__INIT;
    wire->tag = subrequest->tag;
    wire->filter_id = subrequest->filter_id;
    wire->epoch = subrequest->epoch;
    wire->epoch_hash = subrequest->epoch_hash;
    wire->group = subrequest->group;
    wire->operation = (Orbloom__V1__Operation)subrequest->operation;
    wire->session_high = subrequest->op.session[0];
    wire->session_low = subrequest->op.session[1];
    wire->sequence = subrequest->op.sequence;
    wire->attempt = subrequest->attempt;
    wire->batch_producer = subrequest->batch.producer_id;
    wire->batch_number = subrequest->batch.number;
    wire->count = subrequest->count;
    wire->keyset = subrequest->keyset;
    wire->user = subrequest->user;
    wire->relayed = subrequest->relayed;
}

static enum status put_subrequests(const struct node_request *request,
                                   struct codec_scratch *scratch, Orbloom__V1__Subrequest ***out)
{
    size_t n = request->nsubrequests;
    Orbloom__V1__Subrequest *items = codec_scratch_take(scratch, n, sizeof *items);
    Orbloom__V1__Subrequest **list = codec_scratch_take(scratch, n, sizeof *list);
    uint64_t sum = 0;
    size_t i;

    if (items == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    for (i = 0; i < n; i++) {
        put_subrequest(&request->subrequests[i], &items[i]);
        list[i] = &items[i];
        sum += request->subrequests[i].count;
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
    if (request->count > CODEC_MAX_KEYS || request->nsubrequests > CODEC_MAX_SUBREQUESTS) {
        return STATUS_TOO_LARGE;
    }
    *wire = (Orbloom__V1__NodeRequest)ORBLOOM__V1__NODE_REQUEST__INIT;
    wire->n_fingerprints = request->count;
    wire->fingerprints = (uint64_t *)request->fingerprints;
    wire->n_subrequests = request->nsubrequests;
    *out = &wire->base;
    return put_subrequests(request, scratch, &wire->subrequests);
}

static void get_subrequest(const Orbloom__V1__Subrequest *wire, struct subrequest *subrequest)
{
    *subrequest = (struct subrequest){
        .tag = wire->tag,
        .filter_id = wire->filter_id,
        .epoch = wire->epoch,
        .epoch_hash = wire->epoch_hash,
        .group = wire->group,
        .operation = (enum operation)wire->operation,
        .op = {.session = {wire->session_high, wire->session_low}, .sequence = wire->sequence},
        .attempt = wire->attempt,
        .batch = {.producer_id = wire->batch_producer, .number = wire->batch_number},
        .count = wire->count,
        .keyset = wire->keyset,
        .user = wire->user,
        .relayed = wire->relayed,
    };
}

static bool is_wellformed(const Orbloom__V1__Subrequest *wire)
{
    if (wire->operation == ORBLOOM__V1__OPERATION__OPERATION_ENDS) {
        return wire->count == 0 && !wire->relayed;
    }
    return codec_enum_known((int)wire->operation, OPERATION_ADD) &&
           (!wire->relayed || wire->operation == ORBLOOM__V1__OPERATION__OPERATION_ADD);
}

static enum status get_subrequests(const Orbloom__V1__NodeRequest *wire, struct codec_arena *arena,
                                   const struct subrequest **out)
{
    struct subrequest *subrequests = arena_take(arena, wire->n_subrequests, sizeof *subrequests);
    uint64_t sum = 0;
    size_t i;

    if (subrequests == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (i = 0; i < wire->n_subrequests; i++) {
        if (!is_wellformed(wire->subrequests[i])) {
            return STATUS_MALFORMED;
        }
        get_subrequest(wire->subrequests[i], &subrequests[i]);
        sum += subrequests[i].count;
    }
    *out = subrequests;
    return sum == wire->n_fingerprints ? STATUS_OK : STATUS_MALFORMED;
}

enum status codec_get_node_request(const ProtobufCMessage *message, struct codec_arena *arena,
                                   struct frame *frame)
{
    const Orbloom__V1__NodeRequest *wire = (const Orbloom__V1__NodeRequest *)message;
    struct node_request *request = &frame->body.node_request;

    if (wire->n_subrequests > CODEC_MAX_SUBREQUESTS || wire->n_fingerprints > CODEC_MAX_KEYS) {
        return STATUS_TOO_LARGE;
    }
    *request = (struct node_request){
        .nsubrequests = wire->n_subrequests,
        .fingerprints = wire->fingerprints,
        .count = wire->n_fingerprints,
    };
    return get_subrequests(wire, arena, &request->subrequests);
}

/* ---- the reply ---- */

static void put_subrequest_reply(const struct subrequest_reply *reply,
                                 Orbloom__V1__SubrequestReply *wire)
{
    assert(reply->status == STATUS_OK || reply->count == 0);
    *wire = (Orbloom__V1__SubrequestReply)ORBLOOM__V1__SUBREQUEST_REPLY__INIT;
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
    wire->boot = reply->boot;
    wire->position = reply->position;
}

static enum status put_subrequest_replies(struct codec_scratch *scratch, const void *ours,
                                          void *wire)
{
    const struct node_reply *reply = ours;
    Orbloom__V1__NodeReply *message = wire;
    size_t n = reply->nsubrequests;
    Orbloom__V1__SubrequestReply *items = codec_scratch_take(scratch, n, sizeof *items);
    Orbloom__V1__SubrequestReply **list = codec_scratch_take(scratch, n, sizeof *list);
    uint64_t sum = 0;
    size_t i;

    if (items == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    if (n > CODEC_MAX_SUBREQUESTS) {
        return STATUS_TOO_LARGE;
    }
    for (i = 0; i < n; i++) {
        put_subrequest_reply(&reply->subrequests[i], &items[i]);
        list[i] = &items[i];
        sum += reply->subrequests[i].count;
    }
    message->subrequests = list;
    message->n_subrequests = n;
    return sum <= CODEC_MAX_KEYS ? STATUS_OK : STATUS_TOO_LARGE;
}

static enum status get_subrequest_reply(const Orbloom__V1__SubrequestReply *wire,
                                        struct codec_arena *arena, struct subrequest_reply *reply)
{
    enum status status;

    *reply = (struct subrequest_reply){
        .tag = wire->tag,
        .status = status_from_wire((unsigned)wire->status),
        .epoch = wire->epoch,
        .epoch_hash = wire->epoch_hash,
        .state = (enum replica_state)wire->state,
        .repeated = wire->seen_before,
        .at_capacity = wire->at_capacity,
        .makes_room = wire->makes_room,
        .count = wire->count,
        .boot = wire->boot,
        .position = wire->position,
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

static enum status get_subrequest_replies(struct codec_arena *arena, const void *message,
                                          void *ours)
{
    const Orbloom__V1__NodeReply *wire = message;
    struct node_reply *reply = ours;
    struct subrequest_reply *replies;
    enum status status;
    uint64_t sum = 0;
    size_t i;

    if (wire->n_subrequests > CODEC_MAX_SUBREQUESTS) {
        return STATUS_TOO_LARGE;
    }
    replies = arena_take(arena, wire->n_subrequests, sizeof *replies);
    if (replies == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (i = 0; i < wire->n_subrequests; i++) {
        status = get_subrequest_reply(wire->subrequests[i], arena, &replies[i]);
        if (status != STATUS_OK) {
            return status;
        }
        sum += replies[i].count;
    }
    reply->subrequests = replies;
    reply->nsubrequests = wire->n_subrequests;
    return sum <= CODEC_MAX_KEYS ? STATUS_OK : STATUS_TOO_LARGE;
}

#define WIRE_node_reply Orbloom__V1__NodeReply
static const struct binding node_reply_rows[] = {
    ROW(node_reply, node_id, UINT32),
    ROW(node_reply, incarnation, UINT64),
    BY_HAND(node_reply, subrequests, put_subrequest_replies, get_subrequest_replies),
    DOCUMENTS(node_reply, documents, ndocuments),
};
BINDING_TABLE(node_reply, node_reply, NULL);
