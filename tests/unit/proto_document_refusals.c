/* Which documents are refused although they bear the right MAC? */
#include "proto/codec.h"
#include "proto/intake.h"
#include "proto/orbloom.pb-c.h"
#include "proto/signed_document.h"
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

TestSuite(document_refusals, .init = setup, .fini = teardown);

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

/* Sign any content with the cluster key, as another version might. */
static void sign(enum document_kind kind, const ProtobufCMessage *content)
{
    Orbloom__V1__SignedDocument wire = ORBLOOM__V1__SIGNED_DOCUMENT__INIT;
    uint8_t mac[SEAL_MAC_BYTES];
    uint8_t *out = NULL;

    wire.content.len = protobuf_c_message_get_packed_size(content);
    wire.content.data = malloc(wire.content.len + 1);
    protobuf_c_message_pack(content, wire.content.data);
    seal_mac(&key, kind == DOCUMENT_FILTER ? SEAL_FILTER_DOCUMENT : SEAL_NODE_LIST,
             span_of(wire.content.data, wire.content.len), mac);
    wire.kind = (Orbloom__V1__DocumentKind)kind;
    wire.mac = (ProtobufCBinaryData){.len = sizeof mac, .data = mac};
    buffer_clear(&bytes);
    cr_assert_eq(buffer_extend(&bytes, protobuf_c_message_get_packed_size(&wire.base), &out),
                 STATUS_OK);
    protobuf_c_message_pack(&wire.base, out);
    free(wire.content.data);
}

/* The protobuf form of the sample, to be bent by a test. */
static Orbloom__V1__FilterDocument *unpack_sample(void)
{
    struct filter_document document = sample_document();
    Orbloom__V1__SignedDocument *envelope;
    Orbloom__V1__FilterDocument *wire;

    buffer_clear(&bytes);
    cr_assert_eq(codec_filter_document_sign(&document, &key, &bytes), STATUS_OK);
    envelope = orbloom__v1__signed_document__unpack(NULL, bytes.size, bytes.data);
    cr_assert_not_null(envelope);
    wire = orbloom__v1__filter_document__unpack(NULL, envelope->content.len,
                                                envelope->content.data);
    cr_assert_not_null(wire);
    cr_assert_eq(wire->base.n_unknown_fields, 0);
    orbloom__v1__signed_document__free_unpacked(envelope, NULL);
    document_fini(&document);
    return wire;
}

static enum status open_wire(const Orbloom__V1__FilterDocument *wire)
{
    struct filter_document back;
    enum status status;

    sign(DOCUMENT_FILTER, &wire->base);
    status = codec_filter_document_open(buffer_span(&bytes), &key, &back);
    if (status != STATUS_OK) {
        cr_assert(is_zero(&back, sizeof back));
    }
    document_fini(&back);
    return status;
}

/* Open the sample with other epoch content. */
static enum status open_content(Orbloom__V1__FilterDocument *wire,
                                const Orbloom__V1__EpochContent *content)
{
    ProtobufCBinaryData kept = wire->epoch_content;
    enum status status;

    wire->epoch_content.len = protobuf_c_message_get_packed_size(&content->base);
    wire->epoch_content.data = malloc(wire->epoch_content.len);
    protobuf_c_message_pack(&content->base, wire->epoch_content.data);
    status = open_wire(wire);
    free(wire->epoch_content.data);
    wire->epoch_content = kept;
    return status;
}

Test(document_refusals, documents_that_this_version_would_misread_are_refused)
{
    Orbloom__V1__FilterDocument *wire = unpack_sample();
    Orbloom__V1__NodeList list = ORBLOOM__V1__NODE_LIST__INIT;
    struct node_list nodes;

    cr_assert_eq(open_wire(wire), STATUS_OK);
    wire->needs = features_known() + 1;
    cr_assert_eq(open_wire(wire), STATUS_VERSION);
    wire->needs = 0;
    cr_assert_eq(open_wire(wire), STATUS_OK);
    wire->window_us = 1;
    cr_assert_eq(open_wire(wire), STATUS_VERSION);
    orbloom__v1__filter_document__free_unpacked(wire, NULL);

    list.needs = (uint64_t)1 << 63;
    sign(DOCUMENT_NODE_LIST, &list.base);
    cr_assert_eq(codec_node_list_open(buffer_span(&bytes), &key, &nodes), STATUS_VERSION);
}

/* The hash is that of bytes as received, also when our encoder would have written others. */
Test(document_refusals, the_epoch_hash_covers_received_bytes)
{
    static const char extra[] = "\x0a\x05other"; /* the name once more: the last one counts */
    Orbloom__V1__FilterDocument *wire = unpack_sample();
    size_t size = wire->epoch_content.len;
    struct filter_document back;
    struct filter_document again;

    wire->epoch_content.data = realloc(wire->epoch_content.data, size + sizeof extra - 1);
    memcpy(wire->epoch_content.data + size, extra, sizeof extra - 1);
    wire->epoch_content.len = size + sizeof extra - 1;
    sign(DOCUMENT_FILTER, &wire->base);
    cr_assert_eq(codec_filter_document_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    cr_assert(span_equal(span_of(back.epoch_bytes, back.epoch_size),
                         span_of(wire->epoch_content.data, wire->epoch_content.len)));
    cr_assert_str_eq(back.content.name, "other");
    cr_assert_eq(back.epoch_hash,
                 document_epoch_hash(span_of(wire->epoch_content.data, wire->epoch_content.len)));
    back.revision++; /* an edit of the rest keeps the epoch's bytes */
    buffer_clear(&bytes);
    cr_assert_eq(codec_filter_document_sign(&back, &key, &bytes), STATUS_OK);
    cr_assert_eq(codec_filter_document_open(buffer_span(&bytes), &key, &again), STATUS_OK);
    cr_assert_eq(again.revision, back.revision);
    cr_assert_eq(again.epoch_hash, back.epoch_hash);
    cr_assert(span_equal(span_of(again.epoch_bytes, again.epoch_size),
                         span_of(back.epoch_bytes, back.epoch_size)));
    document_fini(&back);
    document_fini(&again);
    orbloom__v1__filter_document__free_unpacked(wire, NULL);
}

/* ---- what only newer versions know ---- */

/* Open the sample with a field more in that part of its epoch content: "new", of that number. */
static enum status open_with(Orbloom__V1__FilterDocument *wire, Orbloom__V1__EpochContent *content,
                             ProtobufCMessage *part, uint32_t tag)
{
    ProtobufCMessageUnknownField field = {
        .tag = tag,
        .wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
        .len = 4,
        .data = (uint8_t *)"\x03new",
    };
    enum status status;

    part->n_unknown_fields = 1;
    part->unknown_fields = &field;
    status = open_content(wire, content);
    part->n_unknown_fields = 0;
    part->unknown_fields = NULL;
    return status;
}

static void make_site(Orbloom__V1__SiteEntry *site)
{
    site->id_low = 1;
    site->name = (ProtobufCBinaryData){.len = 2, .data = (uint8_t *)"eu"};
    site->life = 1;
    site->state = ORBLOOM__V1__SITE_STATE__SITE_COUNTED;
}

/* Whoever edits a document writes the epoch's content anew: what is not known would be gone, and
 * all others would take that for what was agreed on. */
Test(document_refusals, a_field_of_the_epoch_that_is_not_known_is_of_another_version)
{
    enum { ANY = 1000 };
    Orbloom__V1__FilterDocument *wire = unpack_sample();
    Orbloom__V1__EpochContent *content = orbloom__v1__epoch_content__unpack(
        NULL, wire->epoch_content.len, wire->epoch_content.data);
    Orbloom__V1__NodeLife life = ORBLOOM__V1__NODE_LIFE__INIT;
    Orbloom__V1__AcceptedLoss loss = ORBLOOM__V1__ACCEPTED_LOSS__INIT;
    Orbloom__V1__NodeLife *lives[] = {&life};
    Orbloom__V1__AcceptedLoss *losses[] = {&loss};
    Orbloom__V1__SiteEntry site = ORBLOOM__V1__SITE_ENTRY__INIT;
    Orbloom__V1__SiteEntry *entries[] = {&site};
    Orbloom__V1__SiteSet sites = ORBLOOM__V1__SITE_SET__INIT;
    ProtobufCMessage *parts[] = {&content->base,
                                 &content->groups[2]->base,
                                 &content->groups[1]->slots[2]->base,
                                 &content->keysets[0]->base,
                                 &loss.base,
                                 &life.base,
                                 &sites.base,
                                 &site.base};

    life.node = 9;
    life.incarnation = 9;
    loss.epoch = 1;
    loss.n_lives = 1;
    loss.lives = lives;
    content->losses = losses;
    content->n_losses = 1;
    make_site(&site);
    sites.entries = entries;
    sites.n_entries = 1;
    content->sites = &sites;
    wire->durability = ORBLOOM__V1__DURABILITY__DURABILITY_SYNC;
    wire->when_full = ORBLOOM__V1__WHEN_FULL__WHEN_FULL_EXPAND;
    cr_assert_eq(open_content(wire, content), STATUS_OK);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        cr_assert_eq(open_with(wire, content, parts[i], ANY), STATUS_VERSION, "part %zu", i);
        cr_assert_eq(open_content(wire, content), STATUS_OK);
    }
    content->n_losses = 0;
    content->losses = NULL;
    content->sites = NULL;
    orbloom__v1__epoch_content__free_unpacked(content, NULL);
    orbloom__v1__filter_document__free_unpacked(wire, NULL);
}

/* In a cache nothing takes the place of what was held, and nothing is in conflict with it. */
Test(document_refusals, what_is_of_another_version_changes_nothing)
{
    struct filter_document document = sample_document();
    struct document_cache cache = {0};
    struct intake intake;
    Orbloom__V1__FilterDocument *wire;

    buffer_clear(&bytes);
    cr_assert_eq(codec_filter_document_sign(&document, &key, &bytes), STATUS_OK);
    cr_assert_eq(intake_take(&cache, &key, buffer_span(&bytes), &intake), STATUS_OK);
    wire = unpack_sample();
    wire->revision++;
    wire->epoch++;
    wire->epoch_content.data = realloc(wire->epoch_content.data, wire->epoch_content.len + 5);
    memcpy(wire->epoch_content.data + wire->epoch_content.len, "\x7a\x03new", 5); /* field 15 */
    wire->epoch_content.len += 5;
    sign(DOCUMENT_FILTER, &wire->base);
    cr_assert_eq(intake_take(&cache, &key, buffer_span(&bytes), &intake), STATUS_VERSION);
    cr_assert_not(intake.changed);
    cr_assert_eq(cache.by_id[0]->document.revision, document.revision);
    cr_assert_not(cache.by_id[0]->conflict);
    cr_assert_neq(codec_document_remedy(STATUS_VERSION)[0], '\0');
    document_cache_fini(&cache);
    document_fini(&document);
    orbloom__v1__filter_document__free_unpacked(wire, NULL);
}

/* Authentic bytes may still be wrong: a defect elsewhere must not become ours. */
Test(document_refusals, shapes_are_checked_though_the_mac_is_right)
{
    Orbloom__V1__FilterDocument *wire = unpack_sample();
    Orbloom__V1__EpochContent *content = orbloom__v1__epoch_content__unpack(
        NULL, wire->epoch_content.len, wire->epoch_content.data);

    cr_assert_not_null(content);
    cr_assert_eq(open_content(wire, content), STATUS_OK);
    content->n_group_of_shard--;
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "a shard is missing");
    content->n_group_of_shard++;
    content->group_of_shard[3] = 65536; /* would wrap to 0 in 16 bits */
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "group 65536");
    content->group_of_shard[3] = 0;
    content->shard_bits = 36; /* 1 << 36 would wrap to 16 in 32 bits, 1 << 68 in 64 */
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "shard bits");
    content->shard_bits = 68;
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "shard bits");
    content->shard_bits = 4;
    content->groups[1]->n_slots--;
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "a slot is missing");
    content->groups[1]->n_slots++;
    content->replicas = 8;
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "8 replicas");
    content->replicas = 3;
    content->n_groups = 0;
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "no groups");
    content->n_groups = 3;
    content->name.len = 2;
    content->name.data[0] = '\0';
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "name");
    content->name.data[0] = 's';
    cr_assert_eq(open_content(wire, content), STATUS_OK);
    orbloom__v1__epoch_content__free_unpacked(content, NULL);
    orbloom__v1__filter_document__free_unpacked(wire, NULL);
}

Test(document_refusals, lists_longer_than_ours_are_refused)
{
    Orbloom__V1__FilterDocument *wire = unpack_sample();
    Orbloom__V1__EpochContent *content = orbloom__v1__epoch_content__unpack(
        NULL, wire->epoch_content.len, wire->epoch_content.data);
    Orbloom__V1__Generation *generations[DOCUMENT_MAX_GENERATIONS + 1];
    Orbloom__V1__Generation **kept_generations = wire->generations;
    Orbloom__V1__Keyset *keysets[DOCUMENT_MAX_KEYSETS + 1];
    Orbloom__V1__Keyset **kept_keysets = content->keysets;
    char name[DOCUMENT_NAME_BYTES];
    ProtobufCBinaryData kept_name = content->name;

    for (size_t i = 0; i <= DOCUMENT_MAX_GENERATIONS; i++) {
        generations[i] = wire->generations[0];
    }
    wire->generations = generations;
    wire->n_generations = DOCUMENT_MAX_GENERATIONS + 1;
    cr_assert_eq(open_wire(wire), STATUS_MALFORMED);
    wire->generations = kept_generations;
    wire->n_generations = 1;

    for (size_t i = 0; i <= DOCUMENT_MAX_KEYSETS; i++) {
        keysets[i] = content->keysets[0];
    }
    content->keysets = keysets;
    content->n_keysets = DOCUMENT_MAX_KEYSETS + 1;
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED);
    content->keysets = kept_keysets;
    content->n_keysets = 1;

    memset(name, 'n', sizeof name);
    content->name = (ProtobufCBinaryData){.len = sizeof name, .data = (uint8_t *)name};
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED);
    content->name.len--;
    cr_assert_eq(open_content(wire, content), STATUS_OK);
    content->name = kept_name;
    orbloom__v1__epoch_content__free_unpacked(content, NULL);
    orbloom__v1__filter_document__free_unpacked(wire, NULL);
}

Test(document_refusals, losses_name_a_group_once_and_lives)
{
    Orbloom__V1__FilterDocument *wire = unpack_sample();
    Orbloom__V1__EpochContent *content = orbloom__v1__epoch_content__unpack(
        NULL, wire->epoch_content.len, wire->epoch_content.data);
    Orbloom__V1__NodeLife life = ORBLOOM__V1__NODE_LIFE__INIT;
    Orbloom__V1__NodeLife *lives[QUORUM_MAX_REPLICAS + 1];
    Orbloom__V1__AcceptedLoss loss = ORBLOOM__V1__ACCEPTED_LOSS__INIT;
    Orbloom__V1__AcceptedLoss *losses[] = {&loss, &loss};

    for (size_t i = 0; i <= QUORUM_MAX_REPLICAS; i++) {
        lives[i] = &life;
    }
    life.node = 2;
    life.incarnation = 1002;
    loss.epoch = 1;
    loss.lives = lives;
    loss.n_lives = QUORUM_MAX_REPLICAS;
    content->losses = losses;
    content->n_losses = 1;
    cr_assert_eq(open_content(wire, content), STATUS_OK);
    content->n_losses = 2;
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "twice");
    content->n_losses = 1;
    loss.n_lives++;
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "too many lives");
    loss.n_lives = 0;
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "no life");
    loss.n_lives = 1;
    life.node = 0;
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "of no node");
    life.node = 2;
    loss.group = 3;
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "no such group");
    content->losses = NULL;
    content->n_losses = 0;
    orbloom__v1__epoch_content__free_unpacked(content, NULL);
    orbloom__v1__filter_document__free_unpacked(wire, NULL);
}

Test(document_refusals, a_set_of_sites_is_within_its_bounds)
{
    Orbloom__V1__FilterDocument *wire = unpack_sample();
    Orbloom__V1__EpochContent *content = orbloom__v1__epoch_content__unpack(
        NULL, wire->epoch_content.len, wire->epoch_content.data);
    Orbloom__V1__SiteEntry site = ORBLOOM__V1__SITE_ENTRY__INIT;
    Orbloom__V1__SiteEntry gone[SITE_SET_MAX + 1];
    Orbloom__V1__SiteEntry *entries[SITE_SET_MAX + 1];
    Orbloom__V1__SiteSet sites = ORBLOOM__V1__SITE_SET__INIT;
    char name[SITE_NAME_BYTES + 1];

    memset(name, 'n', sizeof name);
    make_site(&site);
    for (size_t i = 0; i <= SITE_SET_MAX; i++) {
        gone[i] = site;
        gone[i].id_low += i;
        gone[i].state = ORBLOOM__V1__SITE_STATE__SITE_GONE;
        entries[i] = i == 0 ? &site : &gone[i];
    }
    wire->durability = ORBLOOM__V1__DURABILITY__DURABILITY_SYNC;
    wire->when_full = ORBLOOM__V1__WHEN_FULL__WHEN_FULL_EXPAND;
    content->sites = &sites;
    cr_assert_eq(open_content(wire, content), STATUS_OK, "an empty set is none");
    sites.entries = entries;
    sites.n_entries = SITE_SET_MAX;
    cr_assert_eq(open_content(wire, content), STATUS_OK);
    sites.n_entries++;
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "33 sites");
    sites.n_entries = 1;
    sites.own = 1;
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "of no site");
    sites.own = 0;
    site.state = (Orbloom__V1__SiteState)5;
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "a state");
    site.state = ORBLOOM__V1__SITE_STATE__SITE_UNSPECIFIED;
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "no state");
    site.state = ORBLOOM__V1__SITE_STATE__SITE_COUNTED;
    site.name = (ProtobufCBinaryData){.len = SITE_NAME_BYTES, .data = (uint8_t *)name};
    cr_assert_eq(open_content(wire, content), STATUS_MALFORMED, "a name that is too long");
    site.name.len--;
    cr_assert_eq(open_content(wire, content), STATUS_OK);
    wire->when_full = ORBLOOM__V1__WHEN_FULL__WHEN_FULL_REFUSE;
    cr_assert_eq(open_content(wire, content), STATUS_VERSION, "what is not served yet");
    content->sites = NULL;
    orbloom__v1__epoch_content__free_unpacked(content, NULL);
    orbloom__v1__filter_document__free_unpacked(wire, NULL);
}

Test(document_refusals, what_is_no_document_has_no_kind)
{
    enum document_kind kind = (enum document_kind)0;

    cr_assert_eq(codec_document_kind(span_of(NULL, 0), &kind), STATUS_MALFORMED);
    cr_assert_eq(codec_document_kind(span_of("\x08\x07", 2), &kind), STATUS_MALFORMED);
    cr_assert_eq(codec_document_kind(span_of("\x08\x00", 2), &kind), STATUS_MALFORMED);
    cr_assert_eq(codec_document_kind(span_of("\x0a\x01\x01", 3), &kind), STATUS_MALFORMED);
    cr_assert_eq(codec_document_kind(span_of("\x08\x01\x10\x01", 4), &kind), STATUS_MALFORMED);
    cr_assert_eq(kind, 0);
    cr_assert_eq(codec_document_kind(span_of("\x08\x81\x80\x80\x80\x10", 6), &kind),
                 STATUS_MALFORMED, "2^32 + 1");
    cr_assert_eq(codec_document_kind(span_of("\x08\x02", 2), &kind), STATUS_OK);
    cr_assert_eq(kind, DOCUMENT_NODE_LIST);
}

Test(document_refusals, oversized_documents_are_refused)
{
    static uint8_t large[DOCUMENT_MAX_BYTES + 1];
    struct filter_document back;
    enum document_kind kind;

    cr_assert_eq(codec_document_kind(span_of(large, sizeof large), &kind), STATUS_TOO_LARGE);
    cr_assert_eq(codec_filter_document_open(span_of(large, sizeof large), &key, &back),
                 STATUS_TOO_LARGE);
}

Test(document_refusals, what_peers_would_refuse_is_not_signed)
{
    struct filter_document document = sample_document();
    struct node_list list = sample_nodes(2);

    document.content.rule.write = 1;
    cr_assert_eq(codec_filter_document_sign(&document, &key, &bytes), STATUS_MALFORMED);
    document.content.rule.write = 2;
    document.window_us = 1;
    cr_assert_eq(codec_filter_document_sign(&document, &key, &bytes), STATUS_VERSION);
    document.window_us = 0;
    document.expiry = (struct expiry){.number = document.revision + 1, .after_us = 1};
    cr_assert_eq(codec_filter_document_sign(&document, &key, &bytes), STATUS_MALFORMED);
    list.nodes[1].id = 1;
    cr_assert_eq(codec_node_list_sign(&list, &key, &bytes), STATUS_MALFORMED);
    list.nodes[1].id = 2;
    list.nodes[0].endpoint[3] = '\n';
    cr_assert_eq(codec_node_list_sign(&list, &key, &bytes), STATUS_INVALID);
    cr_assert_eq(bytes.size, 0);
    document_fini(&document);
    node_list_fini(&list);
}
