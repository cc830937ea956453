/* Golden samples of documents, as proto_golden.c has them of frames. */
#include "tests/unit/proto_golden.h"

TestSuite(golden_documents, .init = setup, .fini = teardown);

/* The document, its epoch content and hash, its MAC. */
Test(golden_documents, filter_document)
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
Test(golden_documents, filter_document_of_before_uids)
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
Test(golden_documents, filter_document_that_expires)
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
Test(golden_documents, filter_document_in_several_sites)
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

/* Of a site that was put back. */
Test(golden_documents, filter_document_of_a_site_that_joins_anew)
{
    struct cluster_key key = sample_key(0);
    struct filter_document document = sample_document();
    struct filter_document back;
    struct site_set sites = sample_sites();

    document.durability = DURABILITY_SYNC;
    document.when_full = WHEN_FULL_EXPAND;
    sites.says_absent = false;
    sites.joins_anew = true;
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
                 "012801300181018070605040302010890101f0e0d0c0b0a090900102");
    cr_assert_eq(codec_filter_document_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    cr_assert(back.content.sites->joins_anew);
    document_fini(&document);
    document_fini(&back);
}

/* Without orders an entry has the bytes that it had before there were any, above. */
Test(golden_documents, filter_document_with_orders_about_a_site)
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
Test(golden_documents, filter_document_with_a_bound)
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
Test(golden_documents, filter_document_with_acks)
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

/* What was not there before; the bytes of an epoch without it are above. */
Test(golden_documents, filter_document_that_is_renamed)
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

Test(golden_documents, cluster_record)
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

Test(golden_documents, cluster_features)
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

Test(golden_documents, node_list)
{
    assert_node_list(false, "0802127a08051236080112066e6f64652d311a06686f73742d302a137463703a"
                            "2f2f31302e302e302e313a37343130314d00000000000000388080808020123c"
                            "080212066e6f64652d321a06686f73742d302204656173742a137463703a2f2f"
                            "31302e302e302e323a37343130314e0000000000000038808080802018011a20"
                            "c70edb1638df317d79fd5e55b56f6bcbfa9b597b89027631c5b032caaf773c70");
}

Test(golden_documents, node_list_with_disks)
{
    assert_node_list(true, "0802128e0108051241080112066e6f64652d311a06686f73742d302a13746370"
                           "3a2f2f31302e302e302e313a37343130314d0000000000000038808080802041"
                           "4e0000000000000048011245080212066e6f64652d321a06686f73742d302204"
                           "656173742a137463703a2f2f31302e302e302e323a37343130314e0000000000"
                           "0000388080808020414f0000000000000018011a203dbda96dd79b534eaf67ef"
                           "9fe44c8f49f946310da26f69d9fc627899cf00d4ff");
}

Test(golden_documents, node_list_with_a_paused_site)
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

Test(golden_documents, user_list)
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

Test(golden_documents, user_change)
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
