/* Do the tables of proto/ say all of what orbloom.proto says of their messages, and no more than
 * that? And what does the engine do at the edges of what rows allow? */
#include "proto/codec_body.h"
#include "proto/codec_signed.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <math.h>

enum { ARENA_BYTES = 1 << 20 };

static binding_table_fn *const tables[] = {
    binding_client_reply,    binding_node_reply,    binding_documents,
    binding_sync_request,    binding_sync_reply,    binding_hint,
    binding_fence_reply,     binding_fence_request, binding_admin_request,
    binding_admin_reply,     binding_info_request,  binding_info_reply,
    binding_boot_request,    binding_boot_reply,    binding_stats_reply,
    binding_error_reply,

    binding_filter_document, binding_epoch_content, binding_node_list,
    binding_dropped_record,  binding_cluster_id,    binding_cluster_features,
};

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
        return row->kind == BINDING_STATUS || row->kind == BINDING_ENUM;
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

/* The name of the first field that no row binds, or one that does not fit; NULL: there is none. */
static const char *fault_of(const struct binding_table *table)
{
    for (unsigned i = 0; i < table->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &table->descriptor->fields[i];
        size_t bound = 0;

        for (size_t k = 0; k < table->count; k++) {
            if (table->rows[k].wire == field->offset) {
                bound++;
                if (!fits(&table->rows[k], field)) {
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

static size_t walk(const struct binding_table *table)
{
    size_t walked = 1;

    cr_assert_null(fault_of(table), "%s.%s", table->descriptor->name, fault_of(table));
    cr_assert_eq(table->wire_bytes, table->descriptor->sizeof_message);
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].table != NULL) {
            walked += walk(table->rows[i].table());
        }
    }
    return walked;
}

Test(binding, tables_bind_each_field_of_the_schema_as_what_it_is)
{
    size_t walked = 0;

    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        walked += walk(tables[i]());
    }
    cr_assert_gt(walked, 30);
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

/* ---- the edges ---- */

static enum status get_report(int state, double progress)
{
    Orbloom__V1__ReplicaReport wire = ORBLOOM__V1__REPLICA_REPORT__INIT;
    struct replica_report report;

    wire.state = (Orbloom__V1__ReplicaState)state;
    wire.progress = progress;
    return binding_get(binding_replica_report(), NULL, &wire, &report);
}

Test(binding, enums_and_fractions_end_where_the_row_says)
{
    cr_assert_eq(get_report(REPLICA_NONE, 0), STATUS_OK);
    cr_assert_eq(get_report(REPLICA_FULL, 1), STATUS_OK);
    cr_assert_eq(get_report(REPLICA_FULL + 1, 0), STATUS_MALFORMED);
    cr_assert_eq(get_report(-1, 0), STATUS_MALFORMED);
    cr_assert_eq(get_report(INT_MAX, 0), STATUS_MALFORMED);
    cr_assert_eq(get_report(REPLICA_NONE, 1.0000001), STATUS_MALFORMED);
    cr_assert_eq(get_report(REPLICA_NONE, -0.0000001), STATUS_MALFORMED);
    cr_assert_eq(get_report(REPLICA_NONE, (double)NAN), STATUS_MALFORMED);
}

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

Test(binding, lists_end_where_the_row_says)
{
    Orbloom__V1__MapRecord record = ORBLOOM__V1__MAP_RECORD__INIT;
    static Orbloom__V1__MapRecord *list[CODEC_MAX_RECORDS + 1];
    Orbloom__V1__MapPage wire = ORBLOOM__V1__MAP_PAGE__INIT;
    struct codec_arena *arena = NULL;
    struct map_page page;

    cr_assert_eq(codec_arena_create(ARENA_BYTES, &arena), STATUS_OK);
    for (size_t i = 0; i <= CODEC_MAX_RECORDS; i++) {
        list[i] = &record;
    }
    wire.records = list;
    wire.n_records = CODEC_MAX_RECORDS;
    cr_assert_eq(binding_get(map_page_table(), arena, &wire, &page), STATUS_OK);
    cr_assert_eq(page.nrecords, CODEC_MAX_RECORDS);
    wire.n_records++;
    cr_assert_eq(binding_get(map_page_table(), arena, &wire, &page), STATUS_MALFORMED);
    codec_arena_destroy(&arena);
}

Test(binding, a_list_that_the_arena_has_no_room_for_is_too_large)
{
    Orbloom__V1__MapRecord record = ORBLOOM__V1__MAP_RECORD__INIT;
    Orbloom__V1__MapRecord *list[] = {&record, &record, &record, &record};
    Orbloom__V1__MapPage wire = ORBLOOM__V1__MAP_PAGE__INIT;
    struct codec_arena *arena = NULL;
    struct map_page page;

    cr_assert_eq(codec_arena_create(sizeof(struct map_record), &arena), STATUS_OK);
    wire.records = list;
    wire.n_records = 4;
    cr_assert_eq(binding_get(map_page_table(), arena, &wire, &page), STATUS_TOO_LARGE);
    codec_arena_destroy(&arena);
}

/* A MAC of another size can't be right, and must not be a part of one that is. */
Test(binding, bytes_of_another_size_read_as_zeros)
{
    const uint8_t zeros[SEAL_MAC_BYTES] = {0};
    uint8_t mac[SEAL_MAC_BYTES + 1];
    Orbloom__V1__BootReply wire = ORBLOOM__V1__BOOT_REPLY__INIT;
    struct boot_reply reply;

    memset(mac, 0xab, sizeof mac);
    wire.mac.data = mac;
    for (size_t size = SEAL_MAC_BYTES - 1; size <= SEAL_MAC_BYTES + 1; size++) {
        wire.mac.len = size;
        cr_assert_eq(binding_get(binding_boot_reply(), NULL, &wire, &reply), STATUS_OK);
        cr_assert_eq(memcmp(reply.mac, size == SEAL_MAC_BYTES ? mac : zeros, sizeof zeros), 0,
                     "%zu", size);
    }
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
