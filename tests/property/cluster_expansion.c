/* Any cluster, nodes that die, return and build at any pace: turns never overlap on a shard, hosts
 * are bounded, and all that live get there. */
#include "coordinator/plan/expansion.h"
#include "filter/sizing.h"
#include "tests/support/expansion_cluster.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>

enum { CLUSTERS = 300, ROUNDS = 400 };

static struct expansion_cluster cluster;

static bool share_group(uint32_t a, uint32_t b)
{
    for (uint32_t group = 0; group < cluster.document.content.ngroups; group++) {
        if (document_slot_of(&cluster.document, group, a, 0) >= 0 &&
            document_slot_of(&cluster.document, group, b, 0) >= 0) {
            return true;
        }
    }
    return false;
}

static void check_turns(const uint32_t *turns, uint32_t nturns, uint32_t max_hosts)
{
    uint32_t nhosts = 0;

    for (uint32_t i = 0; i < nturns; i++) {
        bool fresh = true;

        cr_assert(expansion_cluster_node(&cluster, turns[i])->alive);
        for (uint32_t k = 0; k < i; k++) {
            cr_assert_not(share_group(turns[i], turns[k]), "nodes %u and %u", turns[i], turns[k]);
            fresh = fresh && expansion_cluster_node(&cluster, turns[i])->host !=
                                 expansion_cluster_node(&cluster, turns[k])->host;
        }
        nhosts += fresh;
    }
    cr_assert_leq(nhosts, max_hosts);
}

/* Some die, return, hear of the newest revision, or end what they have a turn for. */
static void live(uint64_t *random, uint32_t wanted, bool calm)
{
    for (uint32_t id = 1; id <= cluster.view.nnodes; id++) {
        struct expansion_node *node = expansion_cluster_node(&cluster, id);

        if (!calm && random_below(random, 20) == 0) {
            node->alive = !node->alive;
        }
        node->alive = node->alive || calm;
        node->current = node->alive && (calm || random_below(random, 3) > 0);
        if (node->current && document_has_turn(&cluster.document, id) &&
            random_below(random, 2) == 0) {
            expansion_cluster_serve(&cluster, id, wanted);
        }
    }
}

static void roll(uint64_t seed)
{
    uint64_t random = seed;
    uint32_t nnodes = 3 + (uint32_t)random_below(&random, 12);
    uint32_t nhosts = 1 + (uint32_t)random_below(&random, nnodes);
    uint32_t max_hosts = 1 + (uint32_t)random_below(&random, 4);
    uint32_t wanted;
    uint32_t round;

    expansion_cluster_init(&cluster, nnodes);
    wanted = expansion_cluster_begin(&cluster, 40000);
    for (uint32_t id = 1; id <= nnodes; id++) {
        expansion_cluster_node(&cluster, id)->host = cluster.hosts[id % nhosts];
    }
    for (round = 0; round < ROUNDS; round++) {
        uint32_t turns[DOCUMENT_MAX_TURNS];
        uint32_t nturns;

        live(&random, wanted, round > ROUNDS / 2);
        if (expansion_done(&cluster.view)) {
            break;
        }
        nturns = expansion_turns(&cluster.view, max_hosts, random_below(&random, 10) == 0, turns);
        check_turns(turns, nturns, max_hosts);
        expansion_give_turns(&cluster.document, turns, nturns);
    }
    cr_assert_lt(round, ROUNDS, "seed %llu: it does not end", (unsigned long long)seed);
    for (uint32_t id = 1; id <= nnodes; id++) {
        struct expansion_node *node = expansion_cluster_node(&cluster, id);

        cr_assert(!node->alive || node->current, "seed %llu", (unsigned long long)seed);
    }
    for (size_t i = 0; i < cluster.view.nreports; i++) {
        cr_assert(!expansion_cluster_node(&cluster, cluster.reports[i].node)->alive ||
                      cluster.reports[i].generation == wanted,
                  "seed %llu", (unsigned long long)seed);
    }
    expansion_cluster_fini(&cluster);
}

Test(expansion, turns_never_overlap_and_all_get_there)
{
    for (uint64_t seed = 1; seed <= CLUSTERS; seed++) {
        roll(seed);
    }
}

/* Whatever is asked for: what is said to fit keeps the rate, the limits and fresh ids. */
Test(expansion, what_may_begin_keeps_every_limit)
{
    uint64_t random = 7;
    uint32_t begun = 0;

    for (int i = 0; i < 2000; i++) {
        struct expansion_wish wish = {.capacity = random_below(&random, 1200000)};
        struct expansion_answer answer;

        expansion_cluster_init(&cluster, 3);
        cluster.reports[0].keys = random_below(&random, 20000);
        cluster.nodes[1].used_bytes = random_below(&random, UINT64_C(2) << 29);
        wish.rate = random_below(&random, 3) == 0 ? 0
                                                  : 1e-6 * (double)random_below(&random, 600000);
        answer = expansion_request(&cluster.view, &wish, 5);
        if (answer.verdict == EXPANSION_VERDICT_BEGIN) {
            const struct geometry *geometry = &answer.next.geometry;
            const char *reason = NULL;

            begun++;
            cr_assert_leq(answer.capacity, cluster.document.max_capacity);
            cr_assert_geq(answer.capacity, cluster.reports[0].keys);
            cr_assert_leq(sizing_rate(answer.capacity, geometry->lines * 16, geometry->z),
                          answer.rate);
            cr_assert_leq(cluster.nodes[1].used_bytes + geometry->lines * LINE_BYTES,
                          cluster.nodes[1].limit_bytes);
            expansion_begin(&cluster.document, &answer);
            cr_assert_eq(document_validate(&cluster.document, &reason), STATUS_OK, "%s", reason);
        }
        expansion_cluster_fini(&cluster);
    }
    cr_assert_gt(begun, 100);
}
