#include "node/replica.h"

#include "base/heap.h"

#include <assert.h>
#include <math.h>

enum { PAGE_BYTES = 4096 };

/* Lookups are random: with small pages nearly each of them misses the TLB as well. Measured, three
 * nodes of 6 MB on two cores: a tenth more keys a second by huge ones. */
#define HUGE_FROM_BYTES (UINT64_C(2) << 20)

/* Shards fill binomially around their share; the sum over a group is closer to its mean, and
 * three standard deviations more than the mean change the rate of a full filter by less
 * than the tenth that sizing keeps back. */
static uint64_t group_capacity(uint64_t capacity, uint32_t nshards, uint32_t nshards_all)
{
    double share = (double)capacity * nshards / nshards_all;
    double deviation = sqrt(share * (1 - (double)nshards / nshards_all));

    return (uint64_t)ceil(share + 3 * deviation);
}

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
        group->keys_capacity = group_capacity(document_generation(document)->capacity,
                                              group->nshards, self->nshards);
        hosted += group->hosted ? group->nshards : 0;
    }
    return hosted;
}

/* One after the other in one stretch of pages, as most are smaller than a huge page. */
static bool map_shards(struct replica_set *self, const struct filter_document *document)
{
    uint8_t *next = heap_pages_alloc(self->bytes, self->bytes >= HUGE_FROM_BYTES);

    self->mapped_bytes = self->bytes;
    self->pages = next;
    for (uint32_t shard = 0; next != NULL && shard < self->nshards; shard++) {
        if (hosts_shard(self, document, shard)) {
            self->shards[shard] = next;
            next += self->shard_bytes;
        }
    }
    return self->pages != NULL;
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
    self->geometry = document_generation(document)->geometry;
    self->shard_bytes = document_shard_bytes(document);
    self->nshards = document_nshards(document);
    self->ngroups = document->content.ngroups;
    self->shards = heap_zalloc(self->nshards, sizeof *self->shards);
    self->groups = heap_zalloc(self->ngroups, sizeof *self->groups);
    if (self->shards == NULL || self->groups == NULL) {
        goto fail;
    }
    hosted = fill_groups(self, document, node, incarnation);
    self->bytes = hosted * self->shard_bytes;
    if (self->bytes > room_bytes) {
        status = STATUS_NO_SPACE;
        goto fail;
    }
    if (hosted == 0) {
        replica_set_destroy(&self);
    } else if (!map_shards(self, document)) {
        goto fail;
    }
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
    heap_pages_free(self->pages, self->mapped_bytes);
    heap_free(self->shards);
    heap_free(self->groups);
    heap_free(self);
}

/* Its keys stay in the log; nothing asks for them here. */
static void leave_group(struct replica_set *self, const struct filter_document *document,
                        uint32_t group)
{
    for (uint32_t shard = 0; shard < self->nshards; shard++) {
        if (document->content.group_of_shard[shard] == group && self->shards[shard] != NULL) {
            heap_pages_drop(self->shards[shard], self->shard_bytes);
            self->shards[shard] = NULL;
            self->bytes -= self->shard_bytes;
        }
    }
    self->groups[group] = (struct replica_group){
        .nshards = self->groups[group].nshards,
        .keys_capacity = self->groups[group].keys_capacity,
    };
}

bool replica_set_follow(struct replica_set *self, const struct filter_document *document,
                        uint32_t node, uint64_t incarnation)
{
    uint32_t hosted = 0;

    for (uint32_t i = 0; i < self->ngroups; i++) {
        bool wanted = document_slot_of(document, i, node, 0) >= 0;

        if (wanted && !self->groups[i].hosted) {
            return false;
        }
        hosted += wanted;
    }
    for (uint32_t i = 0; hosted > 0 && i < self->ngroups; i++) {
        struct replica_group *group = &self->groups[i];

        if (group->hosted && document_slot_of(document, i, node, 0) < 0) {
            leave_group(self, document, i);
        }
        group->full = member_role(document, i, node, incarnation) == MEMBER_FULL;
    }
    return hosted > 0;
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
    return self->loaded && replica_set_built(self);
}

bool replica_set_build(struct replica_set *self, uint64_t slice_bytes)
{
    while (!replica_set_built(self) && slice_bytes > 0) {
        uint8_t *array = self->shards[self->built_shards]; /* NULL also once it was left */
        uint64_t left = array != NULL ? self->shard_bytes - self->built_bytes : 0;
        uint64_t step = left < slice_bytes ? left : slice_bytes;

        for (uint64_t at = 0; at < step; at += PAGE_BYTES) {
            /* A store makes the kernel give the page now; the array stays zero. */
            *(volatile uint8_t *)(array + self->built_bytes + at) = 0;
        }
        self->built_bytes += step;
        slice_bytes -= step;
        if (left == step) {
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
        uint64_t shard = lines_shard_index(self->geometry.shard_bits, fingerprints[i]);

        all &= group_of_shard[shard] == group;
    }
    return all;
}
