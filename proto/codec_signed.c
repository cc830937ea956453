/* Walks the envelope of a document by hand: its MAC covers the bytes as received, and nothing is
 * decoded before it is found right. */
#include "proto/codec_signed.h"

#include "base/heap.h"
#include "proto/codec_wire.h"
#include "proto/orbloom.pb-c.h"

#include <string.h>

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
    } else if (field->value >= DOCUMENT_FILTER && field->value <= DOCUMENT_FEATURES) {
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

static const struct {
    enum seal_domain domain;
    binding_table_fn *table; /* of the content */
} kinds[] = {
    [DOCUMENT_FILTER] = {SEAL_FILTER_DOCUMENT, binding_filter_document},
    [DOCUMENT_NODE_LIST] = {SEAL_NODE_LIST, binding_node_list},
    [DOCUMENT_DROPPED] = {SEAL_DROPPED, binding_dropped_record},
    [DOCUMENT_CLUSTER] = {SEAL_CLUSTER, binding_cluster_id},
    [DOCUMENT_FEATURES] = {SEAL_FEATURES, binding_cluster_features},
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
    return seal_mac_verify(key, kinds[kind].domain, document.content, document.mac);
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
                              const struct cluster_key *key, void *out)
{
    const struct binding_table *table = kinds[kind].table();
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

    seal_mac(key, kinds[kind].domain, content, mac);
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
                             const struct cluster_key *key, struct buffer *out)
{
    ProtobufCMessage *message = NULL;
    struct codec_scratch scratch;
    enum status status;

    codec_scratch_init(&scratch);
    status = binding_put_new(kinds[kind].table(), &scratch, document, &message);
    if (status == STATUS_OK) {
        status = codec_signed_append(message, kind, key, out);
    }
    codec_scratch_fini(&scratch);
    return status;
}
