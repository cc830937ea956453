/* What nodes have confirmed of an epoch outlives a step that could not be written: another hand was
 * first. */
#include "coordinator/private.h"
#include "proto/signed_document.h"
#include "tests/unit/coordinator_moves.h"

/* Another hand writes the filter's document, edited, as the store has it. */
static void write_edited(void (*edit)(struct filter_document *document))
{
    struct filter_document document = {0};
    struct buffer before;
    struct buffer after;
    struct store_swap swap = {.key = "filter/1"};
    uint64_t change;

    buffer_init(&before, 1 << 20);
    cr_assert_eq(store.store.get(store.store.self, swap.key, &before, &swap.expected), STATUS_OK);
    cr_assert_eq(codec_filter_document_open(buffer_span(&before), sample_key(), &document),
                 STATUS_OK);
    edit(&document);
    sample_sign(&document, sample_key(), &after);
    swap.value = buffer_span(&after);
    cr_assert_eq(store.store.swap(store.store.self, &swap, 1, &change), STATUS_OK);
    document_fini(&document);
    buffer_fini(&after);
    buffer_fini(&before);
}

static void edit_beside(struct filter_document *document)
{
    document->revision++;
    document->max_capacity++;
}

static void contradict(struct filter_document *document)
{
    document->max_capacity++;
}

static void write_beside(void *context)
{
    (void)context;
    write_edited(edit_beside);
}

static void write_contradiction(void *context)
{
    (void)context;
    write_edited(contradict);
}

/* All that the second step takes is there; before it is written that hand comes. */
static void conflict_at_second_step(void (*first)(void *context))
{
    open_stage(2, 2, DURABILITY_SYNC);
    keep_alive(&stage, 1, 4);
    (void)command(&stage, ADMIN_NODE_DRAIN, "node-2", "", false);
    confirm(&stage, 1);
    complete(&stage, 2);
    expect_slot(&stage, 2, SLOT_PAIR, LEAVER, SPARE);
    store.before_swap = first;
    confirm(&stage, 3);
    cr_assert_eq(coordinator_stage_counter(&stage, "swap_conflicts_total"), 1);
}

/* Nobody is asked for this epoch's fences once more. */
Test(coordinator_fences, an_edit_that_leaves_the_epoch_leaves_its_fences)
{
    conflict_at_second_step(write_beside);
    coordinator_stage_turn(&stage);
    expect_slot(&stage, 3, SLOT_MOVED, LEAVER, SPARE);
    close_stage();
}

/* No duty looks at a filter whose number two documents have; what was confirmed stays true, and
 * status goes on telling it. */
Test(coordinator_fences, two_documents_of_one_number_leave_the_fences_as_they_are)
{
    const struct admin_request status = {.action = ADMIN_STATUS, .name = ""};
    struct coordinator_told told;

    conflict_at_second_step(write_contradiction);
    cr_assert(document_cache_find(&stage.coordinator->documents, FILTER)->conflict);
    for (int i = 0; i < 3; i++) {
        coordinator_stage_turn(&stage);
    }
    expect_slot(&stage, 2, SLOT_PAIR, LEAVER, SPARE);
    coordinator_stage_command(&stage, 3, &status);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.nchanges, 1);
    cr_assert_not_null(strstr(told.awaited, "the store to be written"), "%s", told.awaited);
    close_stage();
}
