/* dump SEED COUNT: COUNT headers and chunks of dumps made from SEED, each bent in some way, through
 * dump_header_read() and dump_chunk_read().
 *
 * An input is a byte, 1: its checksum is put right before it is tried; then a header or a chunk.
 *
 * An input passes when it is refused with a status that is documented, or what was read, written
 * anew, is the same bytes, and keys ascend within their range. Prints "N passed, N failed".
 */
#include "map/dump.h"

#include "tests/support/fuzz_loop.h"
#include "tests/support/random.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { MOST_KEYS = 60, MOST_BENDS = 4 };

/* ---- inputs ---- */

static void put_header(uint64_t *random, struct buffer *out)
{
    struct dump_header header = {
        .source = 1 + random_below(random, 1000),
        .capacity = 1 + random_below(random, 1000),
        .rate = 0.01,
        .max_capacity = 1000 + random_below(random, 2),
        .rule = {.replicas = 3, .write = 2, .read = 2},
        .hash = random_below(random, 2) == 0 ? HASH_SIPHASH24 : HASH_XXH3,
        .when_unavailable = WHEN_UNAVAILABLE_ERROR,
        .when_full = WHEN_FULL_EXPAND,
    };

    if (dump_header_write(&header, out) != STATUS_OK) {
        abort();
    }
}

static void put_chunk(uint64_t *random, struct buffer *out)
{
    uint64_t from = DUMP_FIRST + random_below(random, DUMP_END - DUMP_FIRST - 1);
    uint64_t to = random_below(random, 2) == 0 ? DUMP_END : from + 1;
    uint64_t keys[MOST_KEYS];
    size_t count = (size_t)random_below(random, MOST_KEYS);
    uint64_t key = dump_fingerprint(from);

    for (size_t i = 0; i < count; i++) {
        keys[i] = key;
        key += 1 + random_below(random, 1000);
    }
    if (dump_chunk_write(1, from, to, keys, count, out) != STATUS_OK) {
        abort();
    }
}

static void make(void *context, uint64_t seed, struct buffer *input)
{
    uint64_t random = seed;
    struct buffer bytes;
    size_t size;
    uint8_t sealed;

    (void)context;
    buffer_init(&bytes, DUMP_MAX_BYTES);
    if (random_below(&random, 2) == 0) {
        put_header(&random, &bytes);
    } else {
        put_chunk(&random, &bytes);
    }
    size = bytes.size;
    for (uint64_t n = random_below(&random, MOST_BENDS); n > 0; n--) {
        fuzz_bend(&random, bytes.data, &size);
    }
    sealed = (uint8_t)random_below(&random, 2);
    fuzz_put(input, &sealed, sizeof sealed);
    fuzz_put(input, bytes.data, size);
    buffer_fini(&bytes);
}

/* ---- trying them ---- */

static bool documented(enum status status)
{
    return status == STATUS_MALFORMED || status == STATUS_VERSION;
}

static bool try_header(struct span bytes)
{
    struct dump_header header;
    struct buffer anew;
    enum status status = dump_header_read(bytes, &header);
    bool pass;

    if (status != STATUS_OK) {
        return documented(status);
    }
    buffer_init(&anew, DUMP_MAX_BYTES);
    pass = dump_header_write(&header, &anew) == STATUS_OK && span_equal(bytes, buffer_span(&anew));
    buffer_fini(&anew);
    return pass;
}

/* Ascending, each once, all of the range. */
static bool keys_good(const struct dump_chunk *chunk, const uint64_t *keys)
{
    for (size_t i = 0; i < chunk->count; i++) {
        if (dump_iterator(keys[i]) < chunk->from || dump_iterator(keys[i]) >= chunk->to ||
            (i > 0 && keys[i] <= keys[i - 1])) {
            return false;
        }
    }
    return true;
}

static bool try_chunk(struct span bytes)
{
    static uint64_t keys[DUMP_MAX_KEYS];
    struct dump_chunk chunk;
    struct buffer anew;
    enum status status = dump_chunk_read(bytes, &chunk);
    bool pass;

    if (status != STATUS_OK) {
        return documented(status);
    }
    if (chunk.count > DUMP_MAX_KEYS) {
        return false;
    }
    dump_chunk_unpack(&chunk, keys);
    buffer_init(&anew, DUMP_MAX_BYTES);
    pass = keys_good(&chunk, keys) &&
           dump_chunk_write(chunk.source, chunk.from, chunk.to, keys, chunk.count, &anew) ==
               STATUS_OK &&
           span_equal(bytes, buffer_span(&anew));
    buffer_fini(&anew);
    return pass;
}

static bool try_input(void *context, struct span input)
{
    uint8_t sealed;
    uint8_t *copy;
    uint64_t sum;
    bool pass;

    (void)context;
    fuzz_take(&input, &sealed, sizeof sealed);
    copy = fuzz_copy(input);
    if ((sealed & 1) != 0 && input.size >= sizeof sum) {
        sum = XXH3_64bits(copy, input.size - sizeof sum);
        memcpy(copy + input.size - sizeof sum, &sum, sizeof sum);
    }
    pass = try_header(span_of(copy, input.size)) && try_chunk(span_of(copy, input.size));
    free(copy);
    return pass;
}

int main(int argc, char **argv)
{
    const struct fuzz_target target = {.name = "dump", .make = make, .try_input = try_input};

    return fuzz_loop(&target, argc, argv);
}
