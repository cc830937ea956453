/* proto_document_samples.h - documents for the tests of proto/ and lib/map/document. */
#ifndef ORBLOOM_TESTS_UNIT_PROTO_DOCUMENT_SAMPLES_H
#define ORBLOOM_TESTS_UNIT_PROTO_DOCUMENT_SAMPLES_H

#include "base/heap.h"
#include "map/access/seal.h"
#include "map/access/users.h"
#include "map/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline struct cluster_key sample_key(uint8_t first)
{
    uint8_t master[SEAL_KEY_BYTES];
    struct cluster_key key;

    for (size_t i = 0; i < sizeof master; i++) {
        master[i] = (uint8_t)(first + i);
    }
    cluster_key_derive(master, &key);
    return key;
}

/* 16 shards in 3 groups over nodes 1 to 5; owned by the caller. */
static inline struct filter_document sample_document(void)
{
    struct filter_document document = {
        .id = 0x1122334455667788,
        .revision = 7,
        .epoch = 3,
        .content = {.uid = {0x1020304050607080, 0x90a0b0c0d0e0f001},
                    .name = "seen-urls",
                    .state = FILTER_ACTIVE,
                    .rule = {3, 2, 2},
                    .shard_bits = 4,
                    .ngroups = 3,
                    .keysets = {{1, true}},
                    .nkeysets = 1,
                    .last_keyset = 2},
        .capacity = 10000000,
        .rate = 0.01,
        .max_capacity = 640000000,
        .hash = HASH_SIPHASH24,
        .when_unavailable = WHEN_UNAVAILABLE_ERROR,
        .when_full = WHEN_FULL_REFUSE,
        .keylog = KEYLOG_ON,
        .durability = DURABILITY_MEMORY,
        .generations = {{1, {0x0123456789abcdef, 12800, 1, 4}, 10000000, 0}},
        .ngenerations = 1,
    };
    struct epoch_content *content = &document.content;

    content->groups = heap_zalloc(content->ngroups, sizeof *content->groups);
    content->group_of_shard = heap_zalloc(16, sizeof *content->group_of_shard);
    if (content->groups == NULL || content->group_of_shard == NULL) {
        abort();
    }
    for (uint32_t i = 0; i < content->ngroups; i++) {
        for (uint32_t k = 0; k < content->rule.replicas; k++) {
            uint32_t node = (i + k) % 5 + 1;

            content->groups[i].slots[k].current = (struct member){node, 1000 + node};
            content->groups[i].slots[k].read_since = 1 + (i + k) % 3;
        }
    }
    for (uint16_t i = 0; i < 16; i++) {
        content->group_of_shard[i] = i % 3;
    }
    return document;
}

/* Here, and another site that joins. */
static inline struct site_set sample_sites(void)
{
    return (struct site_set){
        .entries =
            {{{0x0102030405060708, 0x1112131415161718},
              "us",
              {2, 0xabcdef},
              SITE_JOINING,
              false,
              0},
             {{0x2122232425262728, 0}, "eu", {1, 0x123456789abcdef0}, SITE_COUNTED, false, 0}},
        .count = 2,
        .own = 1,
        .takes_adds = true,
        .says_absent = true,
        .settled = true,
    };
}

/* A crawler with grants, tokens and limits, and an admin with a key; owned by the caller. */
static inline struct user_list sample_users(void)
{
    static const struct user_grant grants[] = {{USER_READ | USER_WRITE, "crawl:*"},
                                               {USER_READ, "shared"}};
    static const struct user_token tokens[] = {{2, 1700000000000, 0, {1, 2, 3}},
                                               {3, 1700000000001, 1800000000000, {4, 5}}};
    static const struct user_key keys[] = {{1, 1700000000002, 0, {6, 7, 8}}};
    struct user crawler = {.id = 7,
                           .name = "crawler",
                           .role = USER_CLIENT,
                           .create = true,
                           .subject = "CN=crawler",
                           .limits = {2000000, 100, (uint64_t)8 << 30, 500, 16 << 20},
                           .ngrants = 2,
                           .ntokens = 2,
                           .last_credential = 4};
    struct user root = {
        .id = 3, .name = "root", .role = USER_ADMIN, .nkeys = 1, .last_credential = 1};
    struct user_list list = {.revision = 9, .last_id = 7, .count = 2};

    list.users = heap_zalloc(2, sizeof *list.users);
    crawler.grants = heap_zalloc(2, sizeof *crawler.grants);
    crawler.tokens = heap_zalloc(2, sizeof *crawler.tokens);
    root.keys = heap_zalloc(1, sizeof *root.keys);
    if (list.users == NULL || crawler.grants == NULL || crawler.tokens == NULL ||
        root.keys == NULL) {
        abort();
    }
    memcpy(crawler.grants, grants, sizeof grants);
    memcpy(crawler.tokens, tokens, sizeof tokens);
    memcpy(root.keys, keys, sizeof keys);
    list.users[0] = crawler;
    list.users[1] = root;
    for (size_t i = 0; i < sizeof list.sealed; i++) {
        list.sealed[i] = (uint8_t)(i + 1);
    }
    return list;
}

static inline struct node_list sample_nodes(uint32_t count)
{
    struct node_list list = {.revision = 5, .count = count};

    list.nodes = heap_zalloc(count, sizeof *list.nodes);
    if (list.nodes == NULL) {
        abort();
    }
    for (uint32_t i = 0; i < count; i++) {
        struct node_record *node = &list.nodes[i];

        node->id = i + 1;
        (void)snprintf(node->name, sizeof node->name, "node-%u", i + 1);
        (void)snprintf(node->host, sizeof node->host, "host-%u", i / 2);
        (void)snprintf(node->zone, sizeof node->zone, "%s", i % 2 == 0 ? "" : "east");
        (void)snprintf(node->endpoint, sizeof node->endpoint, "tcp://10.0.0.%u:7410", i + 1);
        node->incarnation = i + 77;
        node->memory_limit_bytes = (uint64_t)1 << 33;
        node->boot = i + 78;
        node->durable = i % 2 == 0;
    }
    return list;
}

#endif
