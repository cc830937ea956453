#include "proto/binding.h"

#include "proto/codec_field.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const void *at(const void *object, size_t offset)
{
    return (const uint8_t *)object + offset;
}

static void *slot(void *object, size_t offset)
{
    return (uint8_t *)object + offset;
}

/* ---- lists ---- */

static size_t our_count(const struct binding *row, const void *ours)
{
    if (row->kind == BINDING_ARRAY) {
        return *(const uint32_t *)at(ours, row->our_count);
    }
    return *(const size_t *)at(ours, row->our_count);
}

static enum status put_items(const struct binding *row, struct codec_scratch *scratch,
                             const void *ours, void *wire)
{
    const struct binding_table *table = row->table();
    size_t count = our_count(row, ours);
    const void *items = at(ours, row->ours);
    uint8_t *messages = codec_scratch_take(scratch, count, table->wire_bytes);
    void **list = codec_scratch_take(scratch, count, sizeof *list);
    enum status status = STATUS_OK;

    if (messages == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    if (row->kind == BINDING_LIST) {
        memcpy(&items, items, sizeof items);
    }
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        list[i] = messages + i * table->wire_bytes;
        status = binding_put(table, scratch, at(items, i * table->our_bytes), list[i]);
    }
    memcpy(slot(wire, row->wire), &list, sizeof list);
    *(size_t *)slot(wire, row->wire_count) = count;
    return status;
}

/* Where items go; NULL: the arena has no room. */
static void *room_for_items(const struct binding *row, struct codec_arena *arena, size_t count,
                            void *ours)
{
    void *items = slot(ours, row->ours);

    if (row->kind == BINDING_ARRAY) {
        *(uint32_t *)slot(ours, row->our_count) = (uint32_t)count;
        return items;
    }
    items = arena_take(arena, count, row->table()->our_bytes);
    memcpy(slot(ours, row->ours), &items, sizeof items);
    *(size_t *)slot(ours, row->our_count) = count;
    return items;
}

static enum status get_items(const struct binding *row, struct codec_arena *arena, const void *wire,
                             void *ours)
{
    const struct binding_table *table = row->table();
    size_t count = *(const size_t *)at(wire, row->wire_count);
    const void *const *list;
    enum status status = STATUS_OK;
    void *items;

    if (count > row->most) {
        return row->fault;
    }
    items = room_for_items(row, arena, count, ours);
    if (items == NULL) {
        return STATUS_TOO_LARGE;
    }
    memcpy(&list, at(wire, row->wire), sizeof list);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = binding_get(table, arena, list[i], slot(items, i * table->our_bytes));
    }
    return status;
}

static enum status put_documents(const struct binding *row, struct codec_scratch *scratch,
                                 const void *ours, void *wire)
{
    size_t count = our_count(row, ours);

    *(size_t *)slot(wire, row->wire_count) = count;
    return codec_put_documents(scratch, *(const struct span *const *)at(ours, row->ours), count,
                               slot(wire, row->wire));
}

static enum status get_documents(const struct binding *row, struct codec_arena *arena,
                                 const void *wire, void *ours)
{
    size_t count = *(const size_t *)at(wire, row->wire_count);

    *(size_t *)slot(ours, row->our_count) = count;
    return codec_get_documents(arena, *(ProtobufCBinaryData *const *)at(wire, row->wire), count,
                               slot(ours, row->ours));
}

/* ---- parts ---- */

static enum status put_part(const struct binding *row, struct codec_scratch *scratch,
                            const void *ours, void *wire)
{
    ProtobufCMessage *message = NULL;
    enum status status = STATUS_OK;

    if (row->sends(ours)) {
        status = binding_put_new(row->table(), scratch, at(ours, row->ours), &message);
        memcpy(slot(wire, row->wire), &message, sizeof message);
    }
    return status;
}

static enum status get_part(const struct binding *row, struct codec_arena *arena, const void *wire,
                            void *ours)
{
    const void *message;

    memcpy(&message, at(wire, row->wire), sizeof message);
    if (row->reads != NULL && !row->reads(ours)) {
        return STATUS_OK;
    }
    if (message == NULL) {
        return row->needed ? STATUS_MALFORMED : STATUS_OK;
    }
    return binding_get(row->table(), arena, message, slot(ours, row->ours));
}

/* ---- bytes ---- */

static enum status put_document(struct span bytes, ProtobufCBinaryData *out)
{
    *out = codec_put_span(bytes);
    return bytes.size > DOCUMENT_MAX_BYTES ? STATUS_TOO_LARGE : STATUS_OK;
}

static enum status get_document(ProtobufCBinaryData data, struct span *out)
{
    *out = codec_get_span(data);
    return data.len > DOCUMENT_MAX_BYTES ? STATUS_TOO_LARGE : STATUS_OK;
}

static void get_bytes(const struct binding *row, ProtobufCBinaryData data, uint8_t *out)
{
    if (data.len == row->bytes) {
        memcpy(out, data.data, data.len);
    }
}

/* ---- numbers ---- */

static enum status get_double(const struct binding *row, const void *from, void *to)
{
    double value = *(const double *)from;

    *(double *)to = value;
    if (row->kind == BINDING_FRACTION) {
        return value >= 0 && value <= 1 ? STATUS_OK : STATUS_MALFORMED; /* not NaN */
    }
    return isfinite(value) ? STATUS_OK : STATUS_MALFORMED;
}

static enum status get_enum(const struct binding *row, const void *from, void *to)
{
    int value = *(const int *)from;

    *(int *)to = value;
    return value >= row->first && value <= row->last ? STATUS_OK : STATUS_MALFORMED;
}

/* ---- rows ---- */

static enum status put_row(const struct binding *row, struct codec_scratch *scratch,
                           const void *ours, void *wire)
{
    const void *from = at(ours, row->ours);
    void *to = slot(wire, row->wire);

    switch (row->kind) {
    case BINDING_UINT32:
    case BINDING_UINT64:
    case BINDING_DOUBLE:
    case BINDING_FRACTION:
    case BINDING_STATUS:
    case BINDING_ENUM:
        memcpy(to, from, row->bytes);
        return STATUS_OK;
    case BINDING_BOOL:
        *(protobuf_c_boolean *)to = *(const bool *)from;
        return STATUS_OK;
    case BINDING_TEXT:
        return codec_put_text(*(const char *const *)from, to);
    case BINDING_MESSAGE:
        return codec_put_message(scratch, *(const char *const *)from, to);
    case BINDING_SPAN:
        *(ProtobufCBinaryData *)to = codec_put_span(*(const struct span *)from);
        return STATUS_OK;
    case BINDING_DOCUMENT:
        return put_document(*(const struct span *)from, to);
    case BINDING_BYTES:
        *(ProtobufCBinaryData *)to = codec_put_span(span_of(from, row->bytes));
        return STATUS_OK;
    case BINDING_CLUSTER:
        *(ProtobufCBinaryData *)to = codec_put_span(cluster_id_span(from));
        return STATUS_OK;
    case BINDING_DOCUMENTS:
        return put_documents(row, scratch, ours, wire);
    case BINDING_LIST:
    case BINDING_ARRAY:
        return put_items(row, scratch, ours, wire);
    case BINDING_PART:
        return put_part(row, scratch, ours, wire);
    case BINDING_BY_HAND:
        return row->put != NULL ? row->put(scratch, ours, wire) : STATUS_OK;
    }
    return STATUS_INVALID;
}

static enum status get_row(const struct binding *row, struct codec_arena *arena, const void *wire,
                           void *ours)
{
    const void *from = at(wire, row->wire);
    void *to = slot(ours, row->ours);

    switch (row->kind) {
    case BINDING_UINT32:
    case BINDING_UINT64:
        memcpy(to, from, row->bytes);
        return STATUS_OK;
    case BINDING_DOUBLE:
    case BINDING_FRACTION:
        return get_double(row, from, to);
    case BINDING_STATUS:
        *(enum status *)to = status_from_wire(*(const unsigned *)from);
        return STATUS_OK;
    case BINDING_ENUM:
        return get_enum(row, from, to);
    case BINDING_BOOL:
        *(bool *)to = *(const protobuf_c_boolean *)from != 0;
        return STATUS_OK;
    case BINDING_TEXT:
    case BINDING_MESSAGE:
        return codec_get_text(arena, *(const ProtobufCBinaryData *)from, to);
    case BINDING_SPAN:
        *(struct span *)to = codec_get_span(*(const ProtobufCBinaryData *)from);
        return STATUS_OK;
    case BINDING_DOCUMENT:
        return get_document(*(const ProtobufCBinaryData *)from, to);
    case BINDING_BYTES:
        get_bytes(row, *(const ProtobufCBinaryData *)from, to);
        return STATUS_OK;
    case BINDING_CLUSTER:
        (void)cluster_id_get(codec_get_span(*(const ProtobufCBinaryData *)from), to);
        return STATUS_OK;
    case BINDING_DOCUMENTS:
        return get_documents(row, arena, wire, ours);
    case BINDING_LIST:
    case BINDING_ARRAY:
        return get_items(row, arena, wire, ours);
    case BINDING_PART:
        return get_part(row, arena, wire, ours);
    case BINDING_BY_HAND:
        return row->get != NULL ? row->get(arena, wire, ours) : STATUS_OK;
    }
    return STATUS_MALFORMED;
}

/* ---- messages ---- */

enum status binding_put(const struct binding_table *table, struct codec_scratch *scratch,
                        const void *ours, void *wire)
{
    enum status status = STATUS_OK;

    assert(table->wire_bytes == table->descriptor->sizeof_message);
    table->descriptor->message_init(wire);
    for (size_t i = 0; i < table->count && status == STATUS_OK; i++) {
        status = put_row(&table->rows[i], scratch, ours, wire);
    }
    return status;
}

enum status binding_put_new(const struct binding_table *table, struct codec_scratch *scratch,
                            const void *ours, ProtobufCMessage **out)
{
    *out = codec_scratch_take(scratch, 1, table->wire_bytes);
    return *out != NULL ? binding_put(table, scratch, ours, *out) : STATUS_NOMEM;
}

enum status binding_get(const struct binding_table *table, struct codec_arena *arena,
                        const void *wire, void *ours)
{
    enum status status = STATUS_OK;

    memset(ours, 0, table->our_bytes);
    for (size_t i = 0; i < table->count && status == STATUS_OK; i++) {
        status = get_row(&table->rows[i], arena, wire, ours);
    }
    return status == STATUS_OK && table->check != NULL ? table->check(ours) : status;
}
