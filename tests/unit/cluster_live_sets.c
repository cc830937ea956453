/* Which sets a document names, in what order, and what they are for. */
#include "node/pull/live_sets.h"

#include <criterion/criterion.h>

static struct filter_document document;

static void expect(uint32_t at, uint32_t keyset, uint64_t slice, bool read, bool written)
{
    const struct live_set live = live_sets_at(&document, at);

    cr_assert_eq(live.keyset, keyset, "%u", at);
    cr_assert_eq(live.slice, slice, "%u", at);
    cr_assert_eq(live.read, read, "%u", at);
    cr_assert_eq(live.written, written, "%u", at);
    cr_assert(live_sets_have(&document, keyset, slice));
}

static void keysets(uint32_t first, uint32_t second, bool second_serves)
{
    document = (struct filter_document){.generations = {{.id = 1}}, .ngenerations = 1};
    document.content.keysets[0] = (struct keyset){first, !second_serves};
    document.content.keysets[1] = (struct keyset){second, second_serves};
    document.content.nkeysets = second != 0 ? 2 : 1;
}

Test(live_sets, one_is_read_and_written)
{
    keysets(3, 0, false);
    cr_assert_eq(live_sets_count(&document), 1);
    expect(0, 3, 0, true, true);
    cr_assert_not(live_sets_have(&document, 2, 0));
    cr_assert_not(live_sets_have(&document, 3, 1));
}

Test(live_sets, of_two_keysets_the_serving_one_is_first)
{
    keysets(3, 5, false);
    cr_assert_eq(live_sets_count(&document), 2);
    expect(0, 3, 0, true, true);
    expect(1, 5, 0, false, true);
    cr_assert_not(live_sets_have(&document, 4, 0));
    keysets(3, 5, true);
    expect(0, 5, 0, true, true);
    expect(1, 3, 0, false, true);
}

Test(live_sets, a_window_keeps_one_slice_more_than_it_has)
{
    keysets(1, 0, false);
    document.nslices = 3;
    document.content.newest_slice = 2;
    cr_assert_eq(live_sets_count(&document), 2);
    expect(0, 1, 2, true, true);
    expect(1, 1, 1, true, false);
    cr_assert_not(live_sets_have(&document, 1, 0));
    document.content.newest_slice = 9;
    cr_assert_eq(live_sets_count(&document), 4);
    expect(0, 1, 9, true, true);
    expect(3, 1, 6, true, false);
    cr_assert_not(live_sets_have(&document, 1, 5));
    cr_assert_not(live_sets_have(&document, 1, 10));
}

Test(live_sets, a_chain_is_read_whole_and_written_at_its_end)
{
    struct live_set ahead;

    keysets(1, 0, false);
    document.ngenerations = 3;
    document.generations[1].id = 5;
    document.generations[2].id = 9;
    document.content.nchain = 3;
    cr_assert_eq(live_sets_count(&document), 3);
    expect(0, 1, 2, true, true);
    expect(1, 1, 1, true, false);
    expect(2, 1, 0, true, false);
    cr_assert_not(live_sets_have(&document, 1, 3));
    for (uint32_t at = 0; at < 3; at++) {
        cr_assert_eq(live_sets_at(&document, at).generation, &document.generations[2 - at]);
    }
    cr_assert_not(live_sets_ahead(&document, &ahead));
    document.content.nchain = 2;
    cr_assert_eq(live_sets_count(&document), 2);
    expect(0, 1, 1, true, true);
    cr_assert_not(live_sets_have(&document, 1, 2));
    cr_assert_null(live_sets_generation(&document, 2));
    cr_assert(live_sets_ahead(&document, &ahead));
    cr_assert_eq(ahead.slice, 2);
    cr_assert_eq(ahead.generation, &document.generations[2]);
    cr_assert_not(ahead.read);
    cr_assert_not(ahead.written);
}
