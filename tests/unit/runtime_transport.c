/* Which keys a process has, knows and expects. */
#include "map/access/seal.h"
#include "runtime/transport.h"

#include <criterion/criterion.h>
#include <string.h>

enum { NCOORDINATORS = 2, ENDPOINT_BYTES = 64 };

static const char coordinators[NCOORDINATORS][ENDPOINT_BYTES] = {"tcp://127.0.0.1:7400",
                                                                 "tcp://10.0.0.1:7400"};
static const uint32_t ncoordinators = NCOORDINATORS;

static struct cluster_key ring_of(uint8_t first, uint8_t second)
{
    uint8_t master[SEAL_KEY_BYTES] = {first};
    struct cluster_key ring;
    uint32_t at;

    cluster_key_derive(master, &ring);
    if (second != 0) {
        master[0] = second;
        cr_assert_eq(cluster_key_add(&ring, master, &at), STATUS_OK);
    }
    return ring;
}

static void set_up(struct transport *self, const char *mode, const struct cluster_key *ring)
{
    *self = (struct transport){.curve = {.listens = true},
                               .kind = CURVE_ROUTER,
                               .mode = mode,
                               .coordinators = coordinators[0],
                               .coordinator_bytes = ENDPOINT_BYTES,
                               .ncoordinators = &ncoordinators,
                               .make_pairs = cluster_key_curve_pairs};
    transport_init(self, ring);
}

static bool is_plain(struct transport *self, const char *endpoint)
{
    struct hub_dial dials[HUB_MAX_DIALS];
    bool plain = false;

    cr_assert_gt(self->curve.dial(self->curve.context, endpoint, &plain, dials), 0,
                 "it may turn out to speak CURVE");
    return plain;
}

Test(transport, auto_is_plain_on_loopback_alone)
{
    cr_assert_not(transport_is_curve("auto", "tcp://127.0.0.1:7400"));
    cr_assert_not(transport_is_curve("auto", "tcp://127.1.2.3:*"));
    cr_assert_not(transport_is_curve("auto", "tcp://localhost:7400"));
    cr_assert_not(transport_is_curve("auto", "tcp://[::1]:7400"));
    cr_assert(transport_is_curve("auto", "tcp://10.0.0.1:7400"));
    cr_assert(transport_is_curve("auto", "tcp://*:7400"));
    cr_assert(transport_is_curve("auto", "tcp://0.0.0.0:7400"));
    cr_assert(transport_is_curve("auto", "tcp://localhost.example.org:7400"));
    cr_assert(transport_is_curve("curve", "tcp://127.0.0.1:7400"));
    cr_assert_not(transport_is_curve("plain", "tcp://10.0.0.1:7400"));
}

Test(transport, nodes_are_dialed_as_the_node_list_says_and_coordinators_by_ones_own)
{
    struct cluster_key ring = ring_of(1, 0);
    struct transport self;

    set_up(&self, "auto", &ring);
    cr_assert(is_plain(&self, "tcp://10.0.0.2:7410"), "a node that the list tells is plain");
    cr_assert_not(is_plain(&self, "curve://127.0.0.1:7410"));
    cr_assert(is_plain(&self, coordinators[0]));
    cr_assert_not(is_plain(&self, coordinators[1]));
    set_up(&self, "curve", &ring);
    cr_assert(is_plain(&self, "tcp://10.0.0.2:7410"));
    cr_assert_not(is_plain(&self, coordinators[0]));
    set_up(&self, "plain", &ring);
    cr_assert_not(is_plain(&self, "curve://10.0.0.2:7410"));
    cr_assert(is_plain(&self, coordinators[1]));
}

/* Own pair and the server's are of the same key of the ring, in its order. */
Test(transport, each_key_of_the_ring_is_tried)
{
    struct cluster_key ring = ring_of(1, 2);
    struct hub_dial dials[HUB_MAX_DIALS];
    struct curve_pair pair;
    struct transport self;
    bool plain = false;

    set_up(&self, "curve", &ring);
    cr_assert_eq(self.curve.dial(self.curve.context, coordinators[1], &plain, dials), 2);
    for (size_t i = 0; i < 2; i++) {
        seal_curve_pair(&ring.keys[i], CURVE_ROUTER, &pair);
        cr_assert_eq(memcmp(&dials[i].own, &pair, sizeof pair), 0);
        seal_curve_pair(&ring.keys[i], CURVE_COORDINATOR, &pair);
        cr_assert_eq(memcmp(dials[i].server, pair.public, sizeof pair.public), 0);
    }
    cr_assert_eq(self.curve.dial(self.curve.context, "curve://x:1", &plain, dials), 2);
    seal_curve_pair(&ring.keys[0], CURVE_NODE, &pair);
    cr_assert_eq(memcmp(dials[0].server, pair.public, sizeof pair.public), 0);
}

Test(transport, who_holds_a_key_of_the_ring_is_that_kind_of_process)
{
    static const uint8_t roles[CURVE_NKINDS] = {PEER_ROUTER, PEER_NODE, PEER_COORDINATOR};
    struct cluster_key ring = ring_of(1, 2);
    struct cluster_key other = ring_of(3, 0);
    struct transport self;
    struct curve_pair pair;

    set_up(&self, "curve", &ring);
    seal_curve_pair(&ring.keys[0], CURVE_ROUTER, &pair);
    cr_assert_eq(memcmp(&self.curve.own, &pair, sizeof pair), 0, "it serves the first key's");
    for (size_t i = 0; i < (size_t)2 * CURVE_NKINDS; i++) {
        struct peer peer = {.user = 9};

        seal_curve_pair(&ring.keys[i / CURVE_NKINDS], (enum curve_kind)(i % CURVE_NKINDS), &pair);
        cr_assert(self.curve.who(self.curve.context, pair.public, &peer));
        cr_assert_eq(peer.role, roles[i % CURVE_NKINDS]);
        cr_assert_eq(peer.user, 0);
    }
    for (size_t kind = 0; kind < CURVE_NKINDS; kind++) {
        struct peer peer = {.size = 0};

        seal_curve_pair(&other.keys[0], (enum curve_kind)kind, &pair);
        cr_assert_not(self.curve.who(self.curve.context, pair.public, &peer));
    }
}

Test(transport, a_retired_key_is_nobodys)
{
    struct cluster_key ring = ring_of(1, 2);
    struct cluster_key rest = ring_of(2, 0);
    struct peer peer = {.size = 0};
    struct curve_pair pair;
    struct transport self;

    set_up(&self, "curve", &ring);
    transport_rekey(&self, &rest);
    seal_curve_pair(&ring.keys[0], CURVE_NODE, &pair);
    cr_assert_not(self.curve.who(self.curve.context, pair.public, &peer));
    seal_curve_pair(&rest.keys[0], CURVE_NODE, &pair);
    cr_assert(self.curve.who(self.curve.context, pair.public, &peer));
    seal_curve_pair(&rest.keys[0], CURVE_ROUTER, &pair);
    cr_assert_eq(memcmp(&self.curve.own, &pair, sizeof pair), 0);
    cr_assert_eq(self.npairs, 1);
    for (size_t kind = 0; kind < CURVE_NKINDS; kind++) {
        static const struct curve_pair none;

        cr_assert_eq(memcmp(&self.pairs[kind][1], &none, sizeof none), 0, "a secret is left");
    }
}

/* As it is at each step of a rotation, and as it is not when the file is another one. */
Test(transport, a_ring_shares_a_key_or_does_not)
{
    struct cluster_key ring = ring_of(1, 2);
    struct cluster_key promoted = ring_of(2, 1);
    struct cluster_key retired = ring_of(2, 0);
    struct cluster_key other = ring_of(3, 4);
    struct cluster_key late = ring_of(3, 2);
    struct transport self;

    set_up(&self, "curve", &ring);
    cr_assert(transport_shares_key(&self, &ring));
    cr_assert(transport_shares_key(&self, &promoted));
    cr_assert(transport_shares_key(&self, &retired));
    cr_assert(transport_shares_key(&self, &late));
    cr_assert_not(transport_shares_key(&self, &other));
}
