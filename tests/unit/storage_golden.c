/* The bytes of segments and records, fixed for good: folders of other versions hold them. They were
 * made from the layout in docs/storage.md, not by the code under test. A difference here is a new
 * version of the format, never a new expectation.
 */
#include "log/segment.h"
#include "tests/support/log_samples.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_bytes(const uint8_t *bytes, size_t size, const char *expected)
{
    char hex[2 * SAMPLE_RECORD_MAX + 1] = "";

    for (size_t i = 0; i < size; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    }
    cr_assert_str_eq(hex, expected);
}

static void assert_record(enum record_type type, const char *expected)
{
    static _Alignas(8) uint8_t record[SAMPLE_RECORD_MAX];
    uint32_t size = sample_record(record, type, 4096, 0xb0, 2048);

    assert_bytes(record, size, expected);
}

/* Room for 62 boots more. */
#define BOOTS_2  "00000000000000000000000000000000"
#define BOOTS_10 BOOTS_2 BOOTS_2 BOOTS_2 BOOTS_2 BOOTS_2
#define BOOTS_62 BOOTS_10 BOOTS_10 BOOTS_10 BOOTS_10 BOOTS_10 BOOTS_10 BOOTS_2

Test(storage_golden, identity)
{
    assert_record(RECORD_IDENTITY,
                  "f87152023e18aca75004000001000000b0000000000000000010000000000000"
                  "00080000000000000b000000000000000c000000000000000d00000000000000"
                  "0e0000000300000002000000000000000f000000000000001000000000000000" BOOTS_62
                  "11000000000000001200000000000000" BOOTS_62);
}

Test(storage_golden, batch)
{
    assert_record(RECORD_BATCH, "50809683b88986549000000002000000b0000000000000000010000000000000"
                                "00080000000000000807060504030201090000000000000007b0000000000000"
                                "4d00000000000000050000000000020003000000010000000100000000000000"
                                "0200000000000000000000000100000004000000000000001111111111111111"
                                "22222222222222221032547698badcfe");
}

/* Flags came with version 2 of the segments; a batch without them is what version 1 had. */
Test(storage_golden, batch_with_flags)
{
    static _Alignas(8) uint8_t record[SAMPLE_RECORD_MAX];
    struct record_batch batch = sample_batch;
    uint32_t size = sample_begin(record, RECORD_BATCH, 4096, record_batch_size(&batch));

    batch.repaired = false;
    batch.relayed = batch.fed = batch.partial = true;
    record_batch_put(record, &batch);
    record_seal(record, 0xb0, 2048);
    assert_bytes(record, size,
                 "8a751866ff3472729000000002000000b0000000000000000010000000000000"
                 "00080000000000000807060504030201090000000000000007b0000000000000"
                 "4d000000000000000500000000000200030000001c0000000100000000000000"
                 "0200000000000000000000000100000004000000000000001111111111111111"
                 "22222222222222221032547698badcfe");
}

Test(storage_golden, site_cursor)
{
    assert_record(RECORD_SITE_CURSOR,
                  "4d0f8ead82b76dd3c80000000b000000b0000000000000000010000000000000"
                  "00080000000000005b000000000000005c0000005d0000005e00000000000000"
                  "950000000000e05e600000000000000061000000000000006200000000000000"
                  "6300000000000000640000000000000065000000020000006600000000000000"
                  "6700000000000000680000000000000069000000000000006a00000000000000"
                  "6b000000000000006c0000000000000070000000000000006d00000000000000"
                  "6e00000000000000");
}

Test(storage_golden, fence)
{
    assert_record(RECORD_FENCE, "3016fdeb36ef9c4b4000000003000000b0000000000000000010000000000000"
                                "0008000000000000150000000000000016000000000000001700000000000000");
}

Test(storage_golden, document)
{
    assert_record(RECORD_DOCUMENT,
                  "ccede3e5d6da0c433800000004000000b0000000000000000010000000000000"
                  "000800000000000008000000646f63756d656e7400000000");
}

Test(storage_golden, manifest)
{
    assert_record(RECORD_MANIFEST,
                  "f2b7b54f5ea30a74a000000005000000b0000000000000000010000000000000"
                  "0008000000000000630000000000000003000000020000003d00000000000000"
                  "3e000000000000003f0000000000000029000000000000002a00000000000000"
                  "2b000000000000002c000000000000002d000000000000003300000000000000"
                  "3400000000000000350000000000000036000000000000003700000000000000");
}

Test(storage_golden, cursor)
{
    assert_record(RECORD_CURSOR,
                  "09b2b7f2e1710b546000000006000000b0000000000000000010000000000000"
                  "00080000000000001f0000000000000020000000210000002200000000000000"
                  "2300000000000000240000000000000025000000000000002600000000000000");
}

Test(storage_golden, clean)
{
    assert_record(RECORD_CLEAN, "33a50f724c2d787e2800000007000000b0000000000000000010000000000000"
                                "0008000000000000");
}

Test(storage_golden, snapshot_record)
{
    assert_record(RECORD_SNAPSHOT,
                  "1c45ce3efdcb0a345800000008000000b0000000000000000010000000000000"
                  "0008000000000000470000000000000048000000000000004900000000000000"
                  "4a0000004b0000004c000000000000004d00000000000000");
}

/* Of which the checksum covers the page, too. */
Test(storage_golden, lines)
{
    static _Alignas(8) uint8_t record[SAMPLE_RECORD_MAX];

    cr_assert_eq(sample_record(record, RECORD_LINES, 4096, 0xb0, 2048), 4176);
    assert_bytes(record, 96,
                 "3c842f56bcceef5b5010000009000000b0000000000000000010000000000000"
                 "0008000000000000510000000000000052000000000000005300000054000000"
                 "55000000000000005600000000000000feffffffffffffffffffffffffffffff");
}

Test(storage_golden, peer)
{
    assert_record(RECORD_PEER, "2b68f1c62d4d4892480000000a000000b0000000000000000010000000000000"
                               "0008000000000000470000000000000048000000000000004900000000000000"
                               "4a00000000000000");
}

Test(storage_golden, segment)
{
    const struct segment_header header = {.cluster = SAMPLE_CLUSTER,
                                          .number = 0x2a,
                                          .first = 4096,
                                          .boot = 0xb0,
                                          .incarnation = SAMPLE_LOG_INCARNATION};
    uint8_t bytes[SEGMENT_HEADER_BYTES];
    char name[DISK_NAME_BYTES];

    segment_header_put(bytes, &header);
    assert_bytes(bytes, sizeof bytes,
                 "4f52424c4f47000205c10000000000002a000000000000000010000000000000"
                 "b000000000000000ca0100000000000000000000000000005e60d62f381f0de4");
    segment_name(header.number, name);
    cr_assert_str_eq(name, "log-000000000000002a");
}

/* Its first version had a tag of the cluster key where this one has a tag of the cluster's id. */
Test(storage_golden, a_segment_of_before_clusters_had_ids)
{
    static const char hex[] = "4f52424c4f47000105c10000000000002a000000000000000010000000000000"
                              "b000000000000000ca010000000000000000000000000000e25bb1984e690658";
    uint8_t bytes[SEGMENT_HEADER_BYTES];
    struct segment_header header;

    for (size_t i = 0; i < sizeof bytes; i++) {
        unsigned byte = 0;

        cr_assert_eq(sscanf(hex + 2 * i, "%2x", &byte), 1);
        bytes[i] = (uint8_t)byte;
    }
    cr_assert_eq(segment_header_get(bytes, &header), STATUS_VERSION);
}
