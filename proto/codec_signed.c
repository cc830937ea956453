/* Documents that are signed. The envelope is walked by hand: its MAC covers the bytes as received,
 * and nothing is decoded before it is found right. Then the records of the store that are small:
 * the node list, dropped filters, which cluster this is and which features it uses. Filter
 * documents: codec_document.c; users: codec_user.c. */
#include "proto/codec_signed.h"

#include "base/heap.h"
#include "map/feature.h"
#include "proto/codec_field.h"
#include "proto/codec_wire.h"

#include <string.h>

/* ---- the envelope ---- */

/* Numbers of fields in SignedDocument. */
enum { FIELD_KIND = 1, FIELD_CONTENT = 2, FIELD_MAC = 3 };

/* Many times the largest valid document; never touched unless needed. */
enum { SIGNED_ARENA_BYTES = 32 << 20 };

struct signed_document {
    enum document_kind kind;
    struct span content;
    struct span mac;
};

static enum status signed_field(struct signed_document *self, const struct codec_wire_field *field)
{
    enum codec_wire_type type = field->number == FIELD_KIND ? WIRE_VARINT : WIRE_BYTES;

    if (field->number > FIELD_MAC) {
        return STATUS_OK;
    }
    if (field->type != type) {
        return STATUS_MALFORMED;
    }
    if (field->number == FIELD_CONTENT) {
        self->content = field->bytes;
    } else if (field->number == FIELD_MAC) {
        self->mac = field->bytes;
    } else if (field->value >= DOCUMENT_FILTER && field->value <= DOCUMENT_USERS) {
        self->kind = (enum document_kind)field->value;
    } else {
        return STATUS_MALFORMED;
    }
    return STATUS_OK;
}

static enum status signed_read(struct span bytes, struct signed_document *self)
{
    struct codec_wire_field field;
    enum status status = STATUS_OK;

    *self = (struct signed_document){.content = span_text(""), .mac = span_text("")};
    if (bytes.size > DOCUMENT_MAX_BYTES) {
        return STATUS_TOO_LARGE;
    }
    while (bytes.size > 0 && status == STATUS_OK) {
        status = codec_wire_next(&bytes, &field);
        if (status == STATUS_OK) {
            status = signed_field(self, &field);
        }
    }
    return status == STATUS_OK && self->kind == 0 ? STATUS_MALFORMED : status;
}

/* A MAC of one kind is none of another. */
static const enum seal_domain domains[] = {
    [DOCUMENT_FILTER] = SEAL_FILTER_DOCUMENT, [DOCUMENT_NODE_LIST] = SEAL_NODE_LIST,
    [DOCUMENT_DROPPED] = SEAL_DROPPED,        [DOCUMENT_CLUSTER] = SEAL_CLUSTER,
    [DOCUMENT_FEATURES] = SEAL_FEATURES,      [DOCUMENT_USERS] = SEAL_USERS,
};

enum status codec_document_kind(struct span bytes, enum document_kind *kind)
{
    struct signed_document document;
    enum status status = signed_read(bytes, &document);

    if (status == STATUS_OK) {
        *kind = document.kind;
    }
    return status;
}

bool codec_document_by_first(struct span bytes, const struct cluster_key *key)
{
    struct signed_document document;

    return signed_read(bytes, &document) == STATUS_OK &&
           seal_mac_matches(&key->keys[0], domains[document.kind], document.content, document.mac);
}

/* FilterDocument begins with id and revision, the others with the revision. */
enum status codec_document_claim(struct span bytes, struct document_claim *out)
{
    struct signed_document document;
    struct codec_wire_field field;
    enum status status = signed_read(bytes, &document);
    bool has_id = status == STATUS_OK && document.kind == DOCUMENT_FILTER;

    *out = (struct document_claim){.kind = document.kind};
    if (document.kind == DOCUMENT_CLUSTER || document.kind == DOCUMENT_FEATURES) {
        return STATUS_MALFORMED;
    }
    while (status == STATUS_OK && document.content.size > 0) {
        status = codec_wire_next(&document.content, &field);
        if (status == STATUS_OK && has_id && field.number == 1) {
            out->id = field.value;
        } else if (status == STATUS_OK && field.number == (has_id ? 2 : 1)) {
            out->revision = field.value;
        }
    }
    return status == STATUS_OK && out->revision == 0 ? STATUS_MALFORMED : status;
}

/* The content, once its MAC is found right; points into `bytes`. */
static enum status verify(struct span bytes, enum document_kind kind, const struct cluster_key *key,
                          struct span *content)
{
    struct signed_document document;
    enum status status = signed_read(bytes, &document);

    if (status != STATUS_OK) {
        return status;
    }
    if (document.kind != kind) {
        return STATUS_MALFORMED;
    }
    *content = document.content;
    return seal_mac_verify(key, domains[kind], document.content, document.mac);
}

static enum status decode(struct span content, struct codec_arena *arena,
                          const struct binding_table *table, void *out)
{
    ProtobufCMessage *message = NULL;
    enum status status = arena_unpack(arena, table->descriptor, content.data, content.size,
                                      &message);

    return status == STATUS_OK ? binding_get(table, arena, message, out) : status;
}

enum status codec_signed_open(struct span bytes, enum document_kind kind,
                              const struct binding_table *table, const struct cluster_key *key,
                              void *out)
{
    struct codec_arena *arena = NULL;
    struct span content;
    enum status status = verify(bytes, kind, key, &content);

    memset(out, 0, table->our_bytes);
    if (status == STATUS_OK) {
        status = codec_arena_create(SIGNED_ARENA_BYTES, &arena);
    }
    if (status == STATUS_OK) {
        status = decode(content, arena, table, out);
    }
    codec_arena_destroy(&arena);
    return status;
}

static enum status append(struct span content, enum document_kind kind,
                          const struct cluster_key *key, struct buffer *out)
{
    Orbloom__V1__SignedDocument wire = ORBLOOM__V1__SIGNED_DOCUMENT__INIT;
    uint8_t mac[SEAL_MAC_BYTES];
    uint8_t *bytes = NULL;
    enum status status;
    size_t size;

    seal_mac(key, domains[kind], content, mac);
    wire.kind = (Orbloom__V1__DocumentKind)kind;
    wire.content = (ProtobufCBinaryData){.len = content.size, .data = (uint8_t *)content.data};
    wire.mac = (ProtobufCBinaryData){.len = sizeof mac, .data = mac};
    size = protobuf_c_message_get_packed_size(&wire.base);
    if (size > DOCUMENT_MAX_BYTES) {
        return STATUS_TOO_LARGE;
    }
    status = buffer_extend(out, size, &bytes);
    if (status == STATUS_OK) {
        protobuf_c_message_pack(&wire.base, bytes);
    }
    return status;
}

enum status codec_signed_append(const ProtobufCMessage *content, enum document_kind kind,
                                const struct cluster_key *key, struct buffer *out)
{
    size_t size = protobuf_c_message_get_packed_size(content);
    uint8_t *bytes = heap_alloc(size, 1);
    enum status status;

    if (bytes == NULL) {
        return STATUS_NOMEM;
    }
    protobuf_c_message_pack(content, bytes);
    status = append(span_of(bytes, size), kind, key, out);
    heap_free(bytes);
    return status;
}

enum status codec_signed_put(const void *document, enum document_kind kind,
                             const struct binding_table *table, const struct cluster_key *key,
                             struct buffer *out)
{
    ProtobufCMessage *message = NULL;
    struct codec_scratch scratch;
    enum status status;

    codec_scratch_init(&scratch);
    status = binding_put_new(table, &scratch, document, &message);
    if (status == STATUS_OK) {
        status = codec_signed_append(message, kind, key, out);
    }
    codec_scratch_fini(&scratch);
    return status;
}

static uint64_t needs_base(const void *ours)
{
    (void)ours;
    return feature_bit(FEATURE_BASE);
}

/* ---- the node list ---- */

#define WIRE_node_record Orbloom__V1__NodeRecord
static const struct binding node_record_rows[] = {
    ROW(node_record, id, UINT32),
    ROW(node_record, incarnation, UINT64),
    ROW(node_record, memory_limit_bytes, UINT64),
    ROW(node_record, boot, UINT64),
    ROW(node_record, durable, BOOL),
    ROW(node_record, draining, BOOL),
    ROW(node_record, replaced_by, UINT32),
    ROW(node_record, confirmed_off, UINT64),
    ROW(node_record, curve, BOOL),
    ROW(node_record, name, CHARS),
    ROW(node_record, host, CHARS),
    ROW(node_record, zone, CHARS),
    ROW(node_record, endpoint, CHARS),
};
static BINDING_TABLE(node_record, node_record, NULL);

static enum status check_list(const void *ours)
{
    const char *reason = NULL;

    return node_list_validate(ours, &reason);
}

#define WIRE_paused_site Orbloom__V1__PausedSite
static const struct binding paused_site_rows[] = {
    ROW_AS(paused_site, id.high, id_high, UINT64),
    ROW_AS(paused_site, id.low, id_low, UINT64),
    ROW(paused_site, name, CHARS),
};
static BINDING_TABLE(paused_site, paused_site, NULL);

/* Whoever wrote it without knowing of paused sites would resume them. */
static uint64_t needs_of_list(const void *ours)
{
    const struct node_list *list = ours;

    return feature_bit(FEATURE_BASE) | (list->npaused > 0 ? feature_bit(FEATURE_SITES) : 0);
}

#define WIRE_node_list Orbloom__V1__NodeList
static const struct binding node_list_rows[] = {
    NEEDS(node_list, needs_of_list),
    ROW(node_list, revision, UINT64),
    ROW(node_list, last_id, UINT32),
    ROW(node_list, rebalancing, BOOL),
    OWNED(node_list, nodes, count, node_record, DOCUMENT_MAX_NODES, STATUS_MALFORMED),
    ARRAY(node_list, paused, npaused, paused_site, STATUS_MALFORMED),
};
BINDING_TABLE(node_list, node_list, check_list);

enum status codec_node_list_sign(const struct node_list *list, const struct cluster_key *key,
                                 struct buffer *out)
{
    enum status status = check_list(list);

    return status != STATUS_OK
               ? status
               : codec_signed_put(list, DOCUMENT_NODE_LIST, binding_node_list(), key, out);
}

enum status codec_node_list_open(struct span bytes, const struct cluster_key *key,
                                 struct node_list *out)
{
    enum status status = codec_signed_open(bytes, DOCUMENT_NODE_LIST, binding_node_list(), key,
                                           out);

    if (status != STATUS_OK) {
        node_list_fini(out);
    }
    return status;
}

/* ---- dropped filters ---- */

/* Each number is what lies between it and the one before, so that it takes a byte or two. */
static enum status put_steps(struct codec_scratch *scratch, const void *ours, void *wire)
{
    const struct id_set *ids = &((const struct dropped_record *)ours)->ids;
    Orbloom__V1__DroppedFilters *message = wire;
    uint64_t *steps = codec_scratch_take(scratch, 2 * ids->count, sizeof *steps);
    uint64_t before = 0;

    if (steps == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < ids->count; i++) {
        steps[2 * i] = ids->intervals[i].first - before;
        steps[2 * i + 1] = ids->intervals[i].last - ids->intervals[i].first;
        before = ids->intervals[i].last;
    }
    message->n_steps = 2 * ids->count;
    message->steps = steps;
    return STATUS_OK;
}

static enum status take_steps(const uint64_t *steps, struct id_set *ids)
{
    uint64_t before = 0;

    for (size_t i = 0; i < ids->count; i++) {
        struct id_interval *interval = &ids->intervals[i];

        if (steps[2 * i] > UINT64_MAX - before) {
            return STATUS_MALFORMED;
        }
        interval->first = before + steps[2 * i];
        if (steps[2 * i + 1] > UINT64_MAX - interval->first) {
            return STATUS_MALFORMED;
        }
        interval->last = interval->first + steps[2 * i + 1];
        before = interval->last;
    }
    return STATUS_OK;
}

static enum status get_steps(struct codec_arena *arena, const void *wire, void *ours)
{
    const Orbloom__V1__DroppedFilters *message = wire;
    struct id_set *ids = &((struct dropped_record *)ours)->ids;
    size_t count = message->n_steps / 2;

    (void)arena;
    if (message->n_steps % 2 != 0 || count > ID_SET_MAX_INTERVALS) {
        return STATUS_MALFORMED;
    }
    if (count == 0) {
        return STATUS_OK;
    }
    ids->intervals = heap_alloc(count, sizeof *ids->intervals);
    if (ids->intervals == NULL) {
        return STATUS_NOMEM;
    }
    ids->capacity = ids->count = count;
    return take_steps(message->steps, ids);
}

static enum status check_dropped(const void *ours)
{
    const char *reason = NULL;

    return dropped_record_validate(ours, &reason);
}

#define WIRE_dropped_record Orbloom__V1__DroppedFilters
static const struct binding dropped_record_rows[] = {
    NEEDS(dropped_record, needs_base),
    ROW(dropped_record, revision, UINT64),
    BY_HAND(dropped_record, steps, put_steps, get_steps),
};
BINDING_TABLE(dropped_record, dropped_filters, check_dropped);

enum status codec_dropped_sign(const struct dropped_record *record, const struct cluster_key *key,
                               struct buffer *out)
{
    enum status status = check_dropped(record);

    return status != STATUS_OK
               ? status
               : codec_signed_put(record, DOCUMENT_DROPPED, binding_dropped_record(), key, out);
}

enum status codec_dropped_open(struct span bytes, const struct cluster_key *key,
                               struct dropped_record *out)
{
    enum status status = codec_signed_open(bytes, DOCUMENT_DROPPED, binding_dropped_record(), key,
                                           out);

    if (status != STATUS_OK) {
        dropped_record_fini(out);
    }
    return status;
}

/* ---- which cluster this is ---- */

static enum status check_cluster(const void *ours)
{
    return cluster_id_known(ours) ? STATUS_OK : STATUS_MALFORMED;
}

#define WIRE_cluster_id Orbloom__V1__ClusterRecord
static const struct binding cluster_id_rows[] = {
    ROW_AS(cluster_id, bytes, id, BYTES),
};
BINDING_TABLE(cluster_id, cluster_record, check_cluster);

enum status codec_cluster_sign(const struct cluster_id *id, const struct cluster_key *key,
                               struct buffer *out)
{
    return cluster_id_known(id)
               ? codec_signed_put(id, DOCUMENT_CLUSTER, binding_cluster_id(), key, out)
               : STATUS_INVALID;
}

enum status codec_cluster_open(struct span bytes, const struct cluster_key *key,
                               struct cluster_id *out)
{
    return codec_signed_open(bytes, DOCUMENT_CLUSTER, binding_cluster_id(), key, out);
}

/* ---- which features it uses ---- */

static enum status check_features(const void *ours)
{
    return ((const struct cluster_features *)ours)->revision != 0 ? STATUS_OK : STATUS_MALFORMED;
}

#define WIRE_cluster_features Orbloom__V1__ClusterFeatures
static const struct binding cluster_features_rows[] = {
    ROW(cluster_features, revision, UINT64),
    ROW(cluster_features, in_use, UINT64),
};
BINDING_TABLE(cluster_features, cluster_features, check_features);

enum status codec_features_sign(const struct cluster_features *record,
                                const struct cluster_key *key, struct buffer *out)
{
    return codec_signed_put(record, DOCUMENT_FEATURES, binding_cluster_features(), key, out);
}

enum status codec_features_open(struct span bytes, const struct cluster_key *key,
                                struct cluster_features *out)
{
    enum status status = codec_signed_open(bytes, DOCUMENT_FEATURES, binding_cluster_features(),
                                           key, out);

    if (status != STATUS_OK) {
        *out = (struct cluster_features){0};
    }
    return status;
}
