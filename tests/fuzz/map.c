/* map SEED COUNT: COUNT backups of a store made from SEED, each bent in some way, through
 * map_file_check() and map_file_next().
 *
 * An input is a byte, 1: checksums are put right before it is tried; then the file.
 *
 * A file passes when it is refused with a reason, or its records, written anew, are the same bytes.
 * Prints "N passed, N failed".
 */
#include "cli/map_file.h"
#include "tests/support/fuzz_loop.h"
#include "tests/support/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { HEADER_BYTES = 64, RECORD_BYTES = 16, MOST_RECORDS = 6, MOST_BENDS = 4 };

/* ---- inputs ---- */

static void put_record(uint64_t *random, struct buffer *file)
{
    static const char *const kinds[] = {"document/", "name/", "secret/", "node/"};
    uint8_t value[300];
    size_t size = (size_t)random_below(random, sizeof value);
    char key[64];

    for (size_t i = 0; i < size; i++) {
        value[i] = (uint8_t)random_next(random);
    }
    (void)snprintf(key, sizeof key, "%s%u", kinds[random_below(random, 4)],
                   (unsigned)random_below(random, 100000));
    if (map_file_put(file, key, span_of(value, size)) != STATUS_OK) {
        abort();
    }
}

static void make(void *context, uint64_t seed, struct buffer *input)
{
    uint64_t random = seed;
    struct map_header header = {.key = 1, .cluster = {{9}}, .store = 2, .change = seed};
    struct buffer file;
    size_t size;
    uint8_t sealed;

    (void)context;
    buffer_init(&file, FUZZ_INPUT_BYTES);
    if (map_file_begin(&file) != STATUS_OK) {
        abort();
    }
    for (uint64_t n = random_below(&random, MOST_RECORDS); n > 0; n--) {
        put_record(&random, &file);
    }
    if (map_file_end(&file, &header) != STATUS_OK) {
        abort();
    }
    size = file.size;
    for (uint64_t n = random_below(&random, MOST_BENDS); n > 0; n--) {
        fuzz_bend(&random, file.data, &size);
    }
    sealed = (uint8_t)random_below(&random, 2);
    fuzz_put(input, &sealed, sizeof sealed);
    fuzz_put(input, file.data, size);
    buffer_fini(&file);
}

/* ---- trying them ---- */

static void put_sum(uint8_t *at, const uint8_t *bytes, size_t size)
{
    uint64_t sum = XXH3_64bits(bytes, size);

    memcpy(at, &sum, sizeof sum);
}

/* As if it had been written so. */
static void seal(uint8_t *file, size_t size)
{
    size_t at = HEADER_BYTES;
    uint32_t key = 1;
    uint32_t value;

    if (size < HEADER_BYTES) {
        return;
    }
    put_sum(file + HEADER_BYTES - 8, file, HEADER_BYTES - 8);
    while (key > 0 && size - at >= RECORD_BYTES) {
        memcpy(&key, file + at, sizeof key);
        memcpy(&value, file + at + 4, sizeof value);
        if ((uint64_t)key + value > size - at - RECORD_BYTES) {
            return;
        }
        if (key > 0) {
            put_sum(file + at + 8, file + at + RECORD_BYTES, (size_t)key + value);
        } else {
            put_sum(file + at + 8, file, at);
        }
        at += RECORD_BYTES + (size_t)key + value;
    }
}

static enum status write_anew(struct span file, const struct map_header *header, struct buffer *out)
{
    char key[MAP_FILE_KEY_BYTES];
    struct span value;
    size_t at = 0;
    enum status status = map_file_begin(out);
    enum status next = STATUS_OK;

    while (status == STATUS_OK && (next = map_file_next(file, &at, key, &value)) == STATUS_OK) {
        status = map_file_put(out, key, value);
    }
    if (status == STATUS_OK) {
        status = next == STATUS_NOT_FOUND ? map_file_end(out, header) : next;
    }
    return status;
}

/* Records alone: a header and an end have room of which nothing is said. */
static bool is_same(struct span file, struct span anew)
{
    size_t most = HEADER_BYTES + RECORD_BYTES;

    return file.size == anew.size &&
           memcmp(file.data + HEADER_BYTES, anew.data + HEADER_BYTES, file.size - most) == 0;
}

static bool try_file(struct span file)
{
    struct map_header header;
    const char *reason = NULL;
    enum status status = map_file_check(file, &header, &reason);
    struct buffer anew;
    bool pass;

    if (status != STATUS_OK) {
        return (status == STATUS_MALFORMED || status == STATUS_VERSION) && reason != NULL;
    }
    buffer_init(&anew, FUZZ_INPUT_BYTES);
    pass = reason == NULL && write_anew(file, &header, &anew) == STATUS_OK &&
           is_same(file, buffer_span(&anew));
    buffer_fini(&anew);
    return pass;
}

static bool try_input(void *context, struct span input)
{
    uint8_t sealed;
    uint8_t *copy;
    bool pass;

    (void)context;
    fuzz_take(&input, &sealed, sizeof sealed);
    copy = fuzz_copy(input);
    if ((sealed & 1) != 0) {
        seal(copy, input.size);
    }
    pass = try_file(span_of(copy, input.size));
    free(copy);
    return pass;
}

int main(int argc, char **argv)
{
    const struct fuzz_target target = {.name = "map", .make = make, .try_input = try_input};

    return fuzz_loop(&target, argc, argv);
}
