/* Bits go through a word of 64 of them. Writing, a code is or-ed into what the word has, which is
 * stored each time, full or not: that has no branch to guess. Codes of more than 64 bits are
 * written in pieces, and are rare with a parameter that suits. Reading, the next 64 bits are taken
 * from the bytes at any place, twice a gap: to find the one that ends the zeros, and for the low
 * bits. */
#include "site/rice.h"

#include <assert.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are stored as they are held");

enum { WORD_BITS = 64, WORD_BYTES = 8 };

/* ---- parameter ---- */

/* Gaps of fingerprints drawn evenly are distributed geometrically. Of such, a parameter k is better
 * than the one below while 2^k is less than 0.9624 of their mean, which is -2 ln((sqrt 5 - 1) / 2);
 * see A. Kiely, "Selecting the Golomb Parameter in Rice Coding", IPN Progress Report 42-159. */
unsigned rice_parameter(size_t ngaps, uint64_t range)
{
    uint64_t mean;

    assert(ngaps <= range);
    mean = ngaps > 0 ? (range - ngaps) / ngaps : 0;
    mean -= mean / 27;
    return mean > 0 ? WORD_BITS - 1 - (unsigned)__builtin_clzll(mean) : 0;
}

size_t rice_room(size_t ngaps, unsigned parameter, uint64_t range)
{
    /* Zeros are counted gap by gap, and rounded down each time: not more than of their sum. */
    uint64_t zeros;

    assert(parameter <= RICE_MAX_PARAMETER && ngaps <= range && ngaps <= UINT32_MAX);
    zeros = (range - ngaps) >> parameter;
    return (size_t)(zeros / 8 + ngaps * (parameter + 1) / 8) + 2 + WORD_BYTES;
}

/* ---- writing ---- */

struct writer {
    uint8_t *at;   /* where the word belongs */
    uint64_t word; /* zeros from `fill` on */
    unsigned fill; /* 0 to 63 */
};

/* 1 to 64 bits, zeros above them. */
static inline void put(struct writer *self, uint64_t bits, unsigned nbits)
{
    uint64_t carry = bits >> 1 >> (WORD_BITS - 1 - self->fill);
    bool full = self->fill + nbits >= WORD_BITS;

    self->word |= bits << self->fill;
    memcpy(self->at, &self->word, WORD_BYTES);
    self->at += full ? WORD_BYTES : 0;
    self->word = full ? carry : self->word;
    self->fill = (self->fill + nbits) % WORD_BITS;
}

static void put_in_pieces(struct writer *self, uint64_t gap, unsigned parameter)
{
    uint64_t zeros = gap >> parameter;

    for (; zeros >= WORD_BITS; zeros -= WORD_BITS) {
        put(self, 0, WORD_BITS);
    }
    put(self, UINT64_C(1) << zeros, (unsigned)zeros + 1);
    if (parameter > 0) {
        put(self, gap & ((UINT64_C(1) << parameter) - 1), parameter);
    }
}

static inline void put_gap(struct writer *self, uint64_t gap, unsigned parameter)
{
    uint64_t low = gap & ((UINT64_C(1) << parameter) - 1);
    uint64_t zeros = gap >> parameter;

    if (zeros < WORD_BITS - parameter) {
        put(self, (low << 1 | 1) << zeros, (unsigned)zeros + 1 + parameter);
    } else {
        put_in_pieces(self, gap, parameter);
    }
}

size_t rice_encode(const uint64_t *fingerprints, size_t count, unsigned parameter, uint8_t *out)
{
    struct writer writer = {.at = out};

    assert(parameter <= RICE_MAX_PARAMETER);
    for (size_t i = 1; i < count; i++) {
        assert(fingerprints[i] > fingerprints[i - 1]);
        put_gap(&writer, fingerprints[i] - fingerprints[i - 1] - 1, parameter);
    }
    memcpy(writer.at, &writer.word, WORD_BYTES);
    return (size_t)(writer.at - out) + (writer.fill + 7) / 8;
}

/* ---- reading ---- */

/* The 64 bits from bit `at` on; zeros where the code has ended. */
static inline uint64_t peek(struct span code, uint64_t at)
{
    uint8_t rest[WORD_BYTES + 1] = {0};
    size_t byte = (size_t)(at / 8);
    unsigned shift = at % 8;
    const uint8_t *bytes = rest;
    uint64_t word;

    if (byte < code.size && code.size - byte >= sizeof rest) {
        bytes = code.data + byte;
    } else if (byte < code.size) {
        memcpy(rest, code.data + byte, code.size - byte);
    }
    memcpy(&word, bytes, WORD_BYTES);
    return word >> shift | (uint64_t)bytes[WORD_BYTES] << 1 << (WORD_BITS - 1 - shift);
}

/* Pass over zeros, 64 at a time, up to a word that has a one. False: there is none. */
static bool skip_zeros(struct span code, uint64_t *at, uint64_t *zeros)
{
    uint64_t begin = *at;

    do {
        *at += WORD_BITS;
        if (*at >= (uint64_t)code.size * 8) {
            return false;
        }
    } while (peek(code, *at) == 0);
    *zeros = *at - begin;
    return true;
}

enum status rice_decode(struct span code, unsigned parameter, uint64_t *fingerprints, size_t count)
{
    uint64_t nbits = (uint64_t)code.size * 8;
    uint64_t at = 0;

    if (parameter > RICE_MAX_PARAMETER || (count > 0 ? count - 1 : 0) > nbits / (parameter + 1)) {
        return STATUS_MALFORMED;
    }
    for (size_t i = 1; i < count; i++) {
        uint64_t before = fingerprints[i - 1];
        uint64_t zeros = 0;
        uint64_t gap;
        uint64_t word = peek(code, at);

        if (word == 0) {
            if (!skip_zeros(code, &at, &zeros)) {
                return STATUS_MALFORMED;
            }
            word = peek(code, at);
        }
        at += (unsigned)__builtin_ctzll(word) + 1;
        zeros += (unsigned)__builtin_ctzll(word);
        gap = zeros << parameter | (peek(code, at) & ((UINT64_C(1) << parameter) - 1));
        at += parameter;
        if (at > nbits || zeros > UINT64_MAX >> parameter || gap >= UINT64_MAX - before) {
            return STATUS_MALFORMED;
        }
        fingerprints[i] = before + gap + 1;
    }
    return nbits - at < 8 && peek(code, at) == 0 ? STATUS_OK : STATUS_MALFORMED;
}
