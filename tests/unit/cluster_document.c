/* Is a document that makes no sense, or asks for more than this version serves, refused? */
#include "map/acks.h"
#include "map/document.h"
#include "map/staleness.h"
#include "proto_document_samples.h"

#include <criterion/criterion.h>

static struct filter_document document;
static struct node_list list;

static void setup(void)
{
    document = sample_document();
    list = sample_nodes(5);
}

static void teardown(void)
{
    document_fini(&document);
    node_list_fini(&list);
    if (heap_live() != 0) {
        abort();
    }
}

TestSuite(document, .init = setup, .fini = teardown);

static enum status validate(void)
{
    const char *reason = "untouched";
    enum status status = document_validate(&document, &reason);

    cr_assert_eq(reason == NULL, status == STATUS_OK);
    return status;
}

/* One edit makes it wrong; undone, it is right again. */
#define WRONG(expected, place, value)                            \
    do {                                                         \
        __typeof__(place) kept_ = (place);                       \
        (place) = (value);                                       \
        cr_assert_eq(validate(), expected, #place " = " #value); \
        (place) = kept_;                                         \
        cr_assert_eq(validate(), STATUS_OK);                     \
    } while (0)

Test(document, it_has_a_uid)
{
    struct filter_uid *uid = &document.content.uid;
    char text[FILTER_UID_TEXT_BYTES];

    cr_assert_str_eq(filter_uid_show(uid, text), "102030405060708090a0b0c0d0e0f001");
    cr_assert(filter_uid_equal(uid, &(struct filter_uid){uid->high, uid->low}));
    cr_assert_not(filter_uid_equal(uid, &(struct filter_uid){uid->high, uid->low + 1}));
    cr_assert_not(filter_uid_equal(uid, &(struct filter_uid){uid->high + 1, uid->low}));
    WRONG(STATUS_OK, uid->high, 0);
    WRONG(STATUS_OK, uid->low, 0);
    WRONG(STATUS_MALFORMED, *uid, (struct filter_uid){0});
}

Test(document, readers_are_read_since_an_epoch_that_was)
{
    struct slot *slots = document.content.groups[1].slots;

    WRONG(STATUS_MALFORMED, slots[2].read_since, 0);
    WRONG(STATUS_OK, slots[2].read_since, document.epoch);
    WRONG(STATUS_MALFORMED, slots[2].read_since, document.epoch + 1);
    WRONG(STATUS_OK, slots[3].read_since, UINT64_MAX); /* no slot: N is 3 */
}

Test(document, numbers_are_within_range)
{
    WRONG(STATUS_MALFORMED, document.id, 0);
    WRONG(STATUS_MALFORMED, document.epoch, 0);
    WRONG(STATUS_MALFORMED, document.epoch, document.revision + 1);
    WRONG(STATUS_OK, document.epoch, document.revision);
    WRONG(STATUS_MALFORMED, document.capacity, 0);
    WRONG(STATUS_MALFORMED, document.capacity, document.max_capacity + 1);
    WRONG(STATUS_OK, document.capacity, document.max_capacity);
    WRONG(STATUS_MALFORMED, document.rate, 0);
    WRONG(STATUS_MALFORMED, document.rate, 1);
    WRONG(STATUS_MALFORMED, document.rate, -0.1);
    WRONG(STATUS_MALFORMED, document.rate, __builtin_nan(""));
    WRONG(STATUS_OK, document.max_staleness, 1);
    WRONG(STATUS_OK, document.max_staleness, STALENESS_MAX_US + 1);
    WRONG(STATUS_MALFORMED, document.max_staleness, STALENESS_MAX_US + 2);
    WRONG(STATUS_OK, document.acks, 2);
    WRONG(STATUS_OK, document.acks, ACKS_MAX);
    WRONG(STATUS_OK, document.acks, ACKS_EACH);
    WRONG(STATUS_MALFORMED, document.acks, ACKS_LOCAL);
    WRONG(STATUS_MALFORMED, document.acks, ACKS_MAX + 1);
    WRONG(STATUS_MALFORMED, document.acks, UINT32_MAX);
}

Test(document, a_load_is_of_a_dump_and_within_it)
{
    cr_assert_not(document_is_loading(&document));
    WRONG(STATUS_MALFORMED, document.loaded, DOCUMENT_LOAD_FIRST);
    document.load_source = 7;
    document.loaded = DOCUMENT_LOAD_FIRST;
    cr_assert(document_is_loading(&document));
    WRONG(STATUS_MALFORMED, document.loaded, 0);
    WRONG(STATUS_MALFORMED, document.loaded, DOCUMENT_LOAD_END + 1);
    WRONG(STATUS_OK, document.loaded, DOCUMENT_LOAD_END - 1);
    document.loaded = DOCUMENT_LOAD_END;
    cr_assert_not(document_is_loading(&document), "all of it is there");
    cr_assert_eq(validate(), STATUS_OK);
}

Test(document, choices_are_known)
{
    WRONG(STATUS_MALFORMED, document.hash, (enum hash_kind)0);
    WRONG(STATUS_MALFORMED, document.hash, (enum hash_kind)3);
    WRONG(STATUS_OK, document.hash, HASH_XXH3);
    WRONG(STATUS_MALFORMED, document.when_unavailable, (enum when_unavailable)0);
    WRONG(STATUS_MALFORMED, document.when_unavailable, (enum when_unavailable)3);
    WRONG(STATUS_OK, document.when_unavailable, WHEN_UNAVAILABLE_MAYBE);
    WRONG(STATUS_MALFORMED, document.when_full, (enum when_full)0);
    WRONG(STATUS_MALFORMED, document.when_full, (enum when_full)3);
    WRONG(STATUS_MALFORMED, document.keylog, (enum keylog)0);
    WRONG(STATUS_MALFORMED, document.keylog, (enum keylog)3);
    document.durability = DURABILITY_OS;
    WRONG(STATUS_OK, document.keylog, KEYLOG_OFF);
    document.durability = DURABILITY_MEMORY;
    WRONG(STATUS_MALFORMED, document.keylog, KEYLOG_OFF);
    WRONG(STATUS_MALFORMED, document.durability, (enum durability)0);
    WRONG(STATUS_MALFORMED, document.durability, (enum durability)4);
    WRONG(STATUS_OK, document.durability, DURABILITY_OS);
    WRONG(STATUS_OK, document.durability, DURABILITY_SYNC);
    WRONG(STATUS_MALFORMED, document.content.state, (enum filter_state)0);
    WRONG(STATUS_MALFORMED, document.content.state, (enum filter_state)4);
    WRONG(STATUS_OK, document.content.state, FILTER_DROPPING);
    WRONG(STATUS_OK, document.content.state, FILTER_DROPPED);
}

Test(document, quorums_meet)
{
    WRONG(STATUS_MALFORMED, document.content.rule.read, 1);
    WRONG(STATUS_MALFORMED, document.content.rule.write, 1);
    WRONG(STATUS_MALFORMED, document.content.rule.replicas, 0);
    WRONG(STATUS_MALFORMED, document.content.rule.replicas, QUORUM_MAX_REPLICAS + 1);
}

Test(document, shards_and_groups_fit_each_other)
{
    WRONG(STATUS_MALFORMED, document.content.shard_bits, 13);
    WRONG(STATUS_MALFORMED, document.content.shard_bits, 40);
    WRONG(STATUS_MALFORMED, document.content.ngroups, 0);
    WRONG(STATUS_MALFORMED, document.content.ngroups, 17);
    WRONG(STATUS_MALFORMED, document.content.ngroups, 2); /* some shards name the third */
    WRONG(STATUS_MALFORMED, document.content.groups, NULL);
    WRONG(STATUS_MALFORMED, document.content.group_of_shard, NULL);
    WRONG(STATUS_MALFORMED, document.content.group_of_shard[15], 3);
    WRONG(STATUS_OK, document.content.group_of_shard[15], 2);
}

Test(document, slots_are_held_by_one_node_each)
{
    struct slot *slots = document.content.groups[2].slots; /* nodes 3, 4, 5 */

    WRONG(STATUS_MALFORMED, slots[1].current.node, 0);
    WRONG(STATUS_MALFORMED, slots[1].current.incarnation, 0);
    WRONG(STATUS_MALFORMED, slots[1].current.node, 3);
    WRONG(STATUS_MALFORMED, slots[2].current.node, 3);
    WRONG(STATUS_MALFORMED, slots[0].incoming.incarnation, 1);
    WRONG(STATUS_MALFORMED, slots[0].reads_incoming, true);
    WRONG(STATUS_MALFORMED, slots[0].incoming.node, 1);
    WRONG(STATUS_MALFORMED, slots[0].incoming, ((struct member){4, 9}));
    WRONG(STATUS_MALFORMED, slots[2].incoming, ((struct member){4, 9}));
    WRONG(STATUS_MALFORMED, slots[0].incoming, slots[0].current);
    WRONG(STATUS_OK, slots[3].current.node, 3); /* beyond the replicas: not looked at */
    slots[0].incoming = (struct member){1, 9};
    cr_assert_eq(validate(), STATUS_OK, "a pair");
    slots[0].reads_incoming = true;
    cr_assert_eq(validate(), STATUS_OK, "a pair that reads the newcomer");
    slots[1].incoming = (struct member){4, 9};
    cr_assert_eq(validate(), STATUS_OK, "a node takes its own place again");
    WRONG(STATUS_MALFORMED, slots[1].incoming.incarnation, slots[1].current.incarnation);
    WRONG(STATUS_MALFORMED, slots[1].incoming.incarnation, 0);
    slots[2].incoming = (struct member){1, 9};
    cr_assert_eq(validate(), STATUS_MALFORMED, "one newcomer, two slots");
}

Test(document, keysets_have_ids_and_one_serves)
{
    struct epoch_content *content = &document.content;

    WRONG(STATUS_MALFORMED, content->nkeysets, 0);
    WRONG(STATUS_MALFORMED, content->nkeysets, DOCUMENT_MAX_KEYSETS + 1);
    WRONG(STATUS_MALFORMED, content->keysets[0].id, 0);
    WRONG(STATUS_MALFORMED, content->keysets[0].serving, false);
    WRONG(STATUS_MALFORMED, content->keysets[0].id, content->last_keyset + 1);
    WRONG(STATUS_OK, content->keysets[0].id, content->last_keyset);
    WRONG(STATUS_MALFORMED, content->last_keyset, 0);
    content->keysets[1] = (struct keyset){1, false};
    WRONG(STATUS_MALFORMED, content->nkeysets, 2);
}

Test(document, generations_have_geometries_that_can_be_built)
{
    struct generation *generation = &document.generations[0];

    WRONG(STATUS_MALFORMED, document.ngenerations, 0);
    WRONG(STATUS_MALFORMED, document.ngenerations, DOCUMENT_MAX_GENERATIONS + 1);
    WRONG(STATUS_MALFORMED, document.nturns, 1); /* of node 0 */
    WRONG(STATUS_MALFORMED, document.nturns, DOCUMENT_MAX_TURNS + 1);
    WRONG(STATUS_MALFORMED, generation->id, 0);
    WRONG(STATUS_MALFORMED, generation->capacity, 0);
    WRONG(STATUS_MALFORMED, generation->rate, 1);
    WRONG(STATUS_MALFORMED, generation->rate, __builtin_nan(""));
    WRONG(STATUS_MALFORMED, generation->geometry.lines, 0);
    WRONG(STATUS_MALFORMED, generation->geometry.lines, 12801);
    WRONG(STATUS_OK, generation->geometry.lines, 1);
    WRONG(STATUS_OK, generation->geometry.lines, 63);
    WRONG(STATUS_MALFORMED, generation->geometry.lines, 65);
    WRONG(STATUS_MALFORMED, generation->geometry.lines, ((uint64_t)1 << 34) + 64);
    WRONG(STATUS_OK, generation->geometry.lines, (uint64_t)1 << 34);
    WRONG(STATUS_MALFORMED, generation->geometry.z, 0);
    WRONG(STATUS_MALFORMED, generation->geometry.z, 3);
    WRONG(STATUS_OK, generation->geometry.z, 2);
    generation->geometry.lines = 63;
    WRONG(STATUS_MALFORMED, generation->geometry.z, 2);
    generation->geometry.lines = 128;
    WRONG(STATUS_MALFORMED, generation->geometry.shard_bits, 5);
    document.generations[1] = document.generations[0];
    WRONG(STATUS_MALFORMED, document.ngenerations, 2);
    document.generations[1].id = 2;
    WRONG(STATUS_OK, document.ngenerations, 2);
}

Test(document, names_are_names)
{
    char *name = document.content.name;

    WRONG(STATUS_MALFORMED, name[0], '\0');
    WRONG(STATUS_MALFORMED, name[2], ' ');
    memset(name, 'n', DOCUMENT_NAME_BYTES - 1);
    WRONG(STATUS_MALFORMED, name[DOCUMENT_NAME_BYTES - 1], 'n'); /* no NUL at all */
    for (unsigned byte = 0; byte < 256; byte++) {
        char one = (char)byte;
        bool expected = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                        (byte >= 'a' && byte <= 'z') || byte == '.' || byte == '_' || byte == ':' ||
                        byte == '-';

        cr_assert_eq(document_name_valid(span_of(&one, 1)), expected, "%02x", byte);
    }
    cr_assert(!document_name_valid(span_of(NULL, 0)));
    cr_assert(document_name_valid(span_of(name, 128)));
    cr_assert(!document_name_valid(span_of(name, 129)));
}

/* To serve these as if they were simpler would lose keys. */
Test(document, what_this_version_does_not_serve_is_told_apart)
{
    WRONG(STATUS_VERSION, document.window_us, 1);
    WRONG(STATUS_VERSION, document.nslices, 1);
    WRONG(STATUS_VERSION, document.content.newest_slice, 1);
    document.content.keysets[1] = (struct keyset){2, true};
    WRONG(STATUS_VERSION, document.content.nkeysets, 2);
    document.content.keysets[1] = (struct keyset){2, false};
    document.content.keysets[2] = (struct keyset){3, false};
    document.content.last_keyset = 3;
    WRONG(STATUS_VERSION, document.content.nkeysets, 3);
}

Test(document, an_expiry_is_whole)
{
    WRONG(STATUS_MALFORMED, document.expiry.after_us, 1);
    WRONG(STATUS_MALFORMED, document.expiry.counted_us, 1);
    WRONG(STATUS_MALFORMED, document.expiry.at_ms, 1);
    document.expiry = (struct expiry){.number = document.revision, .after_us = 9, .counted_us = 9};
    cr_assert_eq(validate(), STATUS_OK);
    WRONG(STATUS_MALFORMED, document.expiry.number, document.revision + 1);
    WRONG(STATUS_MALFORMED, document.expiry.after_us, 0);
    WRONG(STATUS_MALFORMED, document.expiry.counted_us, 10);
}

Test(document, a_window_takes_a_log_with_keys_and_one_keyset)
{
    document.window_us = 1;
    document.nslices = 7;
    document.content.newest_slice = 1;
    document.durability = DURABILITY_OS;
    cr_assert_eq(validate(), STATUS_OK);
    WRONG(STATUS_VERSION, document.nslices, DOCUMENT_MAX_SLICES + 1);
    WRONG(STATUS_VERSION, document.nslices, 0);
    WRONG(STATUS_VERSION, document.content.newest_slice, 0);
    WRONG(STATUS_VERSION, document.window_us, 0);
    WRONG(STATUS_VERSION, document.keylog, KEYLOG_OFF);
    WRONG(STATUS_VERSION, document.durability, DURABILITY_MEMORY);
    document.content.keysets[1] = (struct keyset){2, false};
    WRONG(STATUS_VERSION, document.content.nkeysets, 2);
}

Test(document, two_keysets_take_a_log_with_keys)
{
    document.content.keysets[1] = (struct keyset){2, false};
    document.content.nkeysets = 2;
    document.durability = DURABILITY_OS;
    cr_assert_eq(validate(), STATUS_OK);
    WRONG(STATUS_VERSION, document.keylog, KEYLOG_OFF);
    WRONG(STATUS_VERSION, document.durability, DURABILITY_MEMORY);
}

/* ---- sites ---- */

static void set_sites(void)
{
    struct site_set sites = sample_sites();

    cr_assert_eq(document_put_sites(&document, &sites), STATUS_OK);
    document.durability = DURABILITY_SYNC;
    document.when_full = WHEN_FULL_EXPAND;
    cr_assert_eq(validate(), STATUS_OK);
}

static void leave_sites(void)
{
    cr_assert_eq(document_put_sites(&document, &(struct site_set){0}), STATUS_OK);
}

Test(document, a_filter_is_in_sites_when_its_set_has_any)
{
    cr_assert_not(document_has_sites(&document));
    set_sites();
    cr_assert(document_has_sites(&document));
}

Test(document, sites_are_each_themselves_and_one_is_this_clusters)
{
    struct site_set *sites;

    set_sites();
    sites = document.content.sites;
    WRONG(STATUS_MALFORMED, sites->own, sites->count);
    WRONG(STATUS_MALFORMED, sites->count, SITE_SET_MAX + 1);
    WRONG(STATUS_MALFORMED, sites->entries[1].id, sites->entries[0].id);
    WRONG(STATUS_MALFORMED, sites->entries[0].id, ((struct site_id){0}));
    WRONG(STATUS_MALFORMED, sites->entries[1].name[0], 'E');
    WRONG(STATUS_MALFORMED, sites->entries[1].name[0], '\0');
    WRONG(STATUS_MALFORMED, sites->entries[1].life.number, 0);
    WRONG(STATUS_MALFORMED, sites->entries[1].state, (enum site_state)0);
    WRONG(STATUS_MALFORMED, sites->entries[1].state, (enum site_state)5);
    WRONG(STATUS_OK, sites->entries[0].state, SITE_GONE);
    WRONG(STATUS_MALFORMED, sites->entries[sites->own].state, SITE_LEAVING); /* it takes adds */
    sites->count = 0;
    cr_assert_eq(validate(), STATUS_MALFORMED, "of no site, and one takes adds");
    leave_sites();
    cr_assert_null(document.content.sites);
    cr_assert_eq(validate(), STATUS_OK);
}

Test(document, eight_sites_at_most_are_not_gone)
{
    struct site_set *sites;

    set_sites();
    sites = document.content.sites;
    for (uint32_t i = sites->count; i < SITE_SET_MAX; i++) {
        sites->entries[i] = (struct site_entry){
            .id = {UINT64_MAX, i}, .name = "", .life = {1, i}, .state = SITE_GONE};
        (void)snprintf(sites->entries[i].name, SITE_NAME_BYTES, "site-%u", i);
    }
    sites->count = SITE_SET_MAX;
    cr_assert_eq(validate(), STATUS_OK);
    for (uint32_t i = 2; i < SITE_SET_MAX_LIVE; i++) {
        sites->entries[i].state = SITE_COUNTED;
    }
    cr_assert_eq(validate(), STATUS_OK, "8 sites");
    WRONG(STATUS_MALFORMED, sites->entries[SITE_SET_MAX - 1].state, SITE_JOINING);
}

/* Nothing may go to a site that it did not have from the start, or be lost on the way. */
Test(document, what_several_sites_do_not_serve_yet_is_told_apart)
{
    set_sites();
    WRONG(STATUS_VERSION, document.keylog, KEYLOG_OFF);
    WRONG(STATUS_VERSION, document.durability, DURABILITY_MEMORY);
    WRONG(STATUS_OK, document.durability, DURABILITY_OS);
    WRONG(STATUS_VERSION, document.when_full, WHEN_FULL_REFUSE);
    WRONG(STATUS_VERSION, document.expiry, ((struct expiry){.number = 1, .after_us = 1}));
    document.content.keysets[1] = (struct keyset){2, false};
    WRONG(STATUS_VERSION, document.content.nkeysets, 2);
    document.nslices = 7;
    document.content.newest_slice = 1;
    document.window_us = 1;
    cr_assert_eq(validate(), STATUS_VERSION, "a window");
    leave_sites();
    cr_assert_eq(validate(), STATUS_OK, "which is one, without sites");
}

/* ---- epochs, slots, sizes ---- */

Test(document, epochs_advance_and_forget_their_bytes)
{
    document.epoch_bytes = heap_zalloc(3, 1);
    document.epoch_size = 3;
    document.epoch_hash = document_epoch_hash(span_of("\0\0\0", 3));
    cr_assert_eq(validate(), STATUS_OK);
    WRONG(STATUS_MALFORMED, document.epoch_hash, document.epoch_hash + 1);
    document_epoch_advance(&document);
    cr_assert_eq(document.epoch, 4);
    cr_assert_eq(document.revision, 8);
    cr_assert_null(document.epoch_bytes);
    cr_assert_eq(document.epoch_size, 0);
    cr_assert_eq(document.epoch_hash, 0);
    document_epoch_advance(&document);
    cr_assert_eq(document.epoch, 5);
}

/* XXH3-64, seed 0: values of the reference implementation, libxxhash 0.8.1. */
Test(document, golden_epoch_hash)
{
    cr_assert_eq(document_epoch_hash(span_of(NULL, 0)), 0x2d06800538d394c2);
    cr_assert_eq(document_epoch_hash(span_text("orbloom")), 0xc80c9f0b023dbfc6);
}

Test(document, slots_are_found_by_member)
{
    struct slot *slots = document.content.groups[1].slots; /* nodes 2, 3, 4 */

    cr_assert_eq(document_slot_of(&document, 1, 2, 1002), 0);
    cr_assert_eq(document_slot_of(&document, 1, 4, 1004), 2);
    cr_assert_eq(document_slot_of(&document, 1, 4, 0), 2, "any incarnation");
    cr_assert_eq(document_slot_of(&document, 1, 4, 1005), -1, "another life of it");
    cr_assert_eq(document_slot_of(&document, 1, 1, 1001), -1, "of another group");
    cr_assert_eq(document_slot_of(&document, 1, 0, 0), -1, "no node");
    slots[1].incoming = (struct member){5, 1005};
    cr_assert_eq(document_slot_of(&document, 1, 5, 1005), 1);
    cr_assert_eq(document_slot_of(&document, 1, 3, 1003), 1);
    slots[3].current = (struct member){1, 1001};
    cr_assert_eq(document_slot_of(&document, 1, 1, 1001), -1, "beyond the replicas");
}

static void expect_roles(const enum member_role roles[4])
{
    static const struct member members[4] = {{2, 1002}, {2, 2002}, {2, 77}, {5, 1005}};

    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(member_role(&document, 1, members[i].node, members[i].incarnation), roles[i],
                     "member %zu", i);
    }
}

/* A node that lost its data: 1002 was its former life, 2002 is the present one. */
Test(document, roles_follow_the_stages_of_a_slot)
{
    struct slot *slot = &document.content.groups[1].slots[0]; /* node 2 */
    const struct member *writers[2];

    expect_roles((enum member_role[4]){MEMBER_FULL, MEMBER_JOINING, MEMBER_JOINING, MEMBER_NONE});
    cr_assert_eq(slot_writers(slot, writers), 1);
    cr_assert_eq(writers[0], &slot->current);
    slot->incoming = (struct member){2, 2002};
    expect_roles((enum member_role[4]){MEMBER_FULL, MEMBER_JOINING, MEMBER_JOINING, MEMBER_NONE});
    cr_assert_eq(slot_writers(slot, writers), 2);
    cr_assert_eq(writers[0], &slot->current, "the reader first");
    cr_assert_eq(writers[1], &slot->incoming);
    slot->reads_incoming = true;
    expect_roles((enum member_role[4]){MEMBER_LEAVING, MEMBER_FULL, MEMBER_JOINING, MEMBER_NONE});
    cr_assert_eq(slot_writers(slot, writers), 2);
    cr_assert_eq(writers[0], &slot->incoming, "the reader first");
    cr_assert_eq(writers[1], &slot->current);
    *slot = (struct slot){.current = {2, 2002}};
    expect_roles((enum member_role[4]){MEMBER_JOINING, MEMBER_FULL, MEMBER_JOINING, MEMBER_NONE});
    slot->incoming = (struct member){5, 1005};
    expect_roles(
        (enum member_role[4]){MEMBER_JOINING, MEMBER_FULL, MEMBER_JOINING, MEMBER_JOINING});
    cr_assert_eq(member_role(&document, 0, 5, 1005), MEMBER_NONE, "of another group");
    cr_assert_eq(member_role(&document, 1, 0, 0), MEMBER_NONE, "no node");
}

Test(document, sizes_follow_the_wanted_generation)
{
    cr_assert_eq(document_nshards(&document), 16);
    cr_assert_eq(document_shard_bytes(&document), 12800 * 64);
    document.generations[1] = (struct generation){2, {1, 640, 2, 4}, 5, 0};
    document.ngenerations = 2;
    cr_assert_eq(document_generation(&document)->id, 2);
    cr_assert_eq(document_shard_bytes(&document), 640 * 64);
}

Test(document, finishing_twice_is_fine)
{
    const struct filter_document zero = {0};

    document_fini(&document);
    document_fini(&document);
    cr_assert_eq(memcmp(&document, &zero, sizeof zero), 0);
}

Test(document, states_have_names)
{
    cr_assert_str_eq(replica_state_name(REPLICA_NONE), "none");
    cr_assert_str_eq(replica_state_name(REPLICA_FULL), "full");
    cr_assert_str_eq(replica_state_name((enum replica_state)9), "unknown");
    cr_assert_str_eq(filter_state_name(FILTER_DROPPING), "dropping");
    cr_assert_str_eq(filter_state_name((enum filter_state)0), "unknown");
}

static enum status validate_list(void)
{
    const char *reason = "untouched";
    enum status status = node_list_validate(&list, &reason);

    cr_assert_eq(reason == NULL, status == STATUS_OK);
    return status;
}

Test(document, node_lists_are_checked)
{
    struct node_record *node = &list.nodes[2];
    char kept[DOCUMENT_NAME_BYTES];

    cr_assert_eq(validate_list(), STATUS_OK);
    node->id = 0;
    cr_assert_eq(validate_list(), STATUS_MALFORMED);
    node->id = 1;
    cr_assert_eq(validate_list(), STATUS_MALFORMED, "an id twice");
    node->id = 3;
    memcpy(kept, node->name, sizeof kept);
    memcpy(node->name, list.nodes[4].name, sizeof kept);
    cr_assert_eq(validate_list(), STATUS_MALFORMED, "a name twice");
    node->name[0] = '/';
    cr_assert_eq(validate_list(), STATUS_MALFORMED, "no name");
    memcpy(node->name, kept, sizeof kept);
    node->host[0] = '\0';
    cr_assert_eq(validate_list(), STATUS_MALFORMED, "no host");
    node->host[0] = 'h';
    node->zone[0] = ' ';
    cr_assert_eq(validate_list(), STATUS_MALFORMED, "zone");
    node->zone[0] = '\0';
    cr_assert_eq(validate_list(), STATUS_OK, "no zone");
    memset(node->endpoint, 'e', sizeof node->endpoint);
    cr_assert_eq(validate_list(), STATUS_MALFORMED, "endpoint without end");
    node->endpoint[0] = '\0';
    cr_assert_eq(validate_list(), STATUS_MALFORMED, "no endpoint");
    node->endpoint[0] = 'e';
    node->endpoint[1] = '\0';
    cr_assert_eq(validate_list(), STATUS_OK);
    node->durable = true;
    node->boot = 0;
    cr_assert_eq(validate_list(), STATUS_MALFORMED, "a disk without a boot");
    node->durable = false;
    cr_assert_eq(validate_list(), STATUS_OK);
    list.count = DOCUMENT_MAX_NODES + 1;
    cr_assert_eq(validate_list(), STATUS_MALFORMED, "too many");
    list.count = 0;
    cr_assert_eq(validate_list(), STATUS_OK, "an empty list");
    list.count = 5;
}

Test(document, nodes_are_found_by_id_and_name)
{
    cr_assert_eq(node_list_find(&list, 4), &list.nodes[3]);
    cr_assert_null(node_list_find(&list, 6));
    cr_assert_null(node_list_find(&list, 0));
    cr_assert_eq(node_list_find_name(&list, "node-5"), &list.nodes[4]);
    cr_assert_null(node_list_find_name(&list, "node-"));
}

Test(document, node_lists_are_copied_whole_or_not_at_all)
{
    struct node_list copy = {0};
    struct node_list empty = {.revision = 9};
    size_t live = heap_live();

    heap_fault_after(0);
    cr_assert_eq(node_list_copy(&list, &copy), STATUS_NOMEM);
    heap_fault_clear();
    cr_assert_eq(copy.count, 0);
    cr_assert_eq(heap_live(), live);
    cr_assert_eq(node_list_copy(&list, &copy), STATUS_OK);
    cr_assert_eq(copy.revision, list.revision);
    cr_assert_eq(copy.count, list.count);
    cr_assert_neq(copy.nodes, list.nodes);
    cr_assert_eq(memcmp(copy.nodes, list.nodes, list.count * sizeof *list.nodes), 0);
    node_list_fini(&copy);
    cr_assert_eq(node_list_copy(&empty, &copy), STATUS_OK);
    cr_assert_eq(copy.revision, 9);
    cr_assert_eq(heap_live(), live);
}

Test(document, nodes_take_turns_while_there_are_several_generations)
{
    document.generations[0].id = 7;
    document.generations[1] = document.generations[0];
    document.generations[1].id = 9;
    document.ngenerations = 2;
    document.turns[0] = 3;
    document.turns[1] = 5;
    document.nturns = 2;

    cr_assert(document_has_turn(&document, 5));
    cr_assert_not(document_has_turn(&document, 4));
    cr_assert_eq(document_generation_of(&document, 7), &document.generations[0]);
    cr_assert_eq(document_generation_of(&document, 9), document_generation(&document));
    cr_assert_null(document_generation_of(&document, 8));
    document.ngenerations = 1;
    cr_assert(document_has_turn(&document, 4));
    cr_assert_null(document_generation_of(&document, 9));
}

Test(document, losses_are_of_lives_and_of_an_epoch)
{
    struct slot_group *group = &document.content.groups[1];

    group->lost[0] = (struct member){2, 1002};
    group->loss_epoch = document.epoch;
    cr_assert_eq(validate(), STATUS_OK);
    WRONG(STATUS_MALFORMED, group->loss_epoch, 0);
    WRONG(STATUS_MALFORMED, group->loss_epoch, document.epoch + 1);
    WRONG(STATUS_MALFORMED, group->lost[0].node, 0);
    WRONG(STATUS_MALFORMED, group->lost[0].incarnation, 0);
    WRONG(STATUS_MALFORMED, group->slots[0].incoming, ((struct member){2, 1002}));
    WRONG(STATUS_OK, group->slots[0].incoming, ((struct member){2, 2002}));
}

/* ---- where a node is reached ---- */

Test(document, a_nodes_address_tells_whether_it_speaks_curve)
{
    struct node_record record = {.endpoint = "tcp://10.0.0.1:7410"};
    char text[NODE_ADDRESS_BYTES];

    cr_assert_str_eq(node_record_address(&record, text), "tcp://10.0.0.1:7410");
    record.curve = true;
    cr_assert_str_eq(node_record_address(&record, text), "curve://10.0.0.1:7410");
    (void)snprintf(record.endpoint, sizeof record.endpoint, "ipc:///run/node");
    cr_assert_str_eq(node_record_address(&record, text), "ipc:///run/node");
}

/* The longest endpoint keeps its port. */
Test(document, the_longest_address_is_whole)
{
    struct node_record record = {.curve = true};
    const size_t last = sizeof record.endpoint - 1;
    char text[NODE_ADDRESS_BYTES];

    memset(record.endpoint, 'h', last);
    memcpy(record.endpoint, "tcp://", 6);
    memcpy(record.endpoint + last - 5, ":7410", 5);
    cr_assert_eq(strlen(node_record_address(&record, text)), last + 2);
    cr_assert_str_eq(text + strlen(text) - 6, "h:7410");
}
