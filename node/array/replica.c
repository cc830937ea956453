/* Follows the documents of a filter: which groups come, go or go on, which arrays stand, and
 * when all of the log is in them. */
#include "node/array/replica.h"

#include "base/heap.h"
#include "base/mutant.h"
#include "map/history/expansion_mix.h"
#include "node/array/expansion_layers.h"

#include <assert.h>

static bool hosts_shard(const struct arrays *self, const struct filter_document *document,
                        uint32_t shard)
{
    return self->groups[document->content.group_of_shard[shard]].hosted;
}

/* Returns how many shards are hosted here. */
static uint32_t fill_groups(struct arrays *self, const struct filter_document *document,
                            uint32_t node, uint64_t incarnation)
{
    uint32_t hosted = 0;

    for (uint32_t shard = 0; shard < self->nshards; shard++) {
        self->groups[document->content.group_of_shard[shard]].nshards++;
    }
    for (uint32_t i = 0; i < self->ngroups; i++) {
        struct replica_group *group = &self->groups[i];

        group->hosted = document_slot_of(document, i, node, 0) >= 0;
        group->full = member_role(document, i, node, incarnation) == MEMBER_FULL;
        hosted += group->hosted ? group->nshards : 0;
    }
    return hosted;
}

static enum status make_layer(struct arrays *self, const struct filter_document *document,
                              const struct generation *generation, struct layer **out)
{
    bool *hosted = heap_alloc(self->nshards, sizeof *hosted);
    enum status status;

    if (hosted == NULL) {
        return STATUS_NOMEM;
    }
    for (uint32_t shard = 0; shard < self->nshards; shard++) {
        hosted[shard] = hosts_shard(self, document, shard);
    }
    status = layer_create(generation, hosted, out);
    heap_free(hosted);
    return status;
}

/* What keys are counted for may change with the generations that the document lists. */
static void follow_capacity(struct arrays *self, const struct filter_document *document)
{
    self->mixed_keys = expansion_mix_keys(document);
    if (self->expansion != NULL) {
        expansion_layers_follow(self, document);
        return;
    }
    for (uint32_t i = 0; i < self->ngroups; i++) {
        struct replica_group *group = &self->groups[i];

        group->keys_capacity = arrays_room(self, arrays_base(self), group->nshards);
    }
}

enum status arrays_create(const struct filter_document *document,
                          const struct generation *generation, uint32_t node, uint64_t incarnation,
                          uint64_t room_bytes, struct arrays **out)
{
    struct arrays *self = heap_zalloc(1, sizeof *self);
    enum status status = STATUS_NOMEM;
    uint32_t hosted;

    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->nshards = document_nshards(document);
    self->ngroups = document->content.ngroups;
    self->groups = heap_zalloc(self->ngroups, sizeof *self->groups);
    if (self->groups == NULL) {
        goto fail;
    }
    hosted = fill_groups(self, document, node, incarnation);
    self->bytes = hosted * lines_shard_bytes(&generation->geometry);
    if (self->bytes > room_bytes) {
        status = STATUS_NO_SPACE;
        goto fail;
    }
    if (hosted == 0) {
        arrays_destroy(&self);
        *out = NULL;
        return STATUS_OK;
    }
    status = make_layer(self, document, generation, &self->layers[0]);
    if (status != STATUS_OK) {
        goto fail;
    }
    self->nlayers = 1;
    follow_capacity(self, document);
    *out = self;
    return STATUS_OK;

fail:
    arrays_destroy(&self);
    return status;
}

void arrays_destroy(struct arrays **set)
{
    struct arrays *self = *set;

    *set = NULL;
    if (self == NULL) {
        return;
    }
    expansion_layers_destroy(self);
    for (uint32_t i = 0; i < REPLICA_LAYERS; i++) {
        layer_destroy(&self->layers[i]);
    }
    heap_free(self->groups);
    heap_free(self);
}

/* Its keys stay in the log; nothing asks for them here. */
static void leave_group(struct arrays *self, const struct filter_document *document, uint32_t group)
{
    struct layer *layer = arrays_base(self);

    for (uint32_t shard = 0; shard < self->nshards; shard++) {
        if (document->content.group_of_shard[shard] == group && layer->shards[shard] != NULL) {
            layer_leave(layer, shard);
        }
    }
    self->bytes = layer_bytes(layer);
    self->groups[group] = (struct replica_group){.nshards = self->groups[group].nshards};
}

/* Does anything of it go on? Not when groups come or go while there are two layers, nor when groups
 * come that might have outgrown the layer that serves: then everything is made anew, of the wanted
 * generation. */
static bool goes_on(const struct arrays *self, const struct filter_document *document,
                    uint32_t node)
{
    bool grown = arrays_base(self)->generation.id == document_generation(document)->id;
    uint32_t stay = 0;
    bool comes = false;
    bool leaves = false;

    for (uint32_t i = 0; i < self->ngroups; i++) {
        bool wanted = document_slot_of(document, i, node, 0) >= 0;

        comes = comes || (wanted && !self->groups[i].hosted);
        leaves = leaves || (!wanted && self->groups[i].hosted);
        stay += wanted && self->groups[i].hosted;
    }
    return stay > 0 && !((comes || leaves) && self->expansion != NULL) && !(comes && !grown);
}

bool arrays_follow(struct arrays *self, const struct filter_document *document, uint32_t node,
                   uint64_t incarnation)
{
    if (!goes_on(self, document, node)) {
        return false;
    }
    for (uint32_t i = 0; i < self->ngroups; i++) {
        struct replica_group *group = &self->groups[i];

        if (group->hosted && document_slot_of(document, i, node, 0) < 0) {
            leave_group(self, document, i);
        }
        group->full = member_role(document, i, node, incarnation) == MEMBER_FULL;
    }
    follow_capacity(self, document);
    return true;
}

static bool is_gained(const struct arrays *self, const struct filter_document *document,
                      uint32_t node, uint32_t group)
{
    return !self->groups[group].hosted && document_slot_of(document, group, node, 0) >= 0;
}

uint64_t arrays_lacks_bytes(const struct arrays *self, const struct filter_document *document,
                            uint32_t node)
{
    uint64_t shards = 0;

    for (uint32_t i = 0; i < self->ngroups; i++) {
        shards += is_gained(self, document, node, i) ? self->groups[i].nshards : 0;
    }
    return shards * arrays_base(self)->shard_bytes;
}

/* What the groups that cover the log have stays; of others everything is read back again. */
static void begin_anew(struct arrays *self, const struct filter_document *document, bool empty)
{
    struct layer *layer = arrays_base(self);
    bool ready = arrays_ready(self);

    for (uint32_t i = 0; i < self->ngroups; i++) {
        struct replica_group *group = &self->groups[i];

        group->stands = group->hosted && (ready || group->stands);
        group->keys = group->stands ? group->keys : 0;
    }
    for (uint32_t shard = 0; shard < self->nshards; shard++) {
        if (layer->shards[shard] != NULL &&
            !self->groups[document->content.group_of_shard[shard]].stands) {
            layer_drop(layer, shard);
        }
    }
    self->built_shards = 0;
    self->built_bytes = 0;
    self->uncounted = false;
    self->loaded = empty || MUTANT(GAIN_UNFILLED);
    self->runs_read = false;
    self->loaded_part = 0;
}

enum status arrays_gain(struct arrays *self, const struct filter_document *document, uint32_t node,
                        bool empty)
{
    struct layer *layer = arrays_base(self);
    bool *added = heap_alloc(self->nshards, sizeof *added);
    enum status status = STATUS_NOMEM;

    assert(self->expansion == NULL);
    for (uint32_t shard = 0; added != NULL && shard < self->nshards; shard++) {
        added[shard] = is_gained(self, document, node, document->content.group_of_shard[shard]);
    }
    if (added != NULL) {
        status = layer_host(layer, added);
    }
    heap_free(added);
    if (status != STATUS_OK) {
        return status;
    }
    begin_anew(self, document, empty);
    for (uint32_t i = 0; i < self->ngroups; i++) {
        self->groups[i].hosted |= is_gained(self, document, node, i);
    }
    self->bytes = layer_bytes(layer);
    return STATUS_OK;
}

bool arrays_hosts(const struct arrays *self, uint32_t group)
{
    return group < self->ngroups && self->groups[group].hosted;
}

bool arrays_covers(const struct arrays *self, uint32_t group)
{
    return arrays_hosts(self, group) && (self->groups[group].stands || arrays_ready(self));
}

bool arrays_covers_any(const struct arrays *self)
{
    bool any = false;

    for (uint32_t i = 0; i < self->ngroups && !any; i++) {
        any = arrays_covers(self, i);
    }
    return any;
}

/* Arrays that stand need no pages any more. */
bool arrays_build(struct arrays *self, const struct filter_document *document, uint64_t slice_bytes)
{
    struct layer *layer = arrays_base(self);

    while (!arrays_built(self) && slice_bytes > 0) {
        uint32_t group = document->content.group_of_shard[self->built_shards];
        bool skips = layer->shards[self->built_shards] == NULL || self->groups[group].stands;
        uint64_t step =
            skips ? 0 : layer_touch(layer, self->built_shards, self->built_bytes, slice_bytes);

        self->built_bytes += step;
        slice_bytes -= step;
        if (skips || self->built_bytes == layer->shard_bytes) {
            self->built_shards++;
            self->built_bytes = 0;
        }
    }
    return !arrays_built(self);
}

enum replica_state arrays_state(const struct arrays *self, uint32_t group)
{
    if (self == NULL || group >= self->ngroups || !self->groups[group].hosted) {
        return REPLICA_NONE;
    }
    if (!(MUTANT(ANSWER_WHILE_REPLAYING) ? arrays_built(self) : arrays_covers(self, group))) {
        return REPLICA_BUILDING;
    }
    if (MUTANT(COUNT_JOINING)) {
        return REPLICA_FULL;
    }
    if (!self->groups[group].full) {
        return REPLICA_JOINING;
    }
    /* Who is in doubt is asked nothing, as if its arrays were still being made. */
    return self->doubted ? REPLICA_BUILDING : REPLICA_FULL;
}

bool arrays_holds(const struct arrays *self, uint32_t group)
{
    return self != NULL && arrays_covers(self, group) && self->groups[group].full;
}

bool arrays_belongs(const struct arrays *self, const struct filter_document *document,
                    uint32_t group, const uint64_t *fingerprints, size_t count)
{
    const uint16_t *group_of_shard = document->content.group_of_shard;
    bool all = group < self->ngroups && self->groups[group].hosted;

    for (size_t i = 0; i < count; i++) {
        uint64_t shard = lines_shard_index(document->content.shard_bits, fingerprints[i]);

        all &= group_of_shard[shard] == group;
    }
    return all;
}
