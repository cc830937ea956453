/* Filter documents, signed, and the content of their epochs: the bytes whose hash requests, quorums
 * and fences name. */
#include "base/heap.h"
#include "proto/codec_body.h"
#include "proto/codec_field.h"
#include "proto/codec_signed.h"

#include <assert.h>
#include <string.h>

const char *codec_document_remedy(enum status status)
{
    if (status == STATUS_UNAUTHENTIC) {
        return "; is it the right cluster_key_file?";
    }
    return status == STATUS_VERSION
               ? "; another version of orbloom has written it: run that one. What was written "
                 "before the first release no later version reads: begin with an empty store and "
                 "empty data folders"
               : "";
}

/* ---- slots: as many a group as there are replicas, by hand, for there may be thousands ---- */

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

static struct slot get_slot(const Orbloom__V1__Slot *wire)
{
    return (struct slot){
        .current = {wire->node, wire->incarnation},
        .incoming = {wire->incoming_node, wire->incoming_incarnation},
        .reads_incoming = wire->reads_incoming,
        .read_since = wire->read_since,
    };
}

/* All slots in one piece: there may be thousands of groups. */
static enum status put_slots(struct codec_scratch *scratch, const struct epoch_content *content,
                             Orbloom__V1__Slot ***out)
{
    size_t nslots = content->rule.replicas;
    size_t count = content->ngroups * nslots;
    Orbloom__V1__Slot *slots = codec_scratch_take(scratch, count, sizeof *slots);
    Orbloom__V1__Slot **list = codec_scratch_take(scratch, count, sizeof *list);

    if (slots == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        put_slot(&content->groups[i / nslots].slots[i % nslots], &slots[i]);
        list[i] = &slots[i];
    }
    *out = list;
    return STATUS_OK;
}

static enum status put_groups(struct codec_scratch *scratch, const void *ours, void *message)
{
    const struct epoch_content *content = ours;
    Orbloom__V1__EpochContent *wire = message;
    Orbloom__V1__SlotGroup *groups = codec_scratch_take(scratch, content->ngroups, sizeof *groups);
    Orbloom__V1__Slot **slots;
    enum status status = put_slots(scratch, content, &slots);

    wire->n_groups = content->ngroups;
    wire->groups = codec_scratch_take(scratch, content->ngroups, sizeof *wire->groups);
    if (groups == NULL || wire->groups == NULL) {
        return STATUS_NOMEM;
    }
    for (uint32_t i = 0; i < content->ngroups && status == STATUS_OK; i++) {
        groups[i] = (Orbloom__V1__SlotGroup)ORBLOOM__V1__SLOT_GROUP__INIT;
        groups[i].n_slots = content->rule.replicas;
        groups[i].slots = slots + (size_t)i * content->rule.replicas;
        wire->groups[i] = &groups[i];
    }
    return status;
}

static enum status get_group(const Orbloom__V1__SlotGroup *wire, uint32_t nslots,
                             struct slot_group *group)
{
    if (wire->n_slots != nslots) {
        return STATUS_MALFORMED;
    }
    *group = (struct slot_group){0};
    for (uint32_t i = 0; i < nslots; i++) {
        group->slots[i] = get_slot(wire->slots[i]);
    }
    return STATUS_OK;
}

static enum status get_groups(struct codec_arena *arena, const void *message, void *ours)
{
    const Orbloom__V1__EpochContent *wire = message;
    struct epoch_content *content = ours;
    enum status status = STATUS_OK;

    (void)arena;
    if (wire->n_groups == 0 || wire->n_groups > DOCUMENT_MAX_SHARDS ||
        wire->replicas > QUORUM_MAX_REPLICAS) {
        return STATUS_MALFORMED;
    }
    content->groups = heap_alloc(wire->n_groups, sizeof *content->groups);
    if (content->groups == NULL) {
        return STATUS_NOMEM;
    }
    content->ngroups = (uint32_t)wire->n_groups;
    for (size_t i = 0; i < wire->n_groups && status == STATUS_OK; i++) {
        status = get_group(wire->groups[i], wire->replicas, &content->groups[i]);
    }
    return status;
}

/* ---- which group each shard belongs to ---- */

static enum status put_shards(struct codec_scratch *scratch, const void *ours, void *message)
{
    const struct epoch_content *content = ours;
    Orbloom__V1__EpochContent *wire = message;
    size_t nshards = (size_t)1 << content->shard_bits;

    wire->n_group_of_shard = nshards;
    wire->group_of_shard = codec_scratch_take(scratch, nshards, sizeof *wire->group_of_shard);
    if (wire->group_of_shard == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < nshards; i++) {
        wire->group_of_shard[i] = content->group_of_shard[i];
    }
    return STATUS_OK;
}

static enum status get_shards(struct codec_arena *arena, const void *message, void *ours)
{
    const Orbloom__V1__EpochContent *wire = message;
    struct epoch_content *content = ours;

    (void)arena;
    if (wire->shard_bits >= 32 || wire->n_group_of_shard > DOCUMENT_MAX_SHARDS ||
        wire->n_group_of_shard != (size_t)1 << wire->shard_bits) {
        return STATUS_MALFORMED;
    }
    content->group_of_shard = heap_alloc(wire->n_group_of_shard, sizeof *content->group_of_shard);
    if (content->group_of_shard == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < wire->n_group_of_shard; i++) {
        if (wire->group_of_shard[i] >= content->ngroups) {
            return STATUS_MALFORMED;
        }
        content->group_of_shard[i] = (uint16_t)wire->group_of_shard[i];
    }
    return STATUS_OK;
}

/* ---- losses that operators have accepted: of few groups, so apart from these ---- */

static enum status put_loss(const struct slot_group *group, struct codec_scratch *scratch,
                            Orbloom__V1__AcceptedLoss *wire)
{
    Orbloom__V1__NodeLife *lives = codec_scratch_take(scratch, QUORUM_MAX_REPLICAS, sizeof *lives);

    wire->lives = codec_scratch_take(scratch, QUORUM_MAX_REPLICAS, sizeof *wire->lives);
    if (lives == NULL || wire->lives == NULL) {
        return STATUS_NOMEM;
    }
    wire->epoch = group->loss_epoch;
    while (wire->n_lives < QUORUM_MAX_REPLICAS && group->lost[wire->n_lives].node != 0) {
        Orbloom__V1__NodeLife *life = &lives[wire->n_lives];

        *life = (Orbloom__V1__NodeLife)ORBLOOM__V1__NODE_LIFE__INIT;
        life->node = group->lost[wire->n_lives].node;
        life->incarnation = group->lost[wire->n_lives].incarnation;
        wire->lives[wire->n_lives++] = life;
    }
    return STATUS_OK;
}

static enum status put_losses(struct codec_scratch *scratch, const void *ours, void *message)
{
    const struct epoch_content *content = ours;
    Orbloom__V1__EpochContent *wire = message;
    Orbloom__V1__AcceptedLoss *items = codec_scratch_take(scratch, content->ngroups, sizeof *items);
    enum status status = STATUS_OK;

    wire->losses = codec_scratch_take(scratch, content->ngroups, sizeof *wire->losses);
    if (items == NULL || wire->losses == NULL) {
        return STATUS_NOMEM;
    }
    for (uint32_t i = 0; i < content->ngroups && status == STATUS_OK; i++) {
        Orbloom__V1__AcceptedLoss *item = &items[wire->n_losses];

        if (content->groups[i].loss_epoch != 0) {
            *item = (Orbloom__V1__AcceptedLoss)ORBLOOM__V1__ACCEPTED_LOSS__INIT;
            item->group = i;
            status = put_loss(&content->groups[i], scratch, item);
            wire->losses[wire->n_losses++] = item;
        }
    }
    return status;
}

/* What is left open here, document_validate() looks at. */
static enum status get_losses(struct codec_arena *arena, const void *message, void *ours)
{
    const Orbloom__V1__EpochContent *wire = message;
    struct epoch_content *content = ours;

    (void)arena;
    for (size_t i = 0; i < wire->n_losses; i++) {
        const Orbloom__V1__AcceptedLoss *loss = wire->losses[i];
        struct slot_group *group =
            &content->groups[loss->group < content->ngroups ? loss->group : 0];

        if (loss->group >= content->ngroups || loss->n_lives == 0 ||
            loss->n_lives > QUORUM_MAX_REPLICAS || loss->epoch == 0 || group->loss_epoch != 0) {
            return STATUS_MALFORMED;
        }
        group->loss_epoch = loss->epoch;
        for (size_t k = 0; k < loss->n_lives; k++) {
            if (loss->lives[k]->node == 0) {
                return STATUS_MALFORMED;
            }
            group->lost[k] = (struct member){loss->lives[k]->node, loss->lives[k]->incarnation};
        }
    }
    return STATUS_OK;
}

/* ---- the content ---- */

#define WIRE_keyset Orbloom__V1__Keyset
static const struct binding keyset_rows[] = {
    ROW(keyset, id, UINT32),
    ROW(keyset, serving, BOOL),
};
static BINDING_TABLE(keyset, keyset, NULL);

#define WIRE_site_entry Orbloom__V1__SiteEntry
static const struct binding site_entry_rows[] = {
    ROW_AS(site_entry, id.high, id_high, UINT64),
    ROW_AS(site_entry, id.low, id_low, UINT64),
    ROW(site_entry, name, CHARS),
    ROW_AS(site_entry, life.number, life, UINT64),
    ROW_AS(site_entry, life.tag, life_tag, UINT64),
    ENUM_UNJUDGED(site_entry, state),
    ROW(site_entry, paused, BOOL),
    ROW(site_entry, resync, UINT64),
};
static BINDING_TABLE(site_entry, site_entry, NULL);

static const struct binding site_set_rows[] = {
    ARRAY(site_set, entries, count, site_entry, STATUS_MALFORMED),
    ROW(site_set, own, UINT32),
    ROW(site_set, takes_adds, BOOL),
    ROW(site_set, says_absent, BOOL),
    ROW(site_set, settled, BOOL),
    ROW(site_set, joins_anew, BOOL),
};
BINDING_TABLE(site_set, site_set, NULL);

/* Without sites the content has the bytes that it had before there were any. */
static enum status put_sites(struct codec_scratch *scratch, const void *ours, void *message)
{
    const struct epoch_content *content = ours;
    Orbloom__V1__EpochContent *wire = message;
    ProtobufCMessage *sites = NULL;
    enum status status = STATUS_OK;

    if (content->sites != NULL && content->sites->count > 0) {
        status = binding_put_new(binding_site_set(), scratch, content->sites, &sites);
        wire->sites = (Orbloom__V1__SiteSet *)sites;
    }
    return status;
}

static enum status get_sites(struct codec_arena *arena, const void *message, void *ours)
{
    const Orbloom__V1__EpochContent *wire = message;
    struct epoch_content *content = ours;

    if (wire->sites == NULL) {
        return STATUS_OK;
    }
    content->sites = heap_alloc(1, sizeof *content->sites);
    return content->sites != NULL
               ? binding_get(binding_site_set(), arena, wire->sites, content->sites)
               : STATUS_NOMEM;
}

/* Groups before the shards and losses, which name them. */
#define WIRE_epoch_content Orbloom__V1__EpochContent
static const struct binding epoch_content_rows[] = {
    ENUM_UNJUDGED(epoch_content, state),
    ROW_AS(epoch_content, rule.replicas, replicas, UINT32),
    ROW_AS(epoch_content, rule.write, write_quorum, UINT32),
    ROW_AS(epoch_content, rule.read, read_quorum, UINT32),
    ROW(epoch_content, shard_bits, UINT32),
    ROW(epoch_content, newest_slice, UINT64),
    ROW(epoch_content, named_epoch, UINT64),
    ROW_AS(epoch_content, uid.high, uid_high, UINT64),
    ROW_AS(epoch_content, uid.low, uid_low, UINT64),
    ROW(epoch_content, last_keyset, UINT32),
    ROW(epoch_content, name, CHARS),
    BY_HAND(epoch_content, groups, put_groups, get_groups),
    BY_HAND(epoch_content, group_of_shard, put_shards, get_shards),
    ARRAY(epoch_content, keysets, nkeysets, keyset, STATUS_MALFORMED),
    ROOM(epoch_content, chain, nchain, uint32_t, STATUS_MALFORMED),
    BY_HAND(epoch_content, losses, put_losses, get_losses),
    BY_HAND(epoch_content, sites, put_sites, get_sites),
};
BINDING_TABLE(epoch_content, epoch_content, NULL);

enum status codec_epoch_encode(struct filter_document *document)
{
    ProtobufCMessage *message = NULL;
    struct codec_scratch scratch;
    enum status status;

    assert(document->epoch_bytes == NULL);
    codec_scratch_init(&scratch);
    status = binding_put_new(binding_epoch_content(), &scratch, &document->content, &message);
    if (status == STATUS_OK) {
        document->epoch_size = protobuf_c_message_get_packed_size(message);
        document->epoch_bytes = heap_alloc(document->epoch_size, 1);
        status = document->epoch_bytes != NULL ? STATUS_OK : STATUS_NOMEM;
    }
    if (status == STATUS_OK) {
        protobuf_c_message_pack(message, document->epoch_bytes);
        document->epoch_hash = document_epoch_hash(
            span_of(document->epoch_bytes, document->epoch_size));
    }
    codec_scratch_fini(&scratch);
    return status;
}

/* ---- fields that this version does not know: what quorums agree on is not read in part ---- */

static bool has_unknown(const ProtobufCMessage *message);

static const void *member_at(const ProtobufCMessage *message, unsigned offset)
{
    return (const uint8_t *)message + offset;
}

/* As deep as messages are in each other by the schema: none is in itself. */
static bool field_has_unknown(const ProtobufCMessage *message,
                              const ProtobufCFieldDescriptor *field)
{
    const ProtobufCMessage *const *items;
    size_t count;

    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        items = member_at(message, field->offset);
        return *items != NULL && has_unknown(*items);
    }
    items = *(const ProtobufCMessage *const *const *)member_at(message, field->offset);
    count = *(const size_t *)member_at(message, field->quantifier_offset);
    for (size_t i = 0; i < count; i++) {
        if (has_unknown(items[i])) {
            return true;
        }
    }
    return false;
}

/* Not for messages with a `oneof`. */
static bool has_unknown(const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;

    if (message->n_unknown_fields > 0) {
        return true;
    }
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        if (descriptor->fields[i].type == PROTOBUF_C_TYPE_MESSAGE &&
            field_has_unknown(message, &descriptor->fields[i])) {
            return true;
        }
    }
    return false;
}

enum status codec_epoch_decode(struct codec_arena *arena, struct filter_document *document)
{
    ProtobufCMessage *message = NULL;
    enum status status = arena_unpack(arena, &orbloom__v1__epoch_content__descriptor,
                                      document->epoch_bytes, document->epoch_size, &message);

    if (status != STATUS_OK) {
        return status;
    }
    return has_unknown(message)
               ? STATUS_VERSION
               : binding_get(binding_epoch_content(), arena, message, &document->content);
}

/* ---- documents ---- */

static enum status put_epoch(struct codec_scratch *scratch, const void *ours, void *wire)
{
    const struct filter_document *document = ours;

    (void)scratch;
    ((Orbloom__V1__FilterDocument *)wire)->epoch_content = codec_put_span(
        span_of(document->epoch_bytes, document->epoch_size));
    return STATUS_OK;
}

/* As received: the hash is of these bytes, never of another encoding. */
static enum status keep_epoch_bytes(struct span bytes, struct filter_document *document)
{
    document->epoch_bytes = heap_alloc(bytes.size, 1);
    if (document->epoch_bytes == NULL) {
        return STATUS_NOMEM;
    }
    if (bytes.size > 0) {
        memcpy(document->epoch_bytes, bytes.data, bytes.size);
    }
    document->epoch_size = bytes.size;
    document->epoch_hash = document_epoch_hash(span_of(document->epoch_bytes, bytes.size));
    return STATUS_OK;
}

static enum status get_epoch(struct codec_arena *arena, const void *wire, void *ours)
{
    struct filter_document *document = ours;
    ProtobufCBinaryData bytes = ((const Orbloom__V1__FilterDocument *)wire)->epoch_content;
    enum status status = keep_epoch_bytes(codec_get_span(bytes), document);

    status = status != STATUS_OK ? status : codec_epoch_decode(arena, document);
    if (status == STATUS_OK && document->content.uid.high == 0 && document->content.uid.low == 0) {
        return STATUS_VERSION; /* Written before filters had uids. */
    }
    return status;
}

#define WIRE_generation Orbloom__V1__Generation
static const struct binding generation_rows[] = {
    ROW(generation, id, UINT32),
    ROW_AS(generation, geometry.seed, seed, UINT64),
    ROW_AS(generation, geometry.lines, lines, UINT64),
    ROW_AS(generation, geometry.z, z, UINT32),
    ROW_AS(generation, geometry.shard_bits, shard_bits, UINT32),
    ROW(generation, capacity, UINT64),
    ROW(generation, rate, UNJUDGED),
};
static BINDING_TABLE(generation, generation, NULL);

static uint64_t needs(const void *ours)
{
    return features_of(ours);
}

static enum status check(const void *ours)
{
    const char *reason = NULL;

    return document_validate(ours, &reason);
}

/* What only a later version writes is found with the epoch, and refused as that, before ranges are
 * looked at. */
#define WIRE_filter_document Orbloom__V1__FilterDocument
static const struct binding filter_document_rows[] = {
    NEEDS(filter_document, needs),
    ROW(filter_document, former_name, CHARS),
    ARRAY(filter_document, generations, ngenerations, generation, STATUS_MALFORMED),
    ROOM(filter_document, turns, nturns, uint32_t, STATUS_MALFORMED),
    BY_HAND(filter_document, epoch_content, put_epoch, get_epoch),
    ROW(filter_document, id, UINT64),
    ROW(filter_document, revision, UINT64),
    ROW(filter_document, epoch, UINT64),
    ROW(filter_document, capacity, UINT64),
    ROW(filter_document, rate, DOUBLE),
    ROW(filter_document, max_capacity, UINT64),
    ENUM(filter_document, hash, HASH_SIPHASH24, HASH_XXH3),
    ENUM(filter_document, when_unavailable, WHEN_UNAVAILABLE_ERROR, WHEN_UNAVAILABLE_MAYBE),
    ENUM(filter_document, when_full, WHEN_FULL_REFUSE, WHEN_FULL_EXPAND),
    ENUM(filter_document, keylog, KEYLOG_ON, KEYLOG_OFF),
    ENUM(filter_document, durability, DURABILITY_MEMORY, DURABILITY_SYNC),
    ROW(filter_document, window_us, UINT64),
    ROW(filter_document, nslices, UINT32),
    ROW(filter_document, max_staleness, UINT64),
    ROW(filter_document, acks, UINT32),
    ROW(filter_document, growth_held, BOOL),
    ROW(filter_document, fed_keys, UINT64),
    ROW_AS(filter_document, expiry.number, expiry, UINT64),
    ROW_AS(filter_document, expiry.after_us, expire_after_us, UINT64),
    ROW_AS(filter_document, expiry.counted_us, expiry_counted_us, UINT64),
    ROW_AS(filter_document, expiry.at_ms, expires_at_ms, UINT64),
    ROW(filter_document, replaces, UINT64),
    ROW(filter_document, load_source, UINT64),
    ROW(filter_document, loaded, UINT64),
    ROW(filter_document, owner, UINT32),
};
BINDING_TABLE(filter_document, filter_document, check);

enum status codec_filter_document_sign(struct filter_document *document,
                                       const struct cluster_key *key, struct buffer *out)
{
    enum status status = check(document);

    if (status == STATUS_OK && document->epoch_bytes == NULL) {
        status = codec_epoch_encode(document);
    }
    return status != STATUS_OK
               ? status
               : codec_signed_put(document, DOCUMENT_FILTER, binding_filter_document(), key, out);
}

enum status codec_filter_document_open(struct span bytes, const struct cluster_key *key,
                                       struct filter_document *out)
{
    enum status status = codec_signed_open(bytes, DOCUMENT_FILTER, binding_filter_document(), key,
                                           out);

    if (status != STATUS_OK) {
        document_fini(out);
    }
    return status;
}
