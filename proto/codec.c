/* The envelope around every message, and the way to the codec of each kind. */
#include "proto/codec.h"

#include "proto/codec_body.h"
#include "proto/codec_wire.h"
#include "proto/signed_document.h"

#include <assert.h>
#include <string.h>

/* The envelope is walked by hand, which reads a version that nothing else can be read of and
 * spares protobuf-c moving a whole body to make room for its length. */
enum {
    FIELD_VERSION = 1,
    FIELD_CORRELATION = 2,
    ENVELOPE_MAX_BYTES = 4 * CODEC_WIRE_VARINT_BYTES,
};

struct envelope {
    uint32_t version;
    uint64_t correlation;
    enum frame_kind kind;
    struct span body;
    bool stranger; /* it holds fields that this version does not know */
};

#define BOUND(upper, lower, member)                                       \
    [FRAME_##upper] = {.number = ORBLOOM__V1__FRAME__BODY_##upper,        \
                       .descriptor = &orbloom__v1__##lower##__descriptor, \
                       .table = binding_##lower,                          \
                       .offset = offsetof(struct frame, body.member)}
static const struct {
    uint32_t number; /* of the field in Frame */
    const ProtobufCMessageDescriptor *descriptor;
    codec_put_fn *put;
    codec_get_fn *get;
    codec_read_fn *read;     /* instead of unpacking and get */
    binding_table_fn *table; /* instead of put and get, of what is at `offset` */
    size_t offset;
} bodies[] = {
    [FRAME_CLIENT_REQUEST] = {.number = ORBLOOM__V1__FRAME__BODY_CLIENT_REQUEST,
                              .put = codec_put_client_request,
                              .read = codec_read_client_request},
    BOUND(CLIENT_REPLY, client_reply, client_reply),
    [FRAME_NODE_REQUEST] = {.number = ORBLOOM__V1__FRAME__BODY_NODE_REQUEST,
                            .descriptor = &orbloom__v1__node_request__descriptor,
                            .put = codec_put_node_request,
                            .get = codec_get_node_request},
    BOUND(NODE_REPLY, node_reply, node_reply),
    BOUND(DOCUMENTS, documents, documents),
    BOUND(SYNC_REQUEST, sync_request, sync_request),
    BOUND(SYNC_REPLY, sync_reply, sync_reply),
    BOUND(HINT, hint, hint),
    BOUND(FENCE_REQUEST, fence_request, fence_request),
    BOUND(FENCE_REPLY, fence_reply, fence_reply),
    BOUND(BOOT_REQUEST, boot_request, boot_request),
    BOUND(BOOT_REPLY, boot_reply, boot_reply),
    BOUND(ADMIN_REQUEST, admin_request, admin_request),
    BOUND(ADMIN_REPLY, admin_reply, admin_reply),
    BOUND(INFO_REQUEST, info_request, info_request),
    BOUND(INFO_REPLY, info_reply, info_reply),
    [FRAME_STATS_REQUEST] = {.number = ORBLOOM__V1__FRAME__BODY_STATS_REQUEST,
                             .descriptor = &orbloom__v1__stats_request__descriptor,
                             .table = binding_stats_request,
                             .offset = offsetof(struct frame, body)},
    BOUND(STATS_REPLY, stats_reply, stats_reply),
    BOUND(DUMP_REQUEST, dump_request, dump_request),
    BOUND(DUMP_REPLY, dump_reply, dump_reply),
    BOUND(LOAD_REQUEST, load_request, load_request),
    BOUND(PULL_REQUEST, pull_request, pull_request),
    BOUND(PULL_REPLY, pull_reply, pull_reply),
    BOUND(SITE_TAIL_REQUEST, site_tail_request, site_tail_request),
    BOUND(SITE_TAIL_REPLY, site_tail_reply, site_tail_reply),
    BOUND(SITE_CURSOR_REQUEST, site_cursor_request, site_cursor_request),
    BOUND(SITE_CURSOR_REPLY, site_cursor_reply, site_cursor_reply),
    BOUND(SITE_AGE_REQUEST, site_age_request, site_age_request),
    BOUND(SITE_AGE_REPLY, site_age_reply, site_age_reply),
    BOUND(SITE_LAG_REQUEST, site_lag_request, site_lag_request),
    BOUND(SITE_LAG_REPLY, site_lag_reply, site_lag_reply),
    BOUND(ERROR, error_reply, error),
    BOUND(SITE_HELLO, site_hello, site_hello),
    BOUND(SITE_OPEN, site_open, site_open),
    [FRAME_SITE_BATCH] = {.number = ORBLOOM__V1__FRAME__BODY_SITE_BATCH,
                          .descriptor = &orbloom__v1__site_batch__descriptor,
                          .table = binding_site_batch_message,
                          .offset = offsetof(struct frame, body.site_batch)},
    BOUND(SITE_APPLIED, site_applied, site_applied),
    BOUND(SITE_MARK, site_mark, site_mark),
    BOUND(SITE_MARKED, site_marked, site_marked),
    BOUND(SITE_CLOSE, site_close, site_close),
    BOUND(SITE_FILTERS, site_filters, site_filters),
    BOUND(SITE_CONFIRM, site_confirm, site_confirm),
    BOUND(SITE_CONFIRMED, site_confirmed, site_confirmed),
    BOUND(SITE_OFFER, site_offer, site_offer),
    BOUND(SITE_HELD, site_held, site_held),
};
#undef BOUND

enum { NBODIES = sizeof bodies / sizeof bodies[0], PEEK_FIELDS = 16 };

static enum frame_kind kind_of(uint32_t number)
{
    unsigned kind;

    for (kind = FRAME_CLIENT_REQUEST; kind < NBODIES; kind++) {
        if (bodies[kind].number == number) {
            return (enum frame_kind)kind;
        }
    }
    return FRAME_NONE;
}

static enum status envelope_field(struct envelope *self, const struct codec_wire_field *field)
{
    enum frame_kind kind;

    if (field->number == FIELD_VERSION) {
        self->version = field->value > UINT32_MAX ? UINT32_MAX : (uint32_t)field->value;
        return field->type == WIRE_VARINT ? STATUS_OK : STATUS_MALFORMED;
    }
    if (field->number == FIELD_CORRELATION) {
        self->correlation = field->value;
        return field->type == WIRE_FIXED64 ? STATUS_OK : STATUS_MALFORMED;
    }
    kind = kind_of(field->number);
    if (kind == FRAME_NONE) {
        self->stranger = true;
        return STATUS_OK;
    }
    if (field->type != WIRE_BYTES || self->kind != FRAME_NONE) {
        return STATUS_MALFORMED; /* Two bodies would be merged, by the rules of protobuf. */
    }
    self->kind = kind;
    self->body = field->bytes;
    return STATUS_OK;
}

static enum status envelope_read(struct span bytes, struct envelope *self)
{
    struct codec_wire_field field;
    enum status status = STATUS_OK;

    *self = (struct envelope){0};
    while (bytes.size > 0 && status == STATUS_OK) {
        status = codec_wire_next(&bytes, &field);
        if (status == STATUS_OK) {
            status = envelope_field(self, &field);
        }
    }
    return status;
}

static enum status envelope_judge(const struct envelope *self)
{
    if (self->version < CODEC_VERSION_OLDEST || self->version > CODEC_VERSION) {
        return STATUS_VERSION;
    }
    if (self->kind == FRAME_NONE) {
        /* A body that this version does not know, or none at all. */
        return self->stranger ? STATUS_VERSION : STATUS_MALFORMED;
    }
    return STATUS_OK;
}

static enum status body_get(enum frame_kind kind, const ProtobufCMessage *message,
                            struct codec_arena *arena, struct frame *out)
{
    if (bodies[kind].table != NULL) {
        return binding_get(bodies[kind].table(), arena, message,
                           (uint8_t *)out + bodies[kind].offset);
    }
    return bodies[kind].get(message, arena, out);
}

static enum status body_put(const struct frame *frame, struct codec_scratch *scratch,
                            ProtobufCMessage **out)
{
    if (bodies[frame->kind].table != NULL) {
        return binding_put_new(bodies[frame->kind].table(), scratch,
                               (const uint8_t *)frame + bodies[frame->kind].offset, out);
    }
    return bodies[frame->kind].put(frame, scratch, out);
}

static enum status body_read(const struct envelope *envelope, struct codec_arena *arena,
                             struct frame *out)
{
    ProtobufCMessage *message = NULL;
    enum status status;

    if (bodies[envelope->kind].read != NULL) {
        return bodies[envelope->kind].read(envelope->body, arena, out);
    }
    status = arena_unpack(arena, bodies[envelope->kind].descriptor, envelope->body.data,
                          envelope->body.size, &message);
    return status == STATUS_OK ? body_get(envelope->kind, message, arena, out) : status;
}

struct frame_face codec_peek(struct span bytes)
{
    struct envelope envelope = {0};
    struct frame_face face = {.kind = FRAME_NONE};
    struct codec_wire_field field;

    for (unsigned n = 0; n < PEEK_FIELDS && bytes.size > 0 && envelope.kind == FRAME_NONE; n++) {
        if (codec_wire_next(&bytes, &field) != STATUS_OK ||
            envelope_field(&envelope, &field) != STATUS_OK) {
            return face;
        }
    }
    face.kind = envelope.kind;
    face.undecided = envelope.kind == FRAME_NONE && bytes.size > 0;
    face.correlation = envelope.correlation;
    /* The role is the first field, and is never left out. */
    face.from_node = envelope.kind == FRAME_SYNC_REQUEST && envelope.body.size > 0 &&
                     codec_wire_next(&envelope.body, &field) == STATUS_OK && field.number == 1 &&
                     field.type == WIRE_VARINT && field.value == SYNC_NODE;
    return face;
}

enum status codec_decode(struct codec_arena *arena, struct span bytes, struct frame *out)
{
    struct envelope envelope;
    enum status status;

    arena_reset(arena);
    out->version = 0;
    out->correlation = 0;
    out->kind = FRAME_NONE;
    if (bytes.size > CODEC_MAX_FRAME_BYTES) {
        return STATUS_TOO_LARGE;
    }
    status = envelope_read(bytes, &envelope);
    if (status != STATUS_OK) {
        return status;
    }
    /* Also of a frame that is refused: its refusal names both. */
    out->version = envelope.version;
    out->correlation = envelope.correlation;
    status = envelope_judge(&envelope);
    if (status != STATUS_OK) {
        return status;
    }
    status = body_read(&envelope, arena, out);
    if (status == STATUS_OK) {
        out->kind = envelope.kind;
    }
    return status;
}

static size_t envelope_write(const struct frame *frame, size_t body_size, uint8_t *out)
{
    uint32_t version = frame->version != 0 ? frame->version : CODEC_VERSION;
    size_t used = 0;
    unsigned i;

    used += codec_wire_put_varint(out + used, codec_wire_tag(FIELD_VERSION, WIRE_VARINT));
    used += codec_wire_put_varint(out + used, version);
    if (frame->correlation != 0) {
        used += codec_wire_put_varint(out + used, codec_wire_tag(FIELD_CORRELATION, WIRE_FIXED64));
        for (i = 0; i < 64; i += 8) {
            out[used++] = (uint8_t)(frame->correlation >> i);
        }
    }
    used += codec_wire_put_varint(out + used,
                                  codec_wire_tag(bodies[frame->kind].number, WIRE_BYTES));
    used += codec_wire_put_varint(out + used, body_size);
    return used;
}

/* Where an encoding goes: memory for so many bytes. */
struct sink {
    const struct effects *effects; /* NULL: the buffer alone */
    struct buffer *buffer;
    struct span written;
};

static enum status sink_take(struct sink *self, size_t size, uint8_t **out)
{
    enum status status = STATUS_OK;

    *out = self->effects != NULL && self->effects->room != NULL
               ? self->effects->room(self->effects->context, size)
               : NULL;
    if (*out == NULL) {
        status = buffer_extend(self->buffer, size, out);
    }
    self->written = span_of(*out, size);
    return status;
}

static enum status pack(const struct frame *frame, const ProtobufCMessage *message,
                        struct sink *sink)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t envelope[ENVELOPE_MAX_BYTES];
    size_t envelope_size = envelope_write(frame, size, envelope);
    uint8_t *bytes = NULL;
    enum status status;

    if (size > CODEC_MAX_FRAME_BYTES - envelope_size) {
        return STATUS_TOO_LARGE;
    }
    status = sink_take(sink, envelope_size + size, &bytes);
    if (status == STATUS_OK) {
        memcpy(bytes, envelope, envelope_size);
        protobuf_c_message_pack(message, bytes + envelope_size);
    }
    return status;
}

static enum status encode(const struct frame *frame, struct sink *sink)
{
    ProtobufCMessage *message = NULL;
    struct codec_scratch scratch;
    enum status status;

    assert(frame->kind > FRAME_NONE && (unsigned)frame->kind < NBODIES);
    codec_scratch_init(&scratch);
    status = body_put(frame, &scratch, &message);
    if (status == STATUS_OK) {
        status = pack(frame, message, sink);
    }
    codec_scratch_fini(&scratch);
    return status;
}

enum status codec_encode(const struct frame *frame, struct buffer *out)
{
    struct sink sink = {.buffer = out};

    return encode(frame, &sink);
}

enum status codec_encode_out(const struct frame *frame, const struct effects *effects,
                             struct buffer *spare, struct span *out)
{
    struct sink sink = {.effects = effects, .buffer = spare};
    enum status status;

    buffer_clear(spare);
    status = encode(frame, &sink);
    *out = sink.written;
    return status;
}

/* ---- numbers of our enums are those of the contract, or this does not compile ---- */

#define SAME(ours, wire) \
    _Static_assert((int)(ours) == (int)ORBLOOM__V1__##wire, "orbloom.proto and C differ: " #ours)

#define X(name, number, meaning) SAME(STATUS_##name, STATUS__STATUS_##name);
STATUS_TABLE(X)
#undef X

SAME(OPERATION_CHECK, OPERATION__OPERATION_CHECK);
SAME(OPERATION_ADD, OPERATION__OPERATION_ADD);
SAME(OPERATION_FEED, OPERATION__OPERATION_FEED);
SAME(OPERATION_ENDS, OPERATION__OPERATION_ENDS);
SAME(REPLICA_NONE, REPLICA_STATE__REPLICA_NONE);
SAME(REPLICA_BUILDING, REPLICA_STATE__REPLICA_BUILDING);
SAME(REPLICA_JOINING, REPLICA_STATE__REPLICA_JOINING);
SAME(REPLICA_FULL, REPLICA_STATE__REPLICA_FULL);
SAME(PHASE_NONE, REPLICA_PHASE__PHASE_NONE);
SAME(PHASE_REPLAYING, REPLICA_PHASE__PHASE_REPLAYING);
SAME(PHASE_SYNCING, REPLICA_PHASE__PHASE_SYNCING);
SAME(PHASE_GROWING, REPLICA_PHASE__PHASE_GROWING);
SAME(CHANGE_TO_BEGIN, CHANGE_STEP__CHANGE_STEP_TO_BEGIN);
SAME(CHANGE_COPYING, CHANGE_STEP__CHANGE_STEP_COPYING);
SAME(CHANGE_HANDING_OVER, CHANGE_STEP__CHANGE_STEP_HANDING_OVER);
SAME(SYNC_ROUTER, SYNC_ROLE__SYNC_ROLE_ROUTER);
SAME(SYNC_NODE, SYNC_ROLE__SYNC_ROLE_NODE);
SAME(ADMIN_CREATE, ADMIN_ACTION__ADMIN_CREATE);
SAME(ADMIN_DROP, ADMIN_ACTION__ADMIN_DROP);
SAME(ADMIN_STATUS, ADMIN_ACTION__ADMIN_STATUS);
SAME(ADMIN_MAP_BACKUP, ADMIN_ACTION__ADMIN_MAP_BACKUP);
SAME(ADMIN_MAP_BEGIN, ADMIN_ACTION__ADMIN_MAP_BEGIN);
SAME(ADMIN_MAP_RECORDS, ADMIN_ACTION__ADMIN_MAP_RECORDS);
SAME(ADMIN_MAP_FINISH, ADMIN_ACTION__ADMIN_MAP_FINISH);
SAME(ADMIN_NODE_DRAIN, ADMIN_ACTION__ADMIN_NODE_DRAIN);
SAME(ADMIN_NODE_REPLACE, ADMIN_ACTION__ADMIN_NODE_REPLACE);
SAME(ADMIN_NODE_REMOVE, ADMIN_ACTION__ADMIN_NODE_REMOVE);
SAME(ADMIN_REBALANCE, ADMIN_ACTION__ADMIN_REBALANCE);
SAME(ADMIN_ACCEPT_LOSS, ADMIN_ACTION__ADMIN_ACCEPT_LOSS);
SAME(ADMIN_EXPAND, ADMIN_ACTION__ADMIN_EXPAND);
SAME(ADMIN_REBUILD, ADMIN_ACTION__ADMIN_REBUILD);
SAME(REBUILD_BEGIN, REBUILD_STEP__REBUILD_STEP_BEGIN);
SAME(REBUILD_FED, REBUILD_STEP__REBUILD_STEP_FED);
SAME(REBUILD_COMMIT, REBUILD_STEP__REBUILD_STEP_COMMIT);
SAME(REBUILD_ABORT, REBUILD_STEP__REBUILD_STEP_ABORT);
SAME(DOCUMENT_FILTER, DOCUMENT_KIND__DOCUMENT_FILTER);
SAME(DOCUMENT_NODE_LIST, DOCUMENT_KIND__DOCUMENT_NODE_LIST);
SAME(DOCUMENT_DROPPED, DOCUMENT_KIND__DOCUMENT_DROPPED);
SAME(DOCUMENT_CLUSTER, DOCUMENT_KIND__DOCUMENT_CLUSTER);
SAME(DOCUMENT_FEATURES, DOCUMENT_KIND__DOCUMENT_FEATURES);
SAME(DOCUMENT_USERS, DOCUMENT_KIND__DOCUMENT_USERS);
SAME(ADMIN_USER_LIST, ADMIN_ACTION__ADMIN_USER_LIST);
SAME(ADMIN_USER_CHANGE, ADMIN_ACTION__ADMIN_USER_CHANGE);
SAME(ADMIN_PROCESS_KEYS, ADMIN_ACTION__ADMIN_PROCESS_KEYS);
SAME(SITE_JOINING, SITE_STATE__SITE_JOINING);
SAME(SITE_COUNTED, SITE_STATE__SITE_COUNTED);
SAME(SITE_LEAVING, SITE_STATE__SITE_LEAVING);
SAME(SITE_GONE, SITE_STATE__SITE_GONE);
SAME(ADMIN_SITE, ADMIN_ACTION__ADMIN_SITE);
SAME(ADMIN_SITE_CHANGE, ADMIN_ACTION__ADMIN_SITE_CHANGE);
SAME(SITE_STEP_LIST, SITE_STEP__SITE_STEP_LIST);
SAME(SITE_STEP_ADD, SITE_STEP__SITE_STEP_ADD);
SAME(SITE_STEP_LEAVE, SITE_STEP__SITE_STEP_LEAVE);
SAME(SITE_STEP_REMOVE, SITE_STEP__SITE_STEP_REMOVE);
SAME(DROP_HERE, DROP_SCOPE__DROP_SCOPE_HERE);
SAME(DROP_EVERYWHERE, DROP_SCOPE__DROP_SCOPE_EVERYWHERE);
SAME(USER_CLIENT, USER_ROLE__USER_ROLE_CLIENT);
SAME(USER_MONITOR, USER_ROLE__USER_ROLE_MONITOR);
SAME(USER_ADMIN, USER_ROLE__USER_ROLE_ADMIN);
SAME(ADMIN_UPGRADE_STATUS, ADMIN_ACTION__ADMIN_UPGRADE_STATUS);
SAME(ADMIN_UPGRADE_FINALIZE, ADMIN_ACTION__ADMIN_UPGRADE_FINALIZE);
SAME(PROCESS_COORDINATOR, PROCESS_KIND__PROCESS_COORDINATOR);
SAME(PROCESS_NODE, PROCESS_KIND__PROCESS_NODE);
SAME(PROCESS_ROUTER, PROCESS_KIND__PROCESS_ROUTER);
SAME(FILTER_ACTIVE, FILTER_STATE__FILTER_ACTIVE);
SAME(FILTER_DROPPING, FILTER_STATE__FILTER_DROPPING);
SAME(FILTER_DROPPED, FILTER_STATE__FILTER_DROPPED);
SAME(HASH_SIPHASH24, HASH_KIND__HASH_SIPHASH24);
SAME(HASH_XXH3, HASH_KIND__HASH_XXH3);
SAME(WHEN_UNAVAILABLE_ERROR, WHEN_UNAVAILABLE__WHEN_UNAVAILABLE_ERROR);
SAME(WHEN_UNAVAILABLE_MAYBE, WHEN_UNAVAILABLE__WHEN_UNAVAILABLE_MAYBE);
SAME(WHEN_FULL_REFUSE, WHEN_FULL__WHEN_FULL_REFUSE);
SAME(WHEN_FULL_EXPAND, WHEN_FULL__WHEN_FULL_EXPAND);
SAME(KEYLOG_ON, KEYLOG__KEYLOG_ON);
SAME(KEYLOG_OFF, KEYLOG__KEYLOG_OFF);
SAME(DURABILITY_MEMORY, DURABILITY__DURABILITY_MEMORY);
SAME(DURABILITY_OS, DURABILITY__DURABILITY_OS);
SAME(DURABILITY_SYNC, DURABILITY__DURABILITY_SYNC);
