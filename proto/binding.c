/* Works tables off, row by row: most are plain copies, all others a kind of row each. */
#include "proto/binding.h"

#include "base/heap.h"
#include "map/feature.h"
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

/* ---- how many ---- */

static size_t our_count(const struct binding *row, const void *ours)
{
    const void *count = at(ours, row->our_count);

    return row->count_bytes == sizeof(uint32_t) ? *(const uint32_t *)count : *(const size_t *)count;
}

static void set_our_count(const struct binding *row, size_t count, void *ours)
{
    void *to = slot(ours, row->our_count);

    if (row->count_bytes == sizeof(uint32_t)) {
        *(uint32_t *)to = (uint32_t)count;
    } else {
        *(size_t *)to = count;
    }
}

static size_t wire_count(const struct binding *row, const void *wire)
{
    return *(const size_t *)at(wire, row->wire_count);
}

/* Other bounds than STATUS_TOO_LARGE are the peer's to find: what we send keeps them. */
static enum status put_count(const struct binding *row, const void *ours, size_t *count)
{
    *count = our_count(row, ours);
    if (*count > row->most && row->fault == STATUS_TOO_LARGE) {
        return STATUS_TOO_LARGE;
    }
    assert(*count <= row->most || row->kind == BINDING_LIST || row->kind == BINDING_NUMBERS);
    return STATUS_OK;
}

/* ---- lists of structs ---- */

static enum status put_items(const struct binding *row, struct codec_scratch *scratch,
                             const void *ours, void *wire)
{
    const struct binding_table *table = row->table();
    const void *items = at(ours, row->ours);
    uint8_t *messages;
    void **list;
    size_t count;
    enum status status = put_count(row, ours, &count);

    if (status != STATUS_OK) {
        return status;
    }
    messages = codec_scratch_take(scratch, count, table->wire_bytes);
    list = codec_scratch_take(scratch, count, sizeof *list);
    if (messages == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    if (row->kind != BINDING_ARRAY) {
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

/* Where items go. */
static enum status room_for_items(const struct binding *row, struct codec_arena *arena,
                                  size_t count, void *ours, void **items)
{
    size_t item_bytes = row->table()->our_bytes;
    bool none = row->kind == BINDING_OWNED && count == 0;

    if (row->kind == BINDING_ARRAY) {
        *items = slot(ours, row->ours);
        return STATUS_OK;
    }
    if (none) {
        *items = NULL;
    } else if (row->kind == BINDING_OWNED) {
        *items = heap_zalloc(count, item_bytes); /* Where one fails there is nothing behind it. */
    } else {
        *items = arena_take(arena, count, item_bytes);
    }
    memcpy(slot(ours, row->ours), items, sizeof *items);
    if (*items != NULL || none) {
        return STATUS_OK;
    }
    /* The arena bounds what a message may take; what is owned is bounded by the row. */
    return row->kind == BINDING_OWNED ? STATUS_NOMEM : STATUS_TOO_LARGE;
}

static enum status get_items(const struct binding *row, struct codec_arena *arena, const void *wire,
                             void *ours)
{
    const struct binding_table *table = row->table();
    size_t count = wire_count(row, wire);
    const void *const *list;
    enum status status;
    void *items;

    if (count > row->most) {
        return row->fault;
    }
    status = room_for_items(row, arena, count, ours, &items);
    if (status != STATUS_OK) {
        return status;
    }
    set_our_count(row, count, ours);
    memcpy(&list, at(wire, row->wire), sizeof list);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = binding_get(table, arena, list[i], slot(items, i * table->our_bytes));
    }
    return status;
}

/* ---- lists of others ---- */

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
    size_t count = wire_count(row, wire);

    set_our_count(row, count, ours);
    return codec_get_documents(arena, *(ProtobufCBinaryData *const *)at(wire, row->wire), count,
                               slot(ours, row->ours));
}

static enum status put_numbers(const struct binding *row, const void *ours, void *wire)
{
    const void *numbers = at(ours, row->ours);
    size_t count;
    enum status status = put_count(row, ours, &count);

    if (row->kind == BINDING_NUMBERS) {
        memcpy(&numbers, numbers, sizeof numbers);
    }
    memcpy(slot(wire, row->wire), &numbers, sizeof numbers);
    *(size_t *)slot(wire, row->wire_count) = count;
    return status;
}

static enum status get_numbers(const struct binding *row, const void *wire, void *ours)
{
    size_t count = wire_count(row, wire);
    const void *numbers;

    if (count > row->most) {
        return row->fault;
    }
    memcpy(&numbers, at(wire, row->wire), sizeof numbers);
    if (row->kind == BINDING_NUMBERS) {
        memcpy(slot(ours, row->ours), &numbers, sizeof numbers);
    } else if (count > 0) {
        memcpy(slot(ours, row->ours), numbers, count * (row->bytes / row->most));
    }
    set_our_count(row, count, ours);
    return STATUS_OK;
}

/* ---- parts ---- */

static enum status put_part(const struct binding *row, struct codec_scratch *scratch,
                            const void *ours, void *wire)
{
    ProtobufCMessage *message = NULL;
    enum status status = STATUS_OK;

    if (row->sends == NULL || row->sends(ours)) {
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

static void put_bytes(const struct binding *row, const void *ours, ProtobufCBinaryData *out)
{
    if (row->sends == NULL || row->sends(ours)) {
        *out = codec_put_span(span_of(at(ours, row->ours), row->bytes));
    }
}

static void get_bytes(const struct binding *row, ProtobufCBinaryData data, uint8_t *out)
{
    if (data.len == row->bytes) {
        memcpy(out, data.data, data.len);
    }
}

/* ---- numbers ---- */

static enum status put_number_of_bits(const struct binding *row, const void *ours, uint32_t *out)
{
    size_t count = our_count(row, ours);

    *out = (uint32_t)count;
    return count <= row->most ? STATUS_OK : STATUS_TOO_LARGE;
}

static enum status get_number_of_bits(const struct binding *row, uint32_t count, void *ours)
{
    set_our_count(row, count, ours);
    return count <= row->most ? STATUS_OK : STATUS_TOO_LARGE;
}

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

/* ---- rows; those that are plain: see put_plain(), get_plain() ---- */

static enum status put_row(const struct binding *row, struct codec_scratch *scratch,
                           const void *ours, void *wire)
{
    const void *from = at(ours, row->ours);
    void *to = slot(wire, row->wire);

    switch (row->kind) {
    case BINDING_UINT64:
    case BINDING_UINT32:
        break;
    case BINDING_STATUS:
    case BINDING_ENUM:
        memcpy(to, from, sizeof(uint32_t));
        return STATUS_OK;
    case BINDING_DOUBLE:
    case BINDING_FRACTION:
    case BINDING_UNJUDGED:
        memcpy(to, from, sizeof(uint64_t));
        return STATUS_OK;
    case BINDING_COUNT:
        return put_number_of_bits(row, ours, to);
    case BINDING_BOOL:
        *(protobuf_c_boolean *)to = *(const bool *)from;
        return STATUS_OK;
    case BINDING_TEXT:
        return codec_put_text(*(const char *const *)from, to);
    case BINDING_MESSAGE:
        return codec_put_message(scratch, *(const char *const *)from, to);
    case BINDING_CHARS:
        return codec_put_text(from, to);
    case BINDING_SPAN:
        *(ProtobufCBinaryData *)to = codec_put_span(*(const struct span *)from);
        return STATUS_OK;
    case BINDING_DOCUMENT:
        return put_document(*(const struct span *)from, to);
    case BINDING_BYTES:
        put_bytes(row, ours, to);
        return STATUS_OK;
    case BINDING_PLANE:
        *(ProtobufCBinaryData *)to = codec_put_plane(*(const uint64_t *const *)from,
                                                     our_count(row, ours));
        return STATUS_OK;
    case BINDING_CLUSTER:
        *(ProtobufCBinaryData *)to = codec_put_span(cluster_id_span(from));
        return STATUS_OK;
    case BINDING_DOCUMENTS:
        return put_documents(row, scratch, ours, wire);
    case BINDING_NUMBERS:
    case BINDING_ROOM:
        return put_numbers(row, ours, wire);
    case BINDING_LIST:
    case BINDING_ARRAY:
    case BINDING_OWNED:
        return put_items(row, scratch, ours, wire);
    case BINDING_PART:
        return put_part(row, scratch, ours, wire);
    case BINDING_NEEDS:
        *(uint64_t *)to = row->needs(ours);
        return STATUS_OK;
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
    case BINDING_UINT64:
    case BINDING_UINT32:
        break;
    case BINDING_UNJUDGED:
        memcpy(to, from, sizeof(uint64_t));
        return STATUS_OK;
    case BINDING_COUNT:
        return get_number_of_bits(row, *(const uint32_t *)from, ours);
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
    case BINDING_CHARS:
        return codec_get_chars(*(const ProtobufCBinaryData *)from, to, row->bytes);
    case BINDING_SPAN:
        *(struct span *)to = codec_get_span(*(const ProtobufCBinaryData *)from);
        return STATUS_OK;
    case BINDING_DOCUMENT:
        return get_document(*(const ProtobufCBinaryData *)from, to);
    case BINDING_BYTES:
        get_bytes(row, *(const ProtobufCBinaryData *)from, to);
        return STATUS_OK;
    case BINDING_PLANE:
        return codec_get_plane(arena, *(const ProtobufCBinaryData *)from, our_count(row, ours), to);
    case BINDING_CLUSTER:
        (void)cluster_id_get(codec_get_span(*(const ProtobufCBinaryData *)from), to);
        return STATUS_OK;
    case BINDING_DOCUMENTS:
        return get_documents(row, arena, wire, ours);
    case BINDING_NUMBERS:
    case BINDING_ROOM:
        return get_numbers(row, wire, ours);
    case BINDING_LIST:
    case BINDING_ARRAY:
    case BINDING_OWNED:
        return get_items(row, arena, wire, ours);
    case BINDING_PART:
        return get_part(row, arena, wire, ours);
    case BINDING_NEEDS:
        return (*(const uint64_t *)from & ~features_known()) == 0 ? STATUS_OK : STATUS_VERSION;
    case BINDING_BY_HAND:
        return row->get != NULL ? row->get(arena, wire, ours) : STATUS_OK;
    }
    return STATUS_MALFORMED;
}

/* ---- messages ---- */

/* Most rows are one of these, for which a jump through a table of all kinds takes longer than the
 * copy itself. */
static inline bool put_plain(const struct binding *row, const void *ours, void *wire)
{
    if (row->kind == BINDING_UINT64) {
        memcpy(slot(wire, row->wire), at(ours, row->ours), sizeof(uint64_t));
        return true;
    }
    if (row->kind == BINDING_UINT32) {
        memcpy(slot(wire, row->wire), at(ours, row->ours), sizeof(uint32_t));
        return true;
    }
    return false;
}

static inline bool get_plain(const struct binding *row, const void *wire, void *ours)
{
    if (row->kind == BINDING_UINT64) {
        memcpy(slot(ours, row->ours), at(wire, row->wire), sizeof(uint64_t));
        return true;
    }
    if (row->kind == BINDING_UINT32) {
        memcpy(slot(ours, row->ours), at(wire, row->wire), sizeof(uint32_t));
        return true;
    }
    return false;
}

enum status binding_put(const struct binding_table *table, struct codec_scratch *scratch,
                        const void *ours, void *wire)
{
    const struct binding *end = table->rows + table->count;
    enum status status = STATUS_OK;

    assert(table->wire_bytes == table->descriptor->sizeof_message);
    table->descriptor->message_init(wire);
    for (const struct binding *row = table->rows; row < end && status == STATUS_OK; row++) {
        if (!put_plain(row, ours, wire)) {
            status = put_row(row, scratch, ours, wire);
        }
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
    const struct binding *end = table->rows + table->count;
    enum status status = STATUS_OK;

    memset(ours, 0, table->our_bytes);
    for (const struct binding *row = table->rows; row < end && status == STATUS_OK; row++) {
        if (!get_plain(row, wire, ours)) {
            status = get_row(row, arena, wire, ours);
        }
    }
    return status == STATUS_OK && table->check != NULL ? table->check(ours) : status;
}
