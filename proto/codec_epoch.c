/* Epoch content: the bytes whose hash requests, quorums and fences name. */
#include "base/heap.h"
#include "proto/codec_field.h"
#include "proto/codec_scratch.h"
#include "proto/codec_signed.h"
#include "proto/codec_unknown.h"
#include "proto/orbloom.pb-c.h"

static void put_slot(const struct slot *slot, Orbloom__V1__Slot *wire)
{
    *wire = (Orbloom__V1__Slot)ORBLOOM__V1__SLOT__INIT;
    wire->node = slot->current.node;
    wire->incarnation = slot->current.incarnation;
    wire->incoming_node = slot->incoming.node;
    wire->incoming_incarnation = slot->incoming.incarnation;
    wire->reads_incoming = slot->reads_incoming;
    wire->read_since = slot->read_since;
}

static enum status put_groups(const struct epoch_content *content, struct codec_scratch *scratch,
                              Orbloom__V1__EpochContent *wire)
{
    size_t ngroups = content->ngroups;
    size_t nslots = content->rule.replicas;
    Orbloom__V1__SlotGroup *groups = codec_scratch_take(scratch, ngroups, sizeof *groups);
    Orbloom__V1__Slot *slots = codec_scratch_take(scratch, ngroups * nslots, sizeof *slots);
    Orbloom__V1__Slot **list = codec_scratch_take(scratch, ngroups * nslots, sizeof *list);
    size_t i;

    wire->n_groups = ngroups;
    wire->groups = codec_scratch_take(scratch, ngroups, sizeof *wire->groups);
    if (groups == NULL || slots == NULL || list == NULL || wire->groups == NULL) {
        return STATUS_NOMEM;
    }
    for (i = 0; i < ngroups * nslots; i++) {
        put_slot(&content->groups[i / nslots].slots[i % nslots], &slots[i]);
        list[i] = &slots[i];
    }
    for (i = 0; i < ngroups; i++) {
        groups[i] = (Orbloom__V1__SlotGroup)ORBLOOM__V1__SLOT_GROUP__INIT;
        groups[i].n_slots = nslots;
        groups[i].slots = list + i * nslots;
        wire->groups[i] = &groups[i];
    }
    return STATUS_OK;
}

static enum status put_shards(const struct filter_document *document, struct codec_scratch *scratch,
                              Orbloom__V1__EpochContent *wire)
{
    uint32_t nshards = document_nshards(document);
    uint32_t i;

    wire->n_group_of_shard = nshards;
    wire->group_of_shard = codec_scratch_take(scratch, nshards, sizeof *wire->group_of_shard);
    if (wire->group_of_shard == NULL) {
        return STATUS_NOMEM;
    }
    for (i = 0; i < nshards; i++) {
        wire->group_of_shard[i] = document->content.group_of_shard[i];
    }
    return STATUS_OK;
}

static enum status put_lineages(const struct epoch_content *content, struct codec_scratch *scratch,
                                Orbloom__V1__EpochContent *wire)
{
    size_t n = content->nlineages;
    Orbloom__V1__Lineage *items = codec_scratch_take(scratch, n, sizeof *items);
    size_t i;

    wire->n_lineages = n;
    wire->lineages = codec_scratch_take(scratch, n, sizeof *wire->lineages);
    if (items == NULL || wire->lineages == NULL) {
        return STATUS_NOMEM;
    }
    for (i = 0; i < n; i++) {
        items[i] = (Orbloom__V1__Lineage)ORBLOOM__V1__LINEAGE__INIT;
        items[i].id = content->lineages[i].id;
        items[i].serving = content->lineages[i].serving;
        wire->lineages[i] = &items[i];
    }
    return STATUS_OK;
}

static enum status put_chain(const struct epoch_content *content, struct codec_scratch *scratch,
                             Orbloom__V1__EpochContent *wire)
{
    wire->n_chain = content->nchain;
    wire->chain = codec_scratch_take(scratch, content->nchain, sizeof *wire->chain);
    if (wire->chain == NULL) {
        return STATUS_NOMEM;
    }
    for (uint32_t i = 0; i < content->nchain; i++) {
        wire->chain[i] = content->chain[i];
    }
    return STATUS_OK;
}

static enum status put_content(const struct filter_document *document,
                               struct codec_scratch *scratch, Orbloom__V1__EpochContent *wire)
{
    const struct epoch_content *content = &document->content;
    struct span name = span_text(content->name);
    enum status status;

    wire->name = (ProtobufCBinaryData){.len = name.size, .data = (uint8_t *)name.data};
    wire->state = (Orbloom__V1__FilterState)content->state;
    wire->replicas = content->rule.replicas;
    wire->write_quorum = content->rule.write;
    wire->read_quorum = content->rule.read;
    wire->shard_bits = content->shard_bits;
    wire->newest_slice = content->newest_slice;
    wire->named_epoch = content->named_epoch;
    wire->uid_high = content->uid.high;
    wire->uid_low = content->uid.low;
    wire->last_lineage = content->last_lineage;
    status = put_groups(content, scratch, wire);
    status = status != STATUS_OK ? status : put_shards(document, scratch, wire);
    status = status != STATUS_OK ? status : put_lineages(content, scratch, wire);
    status = status != STATUS_OK ? status : put_chain(content, scratch, wire);
    return status != STATUS_OK ? status : codec_put_losses(content, scratch, wire);
}

enum status codec_epoch_encode(struct filter_document *document)
{
    Orbloom__V1__EpochContent wire = ORBLOOM__V1__EPOCH_CONTENT__INIT;
    struct codec_scratch scratch;
    enum status status;

    codec_scratch_init(&scratch);
    status = put_content(document, &scratch, &wire);
    if (status == STATUS_OK) {
        document->epoch_size = protobuf_c_message_get_packed_size(&wire.base);
        document->epoch_bytes = heap_alloc(document->epoch_size, 1);
        status = document->epoch_bytes != NULL ? STATUS_OK : STATUS_NOMEM;
    }
    if (status == STATUS_OK) {
        protobuf_c_message_pack(&wire.base, document->epoch_bytes);
        document->epoch_hash = document_epoch_hash(
            span_of(document->epoch_bytes, document->epoch_size));
    }
    codec_scratch_fini(&scratch);
    return status;
}

static enum status get_group(const Orbloom__V1__SlotGroup *wire, uint32_t nslots,
                             struct slot_group *group)
{
    uint32_t i;

    if (wire->n_slots != nslots) {
        return STATUS_MALFORMED;
    }
    *group = (struct slot_group){0};
    for (i = 0; i < nslots; i++) {
        const Orbloom__V1__Slot *slot = wire->slots[i];

        group->slots[i] = (struct slot){
            .current = {slot->node, slot->incarnation},
            .incoming = {slot->incoming_node, slot->incoming_incarnation},
            .reads_incoming = slot->reads_incoming,
            .read_since = slot->read_since,
        };
    }
    return STATUS_OK;
}

static enum status get_groups(const Orbloom__V1__EpochContent *wire, struct epoch_content *content)
{
    enum status status = STATUS_OK;
    size_t i;

    if (wire->n_groups == 0 || wire->n_groups > DOCUMENT_MAX_SHARDS ||
        wire->replicas > QUORUM_MAX_REPLICAS) {
        return STATUS_MALFORMED;
    }
    content->groups = heap_alloc(wire->n_groups, sizeof *content->groups);
    if (content->groups == NULL) {
        return STATUS_NOMEM;
    }
    content->ngroups = (uint32_t)wire->n_groups;
    for (i = 0; i < wire->n_groups && status == STATUS_OK; i++) {
        status = get_group(wire->groups[i], wire->replicas, &content->groups[i]);
    }
    return status;
}

static enum status get_shards(const Orbloom__V1__EpochContent *wire, struct epoch_content *content)
{
    size_t i;

    if (wire->shard_bits >= 32 || wire->n_group_of_shard > DOCUMENT_MAX_SHARDS ||
        wire->n_group_of_shard != (size_t)1 << wire->shard_bits) {
        return STATUS_MALFORMED;
    }
    content->shard_bits = wire->shard_bits;
    content->group_of_shard = heap_alloc(wire->n_group_of_shard, sizeof *content->group_of_shard);
    if (content->group_of_shard == NULL) {
        return STATUS_NOMEM;
    }
    for (i = 0; i < wire->n_group_of_shard; i++) {
        if (wire->group_of_shard[i] >= content->ngroups) {
            return STATUS_MALFORMED;
        }
        content->group_of_shard[i] = (uint16_t)wire->group_of_shard[i];
    }
    return STATUS_OK;
}

static enum status get_lineages(const Orbloom__V1__EpochContent *wire,
                                struct epoch_content *content)
{
    size_t i;

    if (wire->n_lineages > DOCUMENT_MAX_LINEAGES) {
        return STATUS_MALFORMED;
    }
    content->nlineages = (uint32_t)wire->n_lineages;
    for (i = 0; i < wire->n_lineages; i++) {
        content->lineages[i].id = wire->lineages[i]->id;
        content->lineages[i].serving = wire->lineages[i]->serving;
    }
    return STATUS_OK;
}

static enum status get_chain(const Orbloom__V1__EpochContent *wire, struct epoch_content *content)
{
    if (wire->n_chain > DOCUMENT_MAX_GENERATIONS) {
        return STATUS_MALFORMED;
    }
    content->nchain = (uint32_t)wire->n_chain;
    for (size_t i = 0; i < wire->n_chain; i++) {
        content->chain[i] = wire->chain[i];
    }
    return STATUS_OK;
}

enum status codec_epoch_decode(struct codec_arena *arena, struct filter_document *document)
{
    struct epoch_content *content = &document->content;
    const Orbloom__V1__EpochContent *wire;
    ProtobufCMessage *message = NULL;
    enum status status = arena_unpack(arena, &orbloom__v1__epoch_content__descriptor,
                                      document->epoch_bytes, document->epoch_size, &message);

    if (status != STATUS_OK) {
        return status;
    }
    if (codec_has_unknown(message)) {
        return STATUS_VERSION;
    }
    wire = (const Orbloom__V1__EpochContent *)message;
    content->state = (enum filter_state)wire->state;
    content->rule = (struct quorum_rule){wire->replicas, wire->write_quorum, wire->read_quorum};
    content->newest_slice = wire->newest_slice;
    content->named_epoch = wire->named_epoch;
    content->uid = (struct filter_uid){wire->uid_high, wire->uid_low};
    content->last_lineage = wire->last_lineage;
    status = codec_signed_text(wire->name, content->name, sizeof content->name);
    status = status != STATUS_OK ? status : get_groups(wire, content);
    status = status != STATUS_OK ? status : get_shards(wire, content);
    status = status != STATUS_OK ? status : get_lineages(wire, content);
    status = status != STATUS_OK ? status : get_chain(wire, content);
    return status != STATUS_OK ? status : codec_get_losses(wire, content);
}
