/* Do the tables of proto/ say all of what orbloom.proto says of their messages, and no more than
 * that? Does what they name come back? What rows allow: proto_row_bounds.c. */
#include "proto_tables.h"

#include <limits.h>

enum { MAX_ROWS = 64, MAX_BYTES = 1 << 16 };

/* ---- what the schema says ---- */

static bool is_bytes(const struct binding *row)
{
    return row->kind == BINDING_TEXT || row->kind == BINDING_MESSAGE || row->kind == BINDING_SPAN ||
           row->kind == BINDING_DOCUMENT || row->kind == BINDING_BYTES ||
           row->kind == BINDING_CLUSTER || row->kind == BINDING_CHARS || row->kind == BINDING_PLANE;
}

static bool is_number(const ProtobufCFieldDescriptor *field)
{
    return field->type == PROTOBUF_C_TYPE_UINT32 || field->type == PROTOBUF_C_TYPE_UINT64 ||
           field->type == PROTOBUF_C_TYPE_FIXED64;
}

static bool fits_list(const struct binding *row, const ProtobufCFieldDescriptor *field)
{
    if (row->wire_count != field->quantifier_offset) {
        return false;
    }
    if (row->kind == BINDING_DOCUMENTS) {
        return field->type == PROTOBUF_C_TYPE_BYTES;
    }
    if (row->kind == BINDING_NUMBERS || row->kind == BINDING_ROOM) {
        return is_number(field);
    }
    return (row->kind == BINDING_LIST || row->kind == BINDING_ARRAY ||
            row->kind == BINDING_OWNED) &&
           field->type == PROTOBUF_C_TYPE_MESSAGE && row->table()->descriptor == field->descriptor;
}

/* All that the schema has, or all but what stands for a field that was left out. */
static bool fits_enum(const struct binding *row, const ProtobufCEnumDescriptor *values)
{
    const ProtobufCEnumValue *first = &values->values[0];
    const ProtobufCEnumValue *last = &values->values[values->n_values - 1];

    return row->first == INT_MIN ||
           (row->last == last->value &&
            (row->first == first->value || (first->value == 0 && row->first == first[1].value)));
}

static bool fits(const struct binding *row, const ProtobufCFieldDescriptor *field)
{
    if (row->kind == BINDING_BY_HAND) {
        return true;
    }
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        return fits_list(row, field);
    }
    switch (field->type) {
    case PROTOBUF_C_TYPE_UINT32:
        return row->kind == BINDING_UINT32 || row->kind == BINDING_COUNT;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return row->kind == BINDING_UINT64 || row->kind == BINDING_NEEDS;
    case PROTOBUF_C_TYPE_DOUBLE:
        return row->kind == BINDING_DOUBLE || row->kind == BINDING_FRACTION ||
               row->kind == BINDING_UNJUDGED;
    case PROTOBUF_C_TYPE_BOOL:
        return row->kind == BINDING_BOOL;
    case PROTOBUF_C_TYPE_ENUM:
        return row->kind == BINDING_STATUS ||
               (row->kind == BINDING_ENUM && fits_enum(row, field->descriptor));
    case PROTOBUF_C_TYPE_BYTES:
        return is_bytes(row);
    case PROTOBUF_C_TYPE_MESSAGE:
        return row->kind == BINDING_PART && row->table()->descriptor == field->descriptor;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_STRING:
        break;
    }
    return false;
}

/* Two fields from one of ours: another one is not sent. A part may have one row for each of the
 * messages that have it; a field may be looked at once more by hand. */
static bool binds_twice(const struct binding_table *table, const struct binding *row)
{
    bool alone = row->kind != BINDING_PART && row->kind != BINDING_BY_HAND &&
                 row->kind != BINDING_NEEDS;

    for (const struct binding *other = table->rows; alone && other < row; other++) {
        if (other->ours == row->ours && other->kind != BINDING_PART &&
            other->kind != BINDING_BY_HAND && other->kind != BINDING_NEEDS) {
            return true;
        }
    }
    return false;
}

/* The name of the first field that no row binds, or one that does not fit; NULL: there is none. */
static const char *fault_of(const struct binding_table *table)
{
    for (unsigned i = 0; i < table->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &table->descriptor->fields[i];
        size_t bound = 0;

        for (size_t k = 0; k < table->count; k++) {
            if (table->rows[k].wire == field->offset) {
                bound++;
                if (!fits(&table->rows[k], field) || binds_twice(table, &table->rows[k])) {
                    return field->name;
                }
            }
        }
        if (bound == 0) {
            return field->name;
        }
    }
    return NULL;
}

static void check_bound(const struct binding_table *table)
{
    cr_assert_null(fault_of(table), "%s.%s", table->descriptor->name, fault_of(table));
    cr_assert_eq(table->wire_bytes, table->descriptor->sizeof_message);
}

Test(binding, tables_bind_each_field_of_the_schema_as_what_it_is)
{
    visit_all(check_bound);
}

/* What no table is of is written by hand, and tests/unit/proto_codec.c knows it. */
Test(binding, frames_have_tables)
{
    for (int kind = FRAME_NONE + 1; kind <= FRAME_ERROR; kind++) {
        cr_assert_eq(rows_table((enum frame_kind)kind) == NULL,
                     kind == FRAME_CLIENT_REQUEST || kind == FRAME_NODE_REQUEST, "%d", kind);
    }
}

#define WIRE_fence_reply   Orbloom__V1__FenceReply
#define WIRE_fence_request Orbloom__V1__FenceRequest
static const struct binding lacking[] = {
    ROW(fence_request, filter_id, UINT64),
    ROW(fence_request, epoch, UINT64),
    ROW(fence_request, document, DOCUMENT),
    ROW(fence_request, slice, UINT64),
};

Test(binding, a_field_that_was_forgotten_is_found)
{
    struct binding_table table = *binding_fence_request();

    table.rows = lacking;
    table.count = sizeof lacking / sizeof lacking[0];
    cr_assert_str_eq(fault_of(&table), "epoch_hash");
}

/* C takes an enum for a number. */
Test(binding, a_row_of_the_wrong_kind_is_found)
{
    struct binding_table table = *binding_fence_reply();
    struct binding rows[16];

    cr_assert_leq(table.count, sizeof rows / sizeof rows[0]);
    memcpy(rows, table.rows, table.count * sizeof rows[0]);
    table.rows = rows;
    cr_assert_null(fault_of(&table));
    rows[0] = (struct binding){.kind = BINDING_UINT32, .wire = offsetof(WIRE_fence_reply, status)};
    cr_assert_str_eq(fault_of(&table), "status");
}

Test(binding, a_field_of_ours_that_is_bound_twice_is_found)
{
    struct binding_table table = *binding_fence_reply();
    struct binding rows[MAX_ROWS];

    memcpy(rows, table.rows, table.count * sizeof rows[0]);
    table.rows = rows;
    rows[2].ours = rows[1].ours;
    cr_assert_str_eq(fault_of(&table), "epoch");
}

/* A bound is the row's own word: it is held against the schema's. */
Test(binding, an_enum_that_ends_too_early_or_too_late_is_found)
{
    struct binding_table table = *binding_sync_request();
    struct binding rows[MAX_ROWS];

    cr_assert_leq(table.count, MAX_ROWS);
    memcpy(rows, table.rows, table.count * sizeof rows[0]);
    table.rows = rows;
    cr_assert_null(fault_of(&table));
    cr_assert_eq(rows[0].kind, BINDING_ENUM);
    for (int step = -1; step <= 1; step += 2) {
        rows[0].last += step;
        cr_assert_str_eq(fault_of(&table), "role");
        rows[0].last -= step;
        rows[0].first += 2 * step;
        cr_assert_str_eq(fault_of(&table), "role");
        rows[0].first -= 2 * step;
    }
}

/* ---- no two rows have each other's fields: nothing that goes there and back would show it ---- */

static size_t word_length(const char *name)
{
    return strspn(name, "abcdefghijklmnopqrstuvwxyz");
}

/* Is it one of the words of that name? */
static bool has_word(const char *name, const char *word, size_t size)
{
    for (; *name != '\0'; name++) {
        size_t length = word_length(name);

        if (length == size && strncmp(name, word, size) == 0) {
            return true;
        }
        name += length > 0 ? length - 1 : 0;
    }
    return false;
}

/* How many words of the schema's name ours has. */
static unsigned likeness(const struct binding *row, const ProtobufCFieldDescriptor *field)
{
    unsigned words = 0;

    for (const char *name = field->name; *name != '\0'; name++) {
        size_t size = word_length(name);

        words += size > 0 && has_word(row->name, name, size);
        name += size > 0 ? size - 1 : 0;
    }
    return words;
}

/* Ours of the first of two rows whose names would fit better the other way round; NULL: none. */
static const char *crossed(const struct binding_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        for (size_t k = 0; k < i; k++) {
            const struct binding *a = &table->rows[k];
            const struct binding *b = &table->rows[i];

            if (a->name != NULL && b->name != NULL && a->kind == b->kind &&
                likeness(a, rows_field(table, a)) + likeness(b, rows_field(table, b)) <
                    likeness(a, rows_field(table, b)) + likeness(b, rows_field(table, a))) {
                return a->name;
            }
        }
    }
    return NULL;
}

static void check_names(const struct binding_table *table)
{
    cr_assert_null(crossed(table), "%s: %s", table->descriptor->name, crossed(table));
}

Test(binding, fields_have_the_names_that_they_have_in_the_schema)
{
    visit_all(check_names);
}

Test(binding, two_rows_that_are_swapped_are_found)
{
    const struct binding_table *whole = binding_sync_request();
    struct binding_table table = *whole;
    struct binding rows[MAX_ROWS];
    unsigned swaps = 0;

    cr_assert_leq(table.count, MAX_ROWS);
    memcpy(rows, whole->rows, whole->count * sizeof rows[0]);
    table.rows = rows;
    for (size_t i = 1; i < table.count; i++) {
        if (rows[i].name != NULL && rows[i].kind == rows[i - 1].kind) {
            rows[i].wire = whole->rows[i - 1].wire;
            rows[i - 1].wire = whole->rows[i].wire;
            cr_assert_not_null(crossed(&table), "%s", rows[i].name);
            rows[i].wire = whole->rows[i].wire;
            rows[i - 1].wire = whole->rows[i - 1].wire;
            swaps++;
        }
    }
    cr_assert_gt(swaps, 5);
}

/* ---- there and back ---- */

/* Those of its rows that copy, and no check: whatever fields have in common is left aside. */
static struct binding_table copying_rows(const struct binding_table *table,
                                         struct binding rows[MAX_ROWS])
{
    struct binding_table copying = *table;

    cr_assert_leq(table->count, MAX_ROWS);
    copying.check = NULL;
    copying.rows = rows;
    copying.count = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].kind != BINDING_BY_HAND) {
            rows[copying.count++] = table->rows[i];
        }
    }
    return copying;
}

/* Is it there on the wire? What a message needs is reckoned, and a part may be another action's. */
static bool says(const struct binding *row, const ProtobufCFieldDescriptor *field,
                 const void *message)
{
    static const uint8_t zeros[sizeof(ProtobufCBinaryData)];
    size_t size = field->type == PROTOBUF_C_TYPE_BYTES ? sizeof(ProtobufCBinaryData)
                  : row->kind == BINDING_UINT64        ? sizeof(uint64_t)
                                                       : sizeof(uint32_t);

    if (row->kind == BINDING_NEEDS || row->kind == BINDING_PART) {
        return true;
    }
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        return *(const size_t *)rows_at(message, row->wire_count) > 0;
    }
    return field->type == PROTOBUF_C_TYPE_DOUBLE
               ? *(const double *)rows_at(message, row->wire) != 0
               : memcmp(rows_at(message, row->wire), zeros, size) != 0;
}

static size_t packed(const void *message, uint8_t out[MAX_BYTES])
{
    size_t size = protobuf_c_message_get_packed_size(message);

    cr_assert_leq(size, MAX_BYTES);
    return protobuf_c_message_pack(message, out);
}

static void travel(const struct binding_table *whole)
{
    static uint8_t first[MAX_BYTES];
    static uint8_t second[MAX_BYTES];
    const char *name = whole->descriptor->name;
    struct binding rows[MAX_ROWS];
    struct binding_table table;
    ProtobufCMessage *wire = NULL;
    ProtobufCMessage *again = NULL;
    void *ours = sample_of(whole, SAMPLE_FULL);
    void *back = calloc(1, whole->our_bytes + 1);
    const char *field;
    size_t size;

    table = copying_rows(whole, rows);
    cr_assert_eq(binding_put_new(&table, &scratch, ours, &wire), STATUS_OK, "%s", name);
    for (size_t i = 0; i < table.count; i++) {
        cr_assert(says(&rows[i], rows_field(&table, &rows[i]), wire), "%s.%s", name,
                  rows_field(&table, &rows[i])->name);
    }
    cr_assert_eq(binding_get(&table, arena, wire, back), STATUS_OK, "%s", name);
    field = rows_difference(&table, ours, back);
    cr_assert_null(field, "%s.%s", name, field);
    cr_assert_eq(binding_put_new(&table, &scratch, back, &again), STATUS_OK, "%s", name);
    size = packed(wire, first);
    cr_assert_eq(packed(again, second), size, "%s", name);
    cr_assert_arr_eq(first, second, size, "%s", name);
    release(&table, back);
    free(back);
}

Test(binding, what_a_row_names_is_said_and_comes_back, .init = open_stage, .fini = close_stage)
{
    visit_all(travel);
}

/* Else the test above could not fail. */
Test(binding, a_difference_is_found_in_every_field, .init = open_stage, .fini = close_stage)
{
    const struct binding_table *table = binding_replica_report();
    struct replica_report *a = sample_of(table, SAMPLE_FULL);
    struct replica_report b = *a;

    cr_assert_null(rows_difference(table, a, &b));
    for (size_t i = 0; i < table->count; i++) {
        uint8_t *byte = rows_at(&b, table->rows[i].ours);

        *byte ^= 1;
        cr_assert_str_eq(rows_difference(table, a, &b), rows_field(table, &table->rows[i])->name);
        *byte ^= 1;
    }
}

/* ---- the edges ---- */

/* The table of what a message holds in that field. */
static const struct binding_table *part_at(const struct binding_table *table, size_t wire)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].wire == wire && table->rows[i].table != NULL) {
            return table->rows[i].table();
        }
    }
    return NULL;
}

static const struct binding_table *map_page_table(void)
{
    return part_at(binding_admin_reply(), offsetof(Orbloom__V1__AdminReply, map));
}

Test(binding, a_list_that_the_arena_has_no_room_for_is_too_large)
{
    Orbloom__V1__MapRecord record = ORBLOOM__V1__MAP_RECORD__INIT;
    Orbloom__V1__MapRecord *list[] = {&record, &record, &record, &record};
    Orbloom__V1__MapPage wire = ORBLOOM__V1__MAP_PAGE__INIT;
    struct codec_arena *small = NULL;
    struct map_page page;

    cr_assert_eq(codec_arena_create(sizeof(struct map_record), &small), STATUS_OK);
    wire.records = list;
    wire.n_records = 4;
    cr_assert_eq(binding_get(map_page_table(), small, &wire, &page), STATUS_TOO_LARGE);
    codec_arena_destroy(&small);
}

Test(binding, what_was_in_the_struct_before_is_gone)
{
    const Orbloom__V1__ReplicaReport wire = ORBLOOM__V1__REPLICA_REPORT__INIT;
    const struct replica_report none = {0};
    struct replica_report report;

    memset(&report, 0xff, sizeof report);
    cr_assert_eq(binding_get(binding_replica_report(), NULL, &wire, &report), STATUS_OK);
    cr_assert_eq(memcmp(&report, &none, sizeof report), 0);
}
