/* Inputs of fuzz programs: written, read back, copied and bent. */
#include "tests/support/fuzz_loop.h"
#include "tests/support/random.h"

#include <stdlib.h>
#include <string.h>

enum { SECTOR_BYTES = 512 };

void fuzz_put(struct buffer *input, const void *bytes, size_t size)
{
    if (buffer_append(input, span_of(bytes, size)) != STATUS_OK) {
        abort();
    }
}

void fuzz_take(struct span *input, void *out, size_t size)
{
    size_t there = size < input->size ? size : input->size;

    memset(out, 0, size);
    if (there > 0) {
        memcpy(out, input->data, there);
        *input = span_of(input->data + there, input->size - there);
    }
}

uint8_t *fuzz_copy(struct span bytes)
{
    uint8_t *copy = malloc(bytes.size > 0 ? bytes.size : 1);

    if (copy == NULL) {
        abort();
    }
    if (bytes.size > 0) {
        memcpy(copy, bytes.data, bytes.size);
    }
    return copy;
}

static uint64_t draw_number(uint64_t *random)
{
    static const uint64_t telling[] = {
        0, 1, 4096, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 61, UINT64_MAX};

    return random_below(random, 2) == 0
               ? telling[random_below(random, sizeof telling / sizeof telling[0])]
               : random_next(random);
}

void fuzz_bend(uint64_t *random, uint8_t *bytes, size_t *size)
{
    size_t at = (size_t)random_below(random, *size);
    size_t other = (size_t)random_below(random, *size);
    size_t most = *size - (at > other ? at : other);
    size_t stretch = (size_t)random_below(random, most < SECTOR_BYTES ? most : SECTOR_BYTES) + 1;
    uint64_t number = draw_number(random);

    switch (random_below(random, 5)) {
    case 0:
        bytes[at] ^= (uint8_t)(1 << random_below(random, 8));
        break;
    case 1:
        memset(bytes + at, random_below(random, 2) == 0 ? 0 : 0xff, stretch);
        break;
    case 2:
        memmove(bytes + at, bytes + other, stretch);
        break;
    case 3: /* a number, where numbers are */
        at = at / sizeof number * sizeof number;
        memcpy(bytes + at, &number, *size - at < sizeof number ? *size - at : sizeof number);
        break;
    default:
        *size = at + 1;
        break;
    }
}
