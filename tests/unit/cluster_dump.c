/* A dump's header and chunks: they come back as written, and nothing else is taken for one. */
#include "map/dump.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { NKEYS = 3 };

static struct buffer bytes;

static void setup(void)
{
    buffer_init(&bytes, DUMP_MAX_BYTES);
}

static void teardown(void)
{
    buffer_fini(&bytes);
}

TestSuite(dump, .init = setup, .fini = teardown);

static const uint64_t keys[NKEYS] = {0x30000, 0x3ffff, 0x4abcd};

static struct dump_header a_header(void)
{
    return (struct dump_header){
        .source = 77,
        .capacity = 1000,
        .rate = 0.001,
        .max_capacity = 64000,
        .rule = {5, 3, 4},
        .hash = HASH_XXH3,
        .when_unavailable = WHEN_UNAVAILABLE_MAYBE,
        .when_full = WHEN_FULL_EXPAND,
        .secret = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
    };
}

static struct span write_header(const struct dump_header *header)
{
    buffer_clear(&bytes);
    cr_assert_eq(dump_header_write(header, &bytes), STATUS_OK);
    return buffer_span(&bytes);
}

static struct span write_chunk(uint64_t from, uint64_t to, const uint64_t *fingerprints,
                               size_t count)
{
    buffer_clear(&bytes);
    cr_assert_eq(dump_chunk_write(77, from, to, fingerprints, count, &bytes), STATUS_OK);
    return buffer_span(&bytes);
}

static enum status read_chunk(struct span span)
{
    struct dump_chunk chunk;

    return dump_chunk_read(span, &chunk);
}

static enum status read_header(struct span span)
{
    struct dump_header header;

    return dump_header_read(span, &header);
}

Test(dump, headers_come_back)
{
    struct dump_header header = a_header();
    struct dump_header back;

    cr_assert_eq(dump_header_read(write_header(&header), &back), STATUS_OK);
    cr_assert_eq(bytes.size, DUMP_HEADER_BYTES);
    cr_assert_eq(back.source, header.source);
    cr_assert_eq(back.capacity, header.capacity);
    cr_assert_eq(back.rate, header.rate);
    cr_assert_eq(back.max_capacity, header.max_capacity);
    cr_assert_eq(back.rule.replicas, 5);
    cr_assert_eq(back.rule.write, 3);
    cr_assert_eq(back.rule.read, 4);
    cr_assert_eq(back.hash, header.hash);
    cr_assert_eq(back.when_unavailable, header.when_unavailable);
    cr_assert_eq(back.when_full, header.when_full);
    cr_assert_eq(memcmp(back.secret.bytes, header.secret.bytes, HASH_SECRET_BYTES), 0);
}

Test(dump, chunks_come_back)
{
    struct dump_chunk back;
    uint64_t out[NKEYS];

    cr_assert_eq(dump_chunk_read(write_chunk(4, DUMP_END, keys, NKEYS), &back), STATUS_OK);
    cr_assert_eq(back.source, 77);
    cr_assert_eq(back.from, 4);
    cr_assert_eq(back.to, DUMP_END);
    cr_assert_eq(back.count, NKEYS);
    dump_chunk_unpack(&back, out);
    cr_assert_eq(memcmp(out, keys, sizeof keys), 0);
    cr_assert_eq(dump_chunk_read(write_chunk(1, 2, NULL, 0), &back), STATUS_OK);
    cr_assert_eq(back.count, 0);
}

Test(dump, iterators_name_places)
{
    cr_assert_eq(dump_fingerprint(DUMP_FIRST), 0);
    cr_assert_eq(dump_iterator(0), DUMP_FIRST);
    cr_assert_eq(dump_iterator(0xffff), DUMP_FIRST);
    cr_assert_eq(dump_iterator(0x10000), DUMP_FIRST + 1);
    cr_assert_eq(dump_iterator(UINT64_MAX) + 1, DUMP_END);
    cr_assert_eq(dump_fingerprint(DUMP_END - 1), UINT64_MAX - 0xffff);
    cr_assert_lt(DUMP_END, UINT64_C(1) << 53, "a double holds it");
}

Test(dump, a_source_is_of_the_filter_its_keyset_and_its_secret)
{
    struct filter_document document = {.id = 5, .hash = HASH_XXH3};
    struct hash_secret secret = {{1}};
    struct hash_secret other = {{2}};
    uint64_t source = dump_source(&document, &secret);

    cr_assert_neq(source, 0);
    cr_assert_eq(dump_source(&document, &secret), source);
    cr_assert_neq(dump_source(&document, &other), source);
    document.id = 6;
    cr_assert_neq(dump_source(&document, &secret), source);
    document.id = 5;
    document.hash = HASH_SIPHASH24;
    cr_assert_neq(dump_source(&document, &secret), source);
    document.hash = HASH_XXH3;
    document.content.keysets[0].id = 2;
    cr_assert_neq(dump_source(&document, &secret), source, "rebuilt from a list");
}

/* Any prefix, any single bit, and a byte more; in a copy of its own size, for the sanitizers. */
static void assert_fragile(struct span whole, enum status (*read)(struct span))
{
    uint8_t *copy = malloc(whole.size + 1);

    cr_assert_not_null(copy);
    for (size_t size = 0; size < whole.size; size++) {
        uint8_t *part = malloc(size + 1);

        cr_assert_not_null(part);
        memcpy(part + 1, whole.data, size);
        cr_assert_neq(read(span_of(part + 1, size)), STATUS_OK, "%zu bytes", size);
        free(part);
    }
    memcpy(copy, whole.data, whole.size);
    for (size_t bit = 0; bit < 8 * whole.size; bit++) {
        copy[bit / 8] ^= (uint8_t)(1 << (bit % 8));
        cr_assert_neq(read(span_of(copy, whole.size)), STATUS_OK, "bit %zu", bit);
        copy[bit / 8] ^= (uint8_t)(1 << (bit % 8));
    }
    cr_assert_eq(read(span_of(copy, whole.size)), STATUS_OK);
    copy[whole.size] = 0;
    cr_assert_neq(read(span_of(copy, whole.size + 1)), STATUS_OK);
    free(copy);
}

Test(dump, nothing_less_and_nothing_bent_is_taken)
{
    struct dump_header header = a_header();

    assert_fragile(write_header(&header), read_header);
    assert_fragile(write_chunk(4, 9, keys, NKEYS), read_chunk);
    assert_fragile(write_chunk(4, 9, NULL, 0), read_chunk);
}

/* Whoever wants to do harm gets the sum right: what is taken then is a chunk all the same. */
Test(dump, what_is_taken_is_within_its_bounds)
{
    uint64_t random = 1;
    uint64_t taken = 0;

    for (int round = 0; round < 200000; round++) {
        size_t size = write_chunk(4, 9, keys, NKEYS).size;
        struct dump_chunk chunk;
        uint64_t out[NKEYS];
        uint64_t sum;

        random = random * 6364136223846793005u + 1442695040888963407u;
        bytes.data[16 + (random >> 33) % (size - 24)] ^= (uint8_t)(1u << (random >> 61));
        sum = XXH3_64bits(bytes.data, size - 8);
        memcpy(bytes.data + size - 8, &sum, 8);
        if (dump_chunk_read(buffer_span(&bytes), &chunk) != STATUS_OK) {
            continue;
        }
        taken++;
        cr_assert(chunk.source != 0 && chunk.from < chunk.to && chunk.to <= DUMP_END);
        cr_assert_eq(chunk.count, NKEYS);
        dump_chunk_unpack(&chunk, out);
        cr_assert(dump_iterator(out[0]) >= chunk.from && dump_iterator(out[NKEYS - 1]) < chunk.to);
        cr_assert(out[0] < out[1] && out[1] < out[2]);
    }
    cr_assert(taken > 0 && taken < 200000);
}

Test(dump, one_is_not_taken_for_the_other)
{
    struct dump_header header = a_header();

    cr_assert_eq(read_chunk(write_header(&header)), STATUS_MALFORMED);
    cr_assert_eq(read_header(write_chunk(1, 2, NULL, 0)), STATUS_MALFORMED);
}

/* The sum is right, as it is whoever wrote it that is wrong. */
Test(dump, fingerprints_ascend_within_the_range)
{
    const uint64_t descending[] = {0x30001, 0x30000};
    const uint64_t twice[] = {0x3ffff, 0x3ffff};
    const uint64_t last_twice[] = {UINT64_MAX, UINT64_MAX};
    const uint64_t edges[] = {0x30000, 0x3ffff};
    const uint64_t below[] = {0x2ffff};
    const uint64_t above[] = {0x40000};

    cr_assert_eq(read_chunk(write_chunk(4, 5, edges, 2)), STATUS_OK);
    cr_assert_eq(read_chunk(write_chunk(4, DUMP_END, last_twice, 1)), STATUS_OK);
    cr_assert_eq(read_chunk(write_chunk(4, 5, descending, 2)), STATUS_MALFORMED);
    cr_assert_eq(read_chunk(write_chunk(4, 5, twice, 2)), STATUS_MALFORMED);
    cr_assert_eq(read_chunk(write_chunk(4, DUMP_END, last_twice, 2)), STATUS_MALFORMED);
    cr_assert_eq(read_chunk(write_chunk(4, 5, below, 1)), STATUS_MALFORMED);
    cr_assert_eq(read_chunk(write_chunk(4, 5, above, 1)), STATUS_MALFORMED);
}

Test(dump, headers_that_no_filter_has_are_refused)
{
    struct dump_header header = a_header();

    header.rule = (struct quorum_rule){3, 1, 1};
    cr_assert_eq(read_header(write_header(&header)), STATUS_MALFORMED);
    header = a_header();
    header.rate = 0;
    cr_assert_eq(read_header(write_header(&header)), STATUS_MALFORMED);
    header = a_header();
    header.max_capacity = 999;
    cr_assert_eq(read_header(write_header(&header)), STATUS_MALFORMED);
    header = a_header();
    header.source = 0;
    cr_assert_eq(read_header(write_header(&header)), STATUS_MALFORMED);
}
