/* What is read out of a document: names of its values, roles of members, slots and groups. What
 * a valid one must fulfil is in document_rules.c. */
#include "map/document.h"

#include "base/heap.h"
#include "base/mutant.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

const char *replica_state_name(enum replica_state state)
{
    switch (state) {
    case REPLICA_NONE:
        return "none";
    case REPLICA_BUILDING:
        return "building";
    case REPLICA_JOINING:
        return "joining";
    case REPLICA_FULL:
        return "full";
    }
    return "unknown";
}

const char *filter_state_name(enum filter_state state)
{
    switch (state) {
    case FILTER_ACTIVE:
        return "active";
    case FILTER_DROPPING:
        return "dropping";
    case FILTER_DROPPED:
        return "dropped";
    }
    return "unknown";
}

const char *when_unavailable_name(enum when_unavailable policy)
{
    switch (policy) {
    case WHEN_UNAVAILABLE_ERROR:
        return "error";
    case WHEN_UNAVAILABLE_MAYBE:
        return "maybe";
    }
    return "unknown";
}

const char *when_full_name(enum when_full policy)
{
    switch (policy) {
    case WHEN_FULL_REFUSE:
        return "refuse";
    case WHEN_FULL_EXPAND:
        return "expand";
    }
    return "unknown";
}

const char *keylog_name(enum keylog keylog)
{
    switch (keylog) {
    case KEYLOG_ON:
        return "on";
    case KEYLOG_OFF:
        return "off";
    }
    return "unknown";
}

const char *durability_name(enum durability durability)
{
    switch (durability) {
    case DURABILITY_MEMORY:
        return "memory";
    case DURABILITY_OS:
        return "os";
    case DURABILITY_SYNC:
        return "sync";
    }
    return "unknown";
}

bool filter_uid_equal(const struct filter_uid *a, const struct filter_uid *b)
{
    return a->high == b->high && a->low == b->low;
}

const char *filter_uid_show(const struct filter_uid *uid, char text[FILTER_UID_TEXT_BYTES])
{
    (void)snprintf(text, FILTER_UID_TEXT_BYTES, "%016" PRIx64 "%016" PRIx64, uid->high, uid->low);
    return text;
}

static bool name_byte(uint8_t byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte >= '0' && byte <= '9') || byte == '.' || byte == '_' || byte == ':' || byte == '-';
}

bool document_name_valid(struct span name)
{
    size_t i;

    if (name.size == 0 || name.size >= DOCUMENT_NAME_BYTES) {
        return false;
    }
    for (i = 0; i < name.size; i++) {
        if (!name_byte(name.data[i])) {
            return false;
        }
    }
    return true;
}

void document_epoch_advance(struct filter_document *self)
{
    self->epoch++;
    self->revision++;
    heap_free(self->epoch_bytes);
    self->epoch_bytes = NULL;
    self->epoch_size = 0;
    self->epoch_hash = 0;
}

uint64_t document_epoch_hash(struct span epoch_bytes)
{
    return XXH3_64bits(epoch_bytes.data, epoch_bytes.size);
}

void document_fini(struct filter_document *self)
{
    heap_free(self->content.groups);
    heap_free(self->content.group_of_shard);
    heap_free(self->content.sites);
    heap_free(self->epoch_bytes);
    *self = (struct filter_document){0};
}

uint32_t document_nshards(const struct filter_document *self)
{
    assert(self->content.shard_bits < 32);
    return 1u << self->content.shard_bits;
}

const struct generation *document_generation(const struct filter_document *self)
{
    assert(self->ngenerations > 0 && self->ngenerations <= DOCUMENT_MAX_GENERATIONS);
    return &self->generations[self->ngenerations - 1];
}

const struct generation *document_generation_of(const struct filter_document *self, uint32_t id)
{
    for (uint32_t i = 0; i < self->ngenerations; i++) {
        if (self->generations[i].id == id) {
            return &self->generations[i];
        }
    }
    return NULL;
}

bool document_has_turn(const struct filter_document *self, uint32_t node)
{
    bool has = self->ngenerations == 1;

    for (uint32_t i = 0; i < self->nturns; i++) {
        has = has || self->turns[i] == node;
    }
    return has;
}

uint64_t document_shard_bytes(const struct filter_document *self)
{
    uint64_t lines = document_generation(self)->geometry.lines;

    for (uint32_t i = 0; document_is_chain(self) && i + 1 < self->ngenerations; i++) {
        lines += self->generations[i].geometry.lines;
    }
    return lines * LINE_BYTES;
}

bool document_is_chain(const struct filter_document *self)
{
    return self->content.nchain > 0;
}

bool document_is_loading(const struct filter_document *self)
{
    return document_load_open(self->load_source, self->loaded);
}

bool document_has_sites(const struct filter_document *self)
{
    return document_sites(self)->count > 0;
}

const struct site_set *document_sites(const struct filter_document *self)
{
    static const struct site_set none;

    return self->content.sites != NULL ? self->content.sites : &none;
}

const char *document_site_name(const struct filter_document *self)
{
    const struct site_entry *own = site_set_own(document_sites(self));

    return own != NULL ? own->name : "";
}

struct site_id document_site_id(const struct filter_document *self)
{
    const struct site_entry *own = site_set_own(document_sites(self));

    return own != NULL ? own->id : (struct site_id){0};
}

enum status document_put_sites(struct filter_document *self, const struct site_set *sites)
{
    struct site_set *copy = NULL;

    if (sites->count > 0) {
        copy = heap_alloc(1, sizeof *copy);
        if (copy == NULL) {
            return STATUS_NOMEM;
        }
        *copy = *sites;
    }
    heap_free(self->content.sites);
    self->content.sites = copy;
    return STATUS_OK;
}

bool document_logs_keys(const struct filter_document *self)
{
    return self->keylog == KEYLOG_ON && self->durability != DURABILITY_MEMORY;
}

static bool member_matches(const struct member *member, uint32_t node, uint64_t incarnation)
{
    return member->node == node && (incarnation == 0 || member->incarnation == incarnation);
}

int document_slot_of(const struct filter_document *self, uint32_t group, uint32_t node,
                     uint64_t incarnation)
{
    const struct slot *slots;
    uint32_t i;

    assert(group < self->content.ngroups);
    slots = self->content.groups[group].slots;
    for (i = 0; node != 0 && i < self->content.rule.replicas; i++) {
        if (member_matches(&slots[i].current, node, incarnation) ||
            member_matches(&slots[i].incoming, node, incarnation)) {
            return (int)i;
        }
    }
    return -1;
}

bool document_has_member(const struct filter_document *self, uint32_t node)
{
    for (uint32_t group = 0; group < self->content.ngroups; group++) {
        if (document_slot_of(self, group, node, 0) >= 0) {
            return true;
        }
    }
    return false;
}

bool member_equal(const struct member *a, const struct member *b)
{
    return a->node == b->node && a->incarnation == b->incarnation;
}

bool slot_is_pair(const struct slot *slot)
{
    return slot->incoming.node != 0;
}

bool slot_group_gave_up(const struct slot_group *group, const struct member *member)
{
    bool found = false;

    for (uint32_t i = 0; i < QUORUM_MAX_REPLICAS && group->lost[i].node != 0; i++) {
        found = found || member_equal(&group->lost[i], member);
    }
    return found;
}

const struct member *slot_reader(const struct slot *slot)
{
    return slot->reads_incoming ? &slot->incoming : &slot->current;
}

uint32_t slot_writers(const struct slot *slot, const struct member *writers[2])
{
    writers[0] = slot_reader(slot);
    writers[1] = slot->reads_incoming ? &slot->current : &slot->incoming;
    return slot_is_pair(slot) ? 2 : 1;
}

enum member_role member_role(const struct filter_document *document, uint32_t group, uint32_t node,
                             uint64_t incarnation)
{
    const struct member self = {.node = node, .incarnation = incarnation};
    int index = document_slot_of(document, group, node, 0);
    const struct slot *slot;

    if (index < 0) {
        return MEMBER_NONE;
    }
    slot = &document->content.groups[group].slots[index];
    if (member_equal(slot_reader(slot), &self)) {
        return !MUTANT(LOSS_COMES_BACK) &&
                       slot_group_gave_up(&document->content.groups[group], &self)
                   ? MEMBER_JOINING
                   : MEMBER_FULL;
    }
    return slot->reads_incoming && member_equal(&slot->current, &self) ? MEMBER_LEAVING
                                                                       : MEMBER_JOINING;
}

void node_list_fini(struct node_list *self)
{
    heap_free(self->nodes);
    *self = (struct node_list){0};
}

const struct node_record *node_list_find(const struct node_list *self, uint32_t id)
{
    uint32_t i;

    for (i = 0; i < self->count; i++) {
        if (self->nodes[i].id == id) {
            return &self->nodes[i];
        }
    }
    return NULL;
}

const struct node_record *node_list_find_name(const struct node_list *self, const char *name)
{
    uint32_t i;

    for (i = 0; i < self->count; i++) {
        if (strcmp(self->nodes[i].name, name) == 0) {
            return &self->nodes[i];
        }
    }
    return NULL;
}

const char *process_address(const char *endpoint, bool curve, char text[NODE_ADDRESS_BYTES])
{
    static const char scheme[] = "tcp://";
    bool other = curve && strncmp(endpoint, scheme, sizeof scheme - 1) == 0;

    (void)snprintf(text, NODE_ADDRESS_BYTES, "%s%s", other ? "curve://" : "",
                   other ? endpoint + sizeof scheme - 1 : endpoint);
    return text;
}

const char *node_record_address(const struct node_record *record, char text[NODE_ADDRESS_BYTES])
{
    return process_address(record->endpoint, record->curve, text);
}

bool node_record_leaves(const struct node_record *record)
{
    return record->draining || record->replaced_by != 0;
}

bool node_list_pauses(const struct node_list *self, const struct site_id *site)
{
    for (uint32_t i = 0; i < self->npaused; i++) {
        if (site_id_equal(&self->paused[i].id, site)) {
            return true;
        }
    }
    return false;
}

enum status node_list_copy(const struct node_list *self, struct node_list *out)
{
    struct node_record *nodes = NULL;

    if (self->count > 0) {
        nodes = heap_alloc(self->count, sizeof *nodes);
        if (nodes == NULL) {
            return STATUS_NOMEM;
        }
        memcpy(nodes, self->nodes, self->count * sizeof *nodes);
    }
    *out = *self;
    out->nodes = nodes;
    return STATUS_OK;
}
