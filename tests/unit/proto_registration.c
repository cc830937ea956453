/* Does the MAC of a registration cover all that a coordinator believes? */
#include "proto/registration.h"

#include <criterion/criterion.h>
#include <string.h>

static struct cluster_key key(void)
{
    static const uint8_t master[SEAL_KEY_BYTES] = {1, 2, 3};
    struct cluster_key derived;

    cluster_key_derive(master, &derived);
    return derived;
}

enum { REPORTS = 70 }; /* More than are covered at once. */

static struct replica_report reports[REPORTS];
static struct held_document held[REPORTS];

static struct sync_request claim(void)
{
    struct cluster_key signer = key();
    struct sync_request request = {
        .role = SYNC_NODE,
        .name = "node-1",
        .endpoint = "tcp://127.0.0.1:7410",
        .host = "machine",
        .zone = "east",
        .incarnation = 41,
        .memory_limit_bytes = 42,
        .boot = 43,
        .boot_before = 44,
        .replaces = {46, 47},
        .number = 48,
        .position = 45,
        .memory_used_bytes = 49,
        .disk_used_bytes = 50,
        .durable = true,
        .cluster = {{51}},
        .features = 53,
        .replicas = reports,
        .nreplicas = REPORTS,
        .held = held,
        .nheld = REPORTS,
        .held_count = REPORTS,
    };

    registration_sign(&signer, &request);
    return request;
}

static enum status verify(const struct sync_request *request)
{
    struct cluster_key verifier = key();

    return registration_verify(&verifier, request);
}

/* One field forged: the MAC no longer fits. */
#define FORGED(field, value)                                              \
    do {                                                                  \
        struct sync_request forged_ = claim();                            \
        forged_.field = (value);                                          \
        cr_assert_eq(verify(&forged_), STATUS_UNAUTHENTIC, "%s", #field); \
    } while (0)

Test(registration, covers_every_claim)
{
    struct sync_request request = claim();

    cr_assert_eq(verify(&request), STATUS_OK);
    FORGED(name, "node-2");
    FORGED(endpoint, "tcp://127.0.0.1:7411");
    FORGED(host, "machines");
    FORGED(zone, "west");
    FORGED(site, "us");
    FORGED(incarnation, 40);
    FORGED(memory_limit_bytes, 43);
    FORGED(boot, 44);
    FORGED(boot_before, 43);
    FORGED(replaces.incarnation, 47);
    FORGED(replaces.boot, 46);
    FORGED(position, 46);
    FORGED(durable, false);
    FORGED(number, 49);
    FORGED(memory_used_bytes, 48);
    FORGED(disk_used_bytes, 51);
    FORGED(page.from.filter_id, 1);
    FORGED(page.from.group, 1);
    FORGED(page.to.filter_id, 1);
    FORGED(page.to.group, 1);
    FORGED(nreplicas, REPORTS - 1);
    FORGED(cluster.bytes[15], 52);
    FORGED(features, 54);
    FORGED(curve, true);
}

/* A copy would be taken for done. */
Test(registration, covers_every_report)
{
    static const size_t places[] = {0, 31, 32, REPORTS - 1};
    struct sync_request request = claim();

#define BENT(field, value)                                                \
    do {                                                                  \
        reports[places[i]].field = (value);                               \
        cr_assert_eq(verify(&request), STATUS_UNAUTHENTIC, "%s", #field); \
        reports[places[i]].field = 0;                                     \
        cr_assert_eq(verify(&request), STATUS_OK);                        \
    } while (0)
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        BENT(filter_id, 1);
        BENT(group, 1);
        BENT(fence, 1);
        BENT(state, REPLICA_FULL);
        BENT(bytes, 1);
        BENT(keys, 1);
        BENT(bits_set, 1);
        BENT(bits_seen, 1);
        BENT(progress, 0.5);
        BENT(phase, PHASE_SYNCING);
        BENT(complete, 1);
        BENT(disk_bytes, 1);
        BENT(generation, 1);
        BENT(shards_grown, 1);
        BENT(overflow_keys, 1);
        BENT(keys_next, 1);
        BENT(keys_kept, 1);
        BENT(probes, 1);
    }
#undef BENT
}

/* Two numbers that change places would let an old boot pass for a new one. */
Test(registration, boots_are_told_apart)
{
    struct sync_request request = claim();

    request.boot = 44;
    request.boot_before = 43;
    cr_assert_eq(verify(&request), STATUS_UNAUTHENTIC);
}

/* What it signs is what it was before nodes had sites: older coordinators verify it, and a former
 * node's MAC is verified. */
Test(registration, a_site_is_covered_where_there_is_one)
{
    struct cluster_key signer = key();
    struct sync_request request = claim();
    uint8_t mac[SEAL_MAC_BYTES];

    memcpy(mac, request.mac, sizeof mac);
    request.site = "";
    registration_sign(&signer, &request);
    cr_assert_arr_eq(request.mac, mac, sizeof mac, "none is none");
    request.site = "eu";
    cr_assert_eq(verify(&request), STATUS_UNAUTHENTIC);
    registration_sign(&signer, &request);
    cr_assert_eq(verify(&request), STATUS_OK);
    request.site = "us";
    cr_assert_eq(verify(&request), STATUS_UNAUTHENTIC);
    request.site = "";
    cr_assert_eq(verify(&request), STATUS_UNAUTHENTIC, "taken away");
    request.site = "eu";
    request.curve = true;
    cr_assert_eq(verify(&request), STATUS_UNAUTHENTIC);
    registration_sign(&signer, &request);
    cr_assert_eq(verify(&request), STATUS_OK);
}

/* Every text as long as may be: the claim has room for it. */
Test(registration, the_longest_claim_fits)
{
    static char text[CODEC_MAX_TEXT_BYTES + 1];
    struct cluster_key signer = key();
    struct sync_request request = claim();

    memset(text, 'x', CODEC_MAX_TEXT_BYTES);
    request.name = request.host = request.zone = request.endpoint = request.site = text;
    request.curve = true;
    registration_sign(&signer, &request);
    cr_assert_eq(verify(&request), STATUS_OK);
}

Test(registration, texts_do_not_blend)
{
    struct sync_request request = claim();

    request.name = "node-1m";
    request.host = "achine";
    cr_assert_eq(verify(&request), STATUS_UNAUTHENTIC);
}

/* Whoever forges what is held could freeze a cluster, or hide that its store is old. */
Test(registration, covers_what_is_held)
{
    FORGED(nheld, REPORTS - 1);
    FORGED(held_count, REPORTS + 1);
    for (size_t i = 0; i < REPORTS; i++) {
        struct sync_request request = claim();

        held[i].revision++;
        cr_assert_eq(verify(&request), STATUS_UNAUTHENTIC, "%zu", i);
        request = claim();
        held[i].hash ^= 1;
        cr_assert_eq(verify(&request), STATUS_UNAUTHENTIC, "%zu", i);
        request = claim();
        cr_assert_eq(verify(&request), STATUS_OK);
    }
}
