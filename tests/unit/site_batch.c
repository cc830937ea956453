/* Batches between sites: their bytes, fixed for good, as links of other versions read them; and
 * whatever is none is refused. */
#include "base/heap.h"
#include "site/batch.h"
#include "site/rice.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <xxhash.h>

enum {
    MOST = 8,
    ROOM = 1024,
    /* Of the first sample below. */
    SAMPLE_BYTES = 280,
    SAMPLE_CODE = 32,
    AT_SOURCES = SITE_BATCH_FRONT_BYTES + SAMPLE_CODE,
    SECOND_SOURCE = AT_SOURCES + SITE_BATCH_SOURCE_BYTES + 8,
    THIRD_SOURCE = SECOND_SOURCE + SITE_BATCH_SOURCE_BYTES + 4,
};

/* Where the front has what. */
enum {
    AT_VERSION = 7,
    AT_FRONT_SUM = 8,
    AT_BODY_SUM = 16,
    AT_RECEIVER = 56,
    AT_FIRST = 72,
    AT_KEYS = 80,
    AT_CODE = 84,
    AT_CURSORS = 88,
    AT_FLAGS = 92,
    AT_NKEYSETS = 94,
    AT_PARAMETER = 95,
    AT_KEYSETS = 96,
};

static const struct site_batch sample = {
    .uid = {.high = 0x0123456789abcdef, .low = 0xfedcba9876543210},
    .sender = {.number = 2, .tag = 0x1111},
    .receiver = {.number = 3, .tag = 0x2222},
    .flags = SITE_BATCH_FED | SITE_BATCH_COMPARED,
    .nkeysets = 2,
    .keysets = {1, 4},
    .nkeys = 5,
    .ncursors = 4,
};

static const uint64_t sample_keys[] = {0x1000000000000000, 0x3000000000000001, 0x5555555555555555,
                                       0xaaaaaaaaaaaaaaaa, 0xffffffffffffffff};

static const struct site_batch_cursor sample_cursors[] = {
    {.node = 7, .group = 0, .incarnation = 0x77, .boot = 0x70, .offset = 4096, .epoch = 11},
    {.node = 7, .group = 2, .incarnation = 0x77, .boot = 0x70, .offset = 4096, .epoch = 11},
    {.node = 7, .group = 5, .incarnation = 0x77, .boot = 0x70, .offset = 8192, .epoch = 11},
    {.node = 9, .group = 0, .incarnation = 0x99, .boot = 0x90, .offset = 0, .epoch = 13},
};

/* All memory is of the exact size, so that a sanitizer sees who goes beyond. */
static enum status judge(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = heap_alloc(size + (size == 0), 1);
    struct site_batch batch = {.nkeys = UINT32_MAX};
    enum status status;

    memcpy(copy, bytes, size);
    status = site_batch_open(span_of(copy, size), &batch);
    if (status == STATUS_OK) {
        uint64_t *keys = heap_alloc(batch.nkeys + (batch.nkeys == 0), sizeof *keys);
        struct site_batch_cursor *cursors = heap_alloc(batch.ncursors + (batch.ncursors == 0),
                                                       sizeof *cursors);

        status = site_batch_keys(span_of(copy, size), keys);
        if (status == STATUS_OK) {
            status = site_batch_cursors(span_of(copy, size), cursors);
        }
        heap_free(cursors);
        heap_free(keys);
    } else {
        cr_assert_eq(batch.nkeys, UINT32_MAX, "an output was touched");
    }
    heap_free(copy);
    return status;
}

static size_t make(uint8_t bytes[ROOM])
{
    size_t size = site_batch_encode(&sample, sample_keys, sample_cursors, bytes);

    cr_assert_eq(size, SAMPLE_BYTES);
    return size;
}

static void assert_golden(const struct site_batch *batch, const uint64_t *keys,
                          const struct site_batch_cursor *cursors, const char *expected)
{
    uint8_t bytes[ROOM];
    char hex[2 * ROOM + 1] = "";
    struct site_batch read = {0};
    uint64_t keys_read[MOST];
    struct site_batch_cursor cursors_read[MOST];
    size_t size;

    cr_assert_leq(site_batch_room(batch), sizeof bytes);
    size = site_batch_encode(batch, keys, cursors, bytes);
    cr_assert_leq(size, site_batch_room(batch));
    for (size_t i = 0; i < size; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    }
    cr_assert_str_eq(hex, expected);
    cr_assert_eq(site_batch_open(span_of(bytes, size), &read), STATUS_OK);
    cr_assert_eq(site_batch_keys(span_of(bytes, size), keys_read), STATUS_OK);
    cr_assert_eq(site_batch_cursors(span_of(bytes, size), cursors_read), STATUS_OK);
    cr_assert_eq(memcmp(&read, batch, sizeof read), 0);
    cr_assert_eq(batch->nkeys == 0 ? 0 : memcmp(keys_read, keys, batch->nkeys * sizeof *keys), 0);
    cr_assert_eq(
        batch->ncursors == 0 ? 0 : memcmp(cursors_read, cursors, batch->ncursors * sizeof *cursors),
        0);
}

/* Made from the words of batch.h by a program of its own, not by the code under test. A difference
 * is a new version of the format, never a new expectation. */
Test(batch, with_all_it_may_have)
{
    assert_golden(&sample, sample_keys, sample_cursors,
                  "4f524253495445018131d66953c37fc07c2bd97430133d50efcdab8967452301"
                  "1032547698badcfe020000000000000011110000000000000300000000000000"
                  "222200000000000000000000000000100500000020000000040000000300023d"
                  "010000000400000000000000000000000200000000000000a7aaaaaaaaaaaa0a"
                  "a9aaaaaaaaaaaa2aa9aaaaaaaaaaaa2a77000000000000007000000000000000"
                  "00100000000000000b0000000000000007000000020000000000000002000000"
                  "7700000000000000700000000000000000200000000000000b00000000000000"
                  "0700000001000000050000009900000000000000900000000000000000000000"
                  "000000000d00000000000000090000000100000000000000");
}

Test(batch, of_cursors_alone)
{
    struct site_batch batch = sample;
    struct site_batch_cursor cursors[3] = {sample_cursors[0], sample_cursors[0], sample_cursors[0]};

    batch.flags = 0;
    batch.nkeysets = 1;
    batch.keysets[1] = 0;
    batch.nkeys = 0;
    batch.ncursors = 3;
    cursors[1].group = 1;
    cursors[2].group = 2;
    assert_golden(&batch, NULL, cursors,
                  "4f52425349544501252ff1857819ca30482cd729ee989788efcdab8967452301"
                  "1032547698badcfe020000000000000011110000000000000300000000000000"
                  "2222000000000000000000000000000000000000000000000300000000000100"
                  "0100000000000000000000000000000077000000000000007000000000000000"
                  "00100000000000000b0000000000000007000000030000000000000001000000"
                  "02000000");
}

Test(batch, of_one_key)
{
    static const uint64_t key = 0x0102030405060708;
    struct site_batch batch = sample;

    batch.flags = SITE_BATCH_FED;
    batch.nkeysets = 1;
    batch.keysets[0] = 6;
    batch.keysets[1] = 0;
    batch.nkeys = 1;
    batch.ncursors = 0;
    assert_golden(&batch, &key, NULL,
                  "4f524253495445018cbf3f3d678aaf35c294d3380580062defcdab8967452301"
                  "1032547698badcfe020000000000000011110000000000000300000000000000"
                  "2222000000000000080706050403020101000000000000000000000001000100"
                  "06000000000000000000000000000000");
}

Test(batch, what_was_cut_or_is_longer_is_refused)
{
    uint8_t bytes[ROOM] = {0};
    size_t size = make(bytes);

    cr_assert_eq(judge(bytes, size), STATUS_OK);
    for (size_t shorter = 0; shorter < size; shorter++) {
        cr_assert_eq(judge(bytes, shorter), STATUS_MALFORMED, "%zu", shorter);
    }
    for (size_t longer = size + 1; longer < size + 100; longer++) {
        cr_assert_eq(judge(bytes, longer), STATUS_MALFORMED, "%zu", longer);
    }
}

Test(batch, every_bit_counts)
{
    uint8_t bytes[ROOM];
    size_t size = make(bytes);

    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_eq(judge(bytes, size), bit / 8 == AT_VERSION ? STATUS_VERSION : STATUS_MALFORMED,
                     "bit %zu", bit);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    cr_assert_eq(judge(bytes, size), STATUS_OK);
}

/* ---- what somebody means who knows the checksums ---- */

static void seal(uint8_t *bytes, size_t size)
{
    uint64_t sum = XXH3_64bits(bytes + SITE_BATCH_FRONT_BYTES, size - SITE_BATCH_FRONT_BYTES);

    memcpy(bytes + AT_BODY_SUM, &sum, sizeof sum);
    sum = XXH3_64bits(bytes + 16, SITE_BATCH_FRONT_BYTES - 16);
    memcpy(bytes + AT_FRONT_SUM, &sum, sizeof sum);
}

/* What the sample becomes with `size` bytes of a number at that place, checksums put right. */
static enum status judge_with(size_t at, uint64_t number, size_t size)
{
    uint8_t bytes[ROOM];
    size_t all = make(bytes);

    memcpy(bytes + at, &number, size);
    seal(bytes, all);
    return judge(bytes, all);
}

Test(batch, fronts_that_can_not_be_are_refused)
{
    cr_assert_eq(judge_with(AT_VERSION, 2, 1), STATUS_VERSION);
    cr_assert_eq(judge_with(AT_FLAGS, 4, 2), STATUS_VERSION, "not known yet");
    cr_assert_eq(judge_with(AT_FLAGS, 0x8000, 2), STATUS_VERSION);
    cr_assert_eq(judge_with(AT_FLAGS, 0, 2), STATUS_OK);
    cr_assert_eq(judge_with(AT_NKEYSETS, 0, 1), STATUS_MALFORMED);
    cr_assert_eq(judge_with(AT_NKEYSETS, 1, 1), STATUS_MALFORMED, "something behind the last one");
    cr_assert_eq(judge_with(AT_NKEYSETS, 3, 1), STATUS_MALFORMED, "keyset 0");
    cr_assert_eq(judge_with(AT_NKEYSETS, SITE_BATCH_MAX_KEYSETS + 1, 1), STATUS_MALFORMED);
    cr_assert_eq(judge_with(AT_NKEYSETS, 255, 1), STATUS_MALFORMED);
    cr_assert_eq(judge_with(AT_KEYSETS, 0, 4), STATUS_MALFORMED);
    cr_assert_eq(judge_with(AT_KEYSETS, 4, 4), STATUS_MALFORMED, "twice");
    cr_assert_eq(judge_with(AT_KEYSETS, 5, 4), STATUS_MALFORMED, "they fall");
    cr_assert_eq(judge_with(AT_KEYSETS, 3, 4), STATUS_OK);
    cr_assert_eq(judge_with(AT_KEYSETS + 12, 9, 4), STATUS_MALFORMED);
    cr_assert_eq(judge_with(AT_PARAMETER, 64, 1), STATUS_MALFORMED);
    cr_assert_eq(judge_with(AT_PARAMETER, 255, 1), STATUS_MALFORMED);
}

Test(batch, counts_that_can_not_be_are_refused)
{
    static const uint32_t wrong_keys[] = {0, 1, 3, 4, 6, 100, SITE_BATCH_MAX_KEYS + 1, UINT32_MAX};
    static const uint32_t wrong_cursors[] = {
        0, 1, 3, 5, 28, SITE_BATCH_MAX_SOURCES, SITE_BATCH_MAX_SOURCES + 1, UINT32_MAX};
    static const uint32_t wrong_bytes[] = {0,         1, 31, 33, 40, 41, 144, 145, UINT32_MAX - 7,
                                           UINT32_MAX};

    for (size_t i = 0; i < sizeof wrong_keys / sizeof wrong_keys[0]; i++) {
        cr_assert_eq(judge_with(AT_KEYS, wrong_keys[i], 4), STATUS_MALFORMED, "%zu", i);
    }
    for (size_t i = 0; i < sizeof wrong_cursors / sizeof wrong_cursors[0]; i++) {
        cr_assert_eq(judge_with(AT_CURSORS, wrong_cursors[i], 4), STATUS_MALFORMED, "%zu", i);
    }
    for (size_t i = 0; i < sizeof wrong_bytes / sizeof wrong_bytes[0]; i++) {
        cr_assert_eq(judge_with(AT_CODE, wrong_bytes[i], 4), STATUS_MALFORMED, "%zu", i);
    }
}

/* Whatever its length, with right checksums: what is in it says how long it is. */
Test(batch, a_length_that_is_another_is_refused)
{
    uint8_t bytes[ROOM] = {0};
    size_t size = make(bytes);

    for (size_t other = SITE_BATCH_FRONT_BYTES; other < ROOM; other++) {
        memset(bytes, 0, sizeof bytes);
        make(bytes);
        seal(bytes, other);
        if (other > size + SITE_BATCH_SOURCE_BYTES) { /* four cursors in three sources: in four they
                                                         would take so many more */
            struct site_batch batch;

            cr_assert_eq(site_batch_open(span_of(bytes, other), &batch), STATUS_MALFORMED);
        }
        cr_assert_eq(judge(bytes, other), other == size ? STATUS_OK : STATUS_MALFORMED, "%zu",
                     other);
    }
}

Test(batch, a_source_with_more_groups_than_there_are_cursors_is_refused)
{
    struct site_batch batch = sample;
    uint8_t bytes[ROOM];
    uint32_t one = 1;
    size_t size;

    batch.nkeys = 0;
    batch.ncursors = 2;
    size = site_batch_encode(&batch, NULL, sample_cursors, bytes);
    cr_assert_eq(judge(bytes, size), STATUS_OK);
    memcpy(bytes + AT_CURSORS, &one, sizeof one);
    seal(bytes, size);
    cr_assert_eq(judge(bytes, size), STATUS_MALFORMED);
}

/* Without keys nothing else may be said of them: of each batch there is one encoding. */
Test(batch, what_says_something_of_no_keys_is_refused)
{
    static const struct {
        size_t at;
        size_t size;
    } fields[] = {{AT_FIRST, 8}, {AT_CODE, 4}, {AT_PARAMETER, 1}};

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        struct site_batch batch = sample;
        uint8_t bytes[ROOM];
        uint64_t one = 1;
        size_t size;

        batch.nkeys = 0;
        size = site_batch_encode(&batch, NULL, sample_cursors, bytes);
        cr_assert_eq(judge(bytes, size), STATUS_OK);
        memcpy(bytes + fields[i].at, &one, fields[i].size);
        seal(bytes, size);
        cr_assert_eq(judge(bytes, size), STATUS_MALFORMED, "%zu", i);
    }
}

Test(batch, codes_that_can_not_be_are_refused)
{
    cr_assert_eq(judge_with(AT_FIRST, 0x1000000000000001, 8), STATUS_MALFORMED, "beyond 2^64");
    cr_assert_eq(judge_with(AT_FIRST, 0x0fffffffffffffff, 8), STATUS_OK);
    cr_assert_eq(judge_with(AT_PARAMETER, 60, 1), STATUS_MALFORMED);
    cr_assert_eq(judge_with(SITE_BATCH_FRONT_BYTES, 0, 8), STATUS_MALFORMED, "zeros too many");
}

/* Zeros without need, as another parameter would be shorter. */
Test(batch, codes_longer_than_their_keys_are_refused)
{
    for (uint64_t gap = 100; gap < 140; gap++) {
        const uint64_t keys[2] = {7, 7 + gap + 1};
        struct site_batch batch = sample;
        uint8_t bytes[ROOM];
        uint32_t code_bytes;

        batch.nkeys = 1;
        batch.ncursors = 0;
        cr_assert_eq(site_batch_encode(&batch, keys, NULL, bytes), SITE_BATCH_FRONT_BYTES);
        batch.nkeys = 2;
        code_bytes = (uint32_t)rice_encode(keys, 2, 0, bytes + SITE_BATCH_FRONT_BYTES);
        memcpy(bytes + AT_KEYS, &batch.nkeys, sizeof batch.nkeys);
        memcpy(bytes + AT_CODE, &code_bytes, sizeof code_bytes);
        seal(bytes, SITE_BATCH_FRONT_BYTES + code_bytes);
        cr_assert_eq(judge(bytes, SITE_BATCH_FRONT_BYTES + code_bytes),
                     gap < 128 ? STATUS_OK : STATUS_MALFORMED, "%u bytes", code_bytes);
    }
}

Test(batch, sources_that_can_not_be_are_refused)
{
    enum {
        INCARNATION = 0,
        BOOT = 8,
        OFFSET = 16,
        EPOCH = 24,
        NODE = 32,
        NGROUPS = 36,
        GROUPS = 40
    };

    cr_assert_eq(judge_with(AT_SOURCES + INCARNATION, 0, 8), STATUS_MALFORMED);
    cr_assert_eq(judge_with(AT_SOURCES + INCARNATION, 1, 8), STATUS_OK);
    cr_assert_eq(judge_with(AT_SOURCES + BOOT, 0, 8), STATUS_MALFORMED);
    cr_assert_eq(judge_with(AT_SOURCES + OFFSET, 4097, 8), STATUS_MALFORMED, "within a record");
    cr_assert_eq(judge_with(AT_SOURCES + OFFSET, UINT64_C(1) << 63, 8), STATUS_MALFORMED);
    cr_assert_eq(judge_with(AT_SOURCES + OFFSET, 8, 8), STATUS_OK);
    cr_assert_eq(judge_with(AT_SOURCES + OFFSET, 8192, 8), STATUS_MALFORMED,
                 "one source, told as two");
    cr_assert_eq(judge_with(AT_SOURCES + EPOCH, UINT64_MAX, 8), STATUS_OK, "any");
    cr_assert_eq(judge_with(AT_SOURCES + NODE, 0, 4), STATUS_MALFORMED);
    cr_assert_eq(judge_with(AT_SOURCES + NODE, 8, 4), STATUS_MALFORMED, "nodes fall");
    cr_assert_eq(judge_with(THIRD_SOURCE + NODE, 7, 4), STATUS_MALFORMED, "groups fall");
    cr_assert_eq(judge_with(THIRD_SOURCE + NODE, 6, 4), STATUS_MALFORMED, "nodes fall");
    cr_assert_eq(judge_with(AT_SOURCES + NGROUPS, 0, 4), STATUS_MALFORMED);
    cr_assert_eq(judge_with(AT_SOURCES + NGROUPS, 1, 4), STATUS_MALFORMED);
    cr_assert_eq(judge_with(AT_SOURCES + NGROUPS, 3, 4), STATUS_MALFORMED);
    cr_assert_eq(judge_with(AT_SOURCES + NGROUPS, UINT32_MAX, 4), STATUS_MALFORMED);
    cr_assert_eq(judge_with(THIRD_SOURCE + NGROUPS, 0, 4), STATUS_MALFORMED);
    cr_assert_eq(judge_with(THIRD_SOURCE + NGROUPS, 2, 4), STATUS_MALFORMED);
    cr_assert_eq(judge_with(AT_SOURCES + GROUPS, 2, 4), STATUS_MALFORMED, "twice");
    cr_assert_eq(judge_with(AT_SOURCES + GROUPS, 3, 4), STATUS_MALFORMED, "groups fall");
    cr_assert_eq(judge_with(AT_SOURCES + GROUPS, 1, 4), STATUS_OK);
    cr_assert_eq(judge_with(SECOND_SOURCE + GROUPS, 2, 4), STATUS_MALFORMED, "twice");
    cr_assert_eq(judge_with(THIRD_SOURCE + GROUPS, DOCUMENT_MAX_SHARDS - 1, 4), STATUS_OK);
    cr_assert_eq(judge_with(THIRD_SOURCE + GROUPS, DOCUMENT_MAX_SHARDS, 4), STATUS_MALFORMED);
}

/* ---- who receives it ---- */

Test(batch, is_encoded_once_for_all_who_receive_it)
{
    static const struct site_life other = {.number = 17, .tag = 0x3333};
    struct site_batch batch = sample;
    uint8_t bytes[ROOM];
    uint8_t expected[ROOM];
    size_t size = make(bytes);

    batch.receiver = other;
    cr_assert_eq(site_batch_encode(&batch, sample_keys, sample_cursors, expected), size);
    site_batch_readdress(bytes, &other);
    cr_assert_eq(memcmp(bytes, expected, size), 0);
    site_batch_readdress(bytes, &sample.receiver);
    make(expected);
    cr_assert_eq(memcmp(bytes, expected, size), 0);
}

/* ---- limits ---- */

static struct site_batch_cursor numbered_cursor(uint32_t index)
{
    return (struct site_batch_cursor){.node = 1 + index / DOCUMENT_MAX_SHARDS,
                                      .group = index % DOCUMENT_MAX_SHARDS,
                                      .incarnation = 1,
                                      .boot = 2,
                                      .offset = (uint64_t)index * 8};
}

/* Of the most keys, and the most cursors, none of which share a source. */
Test(batch, the_largest_one_comes_back)
{
    struct site_batch batch = sample;
    uint64_t *keys = heap_alloc(SITE_BATCH_MAX_KEYS, 2 * sizeof *keys);
    struct site_batch_cursor *cursors = heap_alloc(SITE_BATCH_MAX_SOURCES, 2 * sizeof *cursors);
    uint8_t *bytes;
    size_t size;

    batch.nkeys = SITE_BATCH_MAX_KEYS;
    batch.ncursors = SITE_BATCH_MAX_SOURCES;
    for (uint32_t i = 0; i < SITE_BATCH_MAX_KEYS; i++) {
        keys[i] = ((uint64_t)i << 48) + (i * UINT64_C(0x9e3779b97f4a7c15) >> 17);
    }
    for (uint32_t i = 0; i < SITE_BATCH_MAX_SOURCES; i++) {
        cursors[i] = numbered_cursor(i);
    }
    bytes = heap_alloc(site_batch_room(&batch), 1);
    size = site_batch_encode(&batch, keys, cursors, bytes);
    cr_assert_leq(size, SITE_BATCH_MAX_BYTES);
    cr_assert_eq(site_batch_open(span_of(bytes, size), &batch), STATUS_OK);
    cr_assert_eq(batch.nkeys, SITE_BATCH_MAX_KEYS);
    cr_assert_eq(batch.ncursors, SITE_BATCH_MAX_SOURCES);
    cr_assert_eq(site_batch_keys(span_of(bytes, size), keys + SITE_BATCH_MAX_KEYS), STATUS_OK);
    cr_assert_eq(memcmp(keys, keys + SITE_BATCH_MAX_KEYS, SITE_BATCH_MAX_KEYS * sizeof *keys), 0);
    cr_assert_eq(site_batch_cursors(span_of(bytes, size), cursors + SITE_BATCH_MAX_SOURCES),
                 STATUS_OK);
    cr_assert_eq(
        memcmp(cursors, cursors + SITE_BATCH_MAX_SOURCES, SITE_BATCH_MAX_SOURCES * sizeof *cursors),
        0);
    heap_free(bytes);
    heap_free(cursors);
    heap_free(keys);
}

/* One more than may be, and right in all else. */
Test(batch, more_keys_than_may_be_are_refused)
{
    struct site_batch batch = sample;
    uint64_t *keys = heap_alloc(SITE_BATCH_MAX_KEYS + 1, sizeof *keys);
    uint32_t code_bytes;
    uint8_t *bytes;

    for (uint32_t i = 0; i <= SITE_BATCH_MAX_KEYS; i++) {
        keys[i] = (uint64_t)i << 40;
    }
    batch.nkeys = SITE_BATCH_MAX_KEYS;
    batch.ncursors = 0;
    bytes = heap_alloc(site_batch_room(&batch), 1);
    for (uint32_t more = 0; more < 2; more++) {
        uint32_t count = SITE_BATCH_MAX_KEYS + more;

        (void)site_batch_encode(&batch, keys, NULL, bytes);
        code_bytes = (uint32_t)rice_encode(keys, count, bytes[AT_PARAMETER],
                                           bytes + SITE_BATCH_FRONT_BYTES);
        memcpy(bytes + AT_KEYS, &count, sizeof count);
        memcpy(bytes + AT_CODE, &code_bytes, sizeof code_bytes);
        seal(bytes, SITE_BATCH_FRONT_BYTES + code_bytes);
        cr_assert_eq(judge(bytes, SITE_BATCH_FRONT_BYTES + code_bytes),
                     more == 0 ? STATUS_OK : STATUS_MALFORMED);
    }
    heap_free(bytes);
    heap_free(keys);
}

Test(batch, more_cursors_than_may_be_are_refused)
{
    struct site_batch batch = sample;
    struct site_batch_cursor *cursors = heap_alloc(SITE_BATCH_MAX_SOURCES, sizeof *cursors);
    uint32_t count = SITE_BATCH_MAX_SOURCES + 1;
    uint8_t *bytes;
    size_t size;

    for (uint32_t i = 0; i < SITE_BATCH_MAX_SOURCES; i++) {
        cursors[i] = numbered_cursor(i);
    }
    batch.nkeys = 0;
    batch.ncursors = SITE_BATCH_MAX_SOURCES;
    bytes = heap_alloc(site_batch_room(&batch) + 36, 1);
    size = site_batch_encode(&batch, NULL, cursors, bytes);
    memcpy(bytes + size, bytes + size - 36, 36);
    bytes[size + 16] = (uint8_t)(bytes[size + 16] ^ 8); /* of another offset, of the next node */
    bytes[size + 24]++;
    memcpy(bytes + AT_CURSORS, &count, sizeof count);
    seal(bytes, size + 36);
    cr_assert_eq(judge(bytes, size + 36), STATUS_MALFORMED);
    heap_free(bytes);
    heap_free(cursors);
}

Test(batch, what_is_longer_than_any_is_not_looked_at)
{
    struct site_batch batch;

    cr_assert_eq(site_batch_open(span_of(NULL, SITE_BATCH_MAX_BYTES + 1), &batch),
                 STATUS_TOO_LARGE);
    cr_assert_eq(site_batch_open(span_of(NULL, SIZE_MAX), &batch), STATUS_TOO_LARGE);
    cr_assert_eq(site_batch_open(span_of(NULL, 0), &batch), STATUS_MALFORMED);
}
