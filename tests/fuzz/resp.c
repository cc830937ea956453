/* resp SEED COUNT: COUNT byte streams made from SEED, each a row of RESP requests bent in some way,
 * through resp_request_read().
 *
 * Every stream is read twice: all of it at once, and in random pieces as a connection brings them,
 * each piece in memory of its own, of exactly its size, so that a sanitizer sees who reads past it.
 *
 * An input passes when both give the same requests, the same end and the same text of an error, and
 * arguments lie within their input. Prints "N passed, N failed".
 */
#include "base/heap.h"
#include "resp/request.h"
#include "tests/support/fuzz_loop.h"
#include "tests/support/random.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { MOST_BYTES = 8192, MOST_REQUESTS = 12, MOST_ARGUMENTS = 6, MOST_BENDS = 4 };

static const struct resp_limits limits = {
    .max_arguments = 20, .max_bulk = 400, .max_request = 1500, .max_line = 300};

struct fuzz {
    uint64_t random;
    size_t size;
    uint8_t bytes[MOST_BYTES];
};

/* All that is to be the same whatever the pieces. */
struct outcome {
    uint32_t nrequests;
    uint64_t digest; /* of all arguments */
    size_t taken;
    enum resp_progress end; /* RESP_MORE: all was taken, or the rest is incomplete */
    char error[RESP_ERROR_BYTES];
};

static uint64_t draw(struct fuzz *self, uint64_t below)
{
    return random_below(&self->random, below);
}

/* ---- what is sent ---- */

static void put(struct fuzz *self, const void *bytes, size_t size)
{
    if (size <= sizeof self->bytes - self->size) {
        memcpy(self->bytes + self->size, bytes, size);
        self->size += size;
    }
}

static void put_head(struct fuzz *self, char sign, int64_t number)
{
    char text[32];

    put(self, text, (size_t)snprintf(text, sizeof text, "%c%" PRId64 "\r\n", sign, number));
}

static void put_argument(struct fuzz *self)
{
    size_t size = (size_t)draw(self, draw(self, 8) == 0 ? 500 : 20);

    put_head(self, '$', (int64_t)size);
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)draw(self, 256);

        put(self, &byte, 1);
    }
    put(self, "\r\n", 2);
}

static void put_line(struct fuzz *self)
{
    static const char letters[] = "ab \t\"'\\xn09\"'  \r";
    size_t size = (size_t)draw(self, draw(self, 10) == 0 ? 400 : 30);

    for (size_t i = 0; i < size; i++) {
        put(self, &letters[draw(self, sizeof letters - 1)], 1);
    }
    put(self, "\r\n", 2);
}

static void put_request(struct fuzz *self)
{
    size_t count = (size_t)draw(self, MOST_ARGUMENTS);

    if (draw(self, 4) == 0) {
        put_line(self);
        return;
    }
    put_head(self, '*', (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        put_argument(self);
    }
}

static void bend(struct fuzz *self)
{
    static const char telling[] = "*$\r\n-0129 \"'+:";
    static const char *const numbers[] = {"-1",
                                          "0",
                                          "21",
                                          "400",
                                          "401",
                                          "65536",
                                          "1e3",
                                          "",
                                          "999999999999999999",
                                          "9999999999999999999999999999999"};
    size_t at = (size_t)draw(self, self->size);
    size_t other = (size_t)draw(self, self->size);
    size_t most = self->size - (at > other ? at : other);
    size_t size = (size_t)draw(self, most < 64 ? most : 64) + 1;
    const char *number = numbers[draw(self, sizeof numbers / sizeof numbers[0])];

    switch (draw(self, 5)) {
    case 0:
        self->bytes[at] ^= (uint8_t)(1 << draw(self, 8));
        break;
    case 1:
        self->bytes[at] = (uint8_t)telling[draw(self, sizeof telling - 1)];
        break;
    case 2:
        memmove(self->bytes + at, self->bytes + other, size);
        break;
    case 3: /* a number, where one may be */
        size = strlen(number) < self->size - at ? strlen(number) : self->size - at;
        memcpy(self->bytes + at, number, size);
        break;
    default:
        self->size = at + 1;
        break;
    }
}

/* ---- what is made of it ---- */

static bool lies_in(struct span part, struct span whole)
{
    return part.size == 0 ||
           (part.data >= whole.data && part.data + part.size <= whole.data + whole.size);
}

static bool note(struct outcome *out, const struct resp_request *request, struct span input)
{
    for (uint32_t i = 0; i < request->count; i++) {
        struct span argument = request->arguments[i];

        if (!lies_in(argument, input) && !lies_in(argument, buffer_span(&request->words))) {
            return false;
        }
        out->digest = XXH3_64bits_withSeed(argument.data, argument.size, out->digest) +
                      argument.size * 31;
    }
    out->digest += request->count;
    out->nrequests++;
    out->taken += request->size;
    return request->size > 0 && request->size <= input.size;
}

/* Everything that `bytes` holds; false: what was read can't be. */
static bool take_all(struct resp_request *request, struct span bytes, struct outcome *out)
{
    struct span rest = span_of(bytes.data + out->taken, bytes.size - out->taken);

    while ((out->end = resp_request_read(request, &limits, rest)) == RESP_REQUEST) {
        if (!note(out, request, rest)) {
            return false;
        }
        rest = span_of(bytes.data + out->taken, bytes.size - out->taken);
    }
    if (out->end == RESP_BROKEN) {
        memcpy(out->error, request->error, sizeof out->error);
    }
    return out->end != RESP_NOMEM;
}

/* As much as has come, in memory that ends where it ends; pieces are drawn from the bytes, so that
 * the same input is always cut in the same way. */
static bool take_in_pieces(struct span input, struct outcome *out)
{
    uint64_t random = XXH3_64bits(input.data, input.size);
    struct resp_request request;
    size_t most = 1 + (size_t)random_below(&random, random_below(&random, 2) == 0 ? 3 : 600);
    bool good = true;

    resp_request_init(&request);
    for (size_t come = 0; good && come < input.size && out->end != RESP_BROKEN;) {
        uint8_t *copy;

        come += 1 + (size_t)random_below(&random, most);
        come = come < input.size ? come : input.size;
        copy = fuzz_copy(span_of(input.data, come));
        good = take_all(&request, span_of(copy, come), out);
        free(copy);
    }
    resp_request_fini(&request);
    return good;
}

static bool take_at_once(struct span input, struct outcome *out)
{
    struct resp_request request;
    bool good;

    resp_request_init(&request);
    good = take_all(&request, input, out);
    resp_request_fini(&request);
    return good;
}

static bool is_same(const struct outcome *a, const struct outcome *b)
{
    return a->nrequests == b->nrequests && a->digest == b->digest && a->taken == b->taken &&
           a->end == b->end && strcmp(a->error, b->error) == 0;
}

static void make(void *context, uint64_t seed, struct buffer *input)
{
    struct fuzz *self = context;

    self->random = seed;
    self->size = 0;
    for (uint64_t i = 1 + draw(self, MOST_REQUESTS); i > 0; i--) {
        put_request(self);
    }
    for (uint64_t i = draw(self, MOST_BENDS); i > 0; i--) {
        bend(self);
    }
    fuzz_put(input, self->bytes, self->size);
}

static bool try_input(void *context, struct span input)
{
    struct outcome whole = {.end = RESP_MORE};
    struct outcome pieces = {.end = RESP_MORE};
    size_t live = heap_live();

    (void)context;
    if (input.size == 0 || input.size > MOST_BYTES) {
        return true; /* Pieces of a long one take the square of its size. */
    }
    if (!take_at_once(input, &whole) || !take_in_pieces(input, &pieces)) {
        printf("arguments lie outside\n");
        return false;
    }
    if (!is_same(&whole, &pieces)) {
        printf("%u requests, %zu bytes, end %d \"%s\"; in pieces %u, %zu, %d \"%s\"\n",
               whole.nrequests, whole.taken, whole.end, whole.error, pieces.nrequests, pieces.taken,
               pieces.end, pieces.error);
        return false;
    }
    return heap_live() == live;
}

int main(int argc, char **argv)
{
    static struct fuzz fuzz;
    const struct fuzz_target target = {
        .name = "resp", .context = &fuzz, .make = make, .try_input = try_input};

    return fuzz_loop(&target, argc, argv);
}
