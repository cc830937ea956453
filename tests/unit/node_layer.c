/* The arrays of a generation: what is done to one shard leaves the others alone, whether they have
 * pages of their own or share them. */
#include "base/heap.h"
#include "node/array/layer.h"

#include <criterion/criterion.h>
#include <string.h>

enum { SHARD_BITS = 4, SHARDS = 1 << SHARD_BITS };

static struct layer *make(uint64_t lines, const bool hosted[SHARDS])
{
    const struct generation generation = {
        .id = 1, .geometry = {.lines = lines, .z = 1, .shard_bits = SHARD_BITS}, .capacity = 1000};
    struct layer *layer = NULL;

    cr_assert_eq(layer_create(&generation, hosted, &layer), STATUS_OK);
    return layer;
}

static void fill(struct layer *layer)
{
    for (uint32_t i = 0; i < SHARDS; i++) {
        if (layer->shards[i] != NULL) {
            memset(layer->shards[i], (int)i + 1, layer->shard_bytes);
        }
    }
}

static bool holds(const struct layer *layer, uint32_t shard, int value)
{
    bool all = true;

    for (uint64_t i = 0; i < layer->shard_bytes; i++) {
        all = all && layer->shards[shard][i] == value;
    }
    return all;
}

static void expect_only_gone(const struct layer *layer, uint32_t gone)
{
    for (uint32_t i = 0; i < SHARDS; i++) {
        cr_assert(layer->shards[i] == NULL || holds(layer, i, i == gone ? 0 : (int)i + 1),
                  "shard %u, after %u", i, gone);
    }
}

static const uint64_t sizes[] = {1, 5, 63, 64, 192};

Test(node_layer, dropping_a_shard_leaves_the_others)
{
    bool all[SHARDS];

    memset(all, true, sizeof all);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct layer *layer = make(sizes[i], all);

        cr_assert_eq(layer_bytes(layer), sizes[i] * 64 * SHARDS);
        for (uint32_t shard = 0; shard < SHARDS; shard++) {
            fill(layer);
            layer_drop(layer, shard);
            expect_only_gone(layer, shard);
        }
        layer_destroy(&layer);
    }
    cr_assert_eq(heap_live(), 0);
}

Test(node_layer, shards_leave_and_come_back_empty)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        bool some[SHARDS] = {[2] = true, [3] = true, [9] = true};
        const bool added[SHARDS] = {[0] = true, [3] = true};
        struct layer *layer = make(sizes[i], some);

        fill(layer);
        layer_leave(layer, 3);
        cr_assert_null(layer->shards[3]);
        expect_only_gone(layer, SHARDS);
        cr_assert_eq(layer_host(layer, added), STATUS_OK);
        cr_assert(holds(layer, 0, 0) && holds(layer, 3, 0));
        cr_assert(holds(layer, 2, 3) && holds(layer, 9, 10));
        cr_assert_eq(layer_bytes(layer), sizes[i] * 64 * 4);
        for (uint32_t shard = 0; shard < SHARDS; shard++) {
            if (layer->shards[shard] != NULL) {
                layer_leave(layer, shard);
            }
        }
        cr_assert_null(layer->pages);
        layer_destroy(&layer);
    }
    cr_assert_eq(heap_live(), 0);
}
