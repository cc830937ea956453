/* Do the tables of proto/ say all of what orbloom.proto says of their messages, and no more than
 * that? And what does the engine do at the edges of what rows allow? */
#include "base/heap.h"
#include "map/feature.h"
#include "proto/codec_signed.h"
#include "proto_samples.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <math.h>

enum { ARENA_BYTES = 64 << 20, MAX_ROWS = 64, MAX_BYTES = 1 << 16 };

static binding_table_fn *const documents[] = {
    binding_filter_document, binding_epoch_content, binding_node_list,
    binding_dropped_record,  binding_cluster_id,    binding_cluster_features,
};

enum { NTABLES = FRAME_ERROR + 1 + sizeof documents / sizeof documents[0] };

/* Of frames, then of documents; NULL: of a frame that is written by hand. */
static const struct binding_table *table_at(size_t i)
{
    return i <= FRAME_ERROR ? rows_table((enum frame_kind)i) : documents[i - FRAME_ERROR - 1]();
}

typedef void visit_fn(const struct binding_table *table);

/* A table, and those that its rows name. */
static size_t visit(const struct binding_table *table, visit_fn *each)
{
    size_t visited = 1;

    each(table);
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].table != NULL) {
            visited += visit(table->rows[i].table(), each);
        }
    }
    return visited;
}

static void visit_all(visit_fn *each)
{
    size_t visited = 0;

    for (size_t i = 0; i < NTABLES; i++) {
        visited += table_at(i) != NULL ? visit(table_at(i), each) : 0;
    }
    cr_assert_gt(visited, 50);
}

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

/* ---- there and back ---- */

static struct codec_arena *arena;
static struct codec_scratch scratch;

/* Where what is asked is asked of one row alone: the table with its rows from `first` on, so many,
 * of them those that copy, and without its check. */
static struct binding_table some_rows(const struct binding_table *table, size_t first, size_t count,
                                      struct binding *rows)
{
    struct binding_table some = *table;

    some.check = NULL;
    some.rows = rows;
    some.count = 0;
    for (size_t i = first; i < first + count; i++) {
        if (table->rows[i].kind != BINDING_BY_HAND) {
            rows[some.count++] = table->rows[i];
        }
    }
    return some;
}

static void *sample_of(const struct binding_table *table, enum sample_size size)
{
    struct rows_filler filler = sample_filler(FRAME_NONE, size);
    void *ours = rows_take(&filler, 1, table->our_bytes);

    rows_fill(&filler, table, ours);
    return ours;
}

/* What only heap memory holds. */
static void release(const struct binding_table *table, void *ours)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].kind == BINDING_OWNED) {
            heap_free(*(void **)rows_at(ours, table->rows[i].ours));
        }
    }
}

/* Features have none: theirs is a number that is reckoned. A part may be another action's. */
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

    cr_assert_leq(whole->count, MAX_ROWS);
    table = some_rows(whole, 0, whole->count, rows);
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

static void open_stage(void)
{
    cr_assert_eq(codec_arena_create(ARENA_BYTES, &arena), STATUS_OK);
    codec_scratch_init(&scratch);
}

static void close_stage(void)
{
    codec_scratch_fini(&scratch);
    codec_arena_destroy(&arena);
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

/* ---- the bounds of each row: what it allows passes, what is beyond is refused ---- */

struct trial {
    struct binding_table table; /* of that row, and the one that counts for it */
    struct binding rows[2];
    const struct binding *row;
    const char *name;
    ProtobufCMessage *wire;
    void *ours;
};

static enum status get_trial(const struct trial *self)
{
    void *back = calloc(1, self->table.our_bytes + 1);
    enum status status = binding_get(&self->table, arena, self->wire, back);

    release(&self->table, back);
    free(back);
    return status;
}

#define EXPECT(self, status)                                                           \
    cr_assert_eq(get_trial(self), status, "%s.%s: %d", (self)->table.descriptor->name, \
                 (self)->name, (int)get_trial(self))

static void try_enum(const struct trial *self)
{
    int *value = rows_at(self->wire, self->row->wire);

    if (self->row->first == INT_MIN) {
        return; /* The table's check judges it. */
    }
    for (int64_t i = (int64_t)self->row->first - 1; i <= (int64_t)self->row->last + 1; i++) {
        *value = (int)i;
        EXPECT(self, i < self->row->first || i > self->row->last ? STATUS_MALFORMED : STATUS_OK);
    }
    *value = INT_MAX;
    EXPECT(self, STATUS_MALFORMED);
    *value = INT_MIN;
    EXPECT(self, STATUS_MALFORMED);
}

static void try_double(const struct trial *self)
{
    bool fraction = self->row->kind == BINDING_FRACTION;
    const double worst[] = {(double)NAN, (double)INFINITY, (double)-INFINITY};
    double *value = rows_at(self->wire, self->row->wire);

    for (size_t i = 0; i < sizeof worst / sizeof worst[0]; i++) {
        *value = worst[i];
        EXPECT(self, STATUS_MALFORMED);
    }
    *value = 0;
    EXPECT(self, STATUS_OK);
    *value = 1;
    EXPECT(self, STATUS_OK);
    *value = 1.0000001;
    EXPECT(self, fraction ? STATUS_MALFORMED : STATUS_OK);
    *value = -0.0000001;
    EXPECT(self, fraction ? STATUS_MALFORMED : STATUS_OK);
}

static void try_text(const struct trial *self)
{
    static uint8_t text[CODEC_MAX_TEXT_BYTES + 1];
    bool chars = self->row->kind == BINDING_CHARS;
    size_t most = chars ? self->row->bytes - 1 : CODEC_MAX_TEXT_BYTES;
    ProtobufCBinaryData *value = rows_at(self->wire, self->row->wire);

    cr_assert_lt(most, sizeof text);
    memset(text, 'n', sizeof text);
    *value = (ProtobufCBinaryData){.len = most, .data = text};
    EXPECT(self, STATUS_OK);
    value->len++;
    EXPECT(self, chars ? STATUS_MALFORMED : STATUS_TOO_LARGE);
    value->len = 3;
    text[1] = 0; /* must not read as shorter */
    EXPECT(self, STATUS_MALFORMED);
    text[1] = 0xff;
    EXPECT(self, STATUS_MALFORMED);
}

static void try_document(const struct trial *self)
{
    static uint8_t bytes[DOCUMENT_MAX_BYTES + 1];
    struct span large = span_of(bytes, sizeof bytes);
    ProtobufCBinaryData *value = rows_at(self->wire, self->row->wire);
    ProtobufCMessage *wire = NULL;

    *value = (ProtobufCBinaryData){.len = DOCUMENT_MAX_BYTES, .data = bytes};
    EXPECT(self, STATUS_OK);
    value->len++;
    EXPECT(self, STATUS_TOO_LARGE);
    memcpy(rows_at(self->ours, self->row->ours), &large, sizeof large);
    cr_assert_eq(binding_put_new(&self->table, &scratch, self->ours, &wire), STATUS_TOO_LARGE);
}

/* A MAC of another size can't be right, and must not be a part of one that is. */
static void try_bytes(const struct trial *self)
{
    static const uint8_t zeros[64];
    static uint8_t bytes[65];
    ProtobufCBinaryData *value = rows_at(self->wire, self->row->wire);
    uint8_t *back = malloc(self->table.our_bytes);

    memset(bytes, 0xab, sizeof bytes);
    cr_assert_lt(self->row->bytes, sizeof zeros);
    for (size_t size = self->row->bytes - 1; size <= self->row->bytes + 1; size++) {
        *value = (ProtobufCBinaryData){.len = size, .data = bytes};
        cr_assert_eq(binding_get(&self->table, arena, self->wire, back), STATUS_OK);
        cr_assert_arr_eq(back + self->row->ours, size == self->row->bytes ? bytes : zeros,
                         self->row->bytes, "%s", self->name);
    }
    free(back);
}

static void try_plane(const struct trial *self)
{
    static uint8_t bits[] = {0xff, 0x01, 0};
    ProtobufCBinaryData *value = rows_at(self->wire, self->row->wire);

    *(uint32_t *)rows_at(self->wire, self->rows[0].wire) = 9;
    for (size_t size = 0; size <= sizeof bits; size++) {
        *value = (ProtobufCBinaryData){.len = size, .data = bits};
        EXPECT(self, size == 0 || size == 2 ? STATUS_OK : STATUS_MALFORMED);
    }
    value->len = 2;
    bits[1] = 0x03; /* a spare bit */
    EXPECT(self, STATUS_MALFORMED);
    bits[1] = 0x01;
    *(uint32_t *)rows_at(self->wire, self->rows[0].wire) = 0; /* a plane of none */
    EXPECT(self, STATUS_MALFORMED);
}

static void try_count(const struct trial *self)
{
    uint32_t *value = rows_at(self->wire, self->row->wire);
    ProtobufCMessage *wire = NULL;

    *value = (uint32_t)self->row->most;
    EXPECT(self, STATUS_OK);
    ++*value;
    EXPECT(self, STATUS_TOO_LARGE);
    rows_set_count(self->row, self->row->most + 1, self->ours);
    cr_assert_eq(binding_put_new(&self->table, &scratch, self->ours, &wire), STATUS_TOO_LARGE);
}

/* One that is there already, again and again. */
static void try_list(const struct trial *self)
{
    bool documents_only = self->row->kind == BINDING_DOCUMENTS;
    bool numbers = self->row->kind == BINDING_NUMBERS || self->row->kind == BINDING_ROOM;
    size_t most = self->row->most;
    void *list;
    ProtobufCMessage *wire = NULL;

    if (most == UNBOUNDED) {
        return;
    }
    list = calloc(most + 1, sizeof(ProtobufCBinaryData));
    if (!documents_only && !numbers) {
        void *item = **(void ***)rows_at(self->wire, self->row->wire);

        for (size_t i = 0; i <= most; i++) {
            ((void **)list)[i] = item;
        }
    }
    *(void **)rows_at(self->wire, self->row->wire) = list;
    *(size_t *)rows_at(self->wire, self->row->wire_count) = most;
    EXPECT(self, STATUS_OK);
    *(size_t *)rows_at(self->wire, self->row->wire_count) = most + 1;
    EXPECT(self, self->row->fault);
    if (self->row->fault == STATUS_TOO_LARGE) {
        rows_set_count(self->row, most + 1, self->ours);
        cr_assert_eq(binding_put_new(&self->table, &scratch, self->ours, &wire), STATUS_TOO_LARGE);
    }
    if (documents_only) {
        ((ProtobufCBinaryData *)list)->len = DOCUMENT_MAX_BYTES + 1;
        *(size_t *)rows_at(self->wire, self->row->wire_count) = 1;
        EXPECT(self, STATUS_TOO_LARGE);
    }
    free(list);
}

/* One that it does not know reads as a defect, never as done. */
static void try_status(const struct trial *self)
{
    const int unknown[] = {-1, INT_MAX, INT_MIN, 64};
    uint8_t *back = malloc(self->table.our_bytes);

    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        *(int *)rows_at(self->wire, self->row->wire) = unknown[i];
        cr_assert_eq(binding_get(&self->table, arena, self->wire, back), STATUS_OK);
        cr_assert_eq(*(enum status *)rows_at(back, self->row->ours), STATUS_INTERNAL, "%s",
                     self->name);
    }
    free(back);
}

static void try_needs(const struct trial *self)
{
    uint64_t *value = rows_at(self->wire, self->row->wire);

    *value = features_known();
    EXPECT(self, STATUS_OK);
    *value = features_known() + 1;
    EXPECT(self, STATUS_VERSION);
    *value = UINT64_MAX;
    EXPECT(self, STATUS_VERSION);
}

/* A part that must be there where its message has it. */
static void try_part(struct trial *self)
{
    ProtobufCMessage *none = NULL;
    bool needed = self->row->needed;

    self->rows[0].reads = NULL;
    memcpy(rows_at(self->wire, self->row->wire), &none, sizeof none);
    EXPECT(self, needed ? STATUS_MALFORMED : STATUS_OK);
}

static void try_row(struct trial *self)
{
    switch (self->row->kind) {
    case BINDING_ENUM:
        try_enum(self);
        break;
    case BINDING_DOUBLE:
    case BINDING_FRACTION:
        try_double(self);
        break;
    case BINDING_TEXT:
    case BINDING_MESSAGE:
    case BINDING_CHARS:
        try_text(self);
        break;
    case BINDING_DOCUMENT:
        try_document(self);
        break;
    case BINDING_BYTES:
    case BINDING_CLUSTER:
        try_bytes(self);
        break;
    case BINDING_PLANE:
        try_plane(self);
        break;
    case BINDING_COUNT:
        try_count(self);
        break;
    case BINDING_DOCUMENTS:
    case BINDING_NUMBERS:
    case BINDING_ROOM:
    case BINDING_LIST:
    case BINDING_ARRAY:
    case BINDING_OWNED:
        try_list(self);
        break;
    case BINDING_STATUS:
        try_status(self);
        break;
    case BINDING_NEEDS:
        try_needs(self);
        break;
    case BINDING_PART:
        try_part(self);
        break;
    case BINDING_UINT64:
    case BINDING_UINT32:
    case BINDING_BOOL:
    case BINDING_UNJUDGED:
    case BINDING_SPAN:
    case BINDING_BY_HAND:
        break; /* of any value */
    }
}

/* A plane is as long as another row says. */
static size_t row_that_counts(const struct binding_table *table, size_t i)
{
    size_t at = i;

    while (table->rows[i].kind == BINDING_PLANE && table->rows[at].kind != BINDING_COUNT) {
        at--;
    }
    return at;
}

static void try_rows(const struct binding_table *whole)
{
    for (size_t i = 0; i < whole->count; i++) {
        struct trial trial = {.table = *whole, .name = rows_field(whole, &whole->rows[i])->name};
        size_t count = row_that_counts(whole, i);

        if (whole->rows[i].kind == BINDING_BY_HAND) {
            continue;
        }
        trial.rows[0] = whole->rows[count];
        trial.rows[1] = whole->rows[i];
        trial.table.rows = trial.rows;
        trial.table.count = count == i ? 1 : 2;
        trial.table.check = NULL;
        trial.row = &trial.rows[trial.table.count - 1];
        trial.ours = sample_of(whole, SAMPLE_FULL);
        cr_assert_eq(binding_put_new(&trial.table, &scratch, trial.ours, &trial.wire), STATUS_OK);
        arena_reset(arena);
        try_row(&trial);
    }
}

Test(binding, what_is_beyond_a_rows_bounds_is_refused, .init = open_stage, .fini = close_stage)
{
    visit_all(try_rows);
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
