/* Makes keys, documents, node lists and secrets that are the same in every run. */
#include "tests/support/sample_cluster.h"

#include "base/heap.h"
#include "map/reader.h"
#include "proto/codec.h"
#include "proto/signed_document.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct cluster_key *derive(uint8_t byte, struct cluster_key *key)
{
    uint8_t master[SEAL_KEY_BYTES];

    memset(master, byte, sizeof master);
    cluster_key_derive(master, key);
    return key;
}

const struct cluster_key *sample_key(void)
{
    static struct cluster_key key;

    return derive(0x11, &key);
}

const struct cluster_key *sample_foreign_key(void)
{
    static struct cluster_key key;

    return derive(0x22, &key);
}

const struct cluster_id *sample_cluster(void)
{
    static struct cluster_id id;

    id = cluster_id_make(0xc1, 0x2c1);
    return &id;
}

static void fill_groups(const struct quorum_rule *rule, uint32_t nnodes, struct epoch_content *out)
{
    uint32_t nshards = 1u << SAMPLE_SHARD_BITS;

    out->ngroups = nnodes == rule->replicas ? 1 : nnodes;
    out->groups = heap_zalloc(out->ngroups, sizeof *out->groups);
    out->group_of_shard = heap_zalloc(nshards, sizeof *out->group_of_shard);
    cr_assert(out->groups != NULL && out->group_of_shard != NULL);
    for (uint32_t group = 0; group < out->ngroups; group++) {
        for (uint32_t slot = 0; slot < rule->replicas; slot++) {
            uint32_t node = (group + slot) % nnodes + 1;

            out->groups[group].slots[slot].current = (struct member){
                .node = node, .incarnation = SAMPLE_INCARNATION + node};
        }
    }
    for (uint32_t shard = 0; shard < nshards; shard++) {
        out->group_of_shard[shard] = (uint16_t)(shard % out->ngroups);
    }
}

void sample_document(uint64_t id, const char *name, const struct quorum_rule *rule, uint32_t nnodes,
                     struct filter_document *out)
{
    *out = (struct filter_document){
        .id = id,
        .revision = 1,
        .epoch = 1,
        .content =
            {
                .uid = {.high = SAMPLE_UID, .low = id},
                .state = FILTER_ACTIVE,
                .rule = *rule,
                .shard_bits = SAMPLE_SHARD_BITS,
                .keysets = {{.id = 1, .serving = true}},
                .nkeysets = 1,
                .last_keyset = 1,
            },
        .capacity = 10000,
        .rate = 0.01,
        .max_capacity = 640000,
        .hash = HASH_SIPHASH24,
        .when_unavailable = WHEN_UNAVAILABLE_ERROR,
        .when_full = WHEN_FULL_REFUSE,
        .keylog = KEYLOG_ON,
        .durability = DURABILITY_MEMORY,
        .generations =
            {{.id = 1,
              .geometry = {.seed = 5, .lines = 64, .z = 1, .shard_bits = SAMPLE_SHARD_BITS},
              .capacity = 10000}},
        .ngenerations = 1,
    };
    (void)snprintf(out->content.name, sizeof out->content.name, "%s", name);
    fill_groups(rule, nnodes, &out->content);
    reader_note_all(out);
}

void sample_fingerprints(const struct filter_document *document, uint32_t group, uint64_t seed,
                         uint32_t count, uint64_t *out)
{
    uint64_t state = seed * 1000003;
    uint32_t found = 0;

    while (found < count) {
        uint64_t fingerprint = random_next(&state);
        uint64_t shard = fingerprint >> (64 - document->content.shard_bits);

        if (document->content.group_of_shard[shard] == group) {
            out[found++] = fingerprint;
        }
    }
}

void sample_sign(struct filter_document *document, const struct cluster_key *key,
                 struct buffer *out)
{
    buffer_init(out, DOCUMENT_MAX_BYTES);
    cr_assert_eq(codec_filter_document_sign(document, key, out), STATUS_OK);
}

void sample_node_list(uint32_t nnodes, uint64_t revision, const struct cluster_key *key,
                      struct buffer *out)
{
    struct node_list list = {.revision = revision, .count = nnodes};

    list.nodes = heap_zalloc(nnodes, sizeof *list.nodes);
    cr_assert_not_null(list.nodes);
    for (uint32_t i = 0; i < nnodes; i++) {
        struct node_record *node = &list.nodes[i];

        node->id = i + 1;
        node->incarnation = SAMPLE_INCARNATION + node->id;
        node->memory_limit_bytes = UINT64_C(1) << 30;
        (void)snprintf(node->name, sizeof node->name, "node-%u", node->id);
        (void)snprintf(node->host, sizeof node->host, "host-%u", node->id);
        (void)snprintf(node->endpoint, sizeof node->endpoint, "tcp://node-%u:7000", node->id);
    }
    buffer_init(out, DOCUMENT_MAX_BYTES);
    cr_assert_eq(codec_node_list_sign(&list, key, out), STATUS_OK);
    node_list_fini(&list);
}

void sample_secret(struct hash_secret *out)
{
    memset(out->bytes, 0x33, sizeof out->bytes);
}

void sample_sealed_secret(uint64_t filter_id, uint8_t sealed[SEAL_SECRET_BYTES])
{
    const uint8_t nonce[SEAL_NONCE_BYTES] = {1, 2, 3};
    struct hash_secret secret;

    sample_secret(&secret);
    seal_secret(sample_key(), filter_id, &secret, nonce, sealed);
}

struct site_id sample_site_id(uint32_t site)
{
    return (struct site_id){.high = 100 + site, .low = 200 + site};
}

const char *sample_site_name(uint32_t site)
{
    return site == 0 ? "eu" : "us";
}

void sample_sites(uint32_t own, struct filter_document *document)
{
    struct site_set set = {0};

    for (uint32_t i = 0; i < 2; i++) {
        uint32_t site = i == 0 ? own : 1 - own;
        struct site_entry entry = {
            .id = sample_site_id(site), .life = {1, 10 + site}, .state = SITE_COUNTED};

        strcpy(entry.name, sample_site_name(site));
        cr_assert_eq(site_set_add(&set, &entry), STATUS_OK);
    }
    set.takes_adds = set.says_absent = set.settled = true;
    cr_assert_eq(document_put_sites(document, &set), STATUS_OK);
    document->when_full = WHEN_FULL_EXPAND;
}
