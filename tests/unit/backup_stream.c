/* Backups: what was written is read, and nothing else is taken for a backup. */
#include "base/heap.h"
#include "tests/support/backup_samples.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum { MAX_BYTES = 1 << 20 };

static struct buffer bytes;

static void setup(void)
{
    buffer_init(&bytes, MAX_BYTES);
    backup_sample_write(NULL, &bytes);
}

static void teardown(void)
{
    buffer_fini(&bytes);
}

TestSuite(backup_stream, .init = setup, .fini = teardown);

static struct backup_key some_key(uint8_t with)
{
    struct backup_key key;

    memset(&key, with, sizeof key);
    return key;
}

static enum status read_all(struct span span, const struct backup_key *key)
{
    uint64_t keys;

    return backup_sample_read(span, MAX_BYTES, key, &keys);
}

Test(backup_stream, what_was_written_is_read_however_it_comes)
{
    static const size_t fed[] = {1, 7, 100, MAX_BYTES};
    uint64_t keys;

    for (size_t i = 0; i < sizeof fed / sizeof fed[0]; i++) {
        cr_assert_eq(backup_sample_read(buffer_span(&bytes), fed[i], NULL, &keys), STATUS_OK);
        cr_assert_eq(keys, BACKUP_SAMPLE_KEYS);
    }
}

Test(backup_stream, each_record_says_what_it_was_told)
{
    struct backup_filter filter = backup_sample_filter("urls");
    const struct backup_chunk chunk = backup_sample_chunk(0);
    struct backup_record records[] = {{.kind = BACKUP_FILTER},
                                      {.kind = BACKUP_CHUNK, .chunk = chunk}};
    static uint64_t room[DUMP_MAX_KEYS];
    struct backup_record back;

    filter.expires_min = 40000000;
    records[0].filter = filter;
    buffer_clear(&bytes);
    cr_assert_eq(backup_record_write(&records[0], 1, &bytes), STATUS_OK);
    cr_assert_eq(backup_record_read(buffer_span(&bytes), 1, room, &back), STATUS_OK);
    cr_assert_str_eq(back.filter.name, filter.name);
    cr_assert_eq(back.filter.uid.low, filter.uid.low);
    cr_assert_eq(back.filter.source, filter.source);
    cr_assert_eq(back.filter.dump, filter.dump);
    cr_assert_eq(back.filter.begun_ms, filter.begun_ms);
    cr_assert_eq(back.filter.capacity, filter.capacity);
    cr_assert_eq(back.filter.max_capacity, filter.max_capacity);
    cr_assert(back.filter.rate == filter.rate);
    cr_assert_eq(back.filter.acks, filter.acks);
    cr_assert_eq(back.filter.expires_min, filter.expires_min);
    cr_assert_eq(back.filter.rule.write, filter.rule.write);
    cr_assert_eq(back.filter.durability, filter.durability);
    cr_assert_arr_eq(back.filter.sealed, filter.sealed, sizeof filter.sealed);

    buffer_clear(&bytes);
    cr_assert_eq(backup_record_write(&records[1], 2, &bytes), STATUS_OK);
    cr_assert_eq(backup_record_read(buffer_span(&bytes), 2, room, &back), STATUS_OK);
    cr_assert_eq(back.chunk.from, chunk.from);
    cr_assert_eq(back.chunk.to, chunk.to);
    cr_assert_eq(back.chunk.count, chunk.count);
    cr_assert_arr_eq(back.chunk.fingerprints, chunk.fingerprints,
                     chunk.count * sizeof *chunk.fingerprints);
    cr_assert_eq(backup_record_read(buffer_span(&bytes), 3, room, &back), STATUS_MALFORMED,
                 "it belongs to another place");
}

Test(backup_stream, a_backup_that_is_cut_anywhere_is_refused)
{
    for (size_t size = 0; size < bytes.size; size++) {
        cr_assert_eq(read_all(span_of(bytes.data, size), NULL), STATUS_MALFORMED, "%zu", size);
    }
    cr_assert_eq(buffer_append(&bytes, span_text("x")), STATUS_OK);
    cr_assert_eq(read_all(buffer_span(&bytes), NULL), STATUS_MALFORMED, "something follows");
}

Test(backup_stream, a_backup_with_any_bit_flipped_is_refused)
{
    for (size_t bit = 0; bit < bytes.size * 8; bit++) {
        bytes.data[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        cr_assert_neq(read_all(buffer_span(&bytes), NULL), STATUS_OK, "bit %zu", bit);
        bytes.data[bit / 8] ^= (uint8_t)(1U << (bit % 8));
    }
    cr_assert_eq(read_all(buffer_span(&bytes), NULL), STATUS_OK);
}

/* ---- malice: checksums are put right again ---- */

/* Where a record begins, by how many come before it; its size. */
static size_t find(uint64_t before, size_t *size)
{
    size_t at = BACKUP_MAGIC_BYTES;

    cr_assert_eq(backup_record_size(bytes.data + at, size), STATUS_OK);
    for (uint64_t i = 0; i < before; i++) {
        at += *size;
        cr_assert_eq(backup_record_size(bytes.data + at, size), STATUS_OK);
    }
    return at;
}

static void put_right(uint64_t before)
{
    size_t size;
    size_t at = find(before, &size);
    uint64_t seed = XXH3_64bits_withSeed(bytes.data + at, 8, before);
    uint64_t sum = XXH3_64bits_withSeed(bytes.data + at + BACKUP_FRONT_BYTES,
                                        size - BACKUP_FRONT_BYTES, seed);

    memcpy(bytes.data + at + 8, &sum, sizeof sum);
}

/* Another first key of the first chunk. */
static void bend_key(void)
{
    size_t size;
    size_t at = find(2, &size);

    bytes.data[at + BACKUP_FRONT_BYTES + 16] ^= 1;
    put_right(2);
}

Test(backup_stream, a_key_that_was_changed_on_purpose_is_found_by_the_digest)
{
    const struct backup_key key = some_key(1);

    bend_key();
    cr_assert_eq(read_all(buffer_span(&bytes), NULL), STATUS_UNAUTHENTIC);

    buffer_clear(&bytes);
    backup_sample_write(&key, &bytes);
    cr_assert_eq(read_all(buffer_span(&bytes), &key), STATUS_OK);
    cr_assert_eq(read_all(buffer_span(&bytes), NULL), STATUS_OK, "digests are not judged then");
    bend_key();
    cr_assert_eq(read_all(buffer_span(&bytes), &key), STATUS_UNAUTHENTIC);
}

Test(backup_stream, another_passphrase_reads_no_end)
{
    const struct backup_key key = some_key(1);
    const struct backup_key other = some_key(2);

    buffer_clear(&bytes);
    backup_sample_write(&key, &bytes);
    cr_assert_eq(read_all(buffer_span(&bytes), &other), STATUS_UNAUTHENTIC);
}

/* ---- order ---- */

Test(backup_stream, records_come_in_their_order_only)
{
    const struct backup_head head = backup_sample_head(BACKUP_SEAL_CLUSTER);
    const struct backup_filter filter = backup_sample_filter("a");
    const struct backup_chunk first = backup_sample_chunk(0);
    const struct backup_chunk last = backup_sample_chunk(1);
    struct backup_writer writer;

    cr_assert_eq(backup_writer_begin(&writer, &head, NULL), STATUS_OK);
    cr_assert_eq(backup_put_chunk(&writer, &first), STATUS_INVALID, "of no filter");
    cr_assert_eq(backup_put_filter_end(&writer), STATUS_INVALID);
    cr_assert_eq(backup_put_filter(&writer, &filter), STATUS_OK);
    cr_assert_eq(backup_put_filter(&writer, &filter), STATUS_INVALID, "one is open");
    cr_assert_eq(backup_put_chunk(&writer, &last), STATUS_INVALID, "one is lacking before it");
    cr_assert_eq(backup_put_chunk(&writer, &first), STATUS_OK);
    cr_assert_eq(backup_put_chunk(&writer, &first), STATUS_INVALID, "again");
    cr_assert_eq(backup_put_filter_end(&writer), STATUS_INVALID, "not all is there");
    cr_assert_eq(backup_put_end(&writer), STATUS_INVALID);
    cr_assert_eq(backup_put_chunk(&writer, &last), STATUS_OK);
    cr_assert_eq(backup_put_filter_end(&writer), STATUS_OK);
    cr_assert_eq(backup_put_end(&writer), STATUS_OK);
    cr_assert_eq(backup_put_filter(&writer, &filter), STATUS_INVALID, "behind the end");
    backup_writer_fini(&writer);
}

Test(backup_stream, a_record_that_is_left_out_or_comes_twice_is_found)
{
    for (uint64_t before = 0; before < 7; before++) {
        struct buffer bent;
        size_t size;
        size_t at = find(before, &size);

        buffer_init(&bent, MAX_BYTES);
        cr_assert_eq(buffer_append(&bent, span_of(bytes.data, at)), STATUS_OK);
        cr_assert_eq(buffer_append(&bent, span_of(bytes.data + at + size, bytes.size - at - size)),
                     STATUS_OK);
        cr_assert_eq(read_all(buffer_span(&bent), NULL), STATUS_MALFORMED);
        buffer_clear(&bent);
        cr_assert_eq(buffer_append(&bent, span_of(bytes.data, at + size)), STATUS_OK);
        cr_assert_eq(buffer_append(&bent, span_of(bytes.data + at, bytes.size - at)), STATUS_OK);
        cr_assert_eq(read_all(buffer_span(&bent), NULL), STATUS_MALFORMED);
        buffer_fini(&bent);
    }
}

/* ---- one that was interrupted ---- */

/* Cut behind `records`, gone on with: the same bytes as at once. */
static void go_on_behind(uint64_t records)
{
    const struct backup_chunk chunks[] = {backup_sample_chunk(0), backup_sample_chunk(1)};
    struct backup_reader reader;
    struct backup_record record;
    struct backup_writer writer;
    size_t size;
    size_t at = find(records, &size);
    size_t to = find(5, &size); /* behind the end of the first filter */
    uint8_t *room;

    cr_assert_eq(backup_reader_init(&reader), STATUS_OK);
    cr_assert_eq(backup_reader_room(&reader, at, &room), STATUS_OK);
    memcpy(room, bytes.data, at);
    backup_reader_put(&reader, at);
    while (backup_reader_next(&reader, &record) == STATUS_OK) {
    }
    cr_assert_eq(backup_reader_close(&reader), STATUS_MALFORMED, "it is cut short");
    cr_assert_eq(reader.place.bytes, at);
    backup_writer_go_on(&writer,
                        &(struct backup_mark){.place = reader.place, .digest = reader.digest});
    for (uint64_t i = records; i < 4; i++) {
        cr_assert_eq(backup_put_chunk(&writer, &chunks[i - 2]), STATUS_OK);
    }
    cr_assert_eq(backup_put_filter_end(&writer), STATUS_OK);
    cr_assert_eq(writer.out.size, to - at);
    cr_assert_arr_eq(writer.out.data, bytes.data + at, to - at);
    backup_writer_fini(&writer);
    backup_reader_fini(&reader);
}

Test(backup_stream, what_was_interrupted_goes_on_as_if_it_had_not_been)
{
    for (uint64_t records = 2; records <= 4; records++) {
        go_on_behind(records);
    }
}

/* ---- secrets ---- */

Test(backup_stream, a_secret_is_opened_by_its_passphrase_and_for_its_filter_alone)
{
    const struct backup_head head = {.passes = 1, .memory_kib = 8192, .salt = {1}};
    const struct backup_head dear = {.passes = 1, .memory_kib = UINT32_MAX};
    const struct hash_secret secret = {{1, 2, 3}};
    const uint8_t nonce[SEAL_NONCE_BYTES] = {4};
    uint8_t sealed[SEAL_SECRET_BYTES];
    struct hash_secret back;
    struct backup_key key;
    struct backup_key other;

    cr_assert_eq(backup_key_derive(span_text("correct horse"), &head, &key), STATUS_OK);
    cr_assert_eq(backup_key_derive(span_text("correct house"), &head, &other), STATUS_OK);
    backup_secret_seal(&key, 7, &secret, nonce, sealed);
    cr_assert_eq(backup_secret_open(&key, 7, sealed, &back), STATUS_OK);
    cr_assert_arr_eq(back.bytes, secret.bytes, sizeof secret.bytes);
    cr_assert_eq(backup_secret_open(&key, 8, sealed, &back), STATUS_UNAUTHENTIC);
    cr_assert_eq(backup_secret_open(&other, 7, sealed, &back), STATUS_UNAUTHENTIC);
    cr_assert_eq(backup_key_derive(span_text("correct horse"), &dear, &key), STATUS_INVALID,
                 "a file may not ask for all memory");
}

/* ---- memory ---- */

Test(backup_stream, without_memory_it_says_so)
{
    const struct backup_head head = backup_sample_head(BACKUP_SEAL_CLUSTER);
    struct backup_writer writer;
    struct backup_reader reader;
    uint8_t *room;
    size_t live = heap_live();

    heap_fault_after(0);
    cr_assert_eq(backup_writer_begin(&writer, &head, NULL), STATUS_NOMEM);
    backup_writer_fini(&writer);
    cr_assert_eq(backup_reader_init(&reader), STATUS_NOMEM);
    backup_reader_fini(&reader);
    heap_fault_clear();
    cr_assert_eq(backup_reader_init(&reader), STATUS_OK);
    heap_fault_after(0);
    cr_assert_eq(backup_reader_room(&reader, 10, &room), STATUS_NOMEM);
    heap_fault_clear();
    backup_reader_fini(&reader);
    cr_assert_eq(heap_live(), live);
}

/* ---- the format, fixed for good: backups of other versions have it ---- */

Test(backup_stream, its_bytes_are_these)
{
    static const char expected[] =
        "4f524242414b500101000000300000008c010c7c4239cb850700000000000000"
        "83fcfd1ea2010000010000000000000000000000000000000000000000000000"
        "0000000000000000020000009c000000c0fc03debf3031750100000000000000"
        "02000000000000000300000000000000040000000000000084fcfd1ea2010000"
        "e8030000000000007b14ae47e17a843f00fa0000000000000000000000000000"
        "0200000003020201010203040000000009090909090909090909090909090909"
        "0909090909090909090909090909090909090909090909090909090909090909"
        "0909090909090909090909090909090975726c73030000002c000000ffacfa12"
        "53ac5ca201000000000000000100008000000000000001000000000003000000"
        "2d00000001de99570100ba43c850fd7f030000002000000007d46f4d418eadd6"
        "0100008000000000010000000000010000000000000000000000000000000000"
        "0400000030000000823a864d9891e6fa03000000000000000200000000000000"
        "0322d7b0156ec27a90e007658e9fcae27a39ab65e650387065310ed14f9cde91"
        "02000000990000008d6978969bb58af301000000000000000200000000000000"
        "0300000000000000040000000000000084fcfd1ea2010000e803000000000000"
        "7b14ae47e17a843f00fa00000000000000000000000000000200000003020201"
        "0102030100000000090909090909090909090909090909090909090909090909"
        "0909090909090909090909090909090909090909090909090909090909090909"
        "09090909090909097803000000290000007508d50deef8453b01000000000000"
        "0001000000000001000000000000000000020000003f000000faffffffffffff"
        "ff010400000030000000bc69ab2bb95adef50200000000000000010000000000"
        "00004d18af49c40e3f9131970e36c2203d6478f354f9a775b4f4d668dd17bd76"
        "c6cb0500000030000000cb138c18affb51a50200000000000000050000000000"
        "00003e65cfae2c83df13a5777a3e2763a3f206a6b6963ab0703c3260dcb08164"
        "fde3";
    char hex[sizeof expected] = "";

    cr_assert_eq(2 * bytes.size + 1, sizeof expected);
    for (size_t i = 0; i < bytes.size; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", bytes.data[i]);
    }
    cr_assert_str_eq(hex, expected);
}
