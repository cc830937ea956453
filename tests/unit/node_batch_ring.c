/* What the youngest batches are called is told as a read of the log would tell it. */
#include "base/heap.h"
#include "node/store/batch_ring.h"
#include "tests/support/story.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD = 8, FROM = 1000 };

static const struct storage_set one = {.filter_id = 5, .slice = 1, .keyset = 2};
static const struct storage_set other = {.filter_id = 6, .slice = 1, .keyset = 2};

static struct story story;

static struct batch_ring *made(void)
{
    struct batch_ring *self = calloc(1, sizeof *self);

    batch_ring_init(self, FROM);
    return self;
}

static void freed(struct batch_ring *self)
{
    batch_ring_fini(self);
    free(self);
}

static uint64_t offset_of(uint64_t number)
{
    return FROM + number * RECORD;
}

/* Batch `number` begins at offset_of(number). */
static void add(struct batch_ring *self, const struct storage_set *set, uint64_t number)
{
    const struct record_batch batch = {
        .filter_id = set->filter_id,
        .epoch = 7,
        .batch_producer = 8,
        .batch_number = number,
        .group = 3,
        .ntargets = 1,
        .targets = {{.slice = set->slice, .keyset = set->keyset}},
        .count = 9,
    };

    batch_ring_add(self, &batch, offset_of(number), offset_of(number + 1));
}

static struct storage_read asked(const struct storage_set *set, uint64_t from)
{
    return (struct storage_read){.set = *set, .log = true, .from = from, .room = 1 << 20};
}

Test(batch_ring, tells_what_a_set_has_between_two_places)
{
    struct batch_ring *self = made();
    struct storage_read read = asked(&one, offset_of(2));

    for (uint64_t i = 0; i < 10; i++) {
        add(self, i % 2 == 0 ? &one : &other, i);
    }
    cr_assert(batch_ring_tell(self, &read, offset_of(7)));
    cr_assert_eq(read.nbatches, 3);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(read.offsets[i], offset_of(2 + 2 * i));
        cr_assert_eq(read.batches[i].batch_number, 2 + 2 * i);
        cr_assert_eq(read.batches[i].batch_producer, 8);
        cr_assert_eq(read.batches[i].epoch, 7);
        cr_assert_eq(read.batches[i].group, 3);
        cr_assert_eq(read.batches[i].count, 9);
    }
    cr_assert(read.end);
    cr_assert_eq(read.next, offset_of(7));
    freed(self);
}

Test(batch_ring, goes_on_where_it_stopped)
{
    struct batch_ring *self = made();
    struct storage_read read = asked(&one, FROM);
    const uint64_t count = 3 * STORAGE_RECENT_TOLD / 2;

    for (uint64_t i = 0; i < count; i++) {
        add(self, &one, i);
    }
    cr_assert(batch_ring_tell(self, &read, offset_of(count)));
    cr_assert_eq(read.nbatches, STORAGE_RECENT_TOLD);
    cr_assert_not(read.end);
    cr_assert_eq(read.next, offset_of(STORAGE_RECENT_TOLD));
    read.from = read.next;
    cr_assert(batch_ring_tell(self, &read, offset_of(count)));
    cr_assert_eq(read.nbatches, count - STORAGE_RECENT_TOLD);
    cr_assert_eq(read.offsets[0], offset_of(STORAGE_RECENT_TOLD));
    cr_assert(read.end);
    freed(self);
}

Test(batch_ring, nothing_is_told_of_what_came_before)
{
    struct batch_ring *self = made();
    struct storage_read read = asked(&one, FROM - 1);

    add(self, &one, 0);
    cr_assert_not(batch_ring_tell(self, &read, offset_of(1)));
    read.from = FROM;
    cr_assert(batch_ring_tell(self, &read, offset_of(1)));
    cr_assert_eq(read.nbatches, 1);
    freed(self);
}

Test(batch_ring, the_oldest_are_forgotten)
{
    struct batch_ring *self = made();
    struct storage_read read = asked(&one, FROM);

    for (uint64_t i = 0; i < STORAGE_RECENT_MOST + 5; i++) {
        add(self, &one, i);
    }
    cr_assert_not(batch_ring_tell(self, &read, UINT64_MAX));
    read.from = offset_of(4);
    cr_assert_not(batch_ring_tell(self, &read, UINT64_MAX), "one that was forgotten");
    read.from = offset_of(5);
    cr_assert(batch_ring_tell(self, &read, UINT64_MAX));
    cr_assert_eq(read.offsets[0], offset_of(5));
    read.from = offset_of(STORAGE_RECENT_MOST + 5);
    cr_assert(batch_ring_tell(self, &read, offset_of(STORAGE_RECENT_MOST + 6)));
    cr_assert_eq(read.nbatches, 0);
    cr_assert(read.end);
    freed(self);
}

Test(batch_ring, without_memory_only_what_follows_is_known)
{
    struct batch_ring *self = made();
    struct storage_read read = asked(&one, FROM);

    heap_fault_after(0);
    add(self, &one, 0);
    heap_fault_clear();
    add(self, &one, 1);
    cr_assert_not(batch_ring_tell(self, &read, offset_of(2)));
    read.from = offset_of(1);
    cr_assert(batch_ring_tell(self, &read, offset_of(2)));
    cr_assert_eq(read.nbatches, 1);
    cr_assert_eq(read.offsets[0], offset_of(1));
    freed(self);
}

/* Places are told from FROM on. */
static void tell_filters(struct batch_ring *self, uint64_t from, uint64_t to, size_t room)
{
    uint64_t ids[4];
    uint64_t next;
    size_t count;
    char names[64] = "";

    if (!batch_ring_filters(self, from, to, ids, room, &count, &next)) {
        story_tell(&story, "%d to %d: no more known", (int)(from - FROM), (int)(to - FROM));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), " %u",
                       (unsigned)ids[i]);
    }
    story_tell(&story, "%d to %d:%s, on from %d", (int)(from - FROM), (int)(to - FROM), names,
               (int)(next - FROM));
}

Test(batch_ring, tells_which_filters_have_any)
{
    struct batch_ring *self = made();

    for (uint64_t i = 1; i <= 10; i++) {
        add(self, i < 6 ? &one : &other, i);
    }
    tell_filters(self, FROM - 1, offset_of(9), 4);
    tell_filters(self, FROM, offset_of(9), 4);
    tell_filters(self, offset_of(6), offset_of(9), 4);
    tell_filters(self, FROM, offset_of(6), 4);
    tell_filters(self, FROM, offset_of(9), 1);
    tell_filters(self, offset_of(5), FROM, 1);
    story_expect(&story, "-1 to 72: no more known\n"
                         "0 to 72: 5 6, on from 72\n"
                         "48 to 72: 6, on from 72\n"
                         "0 to 48: 5, on from 48\n"
                         "0 to 72: 5, on from 16\n" /* The other one is told the next time. */
                         "40 to 0:, on from 40\n"); /* Never back. */
    freed(self);
}

/* They can't be followed, and others bring them. */
Test(batch_ring, batches_without_numbers_name_no_filter)
{
    struct batch_ring *self = made();
    uint64_t ids[4];
    uint64_t next;
    size_t count;

    add(self, &one, 0);
    cr_assert(batch_ring_filters(self, FROM, offset_of(9), ids, 4, &count, &next));
    cr_assert_eq(count, 0);
    freed(self);
}

/* ---- own adds ---- */

static void add_of(struct batch_ring *self, uint64_t filter_id, uint64_t number, bool repaired,
                   bool relayed)
{
    const struct record_batch batch = {
        .filter_id = filter_id,
        .repaired = repaired,
        .relayed = relayed,
        .ntargets = 2,
        .targets = {{.keyset = 1}, {.keyset = 2}},
        .count = 9,
    };

    batch_ring_add(self, &batch, offset_of(number), offset_of(number + 1));
}

Test(batch_ring, the_first_own_add_of_some_filters_is_found)
{
    static const uint64_t filters[] = {3, 5, 8};
    const struct storage_own own = {.filters = filters, .nfilters = 3};
    struct batch_ring *self = made();
    uint64_t next;
    bool found;

    add_of(self, 4, 0, false, false);
    add_of(self, 5, 1, true, false);
    add_of(self, 5, 2, false, true);
    add_of(self, 9, 3, false, false);
    add_of(self, 8, 4, false, false);
    add_of(self, 3, 5, false, false);
    cr_assert(batch_ring_own(self, &own, FROM, offset_of(6), &next, &found));
    cr_assert(found);
    cr_assert_eq(next, offset_of(4));
    cr_assert(batch_ring_own(self, &own, offset_of(4) + 1, offset_of(6), &next, &found));
    cr_assert(found);
    cr_assert_eq(next, offset_of(5));
    cr_assert(batch_ring_own(self, &own, FROM, offset_of(4), &next, &found));
    cr_assert_not(found, "it is not below");
    cr_assert_eq(next, offset_of(4));
    cr_assert(batch_ring_own(self, &own, offset_of(6), offset_of(9), &next, &found));
    cr_assert_not(found);
    cr_assert_eq(next, offset_of(9), "behind all that there is");
    cr_assert(batch_ring_own(self, &own, offset_of(9), FROM, &next, &found));
    cr_assert_eq(next, offset_of(9), "never back");
    cr_assert_not(batch_ring_own(self, &own, FROM - 1, offset_of(6), &next, &found));
    freed(self);
}

Test(batch_ring, a_look_for_own_adds_is_bounded)
{
    static const uint64_t filters[] = {5};
    const struct storage_own own = {.filters = filters, .nfilters = 1};
    struct batch_ring *self = made();
    uint64_t next;
    bool found;

    for (uint64_t i = 0; i < STORAGE_RECENT_LOOKED; i++) { /* two entries each */
        add_of(self, 4, i, false, false);
    }
    add_of(self, 5, STORAGE_RECENT_LOOKED, false, false);
    cr_assert(
        batch_ring_own(self, &own, FROM, offset_of(STORAGE_RECENT_LOOKED + 1), &next, &found));
    cr_assert_not(found);
    cr_assert_eq(next, offset_of(STORAGE_RECENT_LOOKED / 2));
    cr_assert(
        batch_ring_own(self, &own, next, offset_of(STORAGE_RECENT_LOOKED + 1), &next, &found));
    cr_assert_not(found);
    cr_assert(
        batch_ring_own(self, &own, next, offset_of(STORAGE_RECENT_LOOKED + 1), &next, &found));
    cr_assert(found);
    cr_assert_eq(next, offset_of(STORAGE_RECENT_LOOKED));
    freed(self);
}
