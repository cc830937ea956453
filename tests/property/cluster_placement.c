/* Over random node sets: every shard has N replicas on N different nodes, limits are respected,
 * groups are few, hosts and zones are kept apart whenever the nodes with room allow it. */
#include "base/heap.h"
#include "coordinator/plan/placement.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NODES = 24, SEEDS = 3000 };

struct sample {
    struct placement_node nodes[MAX_NODES];
    uint64_t used_before[MAX_NODES];
    char hosts[MAX_NODES][16];
    char zones[MAX_NODES][16];
    uint32_t nnodes;
    uint32_t replicas;
    uint32_t shard_bits;
    uint64_t shard_bytes;
    bool roomy; /* every node could hold everything */
};

static void draw(struct sample *self, uint64_t *state)
{
    uint32_t nhosts;

    *self = (struct sample){0};
    self->nnodes = (uint32_t)(1 + random_below(state, MAX_NODES));
    self->replicas = (uint32_t)(1 + random_below(state, QUORUM_MAX_REPLICAS));
    self->shard_bits = (uint32_t)random_below(state, 9);
    self->shard_bytes = 4096 * (1 + random_below(state, 1000));
    self->roomy = random_below(state, 2) == 0;
    nhosts = (uint32_t)(1 + random_below(state, self->nnodes));
    for (uint32_t i = 0; i < self->nnodes; i++) {
        uint64_t all = self->shard_bytes << self->shard_bits;

        (void)snprintf(self->hosts[i], sizeof self->hosts[i], "h%u",
                       (unsigned)random_below(state, nhosts));
        (void)snprintf(self->zones[i], sizeof self->zones[i], "z%u",
                       (unsigned)random_below(state, 3));
        self->used_before[i] = random_below(state, 2) * random_below(state, all + 1);
        self->nodes[i] = (struct placement_node){
            .id = i + 1,
            .incarnation = i + 1,
            .host = self->hosts[i],
            .zone = self->zones[i],
            .used_bytes = self->used_before[i],
            .limit_bytes = self->roomy ? 3 * all : random_below(state, 2 * all),
        };
    }
}

static uint32_t count_hosts(const struct sample *self)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < self->nnodes; i++) {
        bool first = true;

        for (uint32_t k = 0; k < i; k++) {
            first = first && strcmp(self->hosts[i], self->hosts[k]) != 0;
        }
        count += first;
    }
    return count;
}

static bool group_shares_host(const struct sample *self, const struct slot_group *group,
                              uint64_t seed)
{
    bool shared = false;

    for (uint32_t i = 0; i < self->replicas; i++) {
        uint32_t a = group->slots[i].current.node;

        cr_assert(a >= 1 && a <= self->nnodes, "seed %" PRIu64, seed);
        for (uint32_t k = 0; k < i; k++) {
            uint32_t b = group->slots[k].current.node;

            cr_assert_neq(a, b, "seed %" PRIu64 ": a node twice in a group", seed);
            shared |= strcmp(self->hosts[a - 1], self->hosts[b - 1]) == 0;
        }
    }
    return shared;
}

static void expect_lawful(const struct sample *self, const struct placement *result, uint64_t seed)
{
    uint64_t placed[MAX_NODES] = {0};
    bool shared = false;

    cr_assert(result->ngroups >= 1 && result->ngroups <= self->nnodes, "seed %" PRIu64, seed);
    for (uint32_t g = 0; g < result->ngroups; g++) {
        shared |= group_shares_host(self, &result->groups[g], seed);
    }
    cr_assert_eq(shared, result->shares_host, "seed %" PRIu64, seed);
    for (uint32_t shard = 0; shard < 1u << self->shard_bits; shard++) {
        cr_assert_lt(result->group_of_shard[shard], result->ngroups, "seed %" PRIu64, seed);
        for (uint32_t i = 0; i < self->replicas; i++) {
            uint32_t g = result->group_of_shard[shard];

            placed[result->groups[g].slots[i].current.node - 1] += self->shard_bytes;
        }
    }
    for (uint32_t i = 0; i < self->nnodes; i++) {
        cr_assert_eq(self->nodes[i].used_bytes, self->used_before[i] + placed[i], "seed %" PRIu64,
                     seed);
        cr_assert(placed[i] == 0 || self->nodes[i].used_bytes <= self->nodes[i].limit_bytes,
                  "seed %" PRIu64 ": node %u over its limit", seed, i + 1);
    }
    cr_assert(!self->roomy || !shared || count_hosts(self) < self->replicas,
              "seed %" PRIu64 ": a host is shared though hosts suffice", seed);
}

Test(placement_law, every_placement_is_lawful_or_refused_with_a_reason)
{
    unsigned placed = 0;
    unsigned refused = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sample sample;
        struct placement result;
        uint64_t state = seed;
        enum status status;

        draw(&sample, &state);
        status = placement_make(sample.nodes, sample.nnodes, sample.replicas, sample.shard_bits,
                                sample.shard_bytes, &result);
        if (status == STATUS_OK) {
            expect_lawful(&sample, &result, seed);
            placement_fini(&result);
            placed++;
        } else if (status == STATUS_UNAVAILABLE) {
            cr_assert_lt(sample.nnodes, sample.replicas, "seed %" PRIu64, seed);
        } else {
            cr_assert_eq(status, STATUS_NO_SPACE, "seed %" PRIu64, seed);
            cr_assert_not(sample.roomy, "seed %" PRIu64, seed);
            cr_assert(result.missing_bytes > 0 && result.node != 0, "seed %" PRIu64, seed);
            refused++;
        }
    }
    cr_assert_eq(heap_live(), 0);
    cr_assert(placed > SEEDS / 4 && refused > SEEDS / 20, "%u placed, %u refused", placed, refused);
}
