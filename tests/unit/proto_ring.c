/* While a cluster key is replaced, its ring has two keys: is what either of them has signed taken,
 * of every kind, and what a third one has signed refused as ever? */
#include "base/heap.h"
#include "proto/boot_seal.h"
#include "proto/codec.h"
#include "proto/registration.h"
#include "proto/signed_document.h"
#include "proto_document_samples.h"

#include <criterion/criterion.h>

static struct cluster_key former;
static struct cluster_key foreign;
static struct cluster_key ring; /* another key first, then the former one */
static struct buffer bytes;

static void setup(void)
{
    uint8_t master[SEAL_KEY_BYTES];
    uint32_t at;

    for (size_t i = 0; i < sizeof master; i++) {
        master[i] = (uint8_t)(1 + i);
    }
    former = sample_key(1);
    ring = sample_key(2);
    foreign = sample_key(3);
    cr_assert_eq(cluster_key_add(&ring, master, &at), STATUS_OK);
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
}

static void teardown(void)
{
    buffer_fini(&bytes);
    if (heap_live() != 0) {
        abort();
    }
}

TestSuite(ring, .init = setup, .fini = teardown);

static struct span by(enum document_kind kind, const struct cluster_key *key)
{
    struct filter_document document = sample_document();
    struct node_list nodes = sample_nodes(2);
    struct dropped_record dropped = {.revision = 7};
    const struct cluster_id id = cluster_id_make(1, 2);
    const struct cluster_features features = {.revision = 2, .in_use = 1};
    struct user_list users = sample_users();
    enum status status = STATUS_INVALID;

    buffer_clear(&bytes);
    cr_assert_eq(id_set_add(&dropped.ids, 5), STATUS_OK);
    switch (kind) {
    case DOCUMENT_FILTER:
        status = codec_filter_document_sign(&document, key, &bytes);
        break;
    case DOCUMENT_NODE_LIST:
        status = codec_node_list_sign(&nodes, key, &bytes);
        break;
    case DOCUMENT_DROPPED:
        status = codec_dropped_sign(&dropped, key, &bytes);
        break;
    case DOCUMENT_CLUSTER:
        status = codec_cluster_sign(&id, key, &bytes);
        break;
    case DOCUMENT_FEATURES:
        status = codec_features_sign(&features, key, &bytes);
        break;
    case DOCUMENT_USERS:
        status = codec_users_sign(&users, key, &bytes);
        break;
    }
    document_fini(&document);
    node_list_fini(&nodes);
    dropped_record_fini(&dropped);
    user_list_fini(&users);
    cr_assert_eq(status, STATUS_OK);
    return buffer_span(&bytes);
}

static enum status open(enum document_kind kind, struct span span, const struct cluster_key *key)
{
    struct filter_document document = {0};
    struct node_list nodes = {0};
    struct dropped_record dropped = {0};
    struct cluster_id id;
    struct cluster_features features;
    struct user_list users = {0};
    enum status status = STATUS_INVALID;

    switch (kind) {
    case DOCUMENT_FILTER:
        status = codec_filter_document_open(span, key, &document);
        break;
    case DOCUMENT_NODE_LIST:
        status = codec_node_list_open(span, key, &nodes);
        break;
    case DOCUMENT_DROPPED:
        status = codec_dropped_open(span, key, &dropped);
        break;
    case DOCUMENT_CLUSTER:
        status = codec_cluster_open(span, key, &id);
        break;
    case DOCUMENT_FEATURES:
        status = codec_features_open(span, key, &features);
        break;
    case DOCUMENT_USERS:
        status = codec_users_open(span, key, &users);
        break;
    }
    document_fini(&document);
    node_list_fini(&nodes);
    dropped_record_fini(&dropped);
    user_list_fini(&users);
    return status;
}

static void assert_documents(enum document_kind kind)
{
    cr_assert_eq(open(kind, by(kind, &former), &ring), STATUS_OK);
    cr_assert(!codec_document_by_first(buffer_span(&bytes), &ring));
    cr_assert(codec_document_by_first(buffer_span(&bytes), &former));
    cr_assert_eq(open(kind, by(kind, &ring), &ring), STATUS_OK);
    cr_assert(codec_document_by_first(buffer_span(&bytes), &ring));
    cr_assert_eq(open(kind, buffer_span(&bytes), &former), STATUS_UNAUTHENTIC, "the first signs");
    cr_assert_eq(open(kind, by(kind, &foreign), &ring), STATUS_UNAUTHENTIC);
    cr_assert(!codec_document_by_first(buffer_span(&bytes), &ring));
}

Test(ring, filter_documents)
{
    assert_documents(DOCUMENT_FILTER);
}

Test(ring, node_lists)
{
    assert_documents(DOCUMENT_NODE_LIST);
}

Test(ring, dropped_filters)
{
    assert_documents(DOCUMENT_DROPPED);
}

Test(ring, cluster_records)
{
    assert_documents(DOCUMENT_CLUSTER);
}

Test(ring, features)
{
    assert_documents(DOCUMENT_FEATURES);
}

Test(ring, users)
{
    assert_documents(DOCUMENT_USERS);
}

Test(ring, registrations)
{
    struct replica_report report = {.filter_id = 7};
    struct held_document held = {.filter_id = 7};
    struct sync_request request = {.role = SYNC_NODE,
                                   .name = "node-1",
                                   .endpoint = "tcp://127.0.0.1:7410",
                                   .host = "machine",
                                   .zone = "east",
                                   .replicas = &report,
                                   .nreplicas = 1,
                                   .held = &held,
                                   .nheld = 1,
                                   .held_count = 1};

    registration_sign(&former, &request);
    cr_assert_eq(registration_verify(&ring, &request), STATUS_OK);
    registration_sign(&ring, &request);
    cr_assert_eq(registration_verify(&ring, &request), STATUS_OK);
    cr_assert_eq(registration_verify(&former, &request), STATUS_UNAUTHENTIC);
    registration_sign(&foreign, &request);
    cr_assert_eq(registration_verify(&ring, &request), STATUS_UNAUTHENTIC);
}

Test(ring, boots)
{
    struct boot_request request = {.question = {.node = 1, .incarnation = 2, .boot = 3}};
    struct boot_reply reply = {.node = 1, .incarnation = 2, .boot = 3};

    boot_request_sign(&former, &request);
    boot_reply_sign(&former, &reply);
    cr_assert_eq(boot_request_verify(&ring, &request), STATUS_OK);
    cr_assert_eq(boot_reply_verify(&ring, &reply), STATUS_OK);
    boot_request_sign(&foreign, &request);
    boot_reply_sign(&foreign, &reply);
    cr_assert_eq(boot_request_verify(&ring, &request), STATUS_UNAUTHENTIC);
    cr_assert_eq(boot_reply_verify(&ring, &reply), STATUS_UNAUTHENTIC);
}

/* Whoever the key is of. */
Test(ring, documents_say_what_they_are)
{
    struct document_claim claim;

    cr_assert_eq(codec_document_claim(by(DOCUMENT_FILTER, &foreign), &claim), STATUS_OK);
    cr_assert(claim.kind == DOCUMENT_FILTER && claim.id == 0x1122334455667788 &&
              claim.revision == 7);
    cr_assert_eq(codec_document_claim(by(DOCUMENT_DROPPED, &foreign), &claim), STATUS_OK);
    cr_assert(claim.kind == DOCUMENT_DROPPED && claim.id == 0 && claim.revision == 7);
    cr_assert_eq(codec_document_claim(by(DOCUMENT_USERS, &foreign), &claim), STATUS_OK);
    cr_assert(claim.kind == DOCUMENT_USERS && claim.id == 0 && claim.revision == 9);
    cr_assert_eq(codec_document_claim(by(DOCUMENT_NODE_LIST, &foreign), &claim), STATUS_OK);
    cr_assert(claim.kind == DOCUMENT_NODE_LIST && claim.id == 0 && claim.revision != 0);
    cr_assert_eq(codec_document_claim(by(DOCUMENT_CLUSTER, &foreign), &claim), STATUS_MALFORMED);
    cr_assert_eq(codec_document_claim(span_text("garbage"), &claim), STATUS_MALFORMED);
}
