/* Draws absent keys of a slot group, and has them checked. */
#include "node/array/probe.h"

#include "base/bits.h"
#include "filter/lines.h"
#include "node/array/expansion_layers.h"

#include <assert.h>

/* ---- the arrays as they are ---- */

static uint64_t mix(uint64_t mark, uint64_t value)
{
    mark = (mark ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return mark ^ (mark >> 32);
}

/* Which of two arrays is read changes shard by shard. */
static uint64_t mark_of_set(uint64_t mark, const struct arrays *set,
                            const struct filter_document *document, uint32_t group)
{
    mark = mix(mark, set->hosting);
    mark = mix(mark, arrays_base(set)->generation.id);
    for (uint32_t shard = 0; set->expansion != NULL && shard < set->nshards; shard++) {
        if (document->content.group_of_shard[shard] == group) {
            mark = mix(mark, set->expansion->routes[shard].reads);
        }
    }
    return mark;
}

static struct probed_arrays look_at(const struct hosted_filter *self,
                                    const struct filter_document *document, uint32_t group)
{
    struct probed_arrays arrays = {.mark = 1};

    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        if (hosted_is_looked_at(set)) {
            arrays.mark = mark_of_set(arrays.mark, set, document, group);
            arrays.keys += set->groups[group].keys;
            arrays.keys_capacity += set->groups[group].keys_capacity;
        }
    }
    arrays.mark |= 1; /* Never 0. */
    return arrays;
}

/* Of a check of any keys of the group. */
static struct subrequest check_of(const struct filter_document *document, uint32_t group,
                                  uint32_t count)
{
    return (struct subrequest){
        .filter_id = document->id,
        .operation = OPERATION_CHECK,
        .group = group,
        .count = count,
    };
}

static bool serves_checks(const struct hosted_filter *self, const struct filter_document *document,
                          uint32_t group)
{
    const struct subrequest check = check_of(document, group, 0);

    return self->set != NULL && arrays_hosts(self->set, group) &&
           hosted_state_for(self, &check) == REPLICA_FULL;
}

static struct probe_tally *follow(struct hosted_filter *self,
                                  const struct filter_document *document, uint64_t now_us,
                                  uint32_t group)
{
    const struct probed_arrays arrays = look_at(self, document, group);
    struct probe_tally *tally = &self->set->groups[group].probed;

    probe_tally_follow(tally, now_us, &arrays);
    return tally;
}

/* ---- absent keys ---- */

/* Source: SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators"). */
static uint64_t draw(uint64_t *random)
{
    uint64_t z = (*random += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void draw_keys(const struct filter_document *document, uint32_t group, uint32_t count,
                      uint64_t *random, uint64_t *fingerprints)
{
    uint16_t shards[DOCUMENT_MAX_SHARDS];
    uint32_t bits = document->content.shard_bits;
    uint32_t nshards = 0;

    for (uint32_t shard = 0; shard < document_nshards(document); shard++) {
        if (document->content.group_of_shard[shard] == group) {
            shards[nshards++] = (uint16_t)shard;
        }
    }
    assert(nshards > 0);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t shard = shards[((draw(random) >> 32) * nshards) >> 32];

        fingerprints[i] = (shard << 1) << (63 - bits) | draw(random) >> bits;
    }
}

static struct probe_count probe_group(struct hosted_filter *self,
                                      const struct filter_document *document, uint32_t group,
                                      uint32_t count, uint64_t *random)
{
    const struct subrequest check = check_of(document, group, count);
    uint64_t fingerprints[PROBE_KEYS];
    uint64_t present[PROBE_KEYS / BITS_A_WORD];
    uint64_t absent[PROBE_KEYS / BITS_A_WORD];
    bool at_capacity;

    draw_keys(document, group, count, random, fingerprints);
    if (hosted_execute(self, document, &check, fingerprints, present, absent, &at_capacity) !=
        STATUS_OK) {
        return (struct probe_count){0};
    }
    return (struct probe_count){.probes = count, .hits = bits_count(present, count)};
}

/* ---- in turn ---- */

/* The next one that serves; ngroups: none does. */
static uint32_t next_group(const struct hosted_filter *self, const struct filter_document *document)
{
    uint32_t ngroups = self->set != NULL ? self->set->ngroups : 0;

    for (uint32_t i = 1; i <= ngroups; i++) {
        uint32_t group = (self->probed_group + i) % ngroups;

        if (serves_checks(self, document, group)) {
            return group;
        }
    }
    return ngroups;
}

struct probe_count probe_filter(struct hosted_filter *self, const struct filter_document *document,
                                uint64_t now_us, uint32_t count, uint64_t *random)
{
    uint32_t group = next_group(self, document);
    struct probe_tally *tally;
    struct probe_count found;

    assert(count <= PROBE_KEYS);
    if (self->set == NULL || group == self->set->ngroups) {
        return (struct probe_count){0};
    }
    tally = follow(self, document, now_us, group);
    found = probe_group(self, document, group, count, random);
    probe_tally_add(tally, found);
    self->probed_group = group;
    return found;
}

struct probe_count probe_found(struct hosted_filter *self, const struct filter_document *document,
                               uint64_t now_us, uint32_t group)
{
    if (!serves_checks(self, document, group)) {
        return (struct probe_count){0};
    }
    return probe_tally_sum(follow(self, document, now_us, group));
}
