/* The cluster key is replaced: what a former key has signed in the store is signed anew, all of it
 * and nothing else, and coordinators whose rings differ do not do it for each other for ever. */
#include "coordinator/private.h"
#include "map/access/seal.h"
#include "proto/signed_document.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { SECOND_US = 1000000, SLICE_US = 60000, SLICES = 40 };

static struct memory_store store;
static struct coordinator_stage stage;
static struct coordinator_stage other;

/* sample_key() and sample_foreign_key() are of these bytes. */
static struct cluster_key ring_of(uint8_t first, uint8_t second)
{
    struct cluster_key key;
    uint8_t master[SEAL_KEY_BYTES];
    uint32_t at;

    memset(master, first, sizeof master);
    cluster_key_derive(master, &key);
    memset(master, second, sizeof master);
    cr_assert_eq(cluster_key_add(&key, master, &at), STATUS_OK);
    return key;
}

static struct cluster_key promoted(void)
{
    return ring_of(0x22, 0x11);
}

static struct cluster_key added(void)
{
    return ring_of(0x11, 0x22);
}

static void setup(void)
{
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    (void)coordinator_stage_make_filter(&stage);
}

static void teardown(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

TestSuite(coordinator_rekey, .init = setup, .fini = teardown);

static void pass(struct coordinator_stage *self, unsigned slices)
{
    for (unsigned i = 0; i < slices; i++) {
        coordinator_stage_pass(self, SLICE_US);
        coordinator_stage_turn(self);
    }
}

static bool is_document(const char *key)
{
    return strncmp(key, "filter/", 7) == 0 || strcmp(key, "nodes") == 0 ||
           strcmp(key, "dropped") == 0 || strcmp(key, "users") == 0 ||
           strncmp(key, "cluster", 7) == 0;
}

/* How many records of the store are by another key than the first one of `key`. */
static unsigned left(const struct cluster_key *key, unsigned *all)
{
    unsigned count = 0;

    *all = 0;
    for (size_t i = 0; i < store.nrecords; i++) {
        const struct memory_store_record *record = &store.records[i];
        struct span value = span_of(record->value, record->size);
        unsigned long long id;

        if (is_document(record->key)) {
            (*all)++;
            count += !codec_document_by_first(value, key);
        } else if (sscanf(record->key, "secret/%llu", &id) == 1) {
            (*all)++;
            count += !seal_secret_by_first(key, id, value);
        }
    }
    return count;
}

static struct filter_document document_by(const struct cluster_key *key)
{
    const struct memory_store_record *record = memory_store_find(&store, "filter/1");
    struct filter_document document;

    cr_assert_not_null(record);
    cr_assert_eq(codec_filter_document_open(span_of(record->value, record->size), key, &document),
                 STATUS_OK);
    return document;
}

Test(coordinator_rekey, all_records_are_signed_anew_with_the_first_key)
{
    struct cluster_key ring = promoted();
    struct filter_document before = document_by(&ring);
    struct filter_document after;
    unsigned all;

    cr_assert_gt(left(&ring, &all), 0);
    cr_assert_eq(left(&ring, &all), all);
    cr_assert_geq(all, 5, "document, secret, nodes, cluster, features: %u", all);
    coordinator_rekey(stage.coordinator, &ring);
    pass(&stage, SLICES);
    cr_assert_eq(left(&ring, &all), 0);
    cr_assert_eq(coordinator_stage_counter(&stage, "rekeys_written_total"), all);
    after = document_by(&ring);
    cr_assert_eq(after.revision, before.revision + 1);
    cr_assert_eq(after.epoch, before.epoch);
    cr_assert_eq(after.epoch_hash, before.epoch_hash);
    document_fini(&before);
    document_fini(&after);
}

/* What is kept of a token is keyed with a secret of the record, not with the cluster key. */
Test(coordinator_rekey, tokens_of_users_go_on)
{
    static const char token[] = "0123456789abcdef";
    struct user user = {.name = "crawler", .role = USER_CLIENT};
    const struct user_wish wish = {.user = "crawler", .token = span_text(token)};
    const struct admin_request request = {
        .action = ADMIN_USER_CHANGE,
        .timeout_ms = 5000,
        .name = "",
        .successor = "",
        .users = {.puts = &user, .nputs = 1, .adds = &wish, .nadds = 1},
    };
    const struct user_list *users = &stage.coordinator->documents.users;
    struct cluster_key ring = promoted();
    struct hash_secret secret;
    unsigned all;

    coordinator_stage_ask(&stage, 1, &request);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    coordinator_rekey(stage.coordinator, &ring);
    cr_assert_gt(left(&ring, &all), 0);
    pass(&stage, SLICES);
    cr_assert_eq(left(&ring, &all), 0);
    cr_assert_eq(users->revision, 2);
    ring = *sample_foreign_key(); /* alone */
    cr_assert_eq(seal_secret_open(&ring, 0, span_of(users->sealed, sizeof users->sealed), &secret),
                 STATUS_OK, "its secret is sealed anew");
    cr_assert_eq(user_find_token(&users->users[0], &secret, span_text(token), 0), 0);
}

Test(coordinator_rekey, with_the_former_key_first_nothing_is_written)
{
    struct cluster_key ring = added();
    uint64_t change = store.change;
    unsigned all;

    coordinator_rekey(stage.coordinator, &ring);
    pass(&stage, SLICES);
    cr_assert_eq(store.change, change);
    cr_assert_eq(left(&ring, &all), 0);
}

Test(coordinator_rekey, once_all_is_signed_the_former_key_can_go)
{
    struct cluster_key ring = promoted();
    struct sync_request request;

    coordinator_rekey(stage.coordinator, &ring);
    pass(&stage, SLICES);
    coordinator_stage_key = sample_foreign_key();
    coordinator_rekey(stage.coordinator, sample_foreign_key());
    pass(&stage, 2);
    cr_assert_eq(coordinator_stage_counter(&stage, "store_errors_total"), 0);
    request = coordinator_stage_node(1); /* ... which the node still signs with */
    request.number = 1000;
    cr_assert_eq(coordinator_stage_sync(&stage, 1, &request).status, STATUS_UNAUTHENTIC);
}

/* What the former key has sealed opens no more; nothing is guessed. */
Test(coordinator_rekey, a_key_that_goes_too_early_makes_the_store_unreadable)
{
    coordinator_rekey(stage.coordinator, sample_foreign_key());
    (void)coordinator_stage_sync(&stage, 1,
                                 &(struct sync_request){.role = SYNC_ROUTER,
                                                        .name = "router-1",
                                                        .endpoint = "",
                                                        .host = "",
                                                        .zone = "",
                                                        .number = 9});
    cr_assert_gt(coordinator_stage_counter(&stage, "store_errors_total"), 0);
}

/* The other one has not got its ring yet: it leaves alone what this one has signed. */
Test(coordinator_rekey, two_rings_are_not_played_against_each_other)
{
    struct cluster_key first = promoted();
    struct cluster_key second = added();
    uint64_t change;
    unsigned all;

    coordinator_stage_key = &first;
    coordinator_stage_init(&other, &store.store);
    coordinator_stage_report(&other, 3, 1, 1, REPLICA_FULL);
    coordinator_rekey(other.coordinator, &second);
    pass(&other, 2);
    coordinator_rekey(stage.coordinator, &first);
    for (unsigned i = 0; i < SLICES; i++) {
        pass(&stage, 1);
        coordinator_stage_report(&other, 3, 1, 1, REPLICA_FULL);
        pass(&other, 1);
    }
    cr_assert_eq(left(&first, &all), 0);
    cr_assert_eq(coordinator_stage_counter(&other, "rekeys_written_total"), 0);
    change = store.change;
    coordinator_rekey(other.coordinator, &first);
    pass(&other, SLICES);
    cr_assert_eq(store.change, change, "nothing is left");
    coordinator_stage_fini(&other);
}

/* Whoever gets the former ring last has the last word. */
Test(coordinator_rekey, a_ring_may_be_turned_back)
{
    struct cluster_key ring = promoted();
    unsigned all;

    coordinator_rekey(stage.coordinator, &ring);
    pass(&stage, SLICES);
    ring = added();
    coordinator_rekey(stage.coordinator, &ring);
    pass(&stage, SLICES);
    cr_assert_eq(left(&ring, &all), 0);
}
