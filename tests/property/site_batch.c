/* What must hold for any batch: it comes back as it was, whatever of it is cut off or flipped is
 * refused, and nothing takes more room than was said. */
#include "base/heap.h"
#include "site/batch.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { ROUNDS = 2000, MOST_KEYS = 3000, MOST_CURSORS = 200 };

struct trial {
    uint64_t random;
    struct site_batch batch;
    uint64_t keys[MOST_KEYS];
    struct site_batch_cursor cursors[MOST_CURSORS];
    uint8_t *bytes; /* of exactly `size` */
    size_t size;
};

static uint64_t draw(struct trial *self, uint64_t below)
{
    return random_below(&self->random, below);
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

/* Of the whole space, or of one shard of some size. */
static void draw_keys(struct trial *self)
{
    uint32_t most = (uint32_t)draw(self, 1 + draw(self, MOST_KEYS));
    unsigned shard_bits = (unsigned)draw(self, 4) * 4;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < most; i++) {
        self->keys[i] = random_next(&self->random) >> shard_bits;
    }
    qsort(self->keys, most, sizeof self->keys[0], compare);
    for (uint32_t i = 0; i < most; i++) {
        if (kept == 0 || self->keys[kept - 1] != self->keys[i]) {
            self->keys[kept++] = self->keys[i];
        }
    }
    self->batch.nkeys = kept;
}

/* Some groups of a node are told together, some not, some are missing. */
static void draw_cursors(struct trial *self)
{
    uint32_t most = (uint32_t)draw(self, MOST_CURSORS);
    uint32_t groups = 1 + (uint32_t)draw(self, 20);
    struct site_batch_cursor cursor = {.incarnation = 5, .boot = 6};
    uint32_t count = 0;

    for (uint32_t i = 0; count < most; i++) {
        cursor.node = 1 + i / groups;
        cursor.group = i % groups;
        cursor.incarnation += draw(self, 4) == 0;
        cursor.boot += draw(self, 4) == 0;
        cursor.offset += draw(self, 4) == 0 ? 8 : 0;
        cursor.epoch += draw(self, 4) == 0;
        if (draw(self, 3) != 0) {
            self->cursors[count++] = cursor;
        }
    }
    self->batch.ncursors = count;
}

static void draw_batch(struct trial *self)
{
    uint8_t *room;

    self->batch = (struct site_batch){
        .uid = {.high = draw(self, 3), .low = random_next(&self->random)},
        .sender = {.number = draw(self, 9), .tag = random_next(&self->random)},
        .receiver = {.number = draw(self, 9), .tag = random_next(&self->random)},
        .flags = (uint32_t)draw(self, 4),
        .nkeysets = 1 + (uint32_t)draw(self, SITE_BATCH_MAX_KEYSETS),
    };
    for (uint32_t i = 0; i < self->batch.nkeysets; i++) {
        self->batch.keysets[i] = (i > 0 ? self->batch.keysets[i - 1] : 0) + 1 +
                                 (uint32_t)draw(self, 9);
    }
    draw_keys(self);
    draw_cursors(self);
    room = heap_alloc(site_batch_room(&self->batch), 1);
    self->size = site_batch_encode(&self->batch, self->keys, self->cursors, room);
    cr_assert_leq(self->size, site_batch_room(&self->batch));
    self->bytes = heap_alloc(self->size, 1);
    memcpy(self->bytes, room, self->size);
    heap_free(room);
}

Test(batch, any_comes_back)
{
    static struct trial trial = {.random = 3};
    static uint64_t keys[MOST_KEYS];
    static struct site_batch_cursor cursors[MOST_CURSORS];

    for (int round = 0; round < ROUNDS; round++) {
        struct site_batch batch;
        struct span bytes;

        draw_batch(&trial);
        bytes = span_of(trial.bytes, trial.size);
        cr_assert_eq(site_batch_open(bytes, &batch), STATUS_OK, "round %d", round);
        cr_assert_eq(memcmp(&batch, &trial.batch, sizeof batch), 0);
        cr_assert_eq(site_batch_keys(bytes, keys), STATUS_OK, "round %d", round);
        cr_assert_eq(memcmp(keys, trial.keys, batch.nkeys * sizeof keys[0]), 0);
        cr_assert_eq(site_batch_cursors(bytes, cursors), STATUS_OK, "round %d", round);
        cr_assert_eq(memcmp(cursors, trial.cursors, batch.ncursors * sizeof cursors[0]), 0);
        heap_free(trial.bytes);
    }
}

Test(batch, any_that_was_cut_or_flipped_is_refused)
{
    static struct trial trial = {.random = 5};
    struct site_batch batch;

    for (int round = 0; round < ROUNDS; round++) {
        size_t cut;
        uint8_t *piece;
        size_t bit;

        draw_batch(&trial);
        cut = (size_t)draw(&trial, trial.size);
        piece = heap_alloc(cut + (cut == 0), 1);
        memcpy(piece, trial.bytes, cut);
        cr_assert_eq(site_batch_open(span_of(piece, cut), &batch), STATUS_MALFORMED);
        bit = (size_t)draw(&trial, 8 * trial.size);
        trial.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_neq(site_batch_open(span_of(trial.bytes, trial.size), &batch), STATUS_OK);
        heap_free(piece);
        heap_free(trial.bytes);
    }
}
