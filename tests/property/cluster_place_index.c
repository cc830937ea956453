/* Against a plain list: every place put in and not removed is found by its hash, and no other. */
#include "base/heap.h"
#include "node/base/place_index.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>

enum { MOST = 200, STEPS = 20000, SEEDS = 20 };

struct item {
    uint32_t hash;
    uint32_t place;
};

static struct place_index place_index;
static struct item items[MOST];
static size_t count;

static bool listed(uint32_t hash, uint32_t place)
{
    for (size_t i = 0; i < count; i++) {
        if (items[i].hash == hash && items[i].place == place) {
            return true;
        }
    }
    return false;
}

static void expect_all_of(uint32_t hash)
{
    size_t expected = 0;
    size_t found = 0;
    size_t at = 0;
    uint32_t place;

    for (size_t i = 0; i < count; i++) {
        expected += items[i].hash == hash;
    }
    while (place_index_next(&place_index, hash, &at, &place)) {
        cr_assert(listed(hash, place), "%u is not of hash %u", place, hash);
        found++;
    }
    cr_assert_eq(found, expected);
}

/* Few hashes, so that they meet; high bits too, so that whole hashes are compared. */
static uint32_t draw_hash(uint64_t *state)
{
    return (uint32_t)(random_below(state, 2) << 31 | random_below(state, 300));
}

static void run(uint64_t seed)
{
    uint64_t state = seed;

    count = 0;
    cr_assert_eq(place_index_init(&place_index, MOST), STATUS_OK);
    for (uint32_t step = 0; step < STEPS; step++) {
        if (count < MOST && random_below(&state, 100) < 52) {
            items[count] = (struct item){.hash = draw_hash(&state), .place = step};
            place_index_put(&place_index, items[count].hash, step);
            count++;
        } else if (count > 0) {
            size_t gone = random_below(&state, count);

            place_index_remove(&place_index, items[gone].hash, items[gone].place);
            items[gone] = items[--count];
        }
        expect_all_of(draw_hash(&state));
        if (count > 0) {
            expect_all_of(items[random_below(&state, count)].hash);
        }
    }
    place_index_fini(&place_index);
    cr_assert_eq(heap_live(), 0);
}

Test(place_index, finds_what_is_there_and_nothing_else)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run(seed);
    }
}

Test(place_index, memory_may_be_out)
{
    heap_fault_after(0);
    cr_assert_eq(place_index_init(&place_index, MOST), STATUS_NOMEM);
    heap_fault_clear();
    place_index_fini(&place_index);
}
