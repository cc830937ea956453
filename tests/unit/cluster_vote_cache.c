/* The memory of recent adds: what is found is what was kept, the oldest go first, and there is a
 * bound to everything. */
#include "base/heap.h"
#include "node/vote_cache.h"

#include <criterion/criterion.h>
#include <string.h>

enum { AGE_US = 1000, ROOM_BYTES = 1 << 16, MOST_KEYS = 4096 };

static struct vote_cache *adds;
static uint64_t present[MOST_KEYS / 64];
static uint64_t absent[MOST_KEYS / 64];

static void open_adds(size_t max_bytes)
{
    adds = NULL;
    cr_assert_eq(vote_cache_create(max_bytes, AGE_US, 7, &adds), STATUS_OK);
}

static void close_adds(void)
{
    vote_cache_destroy(&adds);
    cr_assert_null(adds);
    cr_assert_eq(heap_live(), 0);
}

/* Number `n` of a session; its vote is made of its number. */
static struct vote_cache_add number(uint64_t n, uint32_t count)
{
    return (struct vote_cache_add){
        .session = {7, 8}, .sequence = n, .filter_id = 5, .epoch = 3, .list = n, .count = count};
}

static void keep(uint64_t n, uint32_t count, uint64_t now_us)
{
    struct vote_cache_add add = number(n, count);
    struct cached_vote vote = {.present = present, .absent = absent, .batch = {n, n + 1}};

    for (uint32_t i = 0; i < (count + 63) / 64; i++) {
        present[i] = n * 3 + i;
        absent[i] = ~present[i];
    }
    vote.unsure = n % 2 == 1;
    vote_cache_keep(adds, now_us, &add, &vote);
}

/* Is number `n` found, with the vote that it was kept with? */
static bool found(uint64_t n, uint32_t count, uint64_t now_us)
{
    struct vote_cache_add add = number(n, count);
    struct cached_vote vote;
    enum vote_cache_match match = vote_cache_find(adds, now_us, &add, &vote);

    if (match == VOTE_CACHE_NONE) {
        return false;
    }
    cr_assert_eq(match, VOTE_CACHE_VOTE);
    cr_assert_eq(vote.unsure, n % 2 == 1);
    cr_assert_eq(vote.batch[0], n);
    cr_assert_eq(vote.batch[1], n + 1);
    for (uint32_t i = 0; i < (count + 63) / 64; i++) {
        cr_assert_eq(vote.present[i], n * 3 + i, "number %d, word %u", (int)n, i);
        cr_assert_eq(vote.absent[i], ~(n * 3 + i), "number %d, word %u", (int)n, i);
    }
    return true;
}

static size_t bytes_of(uint32_t count)
{
    size_t bytes;

    open_adds(ROOM_BYTES);
    keep(1, count, 0);
    bytes = vote_cache_bytes(adds);
    close_adds();
    return bytes;
}

Test(vote_cache, gives_back_the_vote_that_was_kept)
{
    open_adds(ROOM_BYTES);
    cr_assert_not(found(1, 130, 0));
    keep(1, 130, 0);
    keep(2, 1, 0);
    keep(3, 64, 0);
    keep(4, 0, 0);
    cr_assert(found(1, 130, 0));
    cr_assert(found(2, 1, 0));
    cr_assert(found(3, 64, 0));
    cr_assert(found(4, 0, 0));
    cr_assert(found(1, 130, 0), "again and again");
    close_adds();
}

Test(vote_cache, an_add_of_no_keys_needs_no_planes)
{
    struct vote_cache_add add = number(1, 0);
    struct cached_vote vote = {0};

    open_adds(ROOM_BYTES);
    vote_cache_keep(adds, 0, &add, &vote);
    cr_assert_eq(vote_cache_find(adds, 0, &add, &vote), VOTE_CACHE_VOTE);
    close_adds();
}

/* What a caller writes into the vote that it found is found the next time. */
Test(vote_cache, a_found_vote_may_be_completed)
{
    struct vote_cache_add add = number(2, 65);
    struct cached_vote vote;

    open_adds(ROOM_BYTES);
    keep(2, 65, 0);
    cr_assert_eq(vote_cache_find(adds, 0, &add, &vote), VOTE_CACHE_VOTE);
    vote.present[1] = 42;
    cr_assert_eq(vote_cache_find(adds, 0, &add, &vote), VOTE_CACHE_VOTE);
    cr_assert_eq(vote.present[1], 42);
    cr_assert_eq(vote.absent[1], ~UINT64_C(7));
    close_adds();
}

/* Often enough for each part to meet the other's chain: the table of so little memory is short. */
Test(vote_cache, every_part_of_the_name_counts)
{
    enum { PARTS = 6, TIMES = 100 };

    open_adds(500);
    keep(1, 10, 0);
    for (uint32_t i = 0; i < PARTS * TIMES; i++) {
        struct vote_cache_add name = number(1, 10);
        struct cached_vote vote;
        uint64_t *parts[] = {&name.session[0], &name.session[1], &name.sequence, &name.filter_id,
                             &name.epoch};

        cr_assert_eq(vote_cache_find(adds, 0, &name, &vote), VOTE_CACHE_VOTE);
        if (i % PARTS < PARTS - 1) {
            *parts[i % PARTS] += 1 + i / PARTS;
        } else {
            name.group += 1 + i / PARTS;
        }
        cr_assert_eq(vote_cache_find(adds, 0, &name, &vote), VOTE_CACHE_NONE, "part %u", i % PARTS);
    }
    close_adds();
}

Test(vote_cache, another_list_or_no_vote_is_told_apart)
{
    struct vote_cache_add add = number(1, 10);
    struct cached_vote vote;

    open_adds(ROOM_BYTES);
    keep(1, 10, 0);
    add.list++;
    cr_assert_eq(vote_cache_find(adds, 0, &add, &vote), VOTE_CACHE_OTHER, "another list");
    add = number(1, 11);
    cr_assert_eq(vote_cache_find(adds, 0, &add, &vote), VOTE_CACHE_OTHER, "another count");
    add = number(2, 10);
    vote_cache_keep(adds, 0, &add, NULL);
    cr_assert_eq(vote_cache_find(adds, 0, &add, &vote), VOTE_CACHE_OTHER, "no vote");
    close_adds();
}

Test(vote_cache, a_list_is_named_by_its_content)
{
    uint64_t list[] = {1, 2, 3};
    uint64_t name = vote_cache_list(list, 3);

    cr_assert_eq(vote_cache_list(list, 3), name);
    cr_assert_neq(vote_cache_list(list, 2), name);
    list[1] = 3;
    list[2] = 2;
    cr_assert_neq(vote_cache_list(list, 3), name);
}

/* The age counts from the first execution, however often it is asked for. */
Test(vote_cache, forgets_by_age)
{
    open_adds(ROOM_BYTES);
    keep(1, 10, 5);
    keep(2, 10, 6);
    cr_assert(found(1, 10, 5 + AGE_US - 1));
    cr_assert_not(found(1, 10, 5 + AGE_US));
    cr_assert(found(2, 10, 5 + AGE_US));
    cr_assert_not(found(2, 10, 6 + AGE_US));
    cr_assert_eq(vote_cache_bytes(adds), 0);
    keep(1, 10, 6 + AGE_US);
    cr_assert(found(1, 10, 6 + AGE_US));
    close_adds();
}

Test(vote_cache, the_oldest_make_room)
{
    size_t each = bytes_of(64);

    open_adds(4 * each);
    for (uint64_t n = 1; n <= 4; n++) {
        keep(n, 64, n);
    }
    cr_assert_eq(vote_cache_bytes(adds), 4 * each);
    for (uint64_t n = 5; n < 100; n++) {
        keep(n, 64, n);
        cr_assert_eq(vote_cache_bytes(adds), 4 * each);
        cr_assert_not(found(n - 4, 64, n));
        for (uint64_t k = n - 3; k <= n; k++) {
            cr_assert(found(k, 64, n), "%d of %d", (int)k, (int)n);
        }
    }
    close_adds();
}

/* The new one is as large as all of the memory, or larger by a key's word. */
Test(vote_cache, what_is_larger_than_the_memory_is_not_kept)
{
    open_adds(bytes_of(640));
    keep(1, 64, 0);
    keep(2, 64, 0);
    keep(3, 641, 0);
    cr_assert_not(found(3, 641, 0));
    cr_assert(found(1, 64, 0), "nothing else is forgotten for it");
    cr_assert(found(2, 64, 0));
    keep(4, 640, 0);
    cr_assert(found(4, 640, 0));
    cr_assert_not(found(1, 64, 0));
    cr_assert_not(found(2, 64, 0));
    close_adds();
}

/* Small ones first, so that a large one meets the end of the memory at every distance. */
Test(vote_cache, wraps_around_at_every_offset)
{
    const size_t capacity = 3 * bytes_of(640);
    const size_t small = bytes_of(0);

    for (size_t offset = 0; offset <= capacity / small; offset++) {
        for (uint32_t size = 0; size < 11 * 64; size += 64) {
            uint64_t n = 1;

            open_adds(capacity);
            for (; n <= offset; n++) {
                keep(n, 0, 0);
            }
            for (uint64_t last = n + 12; n < last; n++) {
                keep(n, size, 0);
                cr_assert(found(n, size, 0), "offset %zu, size %u", offset, size);
                cr_assert_leq(vote_cache_bytes(adds), capacity);
            }
            cr_assert(found(n - 2, size, 0), "two of these have room");
            close_adds();
        }
    }
}

/* Records of any length leave the ring in order, also when many share a chain of the table. */
Test(vote_cache, many_in_one_small_table)
{
    open_adds(2000);
    for (uint64_t n = 1; n < 5000; n++) {
        uint32_t count = (uint32_t)(n * 7919 % 257);

        keep(n, count, n);
        cr_assert(found(n, count, n));
        cr_assert_leq(vote_cache_bytes(adds), 2000);
    }
    close_adds();
}

Test(vote_cache, the_smallest_memory_keeps_nothing)
{
    for (size_t bytes = 0; bytes < bytes_of(0); bytes += 8) {
        open_adds(bytes);
        keep(1, 0, 0);
        keep(2, 64, 0);
        cr_assert_not(found(1, 0, 0));
        cr_assert_not(found(2, 64, 0));
        cr_assert_eq(vote_cache_bytes(adds), 0);
        close_adds();
    }
    open_adds(bytes_of(0));
    keep(1, 0, 0);
    cr_assert(found(1, 0, 0));
    keep(2, 0, 0);
    cr_assert_not(found(1, 0, 0));
    cr_assert(found(2, 0, 0));
    close_adds();
}

Test(vote_cache, every_failing_allocation_is_reported)
{
    enum status status = STATUS_NOMEM;
    unsigned tries = 0;

    for (; status != STATUS_OK && tries < 10; tries++) {
        adds = NULL;
        heap_fault_after(tries);
        status = vote_cache_create(ROOM_BYTES, AGE_US, 7, &adds);
        heap_fault_clear();
        cr_assert(status == STATUS_OK || (status == STATUS_NOMEM && adds == NULL));
        cr_assert_eq(heap_live() == 0, status == STATUS_NOMEM);
    }
    cr_assert_eq(tries, 4, "three allocations may fail");
    close_adds();
    vote_cache_destroy(&adds);
}
