/* A sector that the disk can't read any more is damage of its file, not the end of the process at
 * each start. */
#include "log/read_again.h"
#include "tests/support/node_folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { HANDLES = 1024 };

static struct node_folder folder;
static struct disk scratched;
static struct disk *whole;
static char bad_name[DISK_NAME_BYTES];
static uint64_t bad_place;
static bool is_bad[HANDLES];
static unsigned refused;
static unsigned pauses;
static unsigned good_from; /* reads refused so far after which the sector is readable; 0: never */

static enum status open_file(void *context, const char *name, uint32_t *file, uint64_t *size)
{
    enum status status = whole->open(context, name, file, size);

    if (status == STATUS_OK) {
        cr_assert_lt(*file, HANDLES);
        is_bad[*file] = strcmp(name, bad_name) == 0;
    }
    return status;
}

static enum status create_file(void *context, const char *name, uint64_t size, uint32_t *file)
{
    enum status status = whole->create(context, name, size, file);

    if (status == STATUS_OK) {
        is_bad[*file] = false;
    }
    return status;
}

static enum status read_file(void *context, uint32_t file, uint64_t offset, void *into, size_t size)
{
    if (is_bad[file] && bad_place >= offset && bad_place - offset < size &&
        (good_from == 0 || refused < good_from)) {
        refused++;
        return STATUS_IO;
    }
    return whole->read(context, file, offset, into, size);
}

static void count_pause(void *context, unsigned n)
{
    (void)context;
    cr_assert_eq(n, pauses % (READ_TRIES - 1) + 1);
    pauses++;
}

static enum stage_outcome start_with(const char *prefix, unsigned number, uint64_t place)
{
    cr_assert(node_folder_file(&folder, prefix, number, bad_name));
    bad_place = place;
    refused = 0;
    pauses = 0;
    node_folder_restore(&folder);
    whole = memory_disk_seam(folder.stage.disk);
    scratched = *whole;
    scratched.open = open_file;
    scratched.create = create_file;
    scratched.read = read_file;
    scratched.pause = count_pause;
    folder.stage.config.disk = &scratched;
    return node_folder_start(&folder, "unreadable", bad_name, place);
}

static void expect_again(void)
{
    uint64_t incarnation = folder.stage.incarnation;

    (void)node_stage_meet(&folder.stage);
    incarnation = folder.stage.incarnation;
    node_stage_settle_long(&folder.stage);
    cr_assert_gt(refused, 0);
    cr_assert_not(node_failed(folder.stage.node));
    cr_assert_geq(node_stage_files(&folder.stage, "aside-"), 1);
    node_stage_end(&folder.stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_outcome(&folder.stage, incarnation), STAGE_SAME, "it was dealt with");
    node_stage_end(&folder.stage, STAGE_END_KILL);
    folder.stage.config.disk = whole;
}

Test(node_unreadable, a_sorted_run_is_set_aside)
{
    node_folder_make(&folder, STAGE_END_CLEAN);
    cr_assert_eq(start_with("run-", 0, 10), STAGE_ANOTHER);
    expect_again();
    cr_assert_eq(start_with("run-", 0, 5000), STAGE_ANOTHER);
    expect_again();
    node_folder_drop(&folder);
}

Test(node_unreadable, a_segment_is_set_aside)
{
    node_folder_make_unmerged(&folder, STAGE_END_CLEAN);
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(start_with("log-", i, 10), STAGE_ANOTHER);
        expect_again();
        cr_assert_eq(start_with("log-", i, 5000), STAGE_ANOTHER);
        expect_again();
    }
    node_folder_drop(&folder);
}

Test(node_unreadable, a_segment_that_was_merged_is_no_loss)
{
    node_folder_make(&folder, STAGE_END_CLEAN);
    cr_assert_eq(start_with("log-", 1, 5000), STAGE_SAME);
    expect_again();
    node_folder_drop(&folder);
}

Test(node_unreadable, a_sector_that_is_read_at_last_is_none)
{
    node_folder_make(&folder, STAGE_END_CLEAN);
    good_from = READ_TRIES - 1;
    cr_assert_eq(start_with("run-", 0, 5000), STAGE_SAME);
    cr_assert_eq(refused, READ_TRIES - 1);
    cr_assert_eq(pauses, READ_TRIES - 1, "storage may only hesitate");
    cr_assert_eq(node_stage_files(&folder.stage, "aside-"), 0);
    node_stage_end(&folder.stage, STAGE_END_KILL);
    folder.stage.config.disk = whole;
    good_from = 0;
    node_folder_drop(&folder);
}
