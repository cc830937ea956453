/* What is remembered of filters, and when it is forgotten. */
#include "coordinator/notes.h"

#include <criterion/criterion.h>

enum { MANY = 100, A = 7, B = 9 };

static struct notes notes;
static struct document_entry entries[2] = {
    {.document = {.id = A, .content = {.state = FILTER_ACTIVE}}},
    {.document = {.id = B, .content = {.state = FILTER_ACTIVE}}},
};
static struct document_entry *by_id[] = {&entries[0], &entries[1]};
static const struct document_cache documents = {.by_id = by_id, .count = 2};

static void end_with(enum filter_state state)
{
    entries[0].document.content.state = state;
    notes_touch(&notes, A);
    notes_forget(&notes, &documents);
}

Test(coordinator_notes, each_kind_has_its_own_by_ascending_ids)
{
    for (uint64_t i = 0; i < MANY; i++) {
        uint64_t id = i * 37 % MANY + 1;
        struct expanding *expanding = notes_open(&notes, NOTE_EXPANDING, id);

        cr_assert_not_null(expanding);
        cr_assert_eq(expanding->next_us, 0);
        expanding->next_us = id;
        cr_assert_eq(notes_open(&notes, NOTE_EXPANDING, id), (void *)expanding);
    }
    cr_assert_eq(notes_count(&notes, NOTE_EXPANDING), MANY);
    cr_assert_eq(notes_count(&notes, NOTE_LOADING), 0);
    for (size_t i = 0; i < MANY; i++) {
        const struct note *note = notes_at(&notes, NOTE_EXPANDING, i);

        cr_assert_eq(note->filter_id, i + 1);
        cr_assert_eq(((const struct expanding *)note->about)->next_us, i + 1);
    }
    cr_assert_null(notes_find(&notes, NOTE_EXPANDING, MANY + 1));
    cr_assert_null(notes_find(&notes, NOTE_ROTATING, 1));
    notes_fini(&notes);
}

Test(coordinator_notes, an_ended_one_is_gone_alone)
{
    struct loading *kept = notes_open(&notes, NOTE_LOADING, B);

    (void)notes_open(&notes, NOTE_LOADING, A);
    notes_end(&notes, NOTE_LOADING, A);
    notes_end(&notes, NOTE_LOADING, A);
    cr_assert_null(notes_find(&notes, NOTE_LOADING, A));
    cr_assert_eq(notes_find(&notes, NOTE_LOADING, B), (void *)kept);
    notes_fini(&notes);
}

Test(coordinator_notes, fences_stay_until_the_tombstone_and_the_others_while_it_is_active)
{
    struct rotating *rotating = notes_open(&notes, NOTE_ROTATING, A);

    (void)notes_open(&notes, NOTE_FENCING, A);
    (void)notes_open(&notes, NOTE_EXPANDING, A);
    (void)notes_open(&notes, NOTE_EXPANDING, B);
    counts_note(&rotating->counts, 1, 1);
    end_with(FILTER_ACTIVE);
    cr_assert_not_null(notes_find(&notes, NOTE_FENCING, A));
    cr_assert_not_null(notes_find(&notes, NOTE_EXPANDING, A));
    cr_assert_not_null(notes_find(&notes, NOTE_ROTATING, A));
    end_with(FILTER_DROPPING);
    cr_assert_not_null(notes_find(&notes, NOTE_FENCING, A));
    cr_assert_null(notes_find(&notes, NOTE_EXPANDING, A));
    cr_assert_null(notes_find(&notes, NOTE_ROTATING, A));
    end_with(FILTER_DROPPED);
    cr_assert_null(notes_find(&notes, NOTE_FENCING, A));
    cr_assert_not_null(notes_find(&notes, NOTE_EXPANDING, B));
    notes_fini(&notes);
}

Test(coordinator_notes, of_what_expires_and_of_what_is_being_loaded_as_long_as_it_is)
{
    struct filter_document *document = &entries[0].document;

    document->expiry.number = 1;
    document->load_source = 1;
    document->loaded = DOCUMENT_LOAD_FIRST;
    cr_assert(document_is_loading(document));
    (void)notes_open(&notes, NOTE_EXPIRING, A);
    (void)notes_open(&notes, NOTE_LOADING, A);
    end_with(FILTER_ACTIVE);
    cr_assert_not_null(notes_find(&notes, NOTE_EXPIRING, A));
    cr_assert_not_null(notes_find(&notes, NOTE_LOADING, A));
    document->loaded = DOCUMENT_LOAD_END;
    end_with(FILTER_ACTIVE);
    cr_assert_null(notes_find(&notes, NOTE_LOADING, A));
    cr_assert_not_null(notes_find(&notes, NOTE_EXPIRING, A));
    entries[0].conflict = true;
    end_with(FILTER_ACTIVE);
    cr_assert_null(notes_find(&notes, NOTE_EXPIRING, A));
    notes_fini(&notes);
}

/* One that was opened for a filter that is done with is not kept for want of news of it. */
Test(coordinator_notes, new_ones_are_looked_at_and_others_only_with_news)
{
    (void)notes_open(&notes, NOTE_EXPANDING, A);
    (void)notes_open(&notes, NOTE_EXPANDING, MANY);
    notes_forget(&notes, &documents);
    cr_assert_not_null(notes_find(&notes, NOTE_EXPANDING, A));
    cr_assert_null(notes_find(&notes, NOTE_EXPANDING, MANY));
    entries[0].document.content.state = FILTER_DROPPED;
    notes_forget(&notes, &documents);
    cr_assert_not_null(notes_find(&notes, NOTE_EXPANDING, A));
    notes_touch_all(&notes);
    notes_forget(&notes, &documents);
    cr_assert_null(notes_find(&notes, NOTE_EXPANDING, A));
    notes_fini(&notes);
}
