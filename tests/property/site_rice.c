/* What must hold for any fingerprints and any bytes: codes are those of a plain reference, give
 * back what they were made of, and there is one of each list only. */
#include "base/heap.h"
#include "site/rice.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { ROUNDS = 3000, MOST = 4000 };

/* How fingerprints come: hashes, of one shard, clustered, in a row, few far apart. */
enum kind { HASHES, ONE_SHARD, CLUSTERED, IN_A_ROW, ENDS, KINDS };

static uint64_t draw(enum kind kind, uint64_t *state, size_t index)
{
    uint64_t value = random_next(state);

    switch (kind) {
    case HASHES:
        return value;
    case ONE_SHARD:
        return value >> 12 | UINT64_C(0xabc) << 52;
    case CLUSTERED:
        return (value >> 32) % 7 << 57 | (value & 0xffff);
    case IN_A_ROW:
        return UINT64_MAX - index;
    case ENDS:
        return value % 2 == 0 ? value >> 40 : UINT64_MAX - (value >> 40);
    case KINDS:
        break;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

static size_t draw_list(uint64_t *state, uint64_t *list)
{
    enum kind kind = (enum kind)random_below(state, KINDS);
    size_t count = 1 + (size_t)random_below(state, 1 + random_below(state, MOST));
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        list[i] = draw(kind, state, i);
    }
    qsort(list, count, sizeof *list, compare);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || list[kept - 1] != list[i]) {
            list[kept++] = list[i];
        }
    }
    return kept;
}

/* A bit at a time, as rice.h says. Returns the bytes. */
static size_t encode_plainly(const uint64_t *list, size_t count, unsigned parameter, uint8_t *out)
{
    size_t at = 0;

    for (size_t i = 1; i < count; i++) {
        uint64_t gap = list[i] - list[i - 1] - 1;

        at += (size_t)(gap >> parameter);
        out[at / 8] |= (uint8_t)(1u << at % 8);
        at++;
        for (unsigned bit = 0; bit < parameter; bit++, at++) {
            out[at / 8] |= (uint8_t)((gap >> bit & 1) << at % 8);
        }
    }
    return (at + 7) / 8;
}

/* The one that suits, or another one with which codes are not too long. */
static unsigned draw_parameter(uint64_t *state, size_t ngaps, uint64_t range)
{
    unsigned least = rice_parameter(ngaps, range);

    if (random_below(state, 2) == 0) {
        return least;
    }
    least = least > 5 ? least - 5 : 0;
    return least + (unsigned)random_below(state, 64 - least);
}

/* Returns the code's bytes; `list` gets as many fingerprints. */
static size_t draw_code(uint64_t *state, uint64_t *list, size_t *count, unsigned *parameter,
                        uint8_t **code)
{
    uint64_t range;

    *count = draw_list(state, list);
    range = list[*count - 1] - list[0];
    *parameter = draw_parameter(state, *count - 1, range);
    *code = heap_alloc(rice_room(*count - 1, *parameter, range), 1);
    return rice_encode(list, *count, *parameter, *code);
}

Test(rice, any_list_comes_back)
{
    uint64_t state = 7;
    static uint64_t list[MOST + 1];
    static uint64_t read[MOST + 1];

    for (int round = 0; round < ROUNDS; round++) {
        size_t count = 0;
        unsigned parameter = 0;
        uint8_t *code = NULL;
        uint8_t *plain;
        uint8_t *exact;
        size_t size = draw_code(&state, list, &count, &parameter, &code);
        uint64_t range = list[count - 1] - list[0];
        size_t room = rice_room(count - 1, parameter, range);

        cr_assert_leq(size + 8, room);
        if (parameter == rice_parameter(count - 1, range)) {
            cr_assert_leq(size, 8 * count, "%zu bytes of %zu keys", size, count);
        }
        plain = heap_alloc(room, 1);
        memset(plain, 0, room);
        cr_assert_eq(encode_plainly(list, count, parameter, plain), size);
        cr_assert_eq(memcmp(plain, code, size), 0, "round %d", round);
        exact = heap_alloc(size + 1, 1);
        memcpy(exact + 1, code, size); /* nothing is aligned, and ends where the memory does */
        read[0] = list[0];
        cr_assert_eq(rice_decode(span_of(exact + 1, size), parameter, read, count), STATUS_OK);
        cr_assert_eq(memcmp(read, list, count * sizeof *list), 0, "round %d", round);
        heap_free(exact);
        heap_free(plain);
        heap_free(code);
    }
}

/* Bits flipped, ends cut off, another parameter, another count. */
static void bend(uint64_t *state, uint8_t *code, size_t *size, unsigned *parameter, size_t *count)
{
    switch (random_below(state, 5)) {
    case 0:
        *size = (size_t)random_below(state, *size + 1);
        break;
    case 1:
        *parameter = (unsigned)random_below(state, 70);
        break;
    case 2:
        *count = (size_t)random_below(state, MOST + 1);
        break;
    default:
        if (*size > 0) {
            code[random_below(state, *size)] ^= (uint8_t)(1u << random_below(state, 8));
        }
        break;
    }
}

Test(rice, any_bytes_are_refused_or_the_one_code_of_what_they_give)
{
    uint64_t state = 11;
    static uint64_t list[MOST + 1];
    static uint64_t read[MOST + 1];
    size_t accepted = 0;

    for (int round = 0; round < ROUNDS; round++) {
        size_t count = 0;
        unsigned parameter = 0;
        uint8_t *code = NULL;
        size_t size = draw_code(&state, list, &count, &parameter, &code);
        uint8_t *exact;

        bend(&state, code, &size, &parameter, &count);
        exact = heap_alloc(size + (size == 0), 1);
        memcpy(exact, code, size);
        read[0] = list[0];
        if (rice_decode(span_of(exact, size), parameter, read, count) == STATUS_OK && count > 0) {
            uint64_t range = read[count - 1] - read[0];
            uint8_t *again = heap_alloc(rice_room(count - 1, parameter, range), 1);

            cr_assert_eq(rice_encode(read, count, parameter, again),
                         size); /* asserts that it rises */
            cr_assert_eq(memcmp(again, exact, size), 0);
            heap_free(again);
            accepted++;
        }
        heap_free(exact);
        heap_free(code);
    }
    cr_assert_gt(accepted, ROUNDS / 10);
    cr_assert_lt(accepted, ROUNDS * 9 / 10);
}
