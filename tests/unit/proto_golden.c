/* The bytes of the wire and of documents, fixed for good: peers and stores of other versions
 * hold them. A difference here is a new protocol version, never a new expectation.
 */
#include "tests/unit/proto_golden.h"

TestSuite(golden, .init = setup, .fini = teardown);

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

/* Of lookups of absent keys who asks for a filter is told; 0x12c is 300, 0x03 three of them. */
Test(golden, info_reply_with_probes)
{
    static const struct replica_report report = {
        .filter_id = 7,
        .group = 1,
        .node_id = 2,
        .state = REPLICA_FULL,
        .probes = 300,
        .probe_hits = 3,
    };
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_INFO_REPLY};

    frame.body.info_reply = (struct info_reply){
        .status = STATUS_OK, .message = "", .replicas = &report, .nreplicas = 1};
    assert_golden(&frame, "08011101000000000000009a0318221609070000000000000010011802300"
                          "3f001ac02f80103");
}

Test(golden, dump_request)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_DUMP_REQUEST};

    frame.body.dump_request = (struct dump_request){
        .filter = "u", .iterator = 2, .timeout_ms = 3, .seal_as = 4, .series = 5};
    assert_golden(&frame, "0801110100000000000000c203190a01751002180321040000000000000029050"
                          "0000000000000");
}

Test(golden, dump_reply)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_DUMP_REPLY};

    frame.body.dump_reply = (struct dump_reply){.status = STATUS_OK,
                                                .message = "",
                                                .next = 2,
                                                .page = span_text("pp"),
                                                .sealed = span_text("s"),
                                                .uid = {.high = 3, .low = 4}};
    assert_golden(&frame, "0801110100000000000000ca031b1802220270702a0173310300000000000000"
                          "390400000000000000");
}

Test(golden, load_request)
{
    struct frame frame = {.version = 1, .correlation = 1, .kind = FRAME_LOAD_REQUEST};

    frame.body.load_request = (struct load_request){
        .filter = "u", .filter_id = 2, .timeout_ms = 3, .chunk = span_text("cc")};
    assert_golden(&frame, "0801110100000000000000d203120a0175110200000000000000180322026363");
}
