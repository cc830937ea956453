/* Starts on a disk that is full, or whose folder holds much else: they serve, or say why not, and
 * never lose anything. */
#include "node/store/recovery.h"
#include "tests/support/node_folder.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { FOREIGN = 70000 };

static struct node_folder folder;

static void check_all(void)
{
    cr_assert_eq(node_stage_absent(&folder.stage, &folder.document, folder.keys, folder.nkeys), 0);
}

static void expect_whole(void)
{
    cr_assert_eq(node_folder_start(&folder, "start", "", 0), STAGE_SAME);
    check_all();
}

/* Adds until one is refused. */
static enum status fill(void)
{
    static uint64_t keys[FOLDER_COUNT];
    enum status status = STATUS_OK;

    for (uint32_t i = 0; status == STATUS_OK && i < 100; i++) {
        sample_fingerprints(&folder.document, 0, 1000 + i, FOLDER_COUNT, keys);
        status = node_stage_add(&folder.stage, &folder.document, keys, FOLDER_COUNT);
    }
    return status;
}

/* Segments that are kept for others only give way. */
Test(node_start_room, a_full_disk_is_started_on_and_refuses_adds)
{
    unsigned segments;

    node_folder_make(&folder, STAGE_END_CLEAN);
    node_folder_restore(&folder);
    segments = node_stage_files(&folder.stage, "log-");
    memory_disk_limit(folder.stage.disk, 0);
    expect_whole();
    cr_assert_leq(node_stage_files(&folder.stage, "log-"), segments);
    cr_assert_eq(fill(), STATUS_NO_SPACE);
    cr_assert_not(node_failed(folder.stage.node));
    check_all();
    node_stage_end(&folder.stage, STAGE_END_POWER);
    memory_disk_limit(folder.stage.disk, UINT64_MAX);
    expect_whole();
    node_folder_drop(&folder);
}

/* All segments are needed: it ends, and goes on when there is room. */
Test(node_start_room, a_start_without_room_changes_nothing)
{
    unsigned segments;

    node_folder_make_unmerged(&folder, STAGE_END_CLEAN);
    node_folder_restore(&folder);
    segments = node_stage_files(&folder.stage, "log-");
    for (int i = 0; i < 3; i++) {
        memory_disk_limit(folder.stage.disk, STAGE_DISK_SEGMENT_BYTES - 1);
        node_stage_start(&folder.stage);
        node_stage_settle(&folder.stage);
        cr_assert(node_failed(folder.stage.node));
        node_stage_end(&folder.stage, STAGE_END_KILL);
        cr_assert_leq(node_stage_files(&folder.stage, "log-"), segments);
    }
    memory_disk_limit(folder.stage.disk, UINT64_MAX);
    expect_whole();
    node_folder_drop(&folder);
}

static void lack_at_each(enum stage_end how)
{
    unsigned failed = 0;
    int64_t operations = 0;

    for (; operations < 60; operations++) {
        node_folder_restore(&folder);
        memory_disk_fail_once(folder.stage.disk, operations, STATUS_NO_SPACE);
        (void)node_stage_open(&folder.stage);
        if (node_failed(folder.stage.node)) {
            failed++;
        } else {
            node_stage_hand(&folder.stage, &folder.document);
            node_stage_settle_long(&folder.stage);
        }
        node_stage_end(&folder.stage, how);
        memory_disk_fail_once(folder.stage.disk, MEMORY_DISK_NEVER, STATUS_OK);
        expect_whole();
    }
    cr_assert_gt(failed, 0);
    cr_assert_lt(failed, 60);
}

Test(node_start_room, room_may_lack_at_any_moment_of_a_start)
{
    node_folder_make(&folder, STAGE_END_KILL);
    lack_at_each(STAGE_END_KILL);
    lack_at_each(STAGE_END_POWER);
    node_folder_drop(&folder);
}

/* ---- names ---- */

static struct disk crowded;
static struct disk *real_disk;
static const char *crowd_prefix;
static unsigned crowd;

static enum status list_crowd(void *context, void (*visit)(void *argument, const char *name),
                              void *argument)
{
    char name[DISK_NAME_BYTES];

    for (unsigned i = 0; i < crowd; i++) {
        (void)snprintf(name, sizeof name, "%s%08x", crowd_prefix, i);
        visit(argument, name);
    }
    return real_disk->list(context, visit, argument);
}

static void crowd_in(const char *prefix, unsigned count)
{
    real_disk = memory_disk_seam(folder.stage.disk);
    crowded = *real_disk;
    crowded.list = list_crowd;
    crowd_prefix = prefix;
    crowd = count;
    folder.stage.config.disk = &crowded;
}

Test(node_start_room, what_is_not_its_own_is_not_counted)
{
    static const uint8_t leftover[100] = {1};

    node_folder_make(&folder, STAGE_END_CLEAN);
    node_folder_restore(&folder);
    memory_disk_put(folder.stage.disk, "run-00000000000000ff", span_of(leftover, sizeof leftover));
    crowd_in("foreign-", FOREIGN);
    expect_whole();
    cr_assert_eq(memory_disk_bytes(folder.stage.disk, "run-00000000000000ff").size, 0,
                 "a leftover behind them is seen");
    node_folder_drop(&folder);
}

Test(node_start_room, too_many_of_its_own_are_refused)
{
    node_folder_make(&folder, STAGE_END_CLEAN);
    node_folder_restore(&folder);
    crowd_in("run-00000000", STORAGE_MAX_NAMES + 1);
    node_stage_start(&folder.stage);
    node_stage_settle(&folder.stage);
    cr_assert(node_failed(folder.stage.node));
    node_stage_end(&folder.stage, STAGE_END_KILL);
    folder.stage.config.disk = real_disk;
    expect_whole();
    node_folder_drop(&folder);
}
