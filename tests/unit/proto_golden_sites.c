/* Golden samples of what is said of sites, and between them, as proto_golden.c has them of frames.
 */
#include "tests/unit/proto_golden.h"

TestSuite(golden_sites, .init = setup, .fini = teardown);

Test(golden_sites, site_tail_request)
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
Test(golden_sites, an_idle_site_tail)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_TAIL_REQUEST};

    frame.body.site_tail_request = (struct site_tail_request){
        .source = {1, 2}, .boot = 3, .from = 4, .max_bytes = 5, .wait_ms = 6, .list = 7};
    assert_golden(&frame, "0801110100000000000000f2032308011102000000000000001903000000"
                          "00000000200428053006410700000000000000");
}

Test(golden_sites, an_idle_answer_of_a_site_tail)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_TAIL_REPLY};

    frame.body.site_tail_reply = (struct site_tail_reply){
        .source = {1, 2}, .boot = 3, .list = 7, .from = 4, .next = 4, .durable = 4};
    assert_golden(&frame, "0801110100000000000000fa032c18012102000000000000002903000000"
                          "0000000031070000000000000038044004480471f36e103f7bf67520");
}

Test(golden_sites, site_tail_reply)
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

Test(golden_sites, site_age_request)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_AGE_REQUEST};

    frame.body.site_age_request = (struct site_age_request){.filter_id = 2, .wait_ms = 300};
    assert_golden(&frame, "080111010000000000000092040c09020000000000000010ac02");
}

Test(golden_sites, site_age_reply)
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

Test(golden_sites, site_lag_request)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_LAG_REQUEST};

    frame.body.site_lag_request = (struct site_lag_request){.filter_id = 2};
    assert_golden(&frame, "0801110100000000000000b20309090200000000000000");
}

Test(golden_sites, site_lag_reply)
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
Test(golden_sites, site_age_request_that_wants_confirmations)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_AGE_REQUEST};

    frame.body.site_age_request = (struct site_age_request){
        .filter_id = 2, .wait_ms = 300, .confirms = true, .enough = 3};
    assert_golden(&frame, "080111010000000000000092041009020000000000000010ac0218012003");
}

Test(golden_sites, site_age_reply_with_confirmations)
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

Test(golden_sites, site_confirm)
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
Test(golden_sites, site_confirm_with_ends)
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

Test(golden_sites, site_confirmed)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_CONFIRMED};

    frame.body.site_confirmed = (struct site_confirmed){.number = 2, .status = STATUS_DEADLINE};
    assert_golden(&frame, "0801110100000000000000ba070b090200000000000000100f");
}

Test(golden_sites, site_offer)
{
    static const uint64_t prefixes[] = {4, 300};
    static const uint64_t digests[] = {5, 6};
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_OFFER};

    frame.body.site_offer = (struct site_offer){.stream = 2,
                                                .number = 3,
                                                .bits = 9,
                                                .prefixes = prefixes,
                                                .nprefixes = 2,
                                                .digests = digests,
                                                .ndigests = 2};
    assert_golden(&frame, "0801110100000000000000c2072409020000000000000010031809220304ac022a100500"
                          "0000000000000600000000000000");
}

Test(golden_sites, site_held)
{
    static const uint64_t held[] = {UINT64_MAX, 1};
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_SITE_HELD};

    frame.body.site_held = (struct site_held){.stream = 2, .number = 3, .held = held, .nheld = 2};
    assert_golden(
        &frame,
        "0801110100000000000000ca071d09020000000000000010031a10ffffffffffffffff0100000000000000");
}

Test(golden_sites, site_open_by_who_compares)
{
    const struct frame frame = {.version = 1,
                                .correlation = 1,
                                .kind = FRAME_SITE_OPEN,
                                .body.site_open = {.stream = 2, .compares = true}};

    assert_golden(&frame, "0801110100000000000000fa060b0902000000000000005801");
}

Test(golden_sites, site_marked_with_boots)
{
    static const struct site_source ends[] = {
        {.group = 1, .node = 2, .incarnation = 3, .boot = 4, .offset = 64, .epoch = 5}};
    static const struct site_boot boots[] = {{.node = 7, .incarnation = 8, .boot = 9}};
    const struct frame frame = {
        .kind = FRAME_SITE_MARKED,
        .body.site_marked = {.stream = 1,
                             .mark = 2,
                             .number = 3,
                             .groups = 2,
                             .read = 1,
                             .ends = ends,
                             .nends = 1,
                             .boots = boots,
                             .nboots = 1,
                             .boots_all = true,
                             .vouched_set = 10},
    };

    struct frame back;

    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    assert_bytes(buffer_span(&bytes),
                 "08019a0755090100000000000000110200000000000000180320022801321a08"
                 "011002190300000000000000210400000000000000284030053a140807110800"
                 "0000000000001909000000000000004001490a00000000000000");
    cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &back), STATUS_OK);
    cr_assert_eq(back.body.site_marked.nboots, 1);
    cr_assert_eq(back.body.site_marked.boots[0].boot, 9);
    cr_assert(back.body.site_marked.boots_all);
    cr_assert_eq(back.body.site_marked.vouched_set, 10);
}
