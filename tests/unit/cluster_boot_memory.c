/* Who starts again: does it go on from where it was? Its peers' memory says. */
#include "node/pull/boot_memory.h"

#include <criterion/criterion.h>

enum { NODE = 7, LIFE = 70, B1 = 101, B2 = 102, B3 = 103, COPY = 199 };

static const struct member who = {.node = NODE, .incarnation = LIFE};
static struct boot_memory memory;
static uint64_t remembered;

static void teardown(void)
{
    boot_memory_fini(&memory);
}

TestSuite(boot_memory, .fini = teardown);

/* `boot` continues one of two, on a log that it found to end at `position`. */
static struct boot_question start(uint64_t boot, uint64_t a, uint64_t b, uint64_t position)
{
    return (struct boot_question){.node = NODE,
                                  .incarnation = LIFE,
                                  .boot = boot,
                                  .before = {a, b},
                                  .ends = {position, position},
                                  .nbefore = b != 0 ? 2 : 1,
                                  .position = position,
                                  .reached = position};
}

static enum boot_answer judge(uint64_t listed, struct boot_question question, uint64_t floor)
{
    const struct node_record record = {.id = NODE, .incarnation = LIFE, .boot = listed};

    return boot_memory_judge(&memory, &record, &question, floor, &remembered);
}

static bool confirm(uint64_t listed, struct boot_question question)
{
    const struct node_record record = {.id = NODE, .incarnation = LIFE, .boot = listed};
    struct boot_entry entry;
    bool fresh = boot_memory_confirms(&memory, &record, &question, &entry);

    if (fresh) {
        cr_assert_eq(boot_memory_keep(&memory, &entry), STATUS_OK);
    }
    return fresh;
}

Test(boot_memory, the_listed_boot_may_be_continued)
{
    cr_assert_eq(judge(B1, start(B2, B1, 0, 50), 0), BOOT_FITS);
    cr_assert_eq(judge(B2, start(B2, B1, 0, 50), 0), BOOT_FITS, "the store has it already");
    cr_assert_eq(judge(B2, start(B3, B1, B2, 50), 0), BOOT_FITS);
    cr_assert_eq(judge(B3, start(B2, B1, 0, 50), 0), BOOT_UNKNOWN, "older than the list, or newer");
}

Test(boot_memory, another_life_or_a_stranger_is_unknown)
{
    struct boot_question question = start(B2, B1, 0, 50);

    cr_assert_eq(boot_memory_judge(&memory, NULL, &question, 0, &remembered), BOOT_UNKNOWN);
    question.incarnation++;
    cr_assert_eq(judge(B1, question, 0), BOOT_UNKNOWN);
}

Test(boot_memory, a_log_that_was_longer_once_is_superseded)
{
    cr_assert_eq(boot_memory_note(&memory, &who, B1, 80, 0), STATUS_OK);
    cr_assert_eq(boot_memory_note(&memory, &who, B1, 60, 0), STATUS_OK);
    cr_assert_eq(judge(B1, start(B2, B1, 0, 80), 0), BOOT_FITS);
    cr_assert_eq(judge(B1, start(B2, B1, 0, 79), 0), BOOT_SUPERSEDED);
    cr_assert_eq(remembered, 80);
}

Test(boot_memory, what_a_boot_has_written_itself_is_no_loss)
{
    struct boot_question late = start(B2, B1, 0, 79);

    cr_assert_eq(boot_memory_note(&memory, &who, B1, 80, 0), STATUS_OK);
    cr_assert_eq(boot_memory_note(&memory, &who, B2, 500, 0), STATUS_OK);
    cr_assert_eq(judge(B1, start(B2, B1, 0, 80), 0), BOOT_FITS);
    cr_assert_eq(judge(B1, start(B2, B1, 0, 79), 0), BOOT_SUPERSEDED, "asked late, and seen still");
    late.reached = 5000;
    cr_assert_eq(judge(B1, late, 0), BOOT_SUPERSEDED, "though it has more by now");
    cr_assert_eq(judge(B2, start(B3, B2, 0, 499), 0), BOOT_SUPERSEDED);
    cr_assert_eq(boot_memory_note(&memory, &who, B1, 70, 0), STATUS_OK, "late from the dead one");
    cr_assert_eq(judge(B1, start(B2, B1, 0, 80), 0), BOOT_FITS);
    cr_assert_eq(boot_memory_note(&memory, &who, B1, 900, 0), STATUS_OK, "late, and news");
    cr_assert_eq(judge(B1, start(B2, B1, 0, 80), 0), BOOT_SUPERSEDED);
}

/* Answers of several dead boots may come late, in any order. */
Test(boot_memory, boots_are_kept_apart)
{
    const struct boot_question question = {.node = NODE,
                                           .incarnation = LIFE,
                                           .boot = B3,
                                           .before = {B2, B1},
                                           .ends = {200, 100},
                                           .nbefore = 2,
                                           .position = 200,
                                           .reached = 5000};

    cr_assert_eq(boot_memory_note(&memory, &who, B2, 190, 0), STATUS_OK);
    cr_assert_eq(boot_memory_note(&memory, &who, B3, 5000, 0), STATUS_OK);
    cr_assert_eq(boot_memory_note(&memory, &who, B1, 100, 0), STATUS_OK);
    cr_assert_eq(boot_memory_note(&memory, &who, B3, 5000, 0), STATUS_OK);
    cr_assert_eq(judge(B2, question, 0), BOOT_FITS);
    cr_assert_eq(boot_memory_note(&memory, &who, B1, 101, 0), STATUS_OK);
    cr_assert_eq(judge(B2, question, 0), BOOT_SUPERSEDED);
}

/* A cursor tells an offset and not its boot. */
Test(boot_memory, an_offset_of_an_unknown_boot_counts_above_what_there_is_now)
{
    struct boot_question question = start(B2, B1, 0, 50);

    cr_assert_eq(judge(B1, question, 51), BOOT_SUPERSEDED);
    question.reached = 300;
    cr_assert_eq(judge(B1, question, 300), BOOT_FITS, "it may have written that itself");
    cr_assert_eq(judge(B1, question, 301), BOOT_SUPERSEDED);
    question.position = UINT64_MAX;
    cr_assert_eq(judge(B1, question, 301), BOOT_FITS, "that was answered before");
}

Test(boot_memory, another_lifes_log_says_nothing)
{
    const struct member former = {.node = NODE, .incarnation = LIFE - 1};

    cr_assert_eq(boot_memory_note(&memory, &former, B1, 900, 0), STATUS_OK);
    cr_assert_eq(judge(B1, start(B2, B1, 0, 50), 0), BOOT_FITS);
}

Test(boot_memory, of_two_copies_one_is_confirmed)
{
    cr_assert(confirm(B1, start(B2, B1, 0, 50)));
    cr_assert_eq(judge(B1, start(B2, B1, 0, 50), 0), BOOT_FITS, "asked again");
    cr_assert_not(confirm(B1, start(B2, B1, 0, 50)));
    cr_assert_eq(judge(B1, start(COPY, B1, 0, 50), 0), BOOT_SUPERSEDED);
    cr_assert_eq(judge(COPY, start(COPY, B1, 0, 50), 0), BOOT_SUPERSEDED, "the store was deceived");
    cr_assert_eq(judge(B1, start(B3, B1, B2, 50), 0), BOOT_FITS, "the one that was confirmed");
    cr_assert(confirm(B1, start(B3, B1, B2, 50)));
    cr_assert_eq(judge(B1, start(COPY, B1, B2, 50), 0), BOOT_SUPERSEDED);
}

Test(boot_memory, once_the_store_has_been_told_its_word_counts)
{
    cr_assert(confirm(B1, start(B2, B1, 0, 50)));
    cr_assert_eq(judge(B2, start(B3, B2, 0, 50), 0), BOOT_FITS);
    cr_assert_eq(judge(B3, start(104, B3, 0, 50), 0), BOOT_FITS);
    cr_assert(confirm(B3, start(104, B3, 0, 50)));
    cr_assert_eq(judge(B3, start(COPY, B3, 0, 50), 0), BOOT_SUPERSEDED);
}

Test(boot_memory, what_the_store_has_need_not_be_kept)
{
    cr_assert_not(confirm(B2, start(B2, B1, 0, 50)));
}

/* It was put back; then starts that ended before anybody heard of them made it longer again. */
Test(boot_memory, what_unheard_starts_wrote_hides_nothing)
{
    struct boot_question question = start(B3, B1, B2, 500);

    cr_assert_eq(boot_memory_note(&memory, &who, B1, 80, 0), STATUS_OK);
    question.ends[0] = 80;
    cr_assert_eq(judge(B1, question, 0), BOOT_FITS);
    question.ends[0] = 79;
    cr_assert_eq(judge(B1, question, 0), BOOT_SUPERSEDED);
    cr_assert_eq(remembered, 80);
    cr_assert_eq(boot_memory_note(&memory, &who, B3, 900, 0), STATUS_OK);
    cr_assert_eq(judge(B1, question, 0), BOOT_SUPERSEDED, "asked late");
    question.position = UINT64_MAX;
    cr_assert_eq(judge(B1, question, 0), BOOT_FITS, "that was answered before");
}

/* One in between was heard of, but did not live to know. */
Test(boot_memory, each_boot_is_compared_with_its_own_end)
{
    struct boot_question question = start(B3, B1, B2, 500);

    question.ends[0] = 80;
    question.ends[1] = 300;
    cr_assert_eq(boot_memory_note(&memory, &who, B1, 80, 0), STATUS_OK);
    cr_assert_eq(boot_memory_note(&memory, &who, B2, 300, 0), STATUS_OK);
    cr_assert_eq(judge(B2, question, 0), BOOT_FITS);
    question.ends[1] = 299;
    cr_assert_eq(judge(B2, question, 0), BOOT_SUPERSEDED);
    question.ends[1] = 300;
    cr_assert_eq(boot_memory_note(&memory, &who, COPY, 90, 0), STATUS_OK);
    cr_assert_eq(judge(B2, question, 0), BOOT_SUPERSEDED, "another copy has gone on");
}
