/* Two layers side by side: which one serves each shard, and what goes to both. When shards move
 * is decided in expansion_plan.c. */
#include "node/array/expansion_layers.h"

#include "base/heap.h"
#include "map/history/expansion_mix.h"

#include <assert.h>

enum { NO_SHARD = DOCUMENT_MAX_SHARDS };

static struct layer *old_layer(const struct arrays *set)
{
    return set->layers[0];
}

static struct layer *new_layer(const struct arrays *set)
{
    return set->layers[1];
}

/* ---- a shard ---- */

bool expansion_layers_hosts(const struct arrays *set, uint32_t shard)
{
    return set->expansion->routes[shard].writes != 0;
}

bool expansion_layers_stands(const struct arrays *set, uint32_t shard)
{
    const struct shard_route *route = &set->expansion->routes[shard];

    return ((route->reads | route->writes) & EXPANSION_NEW) != 0 &&
           (route->reads & EXPANSION_OLD) != 0;
}

bool expansion_layers_serves(const struct arrays *set, uint32_t shard)
{
    return set->expansion->routes[shard].reads == EXPANSION_NEW;
}

bool expansion_layers_is_open(const struct arrays *set, uint32_t shard)
{
    const struct shard_route *route = &set->expansion->routes[shard];

    return (route->reads & EXPANSION_OLD) != 0 && route->writes == EXPANSION_NEW;
}

/* ---- capacities ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void set_capacity(struct arrays *set, uint32_t group)
{
    struct replica_group *one = &set->groups[group];
    struct expansion_group *expansion = &set->expansion->groups[group];
    uint64_t before = arrays_room(set, old_layer(set), one->nshards);

    expansion->full_keys = arrays_room(set, new_layer(set), one->nshards);
    expansion->valve_keys = layer_share(set->expansion->valve, one->nshards, set->nshards);
    one->keys_capacity = expansion->ngrown == one->nshards ? expansion->full_keys
                                                           : least(before, expansion->full_keys);
}

static uint64_t beyond(uint64_t capacity, uint64_t base)
{
    return capacity > base ? capacity - base : 0;
}

void expansion_layers_follow(struct arrays *set, const struct filter_document *document)
{
    const struct generation *from = &old_layer(set)->generation;
    const struct generation *to = &new_layer(set)->generation;

    uint64_t most = least(to->capacity, set->mixed_keys);
    uint64_t both = least(most, expansion_mix_capacity(document, from, to));

    set->expansion->valve = beyond(both, from->capacity);
    set->expansion->shard_valve = layer_share(set->expansion->valve, 1, set->nshards);
    set->expansion->shard_excess = layer_share(beyond(most, from->capacity), 1, set->nshards);
    for (uint32_t i = 0; i < set->ngroups; i++) {
        set_capacity(set, i);
    }
}

/* ---- beginning and ending ---- */

static void destroy(struct expansion_layers *self)
{
    if (self != NULL) {
        heap_free(self->routes);
        heap_free(self->excess);
        heap_free(self->groups);
        heap_free(self);
    }
}

static struct expansion_layers *make(const struct arrays *set)
{
    struct expansion_layers *self = heap_zalloc(1, sizeof *self);

    if (self == NULL) {
        return NULL;
    }
    self->reserved = NO_SHARD;
    self->routes = heap_zalloc(set->nshards, sizeof *self->routes);
    self->excess = heap_zalloc(set->nshards, sizeof *self->excess);
    self->groups = heap_zalloc(set->ngroups, sizeof *self->groups);
    if (self->routes == NULL || self->excess == NULL || self->groups == NULL) {
        destroy(self);
        return NULL;
    }
    return self;
}

enum status expansion_layers_begin(struct arrays *set, const struct filter_document *document,
                                   const struct generation *generation)
{
    struct expansion_layers *self = make(set);
    bool *hosted = heap_alloc(set->nshards, sizeof *hosted);
    enum status status = self != NULL && hosted != NULL ? STATUS_OK : STATUS_NOMEM;

    assert(set->expansion == NULL && arrays_ready(set));
    for (uint32_t shard = 0; status == STATUS_OK && shard < set->nshards; shard++) {
        hosted[shard] = old_layer(set)->shards[shard] != NULL;
        if (hosted[shard]) {
            self->routes[shard] = (struct shard_route){.reads = EXPANSION_OLD,
                                                       .writes = EXPANSION_OLD};
        }
    }
    if (status == STATUS_OK) {
        status = layer_create(generation, hosted, &set->layers[1]);
    }
    heap_free(hosted);
    if (status != STATUS_OK) {
        destroy(self);
        return status;
    }
    set->nlayers = 2;
    set->expansion = self;
    expansion_layers_follow(set, document);
    return STATUS_OK;
}

static void keep_only(struct arrays *set, unsigned layer)
{
    struct layer *gone = set->layers[1 - layer];

    set->layers[0] = set->layers[layer];
    set->layers[1] = NULL;
    set->nlayers = 1;
    layer_destroy(&gone);
    destroy(set->expansion);
    set->expansion = NULL;
    set->bytes = layer_bytes(set->layers[0]);
    for (uint32_t i = 0; i < set->ngroups; i++) {
        set->groups[i].keys_capacity = arrays_room(set, set->layers[0], set->groups[i].nshards);
    }
}

void expansion_layers_finish(struct arrays *set)
{
    assert(set->expansion->ngrown == set->layers[1]->nhosted);
    keep_only(set, 1);
}

void expansion_layers_drop(struct arrays *set)
{
    assert(set->expansion->ngrown == 0 && set->expansion->nopen == 0);
    keep_only(set, 0);
}

void expansion_layers_destroy(struct arrays *set)
{
    destroy(set->expansion);
    set->expansion = NULL;
}

/* ---- one shard after the other ---- */

void expansion_layers_reserve(struct arrays *set, uint32_t shard)
{
    struct expansion_layers *self = set->expansion;

    assert(self->reserved == NO_SHARD && self->routes[shard].writes == EXPANSION_OLD);
    self->reserved = shard;
    self->touched_bytes = 0;
    set->bytes += new_layer(set)->shard_bytes;
}

bool expansion_layers_touch(struct arrays *set, uint64_t most)
{
    struct expansion_layers *self = set->expansion;
    struct layer *layer = new_layer(set);

    self->touched_bytes += layer_touch(layer, self->reserved, self->touched_bytes, most);
    if (self->touched_bytes < layer->shard_bytes) {
        return false;
    }
    layer->keys[self->reserved] = 0;
    /* From here on adds go to both, so that what is read from the log later is all that lacks. */
    self->routes[self->reserved].writes = EXPANSION_OLD | EXPANSION_NEW;
    self->reserved = NO_SHARD;
    self->nstanding++;
    return true;
}

void expansion_layers_unstand(struct arrays *set, uint32_t shard)
{
    struct expansion_layers *self = set->expansion;

    assert(!expansion_layers_is_open(set, shard) && !expansion_layers_serves(set, shard));
    if (self->reserved == shard) {
        self->reserved = NO_SHARD;
    } else {
        assert(expansion_layers_stands(set, shard));
        self->routes[shard].writes = EXPANSION_OLD;
        self->nstanding--;
    }
    layer_drop(new_layer(set), shard);
    set->bytes -= new_layer(set)->shard_bytes;
}

static void close_valve(struct arrays *set, uint32_t group, uint32_t shard)
{
    struct expansion_layers *self = set->expansion;

    self->nopen--;
    self->groups[group].overflow -= self->excess[shard];
}

bool expansion_layers_serve(struct arrays *set, const struct filter_document *document,
                            uint32_t shard)
{
    struct expansion_layers *self = set->expansion;
    uint32_t group = document->content.group_of_shard[shard];

    assert(expansion_layers_stands(set, shard));
    if (expansion_layers_is_open(set, shard)) {
        close_valve(set, group, shard);
    }
    self->routes[shard] = (struct shard_route){.reads = EXPANSION_NEW, .writes = EXPANSION_NEW};
    self->nstanding--;
    self->ngrown++;
    self->groups[group].ngrown++;
    layer_drop(old_layer(set), shard);
    set->bytes -= old_layer(set)->shard_bytes;
    set_capacity(set, group);
    return self->groups[group].ngrown == set->groups[group].nshards;
}

static void turn_route(struct arrays *set, uint32_t group, uint32_t shard)
{
    struct expansion_layers *self = set->expansion;
    struct shard_route *route = &self->routes[shard];

    /* The layers have changed places, and so has what a shard is served from. */
    if (route->writes == EXPANSION_NEW) {
        *route = (struct shard_route){.reads = EXPANSION_OLD, .writes = EXPANSION_OLD};
    } else if (route->writes == EXPANSION_OLD) {
        *route = (struct shard_route){.reads = EXPANSION_NEW, .writes = EXPANSION_NEW};
        self->ngrown++;
        self->groups[group].ngrown++;
    }
    self->excess[shard] = 0;
}

void expansion_layers_turn(struct arrays *set, const struct filter_document *document)
{
    struct expansion_layers *self = set->expansion;
    struct layer *left = old_layer(set);

    assert(self->nopen == 0);
    for (uint32_t shard = 0; shard < set->nshards; shard++) {
        if (self->reserved == shard || expansion_layers_stands(set, shard)) {
            expansion_layers_unstand(set, shard);
        }
    }
    set->layers[0] = new_layer(set);
    set->layers[1] = left;
    self->ngrown = 0;
    for (uint32_t i = 0; i < set->ngroups; i++) {
        self->groups[i].ngrown = 0;
    }
    for (uint32_t shard = 0; shard < set->nshards; shard++) {
        turn_route(set, document->content.group_of_shard[shard], shard);
    }
    expansion_layers_follow(set, document);
}
