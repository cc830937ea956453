/* Two layers side by side: which one serves each shard, and what goes to both. When shards move
 * is decided in growth_plan.c. */
#include "node/array/growth_layers.h"

#include "base/heap.h"
#include "map/growth_mix.h"

#include <assert.h>

enum { NO_SHARD = DOCUMENT_MAX_SHARDS };

static struct layer *old_layer(const struct replica_set *set)
{
    return set->layers[0];
}

static struct layer *new_layer(const struct replica_set *set)
{
    return set->layers[1];
}

/* ---- a shard ---- */

bool growth_layers_hosts(const struct replica_set *set, uint32_t shard)
{
    return set->growth->routes[shard].writes != 0;
}

bool growth_layers_stands(const struct replica_set *set, uint32_t shard)
{
    const struct shard_route *route = &set->growth->routes[shard];

    return ((route->reads | route->writes) & GROWTH_NEW) != 0 && (route->reads & GROWTH_OLD) != 0;
}

bool growth_layers_serves(const struct replica_set *set, uint32_t shard)
{
    return set->growth->routes[shard].reads == GROWTH_NEW;
}

bool growth_layers_is_open(const struct replica_set *set, uint32_t shard)
{
    const struct shard_route *route = &set->growth->routes[shard];

    return (route->reads & GROWTH_OLD) != 0 && route->writes == GROWTH_NEW;
}

/* ---- capacities ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void set_capacity(struct replica_set *set, uint32_t group)
{
    struct replica_group *one = &set->groups[group];
    struct growth_group *growth = &set->growth->groups[group];
    uint64_t before = replica_set_room(set, old_layer(set), one->nshards);

    growth->full_keys = replica_set_room(set, new_layer(set), one->nshards);
    growth->valve_keys = layer_share(set->growth->valve, one->nshards, set->nshards);
    one->keys_capacity = growth->ngrown == one->nshards ? growth->full_keys
                                                        : least(before, growth->full_keys);
}

static uint64_t beyond(uint64_t capacity, uint64_t base)
{
    return capacity > base ? capacity - base : 0;
}

void growth_layers_follow(struct replica_set *set, const struct filter_document *document)
{
    const struct generation *from = &old_layer(set)->generation;
    const struct generation *to = &new_layer(set)->generation;

    uint64_t most = least(to->capacity, set->mixed_keys);
    uint64_t both = least(most, growth_mix_capacity(document, from, to));

    set->growth->valve = beyond(both, from->capacity);
    set->growth->shard_valve = layer_share(set->growth->valve, 1, set->nshards);
    set->growth->shard_excess = layer_share(beyond(most, from->capacity), 1, set->nshards);
    for (uint32_t i = 0; i < set->ngroups; i++) {
        set_capacity(set, i);
    }
}

/* ---- beginning and ending ---- */

static void destroy(struct growth_layers *self)
{
    if (self != NULL) {
        heap_free(self->routes);
        heap_free(self->excess);
        heap_free(self->groups);
        heap_free(self);
    }
}

static struct growth_layers *make(const struct replica_set *set)
{
    struct growth_layers *self = heap_zalloc(1, sizeof *self);

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

enum status growth_layers_begin(struct replica_set *set, const struct filter_document *document,
                                const struct generation *generation)
{
    struct growth_layers *self = make(set);
    bool *hosted = heap_alloc(set->nshards, sizeof *hosted);
    enum status status = self != NULL && hosted != NULL ? STATUS_OK : STATUS_NOMEM;

    assert(set->growth == NULL && replica_set_ready(set));
    for (uint32_t shard = 0; status == STATUS_OK && shard < set->nshards; shard++) {
        hosted[shard] = old_layer(set)->shards[shard] != NULL;
        if (hosted[shard]) {
            self->routes[shard] = (struct shard_route){.reads = GROWTH_OLD, .writes = GROWTH_OLD};
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
    set->growth = self;
    growth_layers_follow(set, document);
    return STATUS_OK;
}

static void keep_only(struct replica_set *set, unsigned layer)
{
    struct layer *gone = set->layers[1 - layer];

    set->layers[0] = set->layers[layer];
    set->layers[1] = NULL;
    set->nlayers = 1;
    layer_destroy(&gone);
    destroy(set->growth);
    set->growth = NULL;
    set->bytes = layer_bytes(set->layers[0]);
    for (uint32_t i = 0; i < set->ngroups; i++) {
        set->groups[i].keys_capacity = replica_set_room(set, set->layers[0],
                                                        set->groups[i].nshards);
    }
}

void growth_layers_finish(struct replica_set *set)
{
    assert(set->growth->ngrown == set->layers[1]->nhosted);
    keep_only(set, 1);
}

void growth_layers_drop(struct replica_set *set)
{
    assert(set->growth->ngrown == 0 && set->growth->nopen == 0);
    keep_only(set, 0);
}

void growth_layers_destroy(struct replica_set *set)
{
    destroy(set->growth);
    set->growth = NULL;
}

/* ---- one shard after the other ---- */

void growth_layers_reserve(struct replica_set *set, uint32_t shard)
{
    struct growth_layers *self = set->growth;

    assert(self->reserved == NO_SHARD && self->routes[shard].writes == GROWTH_OLD);
    self->reserved = shard;
    self->touched_bytes = 0;
    set->bytes += new_layer(set)->shard_bytes;
}

bool growth_layers_touch(struct replica_set *set, uint64_t most)
{
    struct growth_layers *self = set->growth;
    struct layer *layer = new_layer(set);

    self->touched_bytes += layer_touch(layer, self->reserved, self->touched_bytes, most);
    if (self->touched_bytes < layer->shard_bytes) {
        return false;
    }
    layer->keys[self->reserved] = 0;
    self->routes[self->reserved].writes = GROWTH_OLD | GROWTH_NEW;
    self->reserved = NO_SHARD;
    self->nstanding++;
    return true;
}

void growth_layers_unstand(struct replica_set *set, uint32_t shard)
{
    struct growth_layers *self = set->growth;

    assert(!growth_layers_is_open(set, shard) && !growth_layers_serves(set, shard));
    if (self->reserved == shard) {
        self->reserved = NO_SHARD;
    } else {
        assert(growth_layers_stands(set, shard));
        self->routes[shard].writes = GROWTH_OLD;
        self->nstanding--;
    }
    layer_drop(new_layer(set), shard);
    set->bytes -= new_layer(set)->shard_bytes;
}

static void close_valve(struct replica_set *set, uint32_t group, uint32_t shard)
{
    struct growth_layers *self = set->growth;

    self->nopen--;
    self->groups[group].overflow -= self->excess[shard];
}

bool growth_layers_serve(struct replica_set *set, const struct filter_document *document,
                         uint32_t shard)
{
    struct growth_layers *self = set->growth;
    uint32_t group = document->content.group_of_shard[shard];

    assert(growth_layers_stands(set, shard));
    if (growth_layers_is_open(set, shard)) {
        close_valve(set, group, shard);
    }
    self->routes[shard] = (struct shard_route){.reads = GROWTH_NEW, .writes = GROWTH_NEW};
    self->nstanding--;
    self->ngrown++;
    self->groups[group].ngrown++;
    layer_drop(old_layer(set), shard);
    set->bytes -= old_layer(set)->shard_bytes;
    set_capacity(set, group);
    return self->groups[group].ngrown == set->groups[group].nshards;
}

static void turn_route(struct replica_set *set, uint32_t group, uint32_t shard)
{
    struct growth_layers *self = set->growth;
    struct shard_route *route = &self->routes[shard];

    if (route->writes == GROWTH_NEW) {
        *route = (struct shard_route){.reads = GROWTH_OLD, .writes = GROWTH_OLD};
    } else if (route->writes == GROWTH_OLD) {
        *route = (struct shard_route){.reads = GROWTH_NEW, .writes = GROWTH_NEW};
        self->ngrown++;
        self->groups[group].ngrown++;
    }
    self->excess[shard] = 0;
}

void growth_layers_turn(struct replica_set *set, const struct filter_document *document)
{
    struct growth_layers *self = set->growth;
    struct layer *left = old_layer(set);

    assert(self->nopen == 0);
    for (uint32_t shard = 0; shard < set->nshards; shard++) {
        if (self->reserved == shard || growth_layers_stands(set, shard)) {
            growth_layers_unstand(set, shard);
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
    growth_layers_follow(set, document);
}
