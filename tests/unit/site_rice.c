/* Gaps of fingerprints: the bytes of codes, made by hand, and that what is none is refused. */
#include "base/heap.h"
#include "site/rice.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { ROOM = 256, MOST = 8 };

/* From memory of its exact size, so that a sanitizer sees who reads beyond. */
static enum status decode(const void *code, size_t size, unsigned parameter, uint64_t first,
                          size_t count)
{
    uint8_t *copy = heap_alloc(size + (size == 0), 1);
    uint64_t *read = heap_alloc(count + (count == 0), sizeof *read);
    enum status status;

    memcpy(copy, code, size);
    read[0] = first;
    status = rice_decode(span_of(copy, size), parameter, read, count);
    heap_free(read);
    heap_free(copy);
    return status;
}

static void assert_code(const uint64_t *fingerprints, size_t count, unsigned parameter,
                        const char *expected)
{
    uint8_t code[ROOM];
    uint64_t read[MOST] = {fingerprints[0]};
    char hex[2 * ROOM + 1] = "";
    size_t room = rice_room(count - 1, parameter, fingerprints[count - 1] - fingerprints[0]);
    size_t size;

    cr_assert_leq(room, sizeof code);
    size = rice_encode(fingerprints, count, parameter, code);
    cr_assert_leq(size + 8, room);
    for (size_t i = 0; i < size; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", code[i]);
    }
    cr_assert_str_eq(hex, expected);
    cr_assert_eq(rice_decode(span_of(code, size), parameter, read, count), STATUS_OK);
    cr_assert_arr_eq(read, fingerprints, count * sizeof *read);
}

/* Made from the words of rice.h by a program of its own. */
Test(rice, codes_are_these_bytes)
{
    static const uint64_t few[] = {7, 8, 13, 25};
    static const uint64_t widest[] = {0, UINT64_MAX};
    static const uint64_t long_zeros[] = {0, 66, 67};

    assert_code(few, 4, 2, "110e"); /* gaps 0, 4 and 11: 1 00, 01 00, 001 11 */
    assert_code(few, 4, 0, "210002");
    assert_code(widest, 2, 63, "faffffffffffffff01"); /* 01, then 2^63 - 2 */
    assert_code(long_zeros, 3, 0, "000000000000000006");
    assert_code(few, 1, 5, "");
}

Test(rice, the_parameter_follows_the_mean_gap)
{
    cr_assert_eq(rice_parameter(0, 0), 0);
    cr_assert_eq(rice_parameter(1, 1), 0);
    cr_assert_eq(rice_parameter(1, UINT64_MAX), 63);
    cr_assert_eq(rice_parameter(9, 9), 0, "a row without gaps takes a bit each");
    cr_assert_eq(rice_parameter(1000, UINT64_C(1000) << 20), 19, "of 2^20 - 1, less a bit of it");
    cr_assert_eq(rice_parameter(1000, UINT64_C(1100) << 20), 20);
    cr_assert_eq(rice_parameter(999999, UINT64_MAX), 44);
}

/* ... whatever is between the first and the last one. */
Test(rice, codes_with_that_parameter_take_eight_bytes_a_fingerprint_at_most)
{
    for (size_t count = 2; count < 5000; count++) {
        unsigned parameter = rice_parameter(count - 1, UINT64_MAX);

        cr_assert_leq(rice_room(count - 1, parameter, UINT64_MAX), 8 * count + 10);
    }
}

Test(rice, a_code_of_another_length_is_refused)
{
    static const uint64_t fingerprints[] = {5, 1000, 70000, 70001, UINT64_MAX - 3};
    uint8_t code[ROOM] = {0};
    size_t size = rice_encode(fingerprints, 5, 55, code);

    cr_assert_eq(decode(code, size, 55, 5, 5), STATUS_OK);
    for (size_t shorter = 0; shorter < size; shorter++) {
        cr_assert_eq(decode(code, shorter, 55, 5, 5), STATUS_MALFORMED);
    }
    for (size_t longer = size + 1; longer < size + 20; longer++) {
        memset(code + size, 0, sizeof code - size);
        cr_assert_eq(decode(code, longer, 55, 5, 5), STATUS_MALFORMED);
        memset(code + size, 0xff, sizeof code - size);
        cr_assert_eq(decode(code, longer, 55, 5, 5), STATUS_MALFORMED);
    }
    cr_assert_eq(decode(code, size, 55, 5, 4), STATUS_MALFORMED, "one fingerprint less");
    cr_assert_eq(decode(code, size, 55, 5, 6), STATUS_MALFORMED, "one more");
    cr_assert_eq(decode(code, 0, 55, 5, 1), STATUS_OK);
    cr_assert_eq(decode(code, 0, 55, 5, 0), STATUS_OK);
    cr_assert_eq(decode("", 1, 55, 5, 1), STATUS_MALFORMED);
    cr_assert_eq(decode("", 1, 55, 5, 0), STATUS_MALFORMED);
}

Test(rice, bits_that_mean_nothing_are_refused)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t code = (uint8_t)byte;
        unsigned used = byte > 0 ? (unsigned)__builtin_ctz(byte) + 1 + 2 : 9;
        bool whole = used <= 8 && byte >> used == 0;

        cr_assert_eq(decode(&code, 1, 2, 7, 2), whole ? STATUS_OK : STATUS_MALFORMED, "%02x", byte);
    }
}

Test(rice, zeros_without_an_end_are_refused)
{
    enum { SIZE = 1 << 20 };
    uint8_t *code = heap_alloc(SIZE, 1);

    memset(code, 0, SIZE);
    for (unsigned parameter = 0; parameter < 64; parameter += 7) {
        cr_assert_eq(decode(code, SIZE, parameter, 7, 2), STATUS_MALFORMED);
        cr_assert_eq(decode(code, 8, parameter, 7, 2), STATUS_MALFORMED);
        cr_assert_eq(decode(code, 9, parameter, 7, 2), STATUS_MALFORMED);
    }
    code[SIZE - 1] = 0x80; /* a gap of 2^23 - 1 */
    cr_assert_eq(decode(code, SIZE, 0, 7, 2), STATUS_OK);
    cr_assert_eq(decode(code, SIZE, 0, UINT64_MAX - (1 << 23), 2), STATUS_OK);
    cr_assert_eq(decode(code, SIZE, 0, UINT64_MAX - (1 << 23) + 1, 2), STATUS_MALFORMED);
    cr_assert_eq(decode(code, SIZE, 41, 7, 2), STATUS_MALFORMED, "no low bits");
    heap_free(code);
}

Test(rice, what_is_beyond_64_bits_is_refused)
{
    static const uint8_t two[] = {0x04, 0, 0, 0, 0, 0, 0, 0, 0}; /* 001 and zeros */
    static const uint8_t one[] = {0x02, 0, 0, 0, 0, 0, 0, 0, 0}; /* 01 and zeros: 2^63 */

    cr_assert_eq(decode(two, 9, 63, 0, 2), STATUS_MALFORMED, "twice 2^63 is no 0");
    cr_assert_eq(decode(one, 9, 63, 0, 2), STATUS_OK);
    cr_assert_eq(decode(one, 9, 63, (UINT64_C(1) << 63) - 2, 2), STATUS_OK);
    cr_assert_eq(decode(one, 9, 63, (UINT64_C(1) << 63) - 1, 2), STATUS_MALFORMED);
    cr_assert_eq(decode(one, 9, 63, UINT64_MAX, 2), STATUS_MALFORMED);
    cr_assert_eq(decode("\x01", 1, 0, UINT64_MAX - 1, 2), STATUS_OK);
    cr_assert_eq(decode("\x01", 1, 0, UINT64_MAX, 2), STATUS_MALFORMED);
}

Test(rice, a_parameter_that_is_none_is_refused)
{
    static const uint8_t bytes[64] = {1};

    for (unsigned parameter = 64; parameter < 300; parameter++) {
        cr_assert_eq(decode(bytes, sizeof bytes, parameter, 0, 2), STATUS_MALFORMED);
        cr_assert_eq(decode(bytes, 0, parameter, 0, 1), STATUS_MALFORMED);
    }
}

/* Each gap takes a bit at least: looked at before anything is written. */
Test(rice, more_fingerprints_than_bits_are_refused_at_once)
{
    static const uint8_t bytes[2] = {0xff, 0xff};
    uint64_t read[20] = {1, 77, 77};

    cr_assert_eq(rice_decode(span_of(bytes, 2), 0, read, 17), STATUS_OK);
    read[1] = 77;
    cr_assert_eq(rice_decode(span_of(bytes, 2), 0, read, 18), STATUS_MALFORMED);
    cr_assert_eq(rice_decode(span_of(bytes, 2), 0, read, SIZE_MAX), STATUS_MALFORMED);
    cr_assert_eq(read[1], 77);
}
