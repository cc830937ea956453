/* The node list, signed. */
#include "base/heap.h"
#include "proto/codec_field.h"
#include "proto/codec_signed.h"

static enum status put_record(const struct node_record *record, Orbloom__V1__NodeRecord *wire)
{
    enum status status;

    *wire = (Orbloom__V1__NodeRecord)ORBLOOM__V1__NODE_RECORD__INIT;
    wire->id = record->id;
    wire->incarnation = record->incarnation;
    wire->memory_limit_bytes = record->memory_limit_bytes;
    wire->boot = record->boot;
    wire->durable = record->durable;
    wire->draining = record->draining;
    wire->replaced_by = record->replaced_by;
    wire->confirmed_off = record->confirmed_off;
    status = codec_put_text(record->name, &wire->name);
    status = status != STATUS_OK ? status : codec_put_text(record->host, &wire->host);
    status = status != STATUS_OK ? status : codec_put_text(record->zone, &wire->zone);
    return status != STATUS_OK ? status : codec_put_text(record->endpoint, &wire->endpoint);
}

static enum status put_list(const struct node_list *list, struct codec_scratch *scratch,
                            Orbloom__V1__NodeList *wire)
{
    Orbloom__V1__NodeRecord *items = codec_scratch_take(scratch, list->count, sizeof *items);
    enum status status = STATUS_OK;
    uint32_t i;

    wire->revision = list->revision;
    wire->last_id = list->last_id;
    wire->rebalancing = list->rebalancing;
    wire->needs = feature_bit(FEATURE_BASE);
    wire->n_nodes = list->count;
    wire->nodes = codec_scratch_take(scratch, list->count, sizeof *wire->nodes);
    if (items == NULL || wire->nodes == NULL) {
        return STATUS_NOMEM;
    }
    for (i = 0; i < list->count && status == STATUS_OK; i++) {
        status = put_record(&list->nodes[i], &items[i]);
        wire->nodes[i] = &items[i];
    }
    return status;
}

enum status codec_node_list_sign(const struct node_list *list, const struct cluster_key *key,
                                 struct buffer *out)
{
    Orbloom__V1__NodeList wire = ORBLOOM__V1__NODE_LIST__INIT;
    struct codec_scratch scratch;
    const char *reason = NULL;
    enum status status = node_list_validate(list, &reason);

    if (status != STATUS_OK) {
        return status;
    }
    codec_scratch_init(&scratch);
    status = put_list(list, &scratch, &wire);
    if (status == STATUS_OK) {
        status = codec_signed_append(&wire.base, DOCUMENT_NODE_LIST, key, out);
    }
    codec_scratch_fini(&scratch);
    return status;
}

static enum status get_record(const Orbloom__V1__NodeRecord *wire, struct node_record *record)
{
    enum status status;

    *record = (struct node_record){
        .id = wire->id,
        .incarnation = wire->incarnation,
        .memory_limit_bytes = wire->memory_limit_bytes,
        .boot = wire->boot,
        .durable = wire->durable != 0,
        .draining = wire->draining != 0,
        .replaced_by = wire->replaced_by,
        .confirmed_off = wire->confirmed_off,
    };
    status = codec_signed_text(wire->name, record->name, sizeof record->name);
    if (status == STATUS_OK) {
        status = codec_signed_text(wire->host, record->host, sizeof record->host);
    }
    if (status == STATUS_OK) {
        status = codec_signed_text(wire->zone, record->zone, sizeof record->zone);
    }
    if (status == STATUS_OK) {
        status = codec_signed_text(wire->endpoint, record->endpoint, sizeof record->endpoint);
    }
    return status;
}

static enum status get_records(const Orbloom__V1__NodeList *wire, struct node_list *list)
{
    enum status status = STATUS_OK;
    size_t i;

    if (wire->n_nodes > DOCUMENT_MAX_NODES) {
        return STATUS_MALFORMED;
    }
    if (wire->n_nodes > 0) {
        list->nodes = heap_alloc(wire->n_nodes, sizeof *list->nodes);
        if (list->nodes == NULL) {
            return STATUS_NOMEM;
        }
    }
    list->count = (uint32_t)wire->n_nodes;
    for (i = 0; i < wire->n_nodes && status == STATUS_OK; i++) {
        status = get_record(wire->nodes[i], &list->nodes[i]);
    }
    return status;
}

static enum status decode(struct codec_arena *arena, struct span content, void *out)
{
    struct node_list *list = out;
    const Orbloom__V1__NodeList *wire;
    ProtobufCMessage *message = NULL;
    const char *reason = NULL;
    enum status status = arena_unpack(arena, &orbloom__v1__node_list__descriptor, content.data,
                                      content.size, &message);

    if (status != STATUS_OK) {
        return status;
    }
    wire = (const Orbloom__V1__NodeList *)message;
    if ((wire->needs & ~features_known()) != 0) {
        return STATUS_VERSION;
    }
    list->revision = wire->revision;
    list->last_id = wire->last_id;
    list->rebalancing = wire->rebalancing != 0;
    status = get_records(wire, list);
    return status != STATUS_OK ? status : node_list_validate(list, &reason);
}

enum status codec_node_list_open(struct span bytes, const struct cluster_key *key,
                                 struct node_list *out)
{
    enum status status;

    *out = (struct node_list){0};
    status = codec_signed_open(bytes, DOCUMENT_NODE_LIST, key, decode, out);
    if (status != STATUS_OK) {
        node_list_fini(out);
    }
    return status;
}
