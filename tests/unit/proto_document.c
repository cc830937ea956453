/* Do documents survive their way, and only as they were signed? */
#include "map/acks.h"
#include "map/staleness.h"
#include "proto/codec.h"
#include "proto/codec_signed.h"
#include "proto/signed_document.h"
#include "proto_compare.h"
#include "proto_document_samples.h"

#include <criterion/criterion.h>

static struct cluster_key key;
static struct buffer bytes;

static void setup(void)
{
    key = sample_key(1);
    buffer_init(&bytes, 2 * DOCUMENT_MAX_BYTES);
}

static void teardown(void)
{
    buffer_fini(&bytes);
    if (heap_live() != 0) {
        abort();
    }
}

TestSuite(codec_document, .init = setup, .fini = teardown);

#define SAME(field) cr_assert_eq(a->field, b->field, #field)

/* What rows do BY_HAND: groups, losses, shards. */
static void compare_groups(const struct epoch_content *a, const struct epoch_content *b)
{
    SAME(ngroups);
    for (uint32_t i = 0; i < a->ngroups; i++) {
        for (uint32_t k = 0; k < QUORUM_MAX_REPLICAS; k++) {
            SAME(groups[i].slots[k].current.node);
            SAME(groups[i].slots[k].current.incarnation);
            SAME(groups[i].slots[k].incoming.node);
            SAME(groups[i].slots[k].incoming.incarnation);
            SAME(groups[i].slots[k].reads_incoming);
            SAME(groups[i].slots[k].read_since);
            SAME(groups[i].lost[k].node);
            SAME(groups[i].lost[k].incarnation);
        }
        SAME(groups[i].loss_epoch);
    }
    for (uint32_t i = 0; i < 1u << a->shard_bits; i++) {
        SAME(group_of_shard[i]);
    }
}

static void compare_content(const struct epoch_content *a, const struct epoch_content *b)
{
    compare_rows(binding_epoch_content(), a, b);
    compare_groups(a, b);
}

static void compare(const struct filter_document *a, const struct filter_document *b)
{
    compare_rows(binding_filter_document(), a, b);
    compare_content(&a->content, &b->content);
    cr_assert(
        span_equal(span_of(a->epoch_bytes, a->epoch_size), span_of(b->epoch_bytes, b->epoch_size)));
    SAME(epoch_hash);
}

static void round_trip(struct filter_document *document)
{
    struct filter_document back;
    enum document_kind kind;

    buffer_clear(&bytes);
    cr_assert_eq(codec_filter_document_sign(document, &key, &bytes), STATUS_OK);
    cr_assert_not_null(document->epoch_bytes);
    cr_assert_eq(codec_document_kind(buffer_span(&bytes), &kind), STATUS_OK);
    cr_assert_eq(kind, DOCUMENT_FILTER);
    cr_assert_eq(codec_filter_document_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    compare(document, &back);
    document_fini(&back);
}

Test(codec_document, filter_documents_come_back_field_by_field)
{
    struct filter_document document = sample_document();

    round_trip(&document);
    document_fini(&document);
}

static void put_sites(struct filter_document *document, struct site_set sites)
{
    cr_assert_eq(document_put_sites(document, &sites), STATUS_OK);
}

Test(codec_document, sites_come_back_field_by_field)
{
    struct filter_document document = sample_document();
    uint64_t hash;

    document.durability = DURABILITY_SYNC;
    document.when_full = WHEN_FULL_EXPAND;
    round_trip(&document);
    hash = document.epoch_hash;
    put_sites(&document, sample_sites());
    document_epoch_advance(&document);
    round_trip(&document);
    cr_assert_neq(document.epoch_hash, hash, "quorums agree on them");
    put_sites(&document, (struct site_set){0});
    document_epoch_advance(&document);
    round_trip(&document);
    cr_assert_eq(document.epoch_hash, hash, "without them it is as it was");
    document_fini(&document);
}

static void fill_sites(struct filter_document *document)
{
    struct site_set sites = {
        .count = SITE_SET_MAX, .takes_adds = true, .says_absent = true, .settled = true};
    for (uint32_t i = 0; i < SITE_SET_MAX; i++) {
        struct site_entry *entry = &sites.entries[i];

        *entry = (struct site_entry){.id = {UINT64_MAX, UINT64_MAX - SITE_SET_MAX + i},
                                     .life = {SITE_LAST_LIFE, UINT64_MAX},
                                     .state = i < SITE_SET_MAX_LIVE ? SITE_COUNTED : SITE_GONE};
        memset(entry->name, 's', SITE_NAME_BYTES - 1);
        entry->name[0] = (char)('a' + i % 26);
    }
    put_sites(document, sites);
}

/* 4096 shards, as many slot groups as placement makes of nodes at most, 7 replicas, every list
 * full. Sites have no expiry: another document has one. */
Test(codec_document, the_largest_document_fits)
{
    struct filter_document document = sample_document();
    struct epoch_content *content = &document.content;
    enum { NODES_EACH = 7 };

    heap_free(content->groups);
    heap_free(content->group_of_shard);
    content->groups = heap_zalloc(DOCUMENT_MAX_NODES, sizeof *content->groups);
    content->group_of_shard = heap_zalloc(DOCUMENT_MAX_SHARDS, sizeof *content->group_of_shard);
    content->rule = (struct quorum_rule){NODES_EACH, 4, 4};
    content->shard_bits = 12;
    content->ngroups = DOCUMENT_MAX_NODES;
    memset(content->name, 'n', DOCUMENT_NAME_BYTES - 1);
    for (uint32_t i = 0; i < DOCUMENT_MAX_SHARDS; i++) {
        content->group_of_shard[i] = (uint16_t)(i % DOCUMENT_MAX_NODES);
    }
    for (uint32_t i = 0; i < DOCUMENT_MAX_NODES; i++) {
        for (uint32_t k = 0; k < NODES_EACH; k++) {
            struct slot *slot = &content->groups[i].slots[k];

            slot->current = (struct member){UINT32_MAX - (i + k) % 1024, UINT64_MAX};
            slot->incoming = (struct member){UINT32_MAX - 4096 - (i + k) % 1024, UINT64_MAX};
            slot->reads_incoming = true;
            slot->read_since = UINT64_MAX;
            content->groups[i].lost[k] = slot->current;
        }
        content->groups[i].loss_epoch = UINT64_MAX;
    }
    document.ngenerations = DOCUMENT_MAX_GENERATIONS;
    for (uint32_t i = 0; i < DOCUMENT_MAX_GENERATIONS; i++) {
        document.generations[i] = (struct generation){
            i + 1, {UINT64_MAX, 64 * (uint64_t)(i + 1), 2, 12}, UINT64_MAX, 0.123};
    }
    document.growth_held = true;
    document.fed_keys = UINT64_MAX;
    memset(document.former_name, 'f', DOCUMENT_NAME_BYTES - 1);
    document.replaces = UINT64_MAX;
    document.content.named_epoch = UINT64_MAX;
    document.content.uid = (struct filter_uid){UINT64_MAX, UINT64_MAX};
    document.content.last_keyset = UINT32_MAX;
    document.load_source = UINT64_MAX;
    document.loaded = DOCUMENT_LOAD_END;
    document.max_staleness = staleness_of(STALENESS_MAX_US);
    document.acks = ACKS_EACH;
    fill_sites(&document);
    document.durability = DURABILITY_SYNC;
    document.when_full = WHEN_FULL_EXPAND;
    document.nturns = DOCUMENT_MAX_TURNS;
    for (uint32_t i = 0; i < DOCUMENT_MAX_TURNS; i++) {
        document.turns[i] = UINT32_MAX - i;
    }
    document.revision = UINT64_MAX;
    document.epoch = UINT64_MAX;
    round_trip(&document);
    cr_assert_lt(bytes.size, DOCUMENT_MAX_BYTES * 9 / 10, "%zu", bytes.size);
    document_fini(&document);
}

/* The schema has its final shape: pairs, further keysets and slices travel already, though this
 * version signs no such document. */
Test(codec_document, content_of_changes_to_come_comes_back)
{
    struct filter_document document = sample_document();
    struct filter_document back = {0};
    struct codec_arena *arena = NULL;

    document.content.groups[0].slots[1].incoming = (struct member){9, UINT64_MAX};
    document.content.groups[2].slots[2].incoming = (struct member){8, 8000};
    document.content.groups[2].slots[2].reads_incoming = true;
    document.content.groups[2].slots[2].read_since = UINT64_MAX;
    document.content.nkeysets = 2;
    document.content.keysets[1] = (struct keyset){UINT32_MAX, false};
    document.content.newest_slice = UINT64_MAX;
    document.content.groups[1].lost[0] = (struct member){3, 3000};
    document.content.groups[1].lost[1] = (struct member){4, UINT64_MAX};
    document.content.groups[1].loss_epoch = 2;
    cr_assert_eq(codec_epoch_encode(&document), STATUS_OK);
    cr_assert_eq(codec_arena_create(1 << 20, &arena), STATUS_OK);
    back.epoch_bytes = document.epoch_bytes;
    back.epoch_size = document.epoch_size;
    cr_assert_eq(codec_epoch_decode(arena, &back), STATUS_OK);
    back.epoch_bytes = NULL;
    compare_content(&document.content, &back.content);
    codec_arena_destroy(&arena);
    document_fini(&back);
    document_fini(&document);
}

/* An epoch has one hash for good: a second signature uses the bytes at hand, as they are. */
Test(codec_document, epoch_bytes_are_kept_until_the_epoch_advances)
{
    struct filter_document document = sample_document();
    const uint8_t *kept;
    uint64_t hash;

    round_trip(&document);
    kept = document.epoch_bytes;
    hash = document.epoch_hash;
    cr_assert_eq(hash, document_epoch_hash(span_of(document.epoch_bytes, document.epoch_size)));
    document.revision++;
    round_trip(&document);
    cr_assert_eq(document.epoch_bytes, kept);
    cr_assert_eq(document.epoch_hash, hash);

    document.content.state = FILTER_DROPPING;
    document_epoch_advance(&document);
    cr_assert_null(document.epoch_bytes);
    round_trip(&document);
    cr_assert_neq(document.epoch_hash, hash);
    document_fini(&document);
}

Test(codec_document, node_lists_come_back_field_by_field)
{
    static const uint32_t counts[] = {0, 1, 7, DOCUMENT_MAX_NODES};

    for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++) {
        struct node_list list = sample_nodes(counts[n]);
        struct node_list back;
        enum document_kind kind;

        list.last_id = counts[n] + 3;
        list.rebalancing = n % 2 == 0;
        for (uint32_t i = 0; i < list.count; i++) {
            list.nodes[i].draining = i % 2 == 0;
            list.nodes[i].replaced_by = i;
            list.nodes[i].confirmed_off = UINT64_MAX - i;
        }
        buffer_clear(&bytes);
        cr_assert_eq(codec_node_list_sign(&list, &key, &bytes), STATUS_OK);
        cr_assert_eq(codec_document_kind(buffer_span(&bytes), &kind), STATUS_OK);
        cr_assert_eq(kind, DOCUMENT_NODE_LIST);
        cr_assert_eq(codec_node_list_open(buffer_span(&bytes), &key, &back), STATUS_OK);
        compare_rows(binding_node_list(), &list, &back);
        node_list_fini(&back);
        node_list_fini(&list);
    }
}

static bool is_zero(const void *object, size_t size)
{
    const uint8_t *byte = object;

    for (size_t i = 0; i < size; i++) {
        if (byte[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Every bit of a signed document, flipped one at a time. */
Test(codec_document, no_flipped_bit_is_accepted)
{
    struct filter_document document = sample_document();
    struct node_list list = sample_nodes(3);
    struct filter_document back;
    struct node_list nodes;

    cr_assert_eq(codec_filter_document_sign(&document, &key, &bytes), STATUS_OK);
    for (size_t bit = 0; bit < bytes.size * 8; bit++) {
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_neq(codec_filter_document_open(buffer_span(&bytes), &key, &back), STATUS_OK,
                      "bit %zu", bit);
        cr_assert(is_zero(&back, sizeof back));
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    buffer_clear(&bytes);
    cr_assert_eq(codec_node_list_sign(&list, &key, &bytes), STATUS_OK);
    for (size_t bit = 0; bit < bytes.size * 8; bit++) {
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_neq(codec_node_list_open(buffer_span(&bytes), &key, &nodes), STATUS_OK, "bit %zu",
                      bit);
        cr_assert(is_zero(&nodes, sizeof nodes));
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    document_fini(&document);
    node_list_fini(&list);
}

Test(codec_document, no_cut_document_is_accepted)
{
    struct filter_document document = sample_document();
    struct filter_document back;

    cr_assert_eq(codec_filter_document_sign(&document, &key, &bytes), STATUS_OK);
    for (size_t size = 0; size < bytes.size; size++) {
        cr_assert_neq(codec_filter_document_open(span_of(bytes.data, size), &key, &back),
                      STATUS_OK);
    }
    document_fini(&document);
}

Test(codec_document, another_key_or_kind_is_refused)
{
    struct filter_document document = sample_document();
    struct cluster_key other = sample_key(2);
    struct filter_document back;
    struct node_list nodes;

    cr_assert_eq(codec_filter_document_sign(&document, &key, &bytes), STATUS_OK);
    cr_assert_eq(codec_filter_document_open(buffer_span(&bytes), &other, &back),
                 STATUS_UNAUTHENTIC);
    cr_assert_eq(codec_node_list_open(buffer_span(&bytes), &key, &nodes), STATUS_MALFORMED);
    bytes.data[1] = DOCUMENT_NODE_LIST; /* claims to be one: the MAC says otherwise */
    cr_assert_eq(codec_node_list_open(buffer_span(&bytes), &key, &nodes), STATUS_UNAUTHENTIC);
    document_fini(&document);
}

Test(codec_document, every_allocation_of_signing_fails_once)
{
    enum status status = STATUS_NOMEM;
    size_t live = heap_live();
    unsigned n;

    for (n = 0; status == STATUS_NOMEM; n++) {
        struct filter_document document = sample_document();

        heap_fault_after(n);
        status = codec_filter_document_sign(&document, &key, &bytes);
        heap_fault_clear();
        document_fini(&document);
        cr_assert_eq(bytes.size > 0, status == STATUS_OK);
    }
    cr_assert_eq(status, STATUS_OK);
    cr_assert_geq(n, 3);
    buffer_fini(&bytes);
    cr_assert_eq(heap_live(), live);
    status = STATUS_NOMEM;
    for (n = 0; status == STATUS_NOMEM; n++) {
        struct node_list list = sample_nodes(DOCUMENT_MAX_NODES);

        heap_fault_after(n);
        status = codec_node_list_sign(&list, &key, &bytes);
        heap_fault_clear();
        node_list_fini(&list);
        cr_assert_eq(bytes.size > 0, status == STATUS_OK);
    }
    cr_assert_eq(status, STATUS_OK);
    cr_assert_geq(n, 4);
    buffer_fini(&bytes);
    cr_assert_eq(heap_live(), live);
}

Test(codec_document, every_allocation_of_opening_fails_once)
{
    struct filter_document document = sample_document();
    struct node_list list = sample_nodes(3);
    enum status status = STATUS_NOMEM;
    struct filter_document back;
    struct node_list nodes;
    size_t live;
    unsigned n;

    cr_assert_eq(codec_filter_document_sign(&document, &key, &bytes), STATUS_OK);
    live = heap_live();
    for (n = 0; status == STATUS_NOMEM; n++) {
        heap_fault_after(n);
        status = codec_filter_document_open(buffer_span(&bytes), &key, &back);
        heap_fault_clear();
        if (status != STATUS_OK) {
            cr_assert(is_zero(&back, sizeof back));
            cr_assert_eq(heap_live(), live, "allocation %u", n);
        }
    }
    cr_assert_eq(status, STATUS_OK);
    cr_assert_eq(n, 6, "arena 2, epoch bytes, groups, shards");
    document_fini(&back);
    cr_assert_eq(heap_live(), live);

    buffer_clear(&bytes);
    cr_assert_eq(codec_node_list_sign(&list, &key, &bytes), STATUS_OK);
    status = STATUS_NOMEM;
    for (n = 0; status == STATUS_NOMEM; n++) {
        heap_fault_after(n);
        status = codec_node_list_open(buffer_span(&bytes), &key, &nodes);
        heap_fault_clear();
        if (status != STATUS_OK) {
            cr_assert(is_zero(&nodes, sizeof nodes));
            cr_assert_eq(heap_live(), live, "allocation %u", n);
        }
    }
    cr_assert_eq(status, STATUS_OK);
    node_list_fini(&nodes);
    node_list_fini(&list);
    document_fini(&document);
}
