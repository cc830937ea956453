/* Starts on damaged data that die while they deal with it: the loss is noticed all the same, and
 * once only. */
#include "tests/support/node_folder.h"

#include <criterion/criterion.h>

static struct node_folder folder;

static void flip_at(const char *prefix, unsigned number, uint64_t place)
{
    char name[DISK_NAME_BYTES];

    cr_assert(node_stage_file(&folder.stage, prefix, number, name));
    memory_disk_flip(folder.stage.disk, name, place * 8);
}

static void take_away_at(const char *prefix, unsigned number)
{
    char name[DISK_NAME_BYTES];

    cr_assert(node_stage_file(&folder.stage, prefix, number, name));
    node_folder_remove(&folder, name);
}

enum damage {
    FIRST_HEADER,
    FIRST_RECORD,
    MIDDLE_HEADER,
    MIDDLE_RECORD,
    MIDDLE_GONE,
    RUN_HEADER,
    RUN_BLOCK,
    RUN_GONE,
    NDAMAGES
};

static void do_damage(enum damage damage)
{
    switch (damage) {
    case FIRST_HEADER:
        flip_at("log-", 0, 3);
        break;
    case FIRST_RECORD:
        flip_at("log-", 0, 5000);
        break;
    case MIDDLE_HEADER:
        flip_at("log-", 1, 3);
        break;
    case MIDDLE_RECORD:
        flip_at("log-", 1, 5000);
        break;
    case MIDDLE_GONE:
        take_away_at("log-", 1);
        break;
    case RUN_HEADER:
        flip_at("run-", 0, 50);
        break;
    case RUN_BLOCK:
        flip_at("run-", 0, 5000);
        break;
    case RUN_GONE:
        take_away_at("run-", 1);
        break;
    case NDAMAGES:
        break;
    }
}

/* A start that dies after so many operations; false: it lived through. */
static bool start_and_die(int64_t operations, enum stage_end how)
{
    bool died;

    memory_disk_fail_after(folder.stage.disk, operations);
    (void)node_stage_open(&folder.stage);
    if (!node_failed(folder.stage.node)) {
        node_stage_hand(&folder.stage, &folder.document);
        node_stage_settle_long(&folder.stage);
    }
    died = node_failed(folder.stage.node);
    node_stage_end(&folder.stage, how);
    return died;
}

/* The loss is noticed however often the starts that deal with it die; and once it was dealt with
 * the new incarnation goes on. */
static void survive(enum damage damage, enum stage_end how)
{
    bool died = true;

    for (int64_t operations = 0; died; operations++) {
        uint64_t another;

        cr_assert_lt(operations, 1000);
        node_folder_restore(&folder);
        do_damage(damage);
        folder.stage.random = (uint64_t)operations + 1;
        died = start_and_die(operations, how);
        (void)start_and_die(operations / 2, how);
        cr_assert_eq(node_stage_outcome(&folder.stage, folder.incarnation), STAGE_ANOTHER,
                     "damage %u, dead after %u", damage, (unsigned)operations);
        node_stage_hand(&folder.stage, &folder.document);
        node_stage_settle_long(&folder.stage);
        (void)node_stage_meet(&folder.stage);
        another = folder.stage.incarnation;
        node_stage_adopt(&folder.stage, &folder.document);
        cr_assert_eq(node_stage_add(&folder.stage, &folder.document, folder.keys, FOLDER_COUNT),
                     STATUS_OK);
        for (int i = 0; i < 2; i++) {
            node_stage_end(&folder.stage, how);
            cr_assert_eq(node_stage_outcome(&folder.stage, another), STAGE_SAME,
                         "damage %u, dead after %u: found again", damage, (unsigned)operations);
            cr_assert_eq(
                node_stage_absent(&folder.stage, &folder.document, folder.keys, FOLDER_COUNT), 0);
        }
    }
}

/* Of segments only those that were not merged are a loss. */
static void survive_all(enum stage_end how)
{
    node_folder_make_unmerged(&folder, STAGE_END_CLEAN);
    for (enum damage damage = FIRST_HEADER; damage < RUN_HEADER; damage++) {
        survive(damage, how);
    }
    node_folder_drop(&folder);
    node_folder_make(&folder, STAGE_END_CLEAN);
    for (enum damage damage = RUN_HEADER; damage < NDAMAGES; damage++) {
        survive(damage, how);
    }
    node_folder_drop(&folder);
}

Test(node_damage_crash, a_loss_is_noticed_by_starts_that_are_killed)
{
    survive_all(STAGE_END_KILL);
}

Test(node_damage_crash, a_loss_is_noticed_by_starts_that_lose_power)
{
    survive_all(STAGE_END_POWER);
}

/* It lives until its new incarnation is registered, and not until the damage is set aside. */
static void die_registered(enum damage damage)
{
    uint64_t another;

    node_folder_restore(&folder);
    do_damage(damage);
    node_stage_start(&folder.stage);
    cr_assert(node_stage_run(&folder.stage, JOB_BACKGROUND), "the log is read back");
    for (int i = 0; i < 20; i++) {
        node_stage_turn(&folder.stage);
        (void)node_stage_run(&folder.stage, JOB_COMMIT);
    }
    (void)node_stage_meet(&folder.stage);
    cr_assert(node_registered(folder.stage.node));
    another = folder.stage.incarnation;
    cr_assert_neq(another, folder.incarnation);
    cr_assert_eq(node_stage_files(&folder.stage, "aside-"), 0);
    for (int i = 0; i < 3; i++) {
        node_stage_end(&folder.stage, STAGE_END_KILL);
        cr_assert_eq(node_stage_outcome(&folder.stage, another), STAGE_SAME, "damage %u", damage);
        node_stage_settle_long(&folder.stage);
    }
    node_stage_end(&folder.stage, STAGE_END_KILL);
}

Test(node_damage_crash, damage_that_was_answered_for_is_not_found_again)
{
    node_folder_make_unmerged(&folder, STAGE_END_CLEAN);
    die_registered(MIDDLE_HEADER);
    die_registered(FIRST_RECORD);
    die_registered(MIDDLE_RECORD);
    die_registered(MIDDLE_GONE);
    node_folder_drop(&folder);
}

/* What was torn is the log's new beginning, in every way: what was cut off by its header, if that
 * is there, stays cut off, so that the header alone must tell of the loss. */
Test(node_damage_crash, a_loss_is_noticed_when_the_new_log_is_torn_as_it_begins)
{
    enum { TEARS = 48, FIRST = 3, LAST = 8 };

    node_folder_make_unmerged(&folder, STAGE_END_CLEAN);
    for (uint64_t tear = 0; tear < TEARS; tear++) {
        for (int64_t operations = FIRST; operations < LAST; operations++) {
            node_folder_restore(&folder);
            do_damage(tear % 2 == 0 ? MIDDLE_RECORD : MIDDLE_HEADER);
            folder.stage.random = tear + 1;
            (void)start_and_die(operations, STAGE_END_POWER);
            cr_assert_eq(node_stage_outcome(&folder.stage, folder.incarnation), STAGE_ANOTHER,
                         "torn in way %u after %u", (unsigned)tear, (unsigned)operations);
        }
    }
    node_folder_drop(&folder);
}

/* What is damaged was merged: nothing is lost, wherever the starts die that set it aside. */
static void survive_unneeded(enum damage damage, enum stage_end how)
{
    bool died = true;

    for (int64_t operations = 0; died; operations++) {
        cr_assert_lt(operations, 1000);
        node_folder_restore(&folder);
        do_damage(damage);
        folder.stage.random = (uint64_t)operations + 1;
        died = start_and_die(operations, how);
        (void)start_and_die(operations / 2, how);
        for (int i = 0; i < 2; i++) {
            cr_assert_eq(node_folder_start(&folder, "damage", "", damage), STAGE_SAME,
                         "damage %u, dead after %u", damage, (unsigned)operations);
            node_stage_settle_long(&folder.stage);
            node_stage_end(&folder.stage, how);
        }
    }
}

Test(node_damage_crash, a_segment_that_was_merged_is_no_loss)
{
    node_folder_make(&folder, STAGE_END_CLEAN);
    for (enum damage damage = FIRST_HEADER; damage < RUN_HEADER; damage++) {
        survive_unneeded(damage, STAGE_END_KILL);
        survive_unneeded(damage, STAGE_END_POWER);
    }
    node_folder_drop(&folder);
}

/* Without damage: a segment that began and was torn at once was never used. */
Test(node_damage_crash, a_start_that_is_torn_leaves_nothing_aside)
{
    enum { TEARS = 48, FIRST = 3, LAST = 8 };

    node_folder_make(&folder, STAGE_END_CLEAN);
    for (uint64_t tear = 0; tear < TEARS; tear++) {
        for (int64_t operations = FIRST; operations < LAST; operations++) {
            node_folder_restore(&folder);
            folder.stage.random = tear + 1;
            (void)start_and_die(operations, STAGE_END_POWER);
            for (int i = 0; i < 2; i++) {
                cr_assert_eq(node_stage_outcome(&folder.stage, folder.incarnation), STAGE_SAME);
                node_stage_end(&folder.stage, STAGE_END_KILL);
            }
            cr_assert_eq(node_stage_files(&folder.stage, "aside-"), 0, "torn in way %u after %u",
                         (unsigned)tear, (unsigned)operations);
        }
    }
    node_folder_drop(&folder);
}
