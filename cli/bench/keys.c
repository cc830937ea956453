/* Writes keys by number without a division a digit, as this runs beside what is measured. */
#include "cli/bench/keys.h"

#include <endian.h>
#include <string.h>

enum { NUMBER_AT = 43, HALF_DIGITS = 8 };

static const char text[BENCH_KEY_BYTES + 1] =
    "https://bench.example.org/some/folder/page-0000000000000000?";

/* Eight hexadecimal digits, the first in the highest byte: every nibble gets a byte of its own,
 * then all eight become letters at once. A loop over digits took four times as long. */
static uint64_t hex_digits(uint32_t value)
{
    uint64_t digits = value;
    uint64_t letters;

    digits = (digits | digits << 16) & UINT64_C(0x0000ffff0000ffff);
    digits = (digits | digits << 8) & UINT64_C(0x00ff00ff00ff00ff);
    digits = (digits | digits << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    letters = (digits + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
    return digits + UINT64_C(0x3030303030303030) + letters * ('a' - '0' - 10);
}

void key_write(uint8_t key[BENCH_KEY_BYTES])
{
    memcpy(key, text, BENCH_KEY_BYTES);
}

static void put_digits(uint8_t *out, uint32_t value)
{
    uint64_t digits = htobe64(hex_digits(value));

    memcpy(out, &digits, sizeof digits);
}

void key_set_number(uint8_t key[BENCH_KEY_BYTES], uint64_t number)
{
    put_digits(key + NUMBER_AT, (uint32_t)(number >> 32));
    put_digits(key + NUMBER_AT + HALF_DIGITS, (uint32_t)number);
}

/* Keys in a row get numbers in a row, whose upper halves hardly ever differ. */
static void set_numbers(uint8_t *keys, size_t stride, uint64_t number, uint64_t count)
{
    uint64_t high = htobe64(hex_digits((uint32_t)(number >> 32)));

    for (; count > 0; count--, number++, keys += stride) {
        memcpy(keys + NUMBER_AT, &high, sizeof high);
        put_digits(keys + NUMBER_AT + HALF_DIGITS, (uint32_t)number);
        if ((uint32_t)number == UINT32_MAX) {
            high = htobe64(hex_digits((uint32_t)((number + 1) >> 32)));
        }
    }
}

/* The same, and after the last known number comes 0. */
static void set_known(const struct key_choice *choice, uint8_t *keys, size_t stride,
                      uint64_t number, uint64_t count)
{
    while (count > 0) {
        uint64_t left = choice->known - number;
        uint64_t part = count < left ? count : left;

        set_numbers(keys, stride, number, part);
        keys += part * stride;
        count -= part;
        number = 0;
    }
}

void key_choose(const struct key_choice *choice, uint64_t first, uint8_t *keys, size_t stride,
                uint32_t count)
{
    uint32_t known = key_count_known(choice, first, count);

    if (choice->only_fresh) {
        set_numbers(keys, stride, choice->fresh + first, count);
        return;
    }
    set_known(choice, keys + (first % 2 == 0 ? 0 : stride), 2 * stride,
              (first + 1) / 2 % choice->known, known);
    set_numbers(keys + (first % 2 == 0 ? stride : 0), 2 * stride, choice->fresh + first / 2,
                count - known);
}

uint32_t key_count_known(const struct key_choice *choice, uint64_t first, uint32_t count)
{
    return choice->only_fresh ? 0 : (uint32_t)((count + (first + 1) % 2) / 2);
}
