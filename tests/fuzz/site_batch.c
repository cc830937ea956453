/* site_batch SEED COUNT: COUNT batches between sites made from SEED, each bent in some way, through
 * site_batch_open(), _keys() and _cursors().
 *
 * An input is a byte, 1: checksums and what the format's name is are put right before it is tried;
 * then the batch.
 *
 * An input passes when it is refused with a status that is documented, leaving the output as it was
 * where open refuses; or keys and cursors rise, and encoded anew, with the parameter that it had,
 * are the same bytes. Prints "N passed, N failed".
 */
#include "base/heap.h"
#include "site/batch.h"
#include "tests/support/fuzz_loop.h"
#include "tests/support/random.h"

#include <stdlib.h>
#include <xxhash.h>

enum { MOST_KEYS = 300, MOST_CURSORS = 40, MOST_BENDS = 4 };

/* Where the front has what is put right, and the parameter; see batch.h. */
enum { AT_FRONT_SUM = 8, AT_BODY_SUM = 16, AT_PARAMETER = 95 };

/* ---- inputs ---- */

static uint32_t make_keys(uint64_t *random, uint64_t *keys)
{
    uint32_t count = (uint32_t)random_below(random, 1 + random_below(random, MOST_KEYS));
    unsigned bits = 1 + (unsigned)random_below(random, 55);
    uint64_t key = random_below(random, 1000);

    for (uint32_t i = 0; i < count; i++) {
        keys[i] = key;
        key += 1 + (random_next(random) >> (64 - bits));
    }
    return count;
}

static uint32_t make_cursors(uint64_t *random, struct site_batch_cursor *cursors)
{
    uint32_t count = (uint32_t)random_below(random, MOST_CURSORS);
    struct site_batch_cursor cursor = {.node = 1, .incarnation = 2, .boot = 3, .offset = 4096};

    for (uint32_t i = 0; i < count; i++) {
        cursors[i] = cursor;
        cursor.group += 1 + (uint32_t)random_below(random, 2);
        cursor.offset += 8 * random_below(random, 2);
        cursor.epoch += random_below(random, 2);
        if (random_below(random, 8) == 0) {
            cursor.node++;
            cursor.group = 0;
        }
    }
    return count;
}

static void make(void *context, uint64_t seed, struct buffer *input)
{
    uint64_t random = seed;
    uint64_t keys[MOST_KEYS];
    struct site_batch_cursor cursors[MOST_CURSORS];
    struct site_batch batch = {
        .uid = {.high = 1, .low = 2},
        .sender = {.number = 3, .tag = 4},
        .receiver = {.number = 5, .tag = 6},
        .flags = (uint32_t)random_below(&random, 4),
        .nkeysets = 1 + (uint32_t)random_below(&random, SITE_BATCH_MAX_KEYSETS),
        .keysets = {1, 2, 3, 4},
    };
    uint8_t *bytes;
    size_t size;
    uint8_t sealed;

    (void)context;
    batch.nkeys = make_keys(&random, keys);
    batch.ncursors = make_cursors(&random, cursors);
    bytes = heap_alloc(site_batch_room(&batch), 1);
    if (bytes == NULL) {
        abort();
    }
    memset(batch.keysets + batch.nkeysets, 0,
           (SITE_BATCH_MAX_KEYSETS - batch.nkeysets) * sizeof batch.keysets[0]);
    size = site_batch_encode(&batch, keys, cursors, bytes);
    for (uint64_t n = random_below(&random, MOST_BENDS); n > 0; n--) {
        fuzz_bend(&random, bytes, &size);
    }
    sealed = (uint8_t)random_below(&random, 2);
    fuzz_put(input, &sealed, sizeof sealed);
    fuzz_put(input, bytes, size);
    heap_free(bytes);
}

/* ---- trying them ---- */

static void put_sum(uint8_t *at, const uint8_t *bytes, size_t size)
{
    uint64_t sum = XXH3_64bits(bytes, size);

    memcpy(at, &sum, sizeof sum);
}

/* As if it had been written so. */
static void seal(uint8_t *bytes, size_t size)
{
    if (size >= SITE_BATCH_FRONT_BYTES) {
        memcpy(bytes, "ORBSITE\x01", 8);
        put_sum(bytes + AT_BODY_SUM, bytes + SITE_BATCH_FRONT_BYTES, size - SITE_BATCH_FRONT_BYTES);
        put_sum(bytes + AT_FRONT_SUM, bytes + 16, SITE_BATCH_FRONT_BYTES - 16);
    }
}

static bool cursors_rise(const struct site_batch_cursor *cursors, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (cursors[i].node < cursors[i - 1].node ||
            (cursors[i].node == cursors[i - 1].node && cursors[i].group <= cursors[i - 1].group)) {
            return false;
        }
    }
    return true;
}

/* Only its code may differ, and its length and sums with it, where the parameter is another one. */
static bool encodes_alike(struct span bytes, const struct site_batch *batch, const uint64_t *keys,
                          const struct site_batch_cursor *cursors)
{
    uint8_t *again = heap_alloc(site_batch_room(batch), 1);
    size_t size;
    bool alike;

    if (again == NULL) {
        abort();
    }
    size = site_batch_encode(batch, keys, cursors, again);
    alike = size == bytes.size && memcmp(again, bytes.data, size) == 0;
    alike = alike || again[AT_PARAMETER] != bytes.data[AT_PARAMETER];
    heap_free(again);
    return alike;
}

static bool read_all(struct span bytes, const struct site_batch *batch)
{
    uint64_t *keys = heap_alloc(batch->nkeys + 1, sizeof *keys);
    struct site_batch_cursor *cursors = heap_alloc(batch->ncursors + 1, sizeof *cursors);
    bool pass = true;
    enum status status;

    if (keys == NULL || cursors == NULL) {
        abort();
    }
    status = site_batch_keys(bytes, keys);
    if (status == STATUS_OK) {
        status = site_batch_cursors(bytes, cursors);
    }
    if (status == STATUS_OK) {
        for (uint32_t i = 1; i < batch->nkeys; i++) {
            pass = pass && keys[i] > keys[i - 1];
        }
        pass = pass && cursors_rise(cursors, batch->ncursors) &&
               encodes_alike(bytes, batch, keys, cursors);
    } else {
        pass = status == STATUS_MALFORMED;
    }
    heap_free(cursors);
    heap_free(keys);
    return pass;
}

static bool try_input(void *context, struct span input)
{
    static const struct site_batch untouched = {.nkeys = 7, .uid = {.high = 8}};
    struct site_batch batch = untouched;
    uint8_t sealed;
    uint8_t *copy;
    enum status status;
    bool pass;

    (void)context;
    fuzz_take(&input, &sealed, sizeof sealed);
    copy = fuzz_copy(input);
    if ((sealed & 1) != 0) {
        seal(copy, input.size);
    }
    status = site_batch_open(span_of(copy, input.size), &batch);
    if (status == STATUS_OK) {
        pass = read_all(span_of(copy, input.size), &batch);
    } else {
        pass = (status == STATUS_MALFORMED || status == STATUS_VERSION ||
                status == STATUS_TOO_LARGE) &&
               memcmp(&batch, &untouched, sizeof batch) == 0;
    }
    free(copy);
    return pass;
}

int main(int argc, char **argv)
{
    const struct fuzz_target target = {.name = "site_batch", .make = make, .try_input = try_input};

    return fuzz_loop(&target, argc, argv);
}
