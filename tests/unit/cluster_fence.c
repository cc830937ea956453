/* Every judgement of a request's epoch, and that a fence only rises. */
#include "node/base/fence.h"

#include <criterion/criterion.h>

static struct filter_document held(uint64_t epoch, uint64_t hash, enum filter_state state)
{
    return (struct filter_document){
        .epoch = epoch, .epoch_hash = hash, .content = {.state = state}};
}

Test(fence, rises_and_never_falls)
{
    struct fence fence = {0};
    struct filter_document newer = held(5, 1, FILTER_ACTIVE);
    struct filter_document older = held(4, 1, FILTER_ACTIVE);

    fence_raise(&fence, &newer);
    cr_assert_eq(fence.epoch, 5);
    fence_raise(&fence, &older);
    cr_assert_eq(fence.epoch, 5);
    fence_raise(&fence, &newer);
    cr_assert_eq(fence.epoch, 5);
}

Test(fence, without_a_document_it_asks_for_one)
{
    struct fence fence = {0};

    cr_assert_eq(fence_judge(&fence, NULL, 1, 0), STATUS_NEED_DOC);
    cr_assert_eq(fence_judge(&fence, NULL, UINT64_MAX, 0), STATUS_NEED_DOC);
}

Test(fence, serves_only_the_epoch_and_content_that_it_holds)
{
    struct fence fence = {.epoch = 7};
    struct filter_document document = held(7, 0xabc, FILTER_ACTIVE);

    cr_assert_eq(fence_judge(&fence, &document, 7, 0xabc), STATUS_OK);
    cr_assert_eq(fence_judge(&fence, &document, 7, 0xabd), STATUS_CONFLICT);
    cr_assert_eq(fence_judge(&fence, &document, 6, 0xabc), STATUS_STALE);
    cr_assert_eq(fence_judge(&fence, &document, 0, 0xabc), STATUS_STALE);
    cr_assert_eq(fence_judge(&fence, &document, 8, 0xabc), STATUS_NEED_DOC);
    cr_assert_eq(fence_judge(&fence, &document, UINT64_MAX, 0xabc), STATUS_NEED_DOC);
}

/* Behind the held document is stale, also where the fence has not followed yet. */
Test(fence, a_lower_fence_opens_no_older_epoch)
{
    struct fence fence = {.epoch = 3};
    struct filter_document document = held(7, 1, FILTER_ACTIVE);

    cr_assert_eq(fence_judge(&fence, &document, 5, 1), STATUS_STALE);
}

/* And a fence ahead of the document closes it. */
Test(fence, a_fence_ahead_of_the_document_serves_nothing_below_it)
{
    struct fence fence = {.epoch = 9};
    struct filter_document document = held(7, 1, FILTER_ACTIVE);

    cr_assert_eq(fence_judge(&fence, &document, 7, 1), STATUS_STALE);
    cr_assert_eq(fence_judge(&fence, &document, 9, 1), STATUS_NEED_DOC);
}

Test(fence, what_is_dropped_serves_nothing)
{
    struct fence fence = {.epoch = 7};
    struct filter_document dropping = held(7, 1, FILTER_DROPPING);
    struct filter_document dropped = held(7, 1, FILTER_DROPPED);

    cr_assert_eq(fence_judge(&fence, &dropping, 7, 1), STATUS_DROPPED);
    cr_assert_eq(fence_judge(&fence, &dropped, 7, 1), STATUS_DROPPED);
    cr_assert_eq(fence_judge(&fence, &dropped, 6, 1), STATUS_STALE);
    cr_assert_eq(fence_judge(&fence, &dropped, 7, 2), STATUS_CONFLICT);
}
