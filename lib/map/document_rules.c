/* document_validate() and node_list_validate(): rule by rule, what decoded records must fulfil
 * before anybody acts on them. */
#include "map/acks.h"
#include "map/document.h"
#include "map/history/expiry.h"
#include "map/history/keyset.h"
#include "map/reader.h"
#include "map/rename.h"
#include "map/staleness.h"

#include <assert.h>
#include <string.h>

enum { RULES_MAX_SHARD_BITS = 12 };

_Static_assert(1 << RULES_MAX_SHARD_BITS == DOCUMENT_MAX_SHARDS, "shards and their bits");

static const uint64_t max_lines = (1ull << 40) / LINE_BYTES; /* 1 TiB a shard */

/* A name in its array: ends there, and is valid. */
static bool name_held(const char name[DOCUMENT_NAME_BYTES])
{
    return document_name_valid(span_of(name, strnlen(name, DOCUMENT_NAME_BYTES)));
}

/* Each of the rules below returns NULL, or what is wrong. */

static const char *rule_numbers(const struct filter_document *self)
{
    if (self->id == 0) {
        return "the filter id is 0";
    }
    if (self->epoch == 0 || self->epoch > self->revision) {
        return "the epoch is not within 1 and the revision";
    }
    if (self->epoch_bytes != NULL &&
        document_epoch_hash(span_of(self->epoch_bytes, self->epoch_size)) != self->epoch_hash) {
        return "the hash is not that of the epoch's bytes";
    }
    return NULL;
}

static const char *rule_wishes(const struct filter_document *self)
{
    if (self->capacity == 0 || self->capacity > self->max_capacity) {
        return "the capacity is not within 1 and the maximum";
    }
    if (!(self->rate > 0 && self->rate < 1)) {
        return "the rate is not between 0 and 1";
    }
    if (self->hash != HASH_SIPHASH24 && self->hash != HASH_XXH3) {
        return "the hash is unknown";
    }
    if (self->when_unavailable != WHEN_UNAVAILABLE_ERROR &&
        self->when_unavailable != WHEN_UNAVAILABLE_MAYBE) {
        return "when_unavailable is unknown";
    }
    if (self->when_full != WHEN_FULL_REFUSE && self->when_full != WHEN_FULL_EXPAND) {
        return "when_full is unknown";
    }
    if (self->keylog != KEYLOG_ON && self->keylog != KEYLOG_OFF) {
        return "keylog is unknown";
    }
    if (self->durability < DURABILITY_MEMORY || self->durability > DURABILITY_SYNC) {
        return "the durability is unknown";
    }
    if (self->keylog == KEYLOG_OFF && self->durability == DURABILITY_MEMORY) {
        return "a filter in memory has no log that could do without keys";
    }
    if (!acks_valid(self->acks) || self->acks != acks_stored(self->acks)) {
        return "adds are acknowledged by 2 to 8 sites, or by each, or by this one alone: 0";
    }
    return !staleness_valid(self->max_staleness) ? "the bound of checks is above 30 days" : NULL;
}

static const char *rule_content(const struct filter_document *self)
{
    const struct epoch_content *content = &self->content;

    if (content->uid.high == 0 && content->uid.low == 0) {
        return "there is no uid";
    }
    if (!name_held(content->name)) {
        return "the name is not one";
    }
    if (content->state < FILTER_ACTIVE || content->state > FILTER_DROPPED) {
        return "the state is unknown";
    }
    if (quorum_rule_check(&content->rule) != STATUS_OK) {
        return "the quorums do not meet";
    }
    if (content->shard_bits > RULES_MAX_SHARD_BITS) {
        return "there are too many shards";
    }
    if (content->ngroups == 0 || content->ngroups > document_nshards(self) ||
        content->groups == NULL || content->group_of_shard == NULL) {
        return "the slot groups are not within 1 and the shards";
    }
    return NULL;
}

static const char *rule_shards(const struct filter_document *self)
{
    uint32_t i;

    for (i = 0; i < document_nshards(self); i++) {
        if (self->content.group_of_shard[i] >= self->content.ngroups) {
            return "a shard names a slot group that is not there";
        }
    }
    return NULL;
}

static const char *slot_fault(const struct slot *slot)
{
    if (slot->current.node == 0 || slot->current.incarnation == 0) {
        return "a slot is empty";
    }
    if (slot->incoming.node == 0 && (slot->incoming.incarnation != 0 || slot->reads_incoming)) {
        return "a slot changes to no node";
    }
    if (slot->incoming.node != 0 && slot->incoming.incarnation == 0) {
        return "a slot changes to a node without incarnation";
    }
    if (slot->incoming.node == slot->current.node &&
        slot->incoming.incarnation == slot->current.incarnation) {
        return "a slot changes to what it is";
    }
    return NULL;
}

/* The two may share a node only within a slot: a node that lost its data replaces itself. */
static bool slots_overlap(const struct slot *a, const struct slot *b)
{
    return a->current.node == b->current.node || a->current.node == b->incoming.node ||
           a->incoming.node == b->current.node ||
           (a->incoming.node != 0 && a->incoming.node == b->incoming.node);
}

static const char *group_fault(const struct slot_group *group, uint32_t replicas)
{
    const char *fault;
    uint32_t i;
    uint32_t k;

    for (i = 0; i < replicas; i++) {
        fault = slot_fault(&group->slots[i]);
        if (fault != NULL) {
            return fault;
        }
        for (k = 0; k < i; k++) {
            if (slots_overlap(&group->slots[i], &group->slots[k])) {
                return "a node is in two slots of a group";
            }
        }
    }
    return NULL;
}

static const char *loss_fault(const struct slot_group *group, uint32_t replicas, uint64_t epoch)
{
    if ((group->loss_epoch == 0) != (group->lost[0].node == 0) || group->loss_epoch > epoch) {
        return "a loss was accepted in no epoch, or one to come, or of no life";
    }
    for (uint32_t i = 0; i < QUORUM_MAX_REPLICAS && group->lost[i].node != 0; i++) {
        if (group->lost[i].incarnation == 0) {
            return "a node is given up without an incarnation";
        }
    }
    for (uint32_t i = 0; i < replicas; i++) {
        if (slot_group_gave_up(group, &group->slots[i].incoming)) {
            return "a life that was given up comes back";
        }
    }
    return NULL;
}

static const char *rule_groups(const struct filter_document *self)
{
    const char *fault = NULL;
    uint32_t i;

    for (i = 0; i < self->content.ngroups && fault == NULL; i++) {
        fault = group_fault(&self->content.groups[i], self->content.rule.replicas);
        fault = fault != NULL ? fault
                              : loss_fault(&self->content.groups[i], self->content.rule.replicas,
                                           self->epoch);
    }
    return fault;
}

static const char *geometry_fault(const struct geometry *geometry, uint32_t shard_bits)
{
    if (geometry->z != 1 && geometry->z != 2) {
        return "a generation's z is neither 1 nor 2";
    }
    if (!lines_shape_holds(geometry->lines, geometry->z) || geometry->lines > max_lines) {
        return "the lines of a generation are neither a multiple of 64 nor, with z = 1, fewer; "
               "or they are too many";
    }
    return geometry->shard_bits == shard_bits ? NULL : "a generation has other shards";
}

static const char *rule_generations(const struct filter_document *self)
{
    const char *fault = NULL;
    uint32_t i;
    uint32_t k;

    if (self->ngenerations == 0 || self->ngenerations > DOCUMENT_MAX_GENERATIONS) {
        return "there are no generations, or too many";
    }
    for (i = 0; i < self->ngenerations && fault == NULL; i++) {
        const struct generation *generation = &self->generations[i];

        if (generation->id == 0 || generation->capacity == 0) {
            return "a generation has no id or no capacity";
        }
        if (!(generation->rate >= 0 && generation->rate < 1)) {
            return "a generation's rate is not between 0 and 1";
        }
        for (k = 0; k < i; k++) {
            if (generation->id == self->generations[k].id) {
                return "two generations have one id";
            }
        }
        fault = geometry_fault(&generation->geometry, self->content.shard_bits);
    }
    return fault;
}

/* What a chain names are the document's generations, in their order; one more may be on its way. */
static const char *chain_fault(const struct filter_document *self)
{
    const struct epoch_content *content = &self->content;

    if (content->nchain > DOCUMENT_MAX_GENERATIONS || content->nchain > self->ngenerations ||
        self->ngenerations > content->nchain + 1) {
        return "the generations are not those of the chain, and one more at most";
    }
    for (uint32_t i = 0; i < self->ngenerations; i++) {
        if (i < content->nchain && content->chain[i] != self->generations[i].id) {
            return "the chain names other generations";
        }
        if (i > 0 && self->generations[i].id < self->generations[i - 1].id) {
            return "a chain's generations are not in the order in which they came";
        }
    }
    return NULL;
}

/* All of them are read: so their rates add up. */
static const char *rule_chain(const struct filter_document *self)
{
    static const double rounding = 1e-9;
    double sum = 0;

    if (!document_is_chain(self)) {
        return self->keylog == KEYLOG_OFF && self->ngenerations > 1
                   ? "without key log there are several generations, and no chain of them"
                   : NULL;
    }
    if (document_logs_keys(self) || self->content.nkeysets > 1 || self->window_us != 0) {
        return "there is a chain of generations, though there is a key log, a window or a rebuild";
    }
    for (uint32_t i = 0; i < self->ngenerations; i++) {
        if (self->generations[i].rate <= 0) {
            return "a generation of a chain has no rate of its own";
        }
        sum += self->generations[i].rate;
    }
    return sum > self->rate * (1 + rounding)
               ? "the rates of a chain's generations are more than the filter's together"
               : chain_fault(self);
}

static const char *rule_turns(const struct filter_document *self)
{
    if (self->nturns > DOCUMENT_MAX_TURNS) {
        return "too many nodes have a turn";
    }
    for (uint32_t i = 0; i < self->nturns; i++) {
        if (self->turns[i] == 0) {
            return "no node has a turn";
        }
    }
    return NULL;
}

/* The last rules tell what is well formed, but asks for more than this version does. To take it for
 * something simpler would lose keys. */

/* While a list is rebuilt from, the second keyset is the one that is made. */
static const char *rebuild_fault(const struct filter_document *self)
{
    const struct epoch_content *content = &self->content;

    if (content->nkeysets == 1) {
        return NULL;
    }
    if (content->nkeysets > 2 || !content->keysets[0].serving || content->keysets[1].serving) {
        return "of several keysets, other than one that serves and one that is made are not "
               "served by this version";
    }
    if (self->keylog == KEYLOG_OFF) {
        return "without key log, rebuilding from a list is not served by this version: nothing "
               "tells which keyset a bit is of";
    }
    if (self->durability == DURABILITY_MEMORY) {
        return "in memory, rebuilding from a list is not served by this version: a node that "
               "restarts would lack one of the keysets";
    }
    return NULL;
}

static const char *slices_fault(const struct filter_document *self)
{
    bool any = self->window_us != 0 || self->nslices != 0 || self->content.newest_slice != 0;
    bool whole = self->window_us != 0 && self->nslices != 0 && self->content.newest_slice != 0;

    if (!any) {
        return NULL;
    }
    if (!whole || self->nslices > DOCUMENT_MAX_SLICES) {
        return "windows without slices, or with too many, are not served by this version";
    }
    if (self->content.nkeysets > 1) {
        return "rebuilding a window from a list is not served by this version";
    }
    if (self->keylog == KEYLOG_OFF) {
        return "windows without key log are not served by this version: nothing tells which slice "
               "a bit is of";
    }
    if (self->durability == DURABILITY_MEMORY) {
        return "windows in memory are not served by this version: a node that restarts would lack "
               "all slices";
    }
    return NULL;
}

/* Sites give each other keys out of their logs, with no word of the slice or keyset that these are
 * of; and one that refuses a key which the others have can never be equal to them. */
static const char *sites_served_fault(const struct filter_document *self)
{
    if (!document_has_sites(self)) {
        return NULL;
    }
    if (!document_logs_keys(self)) {
        return "without a log of keys on a disk, several sites are not served by this version: "
               "there is nothing to give them";
    }
    if (self->when_full != WHEN_FULL_EXPAND) {
        return "several sites with when_full refuse are not served by this version: keys that the "
               "others have would be refused";
    }
    if (self->window_us != 0) {
        return "a window in several sites is not served by this version";
    }
    if (self->expiry.number != 0) {
        return "an expiry in several sites is not served by this version";
    }
    return self->content.nkeysets == 1 ? NULL
                                       : "rebuilding from a list in several sites is not served by "
                                         "this version";
}

static const char *rule_served(const struct filter_document *self)
{
    const char *fault = slices_fault(self);

    fault = fault != NULL ? fault : rebuild_fault(self);
    return fault != NULL ? fault : sites_served_fault(self);
}

static const char *rule_sites(const struct filter_document *self)
{
    return sites_fault(document_sites(self));
}

static const char *rule_load(const struct filter_document *self)
{
    bool within = self->loaded >= DOCUMENT_LOAD_FIRST && self->loaded <= DOCUMENT_LOAD_END;

    return self->load_source != 0 ? within ? NULL : "what is loaded is not within a dump"
           : self->loaded == 0    ? NULL
                                  : "something of no dump is loaded";
}

enum status document_validate(const struct filter_document *self, const char **reason)
{
    static const char *(*const rules[])(const struct filter_document *self) = {
        rule_numbers, rule_wishes,  rule_content,     rule_shards, rule_groups,
        reader_fault, keyset_fault, rule_generations, rule_chain,  rule_turns,
        expiry_fault, rename_fault, rule_load,        rule_sites,
    };
    size_t i;

    for (i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        *reason = rules[i](self);
        if (*reason != NULL) {
            return STATUS_MALFORMED;
        }
    }
    *reason = rule_served(self);
    return *reason == NULL ? STATUS_OK : STATUS_VERSION;
}

static const char *record_fault(const struct node_record *record)
{
    if (record->id == 0) {
        return "a node's id is 0";
    }
    if (!name_held(record->name) || !name_held(record->host)) {
        return "the name or host of a node is not one";
    }
    if (record->zone[0] != '\0' && !name_held(record->zone)) {
        return "the zone of a node is not a name";
    }
    if (record->endpoint[0] == '\0' ||
        strnlen(record->endpoint, DOCUMENT_TEXT_BYTES) == DOCUMENT_TEXT_BYTES) {
        return "a node has no endpoint";
    }
    return record->durable && record->boot == 0 ? "a node with a disk has no boot" : NULL;
}

static const char *paused_fault(const struct node_list *self)
{
    for (uint32_t i = 0; i < self->npaused; i++) {
        const struct paused_site *site = &self->paused[i];

        if ((site->id.high == 0 && site->id.low == 0) ||
            !site_name_valid(span_of(site->name, strnlen(site->name, SITE_NAME_BYTES)))) {
            return "a paused site has no id or name";
        }
        for (uint32_t k = 0; k < i; k++) {
            if (site_id_equal(&site->id, &self->paused[k].id)) {
                return "a site is paused twice";
            }
        }
    }
    return NULL;
}

enum status node_list_validate(const struct node_list *self, const char **reason)
{
    uint32_t i;
    uint32_t k;

    *reason = self->count > DOCUMENT_MAX_NODES ? "there are too many nodes" : NULL;
    for (i = 0; i < self->count && *reason == NULL; i++) {
        *reason = record_fault(&self->nodes[i]);
        for (k = 0; k < i && *reason == NULL; k++) {
            if (self->nodes[i].id == self->nodes[k].id ||
                strcmp(self->nodes[i].name, self->nodes[k].name) == 0) {
                *reason = "two nodes have one id or name";
            }
        }
    }
    *reason = *reason == NULL ? paused_fault(self) : *reason;
    *reason = *reason == NULL ? paused_fault(self) : *reason;
    return *reason == NULL ? STATUS_OK : STATUS_MALFORMED;
}
