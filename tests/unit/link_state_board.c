/* The states of one site as a link holds them: order, places, bounds. */
#include "base/heap.h"
#include "link/state_board.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND = 1000000 };

static struct state_board board;
static struct codec_arena *arena;
static struct site_filter page[256];
static size_t alive;

static void begin(void)
{
    alive = heap_live();
    cr_assert_eq(codec_arena_create(32 << 20, &arena), STATUS_OK);
    state_board_init(&board);
}

static void end(void)
{
    heap_fault_clear();
    state_board_fini(&board);
    codec_arena_destroy(&arena);
    cr_assert_eq(heap_live(), alive);
}

TestSuite(state_board, .init = begin, .fini = end);

static struct site_filter state_of(uint64_t number, uint64_t revision)
{
    struct site_filter state = {
        .uid = {number, 1},
        .filter = "urls",
        .site = {1, 1},
        .revision = revision,
        .document =
            {.entries = {{.id = {1, 1}, .name = "eu", .life = {1, 1}, .state = SITE_COUNTED}},
             .count = 1,
             .takes_adds = true,
             .says_absent = true,
             .settled = true},
        .is_fenced = true,
        .hash = HASH_SIPHASH24,
        .keyset = 1,
        .rate = 0.01,
        .capacity = 1,
        .max_capacity = 1,
        .rule = {3, 2, 2},
        .durability = DURABILITY_SYNC,
        .when_unavailable = WHEN_UNAVAILABLE_ERROR,
        .sealed_secret = span_text(""),
    };

    state.fenced = state.document;
    return state;
}

static enum status put(uint64_t number, uint64_t revision, uint64_t now_us)
{
    const struct site_filter state = state_of(number, revision);

    cr_assert_null(site_filter_fault(&state), "%s", site_filter_fault(&state));
    return state_board_put(&board, now_us, arena, &state);
}

static enum status put_tombstone(uint64_t number)
{
    const struct site_filter state = {.uid = {number, 1},
                                      .filter = "",
                                      .site = {1, 1},
                                      .dropped = true,
                                      .sealed_secret = span_text("")};

    return state_board_put(&board, 0, arena, &state);
}

static size_t read_page(struct state_place *place, size_t most)
{
    return state_board_page(&board, place, arena, page, most);
}

Test(state_board, what_is_new_and_what_is_not)
{
    struct site_filter found;
    const struct filter_uid uid = {1, 1};
    uint64_t version;

    cr_assert_eq(state_board_version(&board, &uid), 0);
    cr_assert_not(state_board_find(&board, &uid, arena, &found));
    cr_assert_eq(put(1, 5, 0), STATUS_OK);
    version = state_board_version(&board, &uid);
    cr_assert_eq(put(1, 5, 0), STATUS_EXISTS);
    cr_assert_eq(put(1, 4, 0), STATUS_STALE);
    cr_assert_eq(state_board_version(&board, &uid), version);
    cr_assert_eq(put(1, 6, 0), STATUS_OK);
    cr_assert_gt(state_board_version(&board, &uid), version);
    cr_assert(state_board_find(&board, &uid, arena, &found));
    cr_assert_eq(found.revision, 6);
    cr_assert_eq(put_tombstone(1), STATUS_OK);
    cr_assert_eq(put(1, 7, 0), STATUS_STALE);
    cr_assert_eq(board.count, 1);
}

/* Each place gets everything once, and what changes again once more, in the order of changes. */
Test(state_board, places_go_through_all)
{
    struct state_place place = {0};
    struct state_place late = {0};

    for (uint64_t i = 1; i <= 10; i++) {
        cr_assert_eq(put(i, 1, 0), STATUS_OK);
    }
    cr_assert_eq(read_page(&place, 4), 4);
    cr_assert_eq(page[0].uid.high, 1);
    cr_assert_eq(put(2, 2, 0), STATUS_OK);
    cr_assert_eq(put(7, 2, 0), STATUS_OK);
    cr_assert_eq(read_page(&place, 256), 7);
    cr_assert_eq(page[0].uid.high, 5);
    cr_assert_eq(page[5].uid.high, 2);
    cr_assert_eq(page[5].revision, 2);
    cr_assert_eq(page[6].uid.high, 7);
    cr_assert_not(state_board_has_news(&board, &place));
    cr_assert_eq(read_page(&place, 256), 0);
    cr_assert(state_board_has_news(&board, &late));
    cr_assert_eq(read_page(&late, 256), 10);
}

/* What waits for others is said again sooner, and neither all at once. */
Test(state_board, things_are_said_once_more)
{
    struct state_place place = {0};
    struct site_filter waits;

    for (uint64_t i = 1; i <= 20; i++) {
        cr_assert_eq(put(i, 1, SECOND), STATUS_OK);
    }
    waits = state_of(50, 1);
    waits.document.says_absent = false;
    cr_assert_eq(state_board_put(&board, SECOND, arena, &waits), STATUS_OK);
    cr_assert_eq(read_page(&place, 256), 21);
    state_board_repeat(&board, 10 * SECOND);
    cr_assert_not(state_board_has_news(&board, &place));
    state_board_repeat(&board, 11 * SECOND);
    cr_assert_eq(read_page(&place, 256), 1);
    cr_assert_eq(page[0].uid.high, 50);
    state_board_repeat(&board, 61 * SECOND);
    cr_assert_eq(read_page(&place, 256), 1 + STATE_SETTLED_BURST);
    cr_assert_eq(page[1].uid.high, 1);
    state_board_repeat(&board, 62 * SECOND);
    cr_assert_eq(read_page(&place, 256), STATE_SETTLED_BURST);
    cr_assert_eq(page[0].uid.high, 1 + STATE_SETTLED_BURST);
}

/* One that becomes settled, or waits again, changes its list and is told. */
Test(state_board, lists_are_changed)
{
    struct state_place place = {0};
    struct site_filter state = state_of(1, 1);
    const struct filter_uid uid = {1, 1};

    for (uint64_t i = 0; i < 6; i++) {
        state.revision = i + 1;
        state.document.settled = state.fenced.settled = i % 2 != 0;
        cr_assert_eq(state_board_put(&board, 0, arena, &state), STATUS_OK);
        cr_assert_eq(state_board_unsettled(&board, &uid), i % 2 == 0);
        cr_assert_eq(read_page(&place, 256), 1);
        cr_assert_eq(page[0].revision, i + 1);
    }
}

Test(state_board, two_uids_of_one_number_are_told_apart)
{
    struct site_filter a = state_of(1, 1);
    struct site_filter b = state_of(1, 1);

    a.uid = (struct filter_uid){5, 0};
    b.uid = (struct filter_uid){0, 5ull << 32};
    cr_assert_eq(state_board_put(&board, 0, arena, &a), STATUS_OK);
    cr_assert_eq(state_board_put(&board, 0, arena, &b), STATUS_TOO_LARGE);
    cr_assert(state_board_find(&board, &a.uid, arena, &page[0]));
    cr_assert_not(state_board_find(&board, &b.uid, arena, &page[0]));
}

/* Tombstones give way, filters do not. */
Test(state_board, it_is_bounded)
{
    cr_assert_eq(put(1, 1, 0), STATUS_OK);
    for (uint64_t i = 2; i < STATE_BOARD_MOST; i++) {
        cr_assert_eq(put_tombstone(i), STATUS_OK);
    }
    cr_assert_eq(put(STATE_BOARD_MOST, 1, 0), STATUS_OK);
    cr_assert_eq(board.count, STATE_BOARD_MOST);
    for (uint64_t i = 2; i < STATE_BOARD_MOST; i++) {
        cr_assert_eq(put(STATE_BOARD_MOST + i, 1, 0), STATUS_OK);
    }
    cr_assert_eq(board.count, STATE_BOARD_MOST);
    cr_assert_eq(put(UINT32_MAX, 1, 0), STATUS_TOO_LARGE);
    cr_assert_eq(put(1, 2, 0), STATUS_OK, "what is known is taken further");
}

/* In as many sites as may be, with long names: so many bytes that few fill a board. */
static enum status put_large(uint64_t number, uint64_t revision)
{
    struct site_filter state = state_of(number, revision);

    for (uint32_t i = 1; i < SITE_SET_MAX; i++) {
        struct site_entry *entry = &state.document.entries[state.document.count++];

        *entry = (struct site_entry){
            .id = {1 + i, 1}, .life = {1, 1}, .state = i < 8 ? SITE_COUNTED : SITE_GONE};
        memset(entry->name, 'a' + (int)(i % 26), sizeof entry->name - 1);
        entry->name[0] = (char)('a' + i / 26);
    }
    state.fenced = state.document;
    cr_assert_null(site_filter_fault(&state), "%s", site_filter_fault(&state));
    return state_board_put(&board, 0, arena, &state);
}

/* One that grows finds no more room than a new one. */
Test(state_board, what_grows_is_bounded)
{
    const struct filter_uid uid = {1, 1};
    uint64_t number = 1;
    enum status status;

    cr_assert_eq(put_tombstone(STATE_BOARD_MOST), STATUS_OK);
    do {
        cr_assert_eq(put(number++, 1, 0), STATUS_OK);
    } while (number < 20000);
    for (uint64_t i = 1; (status = put_large(i, 2)) == STATUS_OK; i++) {
        cr_assert_leq(board.bytes, STATE_BOARD_BYTES);
        cr_assert_lt(i, number);
    }
    cr_assert_eq(status, STATUS_TOO_LARGE);
    cr_assert_leq(board.bytes, STATE_BOARD_BYTES);
    cr_assert_eq(board.count, number - 1, "the tombstone has given way, and nothing else");
    cr_assert(state_board_find(&board, &uid, arena, &page[0]));
    cr_assert_eq(put(1, 3, 0), STATUS_OK, "what gets smaller is taken");
}

/* Without the one that is taken further. */
Test(state_board, a_tombstone_that_changes_stays)
{
    struct site_filter state = {.uid = {2, 1},
                                .filter = "",
                                .site = {1, 1},
                                .revision = 1,
                                .dropped = true,
                                .sealed_secret = span_text("")};

    cr_assert_eq(state_board_put(&board, 0, arena, &state), STATUS_OK);
    board.bytes += STATE_BOARD_BYTES; /* as if others had taken it all */
    state.revision = UINT64_MAX;
    cr_assert_eq(state_board_put(&board, 0, arena, &state), STATUS_TOO_LARGE);
    board.bytes -= STATE_BOARD_BYTES;
    cr_assert(state_board_find(&board, &state.uid, arena, &page[0]));
    cr_assert_eq(page[0].revision, 1);
    cr_assert_eq(state_board_put(&board, 0, arena, &state), STATUS_OK);
}

/* What is not taken leaves everything as it was. */
Test(state_board, without_memory_nothing_changes)
{
    const struct filter_uid uid = {1, 1};
    unsigned failed = 0;

    cr_assert_eq(put(1, 1, 0), STATUS_OK);
    for (unsigned after = 0; after < 20; after++) {
        enum status status;

        heap_fault_after(after);
        status = put(1, 2, 0);
        heap_fault_clear();
        if (status == STATUS_OK) {
            break;
        }
        failed++;
        cr_assert(state_board_find(&board, &uid, arena, &page[0]));
        cr_assert_eq(page[0].revision, 1);
    }
    cr_assert_gt(failed, 0);
    for (unsigned after = 0; after < 20; after++) {
        heap_fault_after(after);
        if (put(2, 1, 0) == STATUS_OK) {
            break;
        }
        heap_fault_clear();
        cr_assert_eq(board.count, 1);
    }
    heap_fault_clear();
    cr_assert_eq(board.count, 2);
}
