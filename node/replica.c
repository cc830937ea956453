#include "node/replica.h"

#include "base/heap.h"
#include "node/growth_layers.h"

static bool hosts_shard(const struct replica_set *self, const struct filter_document *document,
                        uint32_t shard)
{
    return self->groups[document->content.group_of_shard[shard]].hosted;
}

/* Returns how many shards are hosted here. */
static uint32_t fill_groups(struct replica_set *self, const struct filter_document *document,
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
        group->keys_capacity = layer_share(document_generation(document)->capacity, group->nshards,
                                           self->nshards);
        hosted += group->hosted ? group->nshards : 0;
    }
    return hosted;
}

static enum status make_layer(struct replica_set *self, const struct filter_document *document,
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

enum status replica_set_create(const struct filter_document *document, uint32_t node,
                               uint64_t incarnation, uint64_t room_bytes, struct replica_set **out)
{
    struct replica_set *self = heap_zalloc(1, sizeof *self);
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
    self->bytes = hosted * document_shard_bytes(document);
    if (self->bytes > room_bytes) {
        status = STATUS_NO_SPACE;
        goto fail;
    }
    if (hosted == 0) {
        replica_set_destroy(&self);
        *out = NULL;
        return STATUS_OK;
    }
    status = make_layer(self, document, document_generation(document), &self->layers[0]);
    if (status != STATUS_OK) {
        goto fail;
    }
    self->nlayers = 1;
    *out = self;
    return STATUS_OK;

fail:
    replica_set_destroy(&self);
    return status;
}

void replica_set_destroy(struct replica_set **set)
{
    struct replica_set *self = *set;

    *set = NULL;
    if (self == NULL) {
        return;
    }
    growth_layers_destroy(self);
    for (uint32_t i = 0; i < REPLICA_LAYERS; i++) {
        layer_destroy(&self->layers[i]);
    }
    heap_free(self->groups);
    heap_free(self);
}

/* Its keys stay in the log; nothing asks for them here. */
static void leave_group(struct replica_set *self, const struct filter_document *document,
                        uint32_t group)
{
    struct layer *layer = replica_set_base(self);

    for (uint32_t shard = 0; shard < self->nshards; shard++) {
        if (document->content.group_of_shard[shard] == group && layer->shards[shard] != NULL) {
            layer_leave(layer, shard);
        }
    }
    self->bytes = layer_bytes(layer);
    self->groups[group] = (struct replica_group){
        .nshards = self->groups[group].nshards,
        .keys_capacity = self->groups[group].keys_capacity,
    };
}

/* Are the groups hosted here those of the document, but for some that are to be left? Not while
 * there are two layers: then everything is made anew, of the wanted generation. */
static bool keeps_hosting(const struct replica_set *self, const struct filter_document *document,
                          uint32_t node)
{
    uint32_t hosted = 0;
    bool leaves = false;

    for (uint32_t i = 0; i < self->ngroups; i++) {
        bool wanted = document_slot_of(document, i, node, 0) >= 0;

        if (wanted && !self->groups[i].hosted) {
            return false;
        }
        leaves = leaves || (!wanted && self->groups[i].hosted);
        hosted += wanted;
    }
    return hosted > 0 && !(leaves && self->growth != NULL);
}

bool replica_set_follow(struct replica_set *self, const struct filter_document *document,
                        uint32_t node, uint64_t incarnation)
{
    if (!keeps_hosting(self, document, node)) {
        return false;
    }
    for (uint32_t i = 0; i < self->ngroups; i++) {
        struct replica_group *group = &self->groups[i];

        if (group->hosted && document_slot_of(document, i, node, 0) < 0) {
            leave_group(self, document, i);
        }
        group->full = member_role(document, i, node, incarnation) == MEMBER_FULL;
    }
    if (self->growth != NULL) {
        growth_layers_follow(self, document);
    }
    return true;
}

bool replica_set_hosts(const struct replica_set *self, uint32_t group)
{
    return group < self->ngroups && self->groups[group].hosted;
}

bool replica_set_built(const struct replica_set *self)
{
    return self->built_shards == self->nshards;
}

bool replica_set_ready(const struct replica_set *self)
{
#ifdef ORBLOOM_MUTANT_ANSWER_WHILE_REPLAYING
    return replica_set_built(self);
#endif
    return self->loaded && (self->unawaited || replica_set_built(self));
}

bool replica_set_build(struct replica_set *self, uint64_t slice_bytes)
{
    struct layer *layer = replica_set_base(self);

    while (!replica_set_built(self) && slice_bytes > 0) {
        uint64_t step = layer_touch(layer, self->built_shards, self->built_bytes, slice_bytes);

        self->built_bytes += step;
        slice_bytes -= step;
        if (layer->shards[self->built_shards] == NULL || self->built_bytes == layer->shard_bytes) {
            self->built_shards++;
            self->built_bytes = 0;
        }
    }
    return !replica_set_built(self);
}

enum replica_state replica_set_state(const struct replica_set *self, uint32_t group)
{
    if (self == NULL || group >= self->ngroups || !self->groups[group].hosted) {
        return REPLICA_NONE;
    }
    if (!replica_set_ready(self)) {
        return REPLICA_BUILDING;
    }
#ifdef ORBLOOM_MUTANT_COUNT_JOINING
    return REPLICA_FULL;
#else
    if (!self->groups[group].full) {
        return REPLICA_JOINING;
    }
    return self->doubted ? REPLICA_BUILDING : REPLICA_FULL;
#endif
}

bool replica_set_holds(const struct replica_set *self, uint32_t group)
{
    return self != NULL && group < self->ngroups && self->groups[group].hosted &&
           replica_set_ready(self) && self->groups[group].full;
}

bool replica_set_belongs(const struct replica_set *self, const struct filter_document *document,
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
