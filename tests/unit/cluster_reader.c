/* Since when a slot's reader is read: every kind of edit of a slot, one after the other. What the
 * steps themselves take is tested in cluster_change.c; that each of them dates as it should, in
 * cluster_change.h, for all tests of changes, moves and losses. */
#include "cluster_change.h"
#include "coordinator/plan/loss.h"
#include "map/reader.h"

TestSuite(reader, .fini = teardown);

static void expect_since(uint32_t index, uint64_t since)
{
    const char *reason = NULL;

    cr_assert_eq(slot_of(0, index)->read_since, since, "slot %u: %d", index,
                 (int)slot_of(0, index)->read_since);
    cr_assert_eq(document_validate(&document, &reason), STATUS_OK, "%s", reason);
}

/* From one that copies to one that is read: its evidence, and the step. */
static void hand_over(uint32_t node, uint64_t life)
{
    fence(1);
    fence(3);
    complete(0, node, life);
    write_next();
}

static void end(void)
{
    fence(1);
    fence(3);
    write_next();
}

Test(reader, one_that_replaces_another_is_dated_when_it_is_read_and_only_then)
{
    make(3, 2, 3);
    document.epoch = document.revision = 9;
    reader_note_all(&document);
    expect_since(1, 9);
    document_epoch_advance(&document); /* Of a rename, say. */
    lose(2, NEW_LIFE);
    write_next();
    expect_since(1, 9);
    hand_over(2, NEW_LIFE);
    cr_assert_eq(document.epoch, 12);
    expect_since(1, 12);
    end();
    expect_slot(0, 1, SLOT_SINGLE, NEW_LIFE + 2, 0);
    expect_since(1, 12);
    expect_since(0, 9);
    expect_since(2, 9);
}

/* A newcomer that dies, and the way back: the old one was read all the time. */
Test(reader, one_that_was_never_read_leaves_no_trace)
{
    make(3, 2, 3);
    lose(2, NEW_LIFE);
    write_next();
    lose(2, THIRD_LIFE);
    write_next();
    expect_slot(0, 1, SLOT_PAIR, old_life(2), THIRD_LIFE + 2);
    expect_since(1, 1);
    nodes.nodes[1].incarnation = old_life(2);
    write_next();
    expect_slot(0, 1, SLOT_SINGLE, old_life(2), 0);
    cr_assert_eq(document.epoch, 4);
    expect_since(1, 1);
}

/* What leaves and comes back was not read in between, however it got what it lacked. */
Test(reader, one_that_comes_back_is_dated_anew)
{
    make(3, 2, 3);
    lose(2, NEW_LIFE);
    write_next();
    hand_over(2, NEW_LIFE);
    end();
    expect_since(1, 3);
    nodes.nodes[1].incarnation = old_life(2);
    write_next();
    expect_since(1, 3);
    hand_over(2, SAMPLE_INCARNATION);
    cr_assert_eq(document.epoch, 6);
    expect_since(1, 6);
}

/* A loss that is accepted changes no reader; who takes its place is one. */
Test(reader, an_accepted_loss_dates_whoever_follows)
{
    make(3, 2, 3);
    lose(2, NEW_LIFE);
    lose(3, NEW_LIFE);
    loss_give_up(&document, 0, 6);
    document_epoch_advance(&document);
    for (uint32_t i = 0; i < 3; i++) {
        expect_since(i, 1);
    }
    write_next();
    complete(0, 2, NEW_LIFE);
    complete(0, 3, NEW_LIFE);
    write_next();
    cr_assert_eq(document.epoch, 4);
    expect_since(0, 1);
    expect_since(1, 4);
    expect_since(2, 4);
}

Test(reader, what_goes_on_from_an_old_copy_begins_anew)
{
    make(3, 2, 5);
    document.epoch = document.revision = 70;
    reader_note_all(&document);
    cr_assert_eq(document.content.ngroups, 5);
    for (uint32_t group = 0; group < 5; group++) {
        for (uint32_t i = 0; i < 3; i++) {
            cr_assert_eq(slot_of(group, i)->read_since, 70);
        }
    }
    expect_since(0, 70);
}
