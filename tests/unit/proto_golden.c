/* The bytes of the wire and of documents, fixed for good: peers and stores of other versions
 * hold them. A difference here is a new protocol version, never a new expectation.
 */
#include "map/acks.h"
#include "proto/codec.h"
#include "proto/signed_document.h"
#include "proto_compare.h"
#include "proto_document_samples.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { GOLDEN_MAX_BYTES = 1024 };

static struct codec_arena *arena;
static struct buffer bytes;

static void setup(void)
{
    if (codec_arena_create(1 << 20, &arena) != STATUS_OK) {
        abort();
    }
    buffer_init(&bytes, GOLDEN_MAX_BYTES);
}

static void teardown(void)
{
    codec_arena_destroy(&arena);
    buffer_fini(&bytes);
}

TestSuite(golden, .init = setup, .fini = teardown);

static void assert_bytes(struct span actual, const char *expected)
{
    char hex[2 * GOLDEN_MAX_BYTES + 1] = "";

    for (size_t i = 0; i < actual.size; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", actual.data[i]);
    }
    cr_assert_str_eq(hex, expected);
}

/* Both directions: it is written so, and what is written so is read. */
static void assert_golden(const struct frame *frame, const char *expected)
{
    struct frame back;

    cr_assert_eq(codec_encode(frame, &bytes), STATUS_OK);
    assert_bytes(buffer_span(&bytes), expected);
    cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &back), STATUS_OK);
    compare_frames(frame, &back);
}

static const uint64_t present[] = {0x8000000000000001, 0x2};
static const uint64_t absent[] = {0x0102030405060708, 0x1};

Test(golden, client_request)
{
    static const uint32_t lengths[] = {1, 0, 3};
    struct frame frame = {
        .version = 1, .correlation = 0x0102030405060708, .kind = FRAME_CLIENT_REQUEST};

    frame.body.client_request = (struct client_request){
        .filter = "urls",
        .filter_id = 0x1112131415161718,
        .operation = OPERATION_ADD,
        .op = {{0x2122232425262728, 0x3132333435363738}, 300},
        .attempt = 1,
        .timeout_ms = 5000,
        .slots = 3,
        .keys = span_of("a\0bc", 4),
        .lengths = lengths,
        .count = 3,
    };
    assert_golden(&frame, "080111080706050403020152380a0475726c7311181716151413121118022128"
                          "2726252423222129383736353433323130ac0238014088274803520461006263"
                          "5a03010003");
}

Test(golden, client_reply)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_CLIENT_REPLY};

    frame.body.client_reply = (struct client_reply){
        .op = {{2, 3}, 4},
        .attempt = 5,
        .status = STATUS_UNAVAILABLE,
        .message = "why",
        .filter_id = 6,
        .epoch = 7,
        .count = 66,
        .present = present,
        .absent = absent,
    };
    assert_golden(&frame, "08011101000000000000005a4009020000000000000011030000000000000018"
                          "042005280d320377687939060000000000000040074842520901000000000000"
                          "80025a09080706050403020101");
}

Test(golden, node_request)
{
    static const struct subrequest subrequests[] = {
        {1, 2, 3, 4, 5, OPERATION_ADD, {{6, 7}, 8}, 9, {10, 11}, 1, 0, 0, false},
        {.operation = OPERATION_CHECK, .count = 2},
    };
    static const uint64_t fingerprints[] = {0x0102030405060708, UINT64_MAX, 0};
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_NODE_REQUEST};

    frame.body.node_request = (struct node_request){subrequests, 2, fingerprints, 3};
    assert_golden(&frame, "0801110100000000000000625f0a3d0801110200000000000000180321040000"
                          "0000000000280530023906000000000000004107000000000000004808500959"
                          "0a00000000000000600b70010a043001700212180807060504030201ffffffff"
                          "ffffffff0000000000000000");
}

Test(golden, node_reply)
{
    static const struct span documents[] = {{(const uint8_t *)"doc", 3}};
    const struct subrequest_reply subrequests[] = {
        {1, STATUS_OK, 2, 3, REPLICA_FULL, true, false, false, 66, present, absent, 0, 0},
        {4, STATUS_STALE, 5, 6, REPLICA_JOINING, false, false, false, 0, NULL, NULL, 0, 0},
    };
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_NODE_REPLY};

    frame.body.node_reply = (struct node_reply){7, 8, subrequests, 2, documents, 1};
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    assert_bytes(buffer_span(&bytes),
                 "08011101000000000000006a4e08071108000000000000001a29080118022103"
                 "0000000000000028033001384242090100000000000080024a09080706050403"
                 "0201011a110804100a180521060000000000000028022203646f63");
}

Test(golden, error)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_ERROR};

    frame.body.error = (struct error_reply){STATUS_VERSION, "speak 1"};
    assert_golden(&frame, "0801110100000000000000da030b08061207737065616b2031");
}

/* The document, its epoch content and hash, its MAC. */
Test(golden, filter_document)
{
    struct cluster_key key = sample_key(0);
    struct filter_document document = sample_document();
    struct filter_document back;

    cr_assert_eq(codec_filter_document_sign(&document, &key, &bytes), STATUS_OK);
    assert_bytes(span_of(document.epoch_bytes, document.epoch_size),
                 "0a097365656e2d75726c73100118032002280230043a2d0a0d080111e9030000"
                 "0000000030010a0d080211ea0300000000000030020a0d080311eb0300000000"
                 "000030033a2d0a0d080211ea0300000000000030020a0d080311eb0300000000"
                 "000030030a0d080411ec0300000000000030013a2d0a0d080311eb0300000000"
                 "000030030a0d080411ec0300000000000030010a0d080511ed03000000000000"
                 "30024210000102000102000102000102000102004a0408011001810180706050"
                 "40302010890101f0e0d0c0b0a090900102");
    cr_assert_eq(document.epoch_hash, 0x8394a689b19f0052);
    assert_bytes(buffer_span(&bytes),
                 "0801129d020988776655443322111007180322d1010a097365656e2d75726c73"
                 "100118032002280230043a2d0a0d080111e90300000000000030010a0d080211"
                 "ea0300000000000030020a0d080311eb0300000000000030033a2d0a0d080211"
                 "ea0300000000000030020a0d080311eb0300000000000030030a0d080411ec03"
                 "00000000000030013a2d0a0d080311eb0300000000000030030a0d080411ec03"
                 "00000000000030010a0d080511ed030000000000003002421000010200010200"
                 "0102000102000102004a040801100181018070605040302010890101f0e0d0c0"
                 "b0a09090010228015080ade204597b14ae47e17a843f6080c096b10268017001"
                 "7801800101880101a20117080111efcdab8967452301188064200128043080ad"
                 "e2041a20b7f6739dc21044524b695fedff2283902940568b18885374d38bf9ac"
                 "67b55fd8");
    cr_assert_eq(codec_filter_document_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    document_fini(&document);
    document_fini(&back);
}

/* What was written before filters had uids: refused as of another version, and not taken for
 * damage, or read without what it lacks. */
Test(golden, filter_document_of_before_uids)
{
    static const char former[] = "080112f4010988776655443322111007180322a8010a097365656e2d75726c73"
                                 "100118032002280230043a270a0b080111e9030000000000000a0b080211ea03"
                                 "0000000000000a0b080311eb030000000000003a270a0b080211ea0300000000"
                                 "00000a0b080311eb030000000000000a0b080411ec030000000000003a270a0b"
                                 "080311eb030000000000000a0b080411ec030000000000000a0b080511ed0300"
                                 "00000000004210000102000102000102000102000102004a0408011001280150"
                                 "80ade204597b14ae47e17a843f6080c096b102680170017801800101880101a2"
                                 "0117080111efcdab8967452301188064200128043080ade2041a2027105c507f"
                                 "b7c8222d8a347e5c4ae2d119ccfbc2e10042be3ab5a9dd36439bf7";
    struct cluster_key key = sample_key(0);
    struct filter_document back;
    uint8_t *document = NULL;
    size_t size = (sizeof former - 1) / 2;

    cr_assert_eq(buffer_extend(&bytes, size, &document), STATUS_OK);
    for (size_t i = 0; i < size; i++) {
        const char pair[] = {former[2 * i], former[2 * i + 1], '\0'};

        document[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    cr_assert_eq(codec_filter_document_open(buffer_span(&bytes), &key, &back), STATUS_VERSION);
    cr_assert_eq(back.epoch_bytes, NULL);
}

/* What was not there before: a document without it has the bytes above. */
Test(golden, filter_document_that_expires)
{
    struct cluster_key key = sample_key(0);
    struct filter_document document = sample_document();
    struct filter_document back;

    document.expiry = (struct expiry){7, 300000000, 1000000, 1900000000000};
    cr_assert_eq(codec_filter_document_sign(&document, &key, &bytes), STATUS_OK);
    cr_assert_eq(document.epoch_hash, 0x8394a689b19f0052, "no quorum need agree on it");
    assert_bytes(buffer_span(&bytes),
                 "080112b4020988776655443322111007180322d1010a097365656e2d75726c73"
                 "100118032002280230043a2d0a0d080111e90300000000000030010a0d080211"
                 "ea0300000000000030020a0d080311eb0300000000000030033a2d0a0d080211"
                 "ea0300000000000030020a0d080311eb0300000000000030030a0d080411ec03"
                 "00000000000030013a2d0a0d080311eb0300000000000030030a0d080411ec03"
                 "00000000000030010a0d080511ed030000000000003002421000010200010200"
                 "0102000102000102004a040801100181018070605040302010890101f0e0d0c0"
                 "b0a09090010228095080ade204597b14ae47e17a843f6080c096b10268017001"
                 "7801800101880101a20117080111efcdab8967452301188064200128043080ad"
                 "e204f80107800280c6868f018802c0843d900280f0cc86a6371a20928835569e"
                 "8c7d116a9cfd46de6e881c87059069e5206223b76793065e8c712d");
    cr_assert_eq(codec_filter_document_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    cr_assert_eq(back.expiry.number, 7);
    cr_assert_eq(back.expiry.after_us, 300000000);
    cr_assert_eq(back.expiry.counted_us, 1000000);
    cr_assert_eq(back.expiry.at_ms, 1900000000000);
    document_fini(&document);
    document_fini(&back);
}

/* What was not there before, in what quorums agree on: without it the bytes are those above. */
Test(golden, filter_document_in_several_sites)
{
    struct cluster_key key = sample_key(0);
    struct filter_document document = sample_document();
    struct filter_document back;
    struct site_set sites;

    document.durability = DURABILITY_SYNC;
    document.when_full = WHEN_FULL_EXPAND;
    sites = sample_sites();
    cr_assert_eq(document_put_sites(&document, &sites), STATUS_OK);
    cr_assert_eq(codec_filter_document_sign(&document, &key, &bytes), STATUS_OK);
    assert_bytes(span_of(document.epoch_bytes, document.epoch_size),
                 "0a097365656e2d75726c73100118032002280230043a2d0a0d080111e9030000"
                 "0000000030010a0d080211ea0300000000000030020a0d080311eb0300000000"
                 "000030033a2d0a0d080211ea0300000000000030020a0d080311eb0300000000"
                 "000030030a0d080411ec0300000000000030013a2d0a0d080311eb0300000000"
                 "000030030a0d080411ec0300000000000030010a0d080511ed03000000000000"
                 "30024210000102000102000102000102000102004a040801100162490a230908"
                 "070605040302011118171615141312111a027573200229efcdab000000000030"
                 "010a1a0928272625242322211a026575200129f0debc9a785634123002100118"
                 "012001280181018070605040302010890101f0e0d0c0b0a090900102");
    cr_assert_eq(document.epoch_hash, 0xdc23001cec450b1a);
    assert_bytes(buffer_span(&bytes),
                 "080112e80209887766554433221110071803229c020a097365656e2d75726c73"
                 "100118032002280230043a2d0a0d080111e90300000000000030010a0d080211"
                 "ea0300000000000030020a0d080311eb0300000000000030033a2d0a0d080211"
                 "ea0300000000000030020a0d080311eb0300000000000030030a0d080411ec03"
                 "00000000000030013a2d0a0d080311eb0300000000000030030a0d080411ec03"
                 "00000000000030010a0d080511ed030000000000003002421000010200010200"
                 "0102000102000102004a040801100162490a2309080706050403020111181716"
                 "15141312111a027573200229efcdab000000000030010a1a0928272625242322"
                 "211a026575200129f0debc9a7856341230021001180120012801810180706050"
                 "40302010890101f0e0d0c0b0a09090010228215080ade204597b14ae47e17a84"
                 "3f6080c096b102680170017802800101880103a20117080111efcdab89674523"
                 "01188064200128043080ade2041a20af26ab69a47e79efe53ac4b5bc689f53d1"
                 "9a238daaaccfd35f886c5e3b301774");
    cr_assert_eq(codec_filter_document_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    cr_assert(site_set_agrees(back.content.sites, &sites));
    cr_assert_eq(back.content.sites->own, 1);
    cr_assert(back.content.sites->takes_adds && back.content.sites->says_absent &&
              back.content.sites->settled);
    document_fini(&document);
    document_fini(&back);
}

/* Without orders an entry has the bytes that it had before there were any, above. */
Test(golden, filter_document_with_orders_about_a_site)
{
    struct cluster_key key = sample_key(0);
    struct filter_document document = sample_document();
    struct filter_document back;
    struct site_set sites = sample_sites();

    document.durability = DURABILITY_SYNC;
    document.when_full = WHEN_FULL_EXPAND;
    sites.entries[0].paused = true;
    sites.entries[0].resync = 300;
    cr_assert_eq(document_put_sites(&document, &sites), STATUS_OK);
    cr_assert_eq(codec_filter_document_sign(&document, &key, &bytes), STATUS_OK);
    assert_bytes(span_of(document.epoch_bytes, document.epoch_size),
                 "0a097365656e2d75726c73100118032002280230043a2d0a0d080111e9030000"
                 "0000000030010a0d080211ea0300000000000030020a0d080311eb0300000000"
                 "000030033a2d0a0d080211ea0300000000000030020a0d080311eb0300000000"
                 "000030030a0d080411ec0300000000000030013a2d0a0d080311eb0300000000"
                 "000030030a0d080411ec0300000000000030010a0d080511ed03000000000000"
                 "30024210000102000102000102000102000102004a0408011001624e0a280908"
                 "070605040302011118171615141312111a027573200229efcdab000000000030"
                 "01380140ac020a1a0928272625242322211a026575200129f0debc9a78563412"
                 "3002100118012001280181018070605040302010890101f0e0d0c0b0a0909001"
                 "02");
    cr_assert_eq(codec_filter_document_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    cr_assert(back.content.sites->entries[0].paused);
    cr_assert_eq(back.content.sites->entries[0].resync, 300);
    document_fini(&document);
    document_fini(&back);
}

/* The bound of checks: a wish, which quorums need not agree on, as nobody ever changes it. */
Test(golden, filter_document_with_a_bound)
{
    struct cluster_key key = sample_key(0);
    struct filter_document document = sample_document();
    struct filter_document back;

    document.max_staleness = 5000001;
    cr_assert_eq(codec_filter_document_sign(&document, &key, &bytes), STATUS_OK);
    cr_assert_eq(document.epoch_hash, 0x8394a689b19f0052);
    assert_bytes(buffer_span(&bytes),
                 "080112a3020988776655443322111007180322d1010a097365656e2d75726c73"
                 "100118032002280230043a2d0a0d080111e90300000000000030010a0d080211"
                 "ea0300000000000030020a0d080311eb0300000000000030033a2d0a0d080211"
                 "ea0300000000000030020a0d080311eb0300000000000030030a0d080411ec03"
                 "00000000000030013a2d0a0d080311eb0300000000000030030a0d080411ec03"
                 "00000000000030010a0d080511ed030000000000003002421000010200010200"
                 "0102000102000102004a040801100181018070605040302010890101f0e0d0c0"
                 "b0a09090010228215080ade204597b14ae47e17a843f6080c096b10268017001"
                 "7801800101880101a20117080111efcdab8967452301188064200128043080ad"
                 "e204c002c196b1021a209af53e2258a9cbd20598a452b532cb89f37572109fc4"
                 "35825ec99c15114db6f7");
    cr_assert_eq(codec_filter_document_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    cr_assert_eq(back.max_staleness, 5000001);
    document_fini(&document);
    document_fini(&back);
}

/* By how many sites an add is acknowledged: so is this. */
Test(golden, filter_document_with_acks)
{
    struct cluster_key key = sample_key(0);
    struct filter_document document = sample_document();
    struct filter_document back;

    document.acks = ACKS_EACH;
    cr_assert_eq(codec_filter_document_sign(&document, &key, &bytes), STATUS_OK);
    cr_assert_eq(document.epoch_hash, 0x8394a689b19f0052);
    assert_bytes(buffer_span(&bytes),
                 "080112a1020988776655443322111007180322d1010a097365656e2d75726c73"
                 "100118032002280230043a2d0a0d080111e90300000000000030010a0d080211"
                 "ea0300000000000030020a0d080311eb0300000000000030033a2d0a0d080211"
                 "ea0300000000000030020a0d080311eb0300000000000030030a0d080411ec03"
                 "00000000000030013a2d0a0d080311eb0300000000000030030a0d080411ec03"
                 "00000000000030010a0d080511ed030000000000003002421000010200010200"
                 "0102000102000102004a040801100181018070605040302010890101f0e0d0c0"
                 "b0a09090010228215080ade204597b14ae47e17a843f6080c096b10268017001"
                 "7801800101880101a20117080111efcdab8967452301188064200128043080ad"
                 "e204c802ff011a20c8e96fec31457c01f0e7750d96c46c9bd969f921803314dc"
                 "15b031358bed55d7");
    cr_assert_eq(codec_filter_document_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    cr_assert_eq(back.acks, ACKS_EACH);
    document_fini(&document);
    document_fini(&back);
}

Test(golden, expire_request)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_ADMIN_REQUEST};

    frame.body.admin_request = (struct admin_request){
        .action = ADMIN_EXPIRE,
        .timeout_ms = 5000,
        .name = "urls",
        .successor = "",
        .expire = {.after_us = 300,
                   .dated = true,
                   .at_ms = 1900000000000,
                   .if_none = true,
                   .if_some = true,
                   .if_later = true,
                   .if_sooner = true},
    };
    assert_golden(&frame, "0801110100000000000000c2022108061088271a0475726c734a1410ac021801"
                          "2080f0cc86a6372801300138014001");
    frame.body.admin_request.expire = (struct expiry_wish){.never = true};
    buffer_clear(&bytes);
    assert_golden(&frame, "0801110100000000000000c2020f08061088271a0475726c734a020801");
}

Test(golden, rename_request)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_ADMIN_REQUEST};

    frame.body.admin_request = (struct admin_request){
        .action = ADMIN_RENAME,
        .timeout_ms = 5000,
        .name = "urls",
        .successor = "",
        .rename = {.name = "list", .replace = true},
    };
    assert_golden(&frame, "0801110100000000000000c2021508071088271a0475726c7352080a046c6973"
                          "741001");
}

/* What was not there before; the bytes of an epoch without it are above. */
Test(golden, filter_document_that_is_renamed)
{
    struct cluster_key key = sample_key(0);
    struct filter_document document = sample_document();
    struct filter_document back;

    memcpy(document.former_name, "next-urls", 10);
    document.replaces = 0x0102030405060708;
    document.content.named_epoch = 3;
    cr_assert_eq(codec_filter_document_sign(&document, &key, &bytes), STATUS_OK);
    assert_bytes(buffer_span(&bytes),
                 "080112b5020988776655443322111007180322d3010a097365656e2d75726c73"
                 "100118032002280230043a2d0a0d080111e90300000000000030010a0d080211"
                 "ea0300000000000030020a0d080311eb0300000000000030033a2d0a0d080211"
                 "ea0300000000000030020a0d080311eb0300000000000030030a0d080411ec03"
                 "00000000000030013a2d0a0d080311eb0300000000000030030a0d080411ec03"
                 "00000000000030010a0d080511ed030000000000003002421000010200010200"
                 "0102000102000102004a0408011001700381018070605040302010890101f0e0"
                 "d0c0b0a09090010228035080ade204597b14ae47e17a843f6080c096b1026801"
                 "70017801800101880101a20117080111efcdab89674523011880642001280430"
                 "80ade2049a02096e6578742d75726c73a10208070605040302011a20fd780a19"
                 "6307b9011576598108244b429d600e15b21d262653e131edea36ba77");
    cr_assert_eq(codec_filter_document_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    cr_assert_str_eq(back.former_name, "next-urls");
    cr_assert_eq(back.replaces, 0x0102030405060708);
    cr_assert_eq(back.content.named_epoch, 3);
    document_fini(&document);
    document_fini(&back);
}

Test(golden, cluster_record)
{
    struct cluster_key key = sample_key(0);
    struct cluster_id id = cluster_id_make(0x1122334455667788, 0x99aabbccddeeff01);
    struct cluster_id back;

    cr_assert_eq(codec_cluster_sign(&id, &key, &bytes), STATUS_OK);
    assert_bytes(buffer_span(&bytes),
                 "080412120a10887766554433221101ffeeddccbbaa991a204ec5a79ebcac3c7f"
                 "220523c5c7474d3fd2308b06f237a91ff055bbedc458fe25");
    cr_assert_eq(codec_cluster_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    cr_assert(cluster_id_equal(&back, &id));
}

Test(golden, cluster_features)
{
    struct cluster_key key = sample_key(0);
    const struct cluster_features record = {.revision = 2, .in_use = 0x8000000000000003};
    struct cluster_features back;

    cr_assert_eq(codec_features_sign(&record, &key, &bytes), STATUS_OK);
    assert_bytes(buffer_span(&bytes),
                 "0805120b08021103000000000000801a20e490a60e480b4d36321dad33ad3e50"
                 "fbd85312cf0ce34a3b16bd48688be0f8de");
    cr_assert_eq(codec_features_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    cr_assert(back.revision == 2 && back.in_use == record.in_use);
}

static void assert_node_list(bool disks, const char *expected)
{
    struct cluster_key key = sample_key(0);
    struct node_list list = sample_nodes(2);
    struct node_list back;

    for (uint32_t i = 0; i < list.count && !disks; i++) {
        list.nodes[i].boot = 0;
        list.nodes[i].durable = false;
    }
    cr_assert_eq(codec_node_list_sign(&list, &key, &bytes), STATUS_OK);
    assert_bytes(buffer_span(&bytes), expected);
    cr_assert_eq(codec_node_list_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    node_list_fini(&list);
    node_list_fini(&back);
}

Test(golden, boot_request)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_BOOT_REQUEST};

    frame.body.boot_request = (struct boot_request){
        .question = {.node = 1,
                     .incarnation = 2,
                     .boot = 3,
                     .before = {4, 5},
                     .ends = {10, 11},
                     .nbefore = 2,
                     .position = 6,
                     .reached = 7},
        .confirm = true,
        .nodes = span_of("doc", 3),
        .mac = {8, 9},
    };
    assert_golden(&frame, "0801110100000000000000d20157080111020000000000000019030000000000"
                          "0000221004000000000000000500000000000000280630013a03646f63422008"
                          "0900000000000000000000000000000000000000000000000000000000000048"
                          "0752020a0b");
}

Test(golden, boot_reply)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_BOOT_REPLY};

    frame.body.boot_reply = (struct boot_reply){STATUS_STALE, 1, 2, 3, true, 4, {5, 6}};
    assert_golden(&frame, "0801110100000000000000da013c080a10011902000000000000002103000000"
                          "00000000280130043a2005060000000000000000000000000000000000000000"
                          "00000000000000000000");
}

Test(golden, site_tail_request)
{
    static const struct site_tail_filter filters[] = {{21, 22, 23}, {24, 25, 26}};
    static const uint64_t wanted[] = {4, 84};
    static const struct site_taken taken[] = {{31, 32, 33}};
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_TAIL_REQUEST};

    frame.body.site_tail_request = (struct site_tail_request){
        .source = {1, 2},
        .boot = 3,
        .from = 4,
        .max_bytes = 5,
        .wait_ms = 6,
        .headers_only = true,
        .list = site_tail_list(filters, 2),
        .filters = filters,
        .nfilters = 2,
        .wanted = wanted,
        .nwanted = 2,
        .taken = taken,
        .ntaken = 1,
    };
    assert_golden(&frame, "0801110100000000000000f2036708011102000000000000001903000000"
                          "00000000200428053006380141c2b9ffeb6175d8fc4a1015000000000000"
                          "001800000000000000520216195a1017000000000000001a000000000000"
                          "00620200506a14091f000000000000001120000000000000001821");
}

/* A question that waits for more of a list that the node knows, and the answer that there is
 * nothing. */
Test(golden, an_idle_site_tail)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_TAIL_REQUEST};

    frame.body.site_tail_request = (struct site_tail_request){
        .source = {1, 2}, .boot = 3, .from = 4, .max_bytes = 5, .wait_ms = 6, .list = 7};
    assert_golden(&frame, "0801110100000000000000f2032308011102000000000000001903000000"
                          "00000000200428053006410700000000000000");
}

Test(golden, an_idle_answer_of_a_site_tail)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_TAIL_REPLY};

    frame.body.site_tail_reply = (struct site_tail_reply){
        .source = {1, 2}, .boot = 3, .list = 7, .from = 4, .next = 4, .durable = 4};
    assert_golden(&frame, "0801110100000000000000fa032c18012102000000000000002903000000"
                          "0000000031070000000000000038044004480471f36e103f7bf67520");
}

Test(golden, site_tail_reply)
{
    static const struct pull_targets targets = {2, {{4, 5}, {9, 2}}};
    static const struct site_tail_record records[] = {
        {21, 22, 23, 24, 200, 25, 26, 1, PULL_BATCH_FED | PULL_BATCH_PARTIAL, &targets},
        {21, 22, 23, 23, 280, 27, 28, 1, PULL_BATCH_FED | PULL_BATCH_PARTIAL, &targets},
        {21, 22, 0, 0, 380, 29, 30, 0, 0, &targets}};
    static const uint64_t fingerprints[] = {0x0102030405060708, UINT64_MAX};
    static const struct site_tail_refusal refusals[] = {{41, STATUS_STALE, true, 42, 43}};
    static const struct span documents[] = {{(const uint8_t *)"doc", 3}};
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_TAIL_REPLY};

    frame.body.site_tail_reply = (struct site_tail_reply){
        .source = {1, 2},
        .boot = 3,
        .list = 4,
        .from = 100,
        .next = 400,
        .durable = 500,
        .records = records,
        .nrecords = 3,
        .fingerprints = fingerprints,
        .count = 2,
        .refusals = refusals,
        .nrefusals = 1,
        .documents = documents,
        .ndocuments = 1,
    };
    assert_golden(&frame, "0801110100000000000000fa03cd01180121020000000000000029030000"
                          "0000000000310400000000000000386440900348f4035a40091500000000"
                          "000000101619170000000000000020182a020409320205023a0230014202"
                          "64504a021a1c520201015a1019000000000000001b000000000000005a29"
                          "09150000000000000010162a020409320205023a01004201644a011e5201"
                          "005a081d0000000000000062100807060504030201ffffffffffffffff6a"
                          "18092900000000000000100a1801202a292b0000000000000071c1a24cf9"
                          "29768e35820103646f63");
}

Test(golden, pull_request)
{
    static const struct pull_interval wanted[] = {{21, 22, 23, 24, 25}};
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_PULL_REQUEST};

    frame.body.pull_request = (struct pull_request){
        .kind = PULL_BODIES,
        .scope = {1, 2, 3, 4, 5, 6, 0, 0},
        .source = {7, 8},
        .sync = true,
        .from = 9,
        .to = 10,
        .max_bytes = 11,
        .wanted = wanted,
        .nwanted = 1,
    };
    assert_golden(&frame, "0801110100000000000000e2035008041101000000000000001802210300"
                          "000000000000280630053804400749080000000000000050015909000000"
                          "00000000610a00000000000000680b721109150000000000000010161817"
                          "20182819");
}

Test(golden, pull_request_for_lines)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_PULL_REQUEST};

    frame.body.pull_request = (struct pull_request){
        .kind = PULL_PAGES, .scope = {1, 2, 3, 4, 5, 6, 7, 8}, .from = 9, .to = 10};
    assert_golden(&frame, "0801110100000000000000e2033b08071101000000000000001802210300"
                          "0000000000002806300538045909000000000000006"
                          "10a00000000000000900107990108000000000000"
                          "00");
}

Test(golden, pull_reply)
{
    static const struct pull_batch batches[] = {{21, 23, 22, 24, 1, 0, NULL},
                                                {21, 22, 22, 25, 1, 0, NULL}};
    static const uint64_t fingerprints[] = {0x0102030405060708, UINT64_MAX};
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_PULL_REPLY};

    frame.body.pull_reply = (struct pull_reply){
        .kind = PULL_LOG,
        .scope = {1, 2, 3, 4, 5, 6, 0, 0},
        .source = {7, 8},
        .boot = 9,
        .state = REPLICA_FULL,
        .fence_epoch = 10,
        .fence_position = 11,
        .from = 12,
        .next = 13,
        .end = true,
        .merged = 14,
        .durable = 15,
        .batches = batches,
        .nbatches = 2,
        .fingerprints = fingerprints,
        .count = 2,
        .document = span_of("doc", 3),
    };
    assert_golden(&frame, "0801110100000000000000ea038f01100219010000000000000020022903"
                          "00000000000000300638054004490c000000000000005007590800000000"
                          "0000006109000000000000006803700a780b81010d000000000000008801"
                          "0190010e98010fa20117091500000000000000101622022e012a02180132"
                          "020101b201100807060504030201ffffffffffffffffb90148fc1d1c9293"
                          "4215c20103646f63");
}

Test(golden, site_age_request)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_AGE_REQUEST};

    frame.body.site_age_request = (struct site_age_request){.filter_id = 2, .wait_ms = 300};
    assert_golden(&frame, "080111010000000000000092040c09020000000000000010ac02");
}

Test(golden, site_age_reply)
{
    static const struct site_age sites[] = {
        {.id = {3, 4}, .life = {5, 6}, .known = true, .after = true, .age_us = 300},
        {.id = {7, 8}, .life = {9, 10}},
    };
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_AGE_REPLY};

    frame.body.site_age_reply = (struct site_age_reply){
        .status = STATUS_OK,
        .filter_id = 2,
        .own_life = {11, 12},
        .keyset = 13,
        .sites = sites,
        .nsites = 2,
    };
    assert_golden(&frame, "08011101000000000000009a045b110200000000000000180b210c0000000000"
                          "0000280d32240903000000000000001104000000000000001805210600000000"
                          "0000002801300138ac02321d0907000000000000001108000000000000001809"
                          "210a00000000000000");
}

Test(golden, site_lag_request)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_LAG_REQUEST};

    frame.body.site_lag_request = (struct site_lag_request){.filter_id = 2};
    assert_golden(&frame, "0801110100000000000000b20309090200000000000000");
}

Test(golden, site_lag_reply)
{
    static const struct site_lag lags[] = {
        {
            .filter_id = 2,
            .id = {3, 4},
            .paused_here = true,
            .paused_there = true,
            .waits = SITE_WAIT_APPLY,
            .marked = true,
            .age_us = 300,
            .in_keys = 5,
            .in_per_s = 6,
            .resync = 7,
            .copied = true,
            .sends = true,
            .holds = SITE_WAIT_RATE,
            .pending_keys = 8,
            .pending_us = 9,
            .out_per_s = 10,
            .copies = 11,
        },
        {.filter_id = 2, .id = {12, 13}, .waits = SITE_WAIT_CONNECTION},
    };
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_LAG_REPLY};

    frame.body.site_lag_reply = (struct site_lag_reply){.lags = lags, .nlags = 2};
    assert_golden(&frame, "0801110100000000000000ba035e0a3d09020000000000000011030000000000"
                          "0000190400000000000000200128013007380140ac0248055006580760016801"
                          "7009780880010988010a90010b0a1d090200000000000000110c000000000000"
                          "00190d000000000000003002");
}

/* What says no more than before looks as before, above. */
Test(golden, site_age_request_that_wants_confirmations)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_AGE_REQUEST};

    frame.body.site_age_request = (struct site_age_request){
        .filter_id = 2, .wait_ms = 300, .confirms = true, .enough = 3};
    assert_golden(&frame, "080111010000000000000092041009020000000000000010ac0218012003");
}

Test(golden, site_age_reply_with_confirmations)
{
    static const struct site_age sites[] = {
        {.id = {3, 4}, .life = {5, 6}, .known = true, .after = true}};
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_AGE_REPLY};

    frame.body.site_age_reply = (struct site_age_reply){
        .status = STATUS_OK,
        .filter_id = 2,
        .own_life = {11, 12},
        .keyset = 13,
        .sites = sites,
        .nsites = 1,
        .confirms = true,
    };
    assert_golden(&frame, "08011101000000000000009a043b110200000000000000180b210c0000000000"
                          "0000280d32210903000000000000001104000000000000001805210600000000"
                          "000000280130013801");
}

Test(golden, site_confirm)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_CONFIRM};

    frame.body.site_confirm = (struct site_confirm){
        .number = 2,
        .uid = {3, 4},
        .asker_life = {5, 6},
        .other_life = {7, 8},
        .wait_ms = 300,
        .set_hash = 9,
    };
    assert_golden(&frame, "0801110100000000000000b2073d090200000000000000110300000000000000"
                          "1904000000000000002005290600000000000000300739080000000000000040"
                          "ac02490900000000000000");
}

/* What comes without ends looks as before, above; they come behind that. */
Test(golden, site_confirm_with_ends)
{
    static const struct site_source ends[] = {
        {.group = 0, .node = 1, .incarnation = 2, .boot = 3, .offset = 8, .epoch = 4}};
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_CONFIRM};

    frame.body.site_confirm = (struct site_confirm){
        .number = 2,
        .stream = 10,
        .batch = 11,
        .groups = 1,
        .read = 2,
        .ends = ends,
        .nends = 1,
    };
    assert_golden(&frame, "0801110100000000000000b20732090200000000000000510a00000000000000"
                          "580b600168027218100119020000000000000021030000000000000028083004");
}

Test(golden, site_confirmed)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_CONFIRMED};

    frame.body.site_confirmed = (struct site_confirmed){.number = 2, .status = STATUS_DEADLINE};
    assert_golden(&frame, "0801110100000000000000ba070b090200000000000000100f");
}

Test(golden, client_request_with_acknowledgements)
{
    static const uint32_t lengths[] = {1};
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_CLIENT_REQUEST};

    frame.body.client_request = (struct client_request){
        .filter = "urls",
        .operation = OPERATION_ADD,
        .keys = span_of("a", 1),
        .lengths = lengths,
        .count = 1,
        .acks = 255,
    };
    assert_golden(&frame, "080111010000000000000052110a0475726c7318025201615a010170ff01");
}

/* What says no more than before looks as before, above; the bound comes behind that. */
Test(golden, client_request_with_a_bound)
{
    static const uint32_t lengths[] = {1};
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_CLIENT_REQUEST};

    frame.body.client_request = (struct client_request){
        .filter = "urls",
        .operation = OPERATION_CHECK,
        .keys = span_of("a", 1),
        .lengths = lengths,
        .count = 1,
        .max_staleness = 5000001,
    };
    assert_golden(&frame, "080111010000000000000052130a0475726c7318015201615a010168c196b102");
}

/* What says no more than before looks as before, above; flags and targets come behind that. */
Test(golden, pull_reply_with_flags_and_targets)
{
    static const struct pull_targets targets = {2, {{4, 5}, {9, 2}}};
    static const struct pull_batch batches[] = {
        {21, 23, 22, 24, 1, PULL_BATCH_FED | PULL_BATCH_PARTIAL, &targets}};
    static const uint64_t fingerprints[] = {0x0102030405060708};
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_PULL_REPLY};

    frame.body.pull_reply = (struct pull_reply){
        .kind = PULL_LOG,
        .scope = {1, 2, 3, 4, 5, 6, 0, 0},
        .source = {7, 8},
        .boot = 9,
        .state = REPLICA_FULL,
        .fence_epoch = 10,
        .fence_position = 11,
        .from = 12,
        .next = 13,
        .end = true,
        .merged = 14,
        .durable = 15,
        .batches = batches,
        .nbatches = 1,
        .fingerprints = fingerprints,
        .count = 1,
        .document = span_of("doc", 3),
    };
    assert_golden(&frame, "0801110100000000000000ea038e01100219010000000000000020022903"
                          "00000000000000300638054004490c000000000000005007590800000000"
                          "0000006109000000000000006803700a780b81010d000000000000008801"
                          "0190010e98010fa2011e091500000000000000101622012e2a0118320101"
                          "3818420204094a020502b201080807060504030201b901b521c66a480765"
                          "08c20103646f63");
}

Test(golden, node_list)
{
    assert_node_list(false, "0802127a08051236080112066e6f64652d311a06686f73742d302a137463703a"
                            "2f2f31302e302e302e313a37343130314d00000000000000388080808020123c"
                            "080212066e6f64652d321a06686f73742d302204656173742a137463703a2f2f"
                            "31302e302e302e323a37343130314e0000000000000038808080802018011a20"
                            "c70edb1638df317d79fd5e55b56f6bcbfa9b597b89027631c5b032caaf773c70");
}

Test(golden, node_list_with_disks)
{
    assert_node_list(true, "0802128e0108051241080112066e6f64652d311a06686f73742d302a13746370"
                           "3a2f2f31302e302e302e313a37343130314d0000000000000038808080802041"
                           "4e0000000000000048011245080212066e6f64652d321a06686f73742d302204"
                           "656173742a137463703a2f2f31302e302e302e323a37343130314e0000000000"
                           "0000388080808020414f0000000000000018011a203dbda96dd79b534eaf67ef"
                           "9fe44c8f49f946310da26f69d9fc627899cf00d4ff");
}

Test(golden, node_list_with_a_paused_site)
{
    struct cluster_key key = sample_key(0);
    struct node_list list = sample_nodes(2);
    struct node_list back;

    list.count = 0;
    list.paused[0] = (struct paused_site){{1, 2}, "us"};
    list.npaused = 1;
    cr_assert_eq(codec_node_list_sign(&list, &key, &bytes), STATUS_OK);
    assert_bytes(buffer_span(&bytes),
                 "0802121c0805182132160901000000000000001102000000000000001a027573"
                 "1a20fb145a5f8155c7d79a06ec1e87bc07c1040cb73dd31eb60b8c1f1407fd47"
                 "72ae");
    cr_assert_eq(codec_node_list_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    cr_assert_eq(back.npaused, 1);
    cr_assert(site_id_equal(&back.paused[0].id, &list.paused[0].id));
    cr_assert_str_eq(back.paused[0].name, "us");
    node_list_fini(&list);
    node_list_fini(&back);
}

Test(golden, user_list)
{
    struct cluster_key key = sample_key(0);
    struct user_list users = sample_users();
    struct user_list back;

    cr_assert_eq(codec_users_sign(&users, &key, &bytes), STATUS_OK);
    assert_bytes(buffer_span(&bytes),
                 "080612b302080912ad0108071207637261776c6572180120012a0a434e3d6372"
                 "61776c657232140880897a106418808080802020f40328808080083a0b080312"
                 "07637261776c3a2a3a0a08011206736861726564422b08021080d095ffbc3122"
                 "2001020300000000000000000000000000000000000000000000000000000000"
                 "00423208031081d095ffbc311880a0f1c2b13422200405000000000000000000"
                 "0000000000000000000000000000000000000000005004123908031204726f6f"
                 "7418034a2b08011082d095ffbc31222006070800000000000000000000000000"
                 "000000000000000000000000000000005001181120072a400102030405060708"
                 "090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728"
                 "292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f401a20d8408844274b"
                 "e3328bf5db9d8a2d4f3025dbface04de3416da14d54874fe6193");
    cr_assert_eq(codec_users_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    cr_assert(back.revision == 9 && back.last_id == 7 && back.count == 2);
    cr_assert_arr_eq(back.sealed, users.sealed, sizeof users.sealed);
    for (size_t i = 0; i < 2; i++) {
        const struct user *a = &users.users[i];
        const struct user *b = &back.users[i];

        cr_assert_str_eq(a->name, b->name);
        cr_assert_str_eq(a->subject, b->subject);
        cr_assert(a->id == b->id && a->role == b->role && a->create == b->create &&
                  a->last_credential == b->last_credential);
        cr_assert_eq(memcmp(&a->limits, &b->limits, sizeof a->limits), 0);
        cr_assert(a->ngrants == b->ngrants && a->ntokens == b->ntokens && a->nkeys == b->nkeys);
        for (size_t k = 0; k < a->ngrants; k++) {
            cr_assert_eq(a->grants[k].rights, b->grants[k].rights);
            cr_assert_str_eq(a->grants[k].pattern, b->grants[k].pattern);
        }
        for (size_t k = 0; k < a->ntokens; k++) {
            cr_assert_eq(memcmp(&a->tokens[k], &b->tokens[k], sizeof a->tokens[k]), 0);
        }
        for (size_t k = 0; k < a->nkeys; k++) {
            cr_assert_eq(memcmp(&a->keys[k], &b->keys[k], sizeof a->keys[k]), 0);
        }
    }
    user_list_fini(&users);
    user_list_fini(&back);
}

Test(golden, user_change)
{
    static const struct user_use removes[] = {{7, 2, 0}};
    static const uint32_t deletes[] = {3, 4};
    static const struct user_wish adds[] = {{.user = "crawler", .token = {NULL, 0}, .key = {1, 2}},
                                            {.user = "crawler",
                                             .token = {(const uint8_t *)"0123456789abcdef", 16},
                                             .expires_ms = 1800000000000}};
    struct user_list users = sample_users();
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_ADMIN_REQUEST};

    frame.body.admin_request = (struct admin_request){
        .action = ADMIN_USER_CHANGE,
        .timeout_ms = 5000,
        .name = "",
        .successor = "",
        .user = "root",
        .users = {.revision = 9,
                  .puts = users.users,
                  .nputs = 2,
                  .adds = adds,
                  .nadds = 2,
                  .removes = removes,
                  .nremoves = 1,
                  .deletes = deletes,
                  .ndeletes = 2},
    };
    assert_golden(&frame, "0801110100000000000000c202d602081b1088276204726f6f746ac802080912"
                          "ad0108071207637261776c6572180120012a0a434e3d637261776c6572321408"
                          "80897a106418808080802020f40328808080083a0b08031207637261776c3a2a"
                          "3a0a08011206736861726564422b08021080d095ffbc31222001020300000000"
                          "00000000000000000000000000000000000000000000000000423208031081d0"
                          "95ffbc311880a0f1c2b134222004050000000000000000000000000000000000"
                          "000000000000000000000000005004123908031204726f6f7418034a2b080110"
                          "82d095ffbc312220060708000000000000000000000000000000000000000000"
                          "000000000000000050011a2b0a07637261776c65721a20010200000000000000"
                          "00000000000000000000000000000000000000000000001a220a07637261776c"
                          "65721210303132333435363738396162636465662080a0f1c2b1342204080710"
                          "022a020304");
    user_list_fini(&users);
}
