/* Folders of the version before are read; and records that are of no use here yet do no harm. */
#include "node/node_private.h"
#include "node/storage/private.h"
#include "tests/support/log_samples.h"
#include "tests/support/node_folder.h"

#include <criterion/criterion.h>
#include <string.h>
#include <xxhash.h>

static struct node_folder folder;

/* ---- version 1 of the segments: fewer types and flags of records ---- */

static void make_first_version(const char *name)
{
    static uint8_t bytes[4 << 20];
    struct span before = node_folder_bytes(&folder, name);
    uint64_t checksum;

    cr_assert_leq(before.size, sizeof bytes);
    memcpy(bytes, before.data, before.size);
    cr_assert_eq(bytes[7], SEGMENT_VERSION);
    bytes[7] = 1;
    checksum = XXH3_64bits(bytes, SEGMENT_HEADER_BYTES - 8);
    memcpy(bytes + SEGMENT_HEADER_BYTES - 8, &checksum, sizeof checksum);
    memory_disk_put(folder.stage.disk, name, span_of(bytes, before.size));
}

static void expect_all(void)
{
    cr_assert_eq(node_stage_outcome(&folder.stage, folder.incarnation), STAGE_SAME);
    cr_assert_eq(node_stage_absent(&folder.stage, &folder.document, folder.keys, folder.nkeys), 0);
}

Test(node_versions, a_folder_of_the_version_before_is_read)
{
    char name[DISK_NAME_BYTES];
    unsigned count = 0;

    node_folder_make_unmerged(&folder, STAGE_END_KILL);
    node_folder_restore(&folder);
    for (; node_folder_file(&folder, "log-", count, name); count++) {
        if (node_folder_bytes(&folder, name).data[7] != 0) { /* One made ahead has no header yet. */
            make_first_version(name);
        }
    }
    cr_assert_gt(count, 1);
    expect_all();
    node_stage_settle_long(&folder.stage);
    node_stage_end(&folder.stage, STAGE_END_KILL);
    expect_all(); /* Of both versions, or merged by now. */
    node_folder_drop(&folder);
}

/* ---- cursors of another site's logs, which nobody writes yet ---- */

static void put_site_cursor(void)
{
    uint8_t *body;
    uint64_t end;

    cr_assert_eq(storage_append(folder.stage.node->storage, RECORD_SITE_CURSOR, false,
                                record_site_cursor_size(&sample_site_cursor), &body, &end),
                 STATUS_OK);
    record_site_cursor_put(body - RECORD_HEADER_BYTES, &sample_site_cursor);
}

Test(node_versions, a_site_cursor_is_read_and_passed_over)
{
    uint64_t more[FOLDER_COUNT];

    node_folder_make(&folder, STAGE_END_CLEAN);
    node_folder_restore(&folder);
    node_stage_fingerprints(&folder.document, 0, 99, FOLDER_COUNT, more);
    for (unsigned i = 0; i < 3; i++) { /* In a segment that is written, sealed, and merged. */
        expect_all();
        put_site_cursor();
        cr_assert_eq(node_stage_add(&folder.stage, &folder.document, more, FOLDER_COUNT),
                     STATUS_OK);
        put_site_cursor();
        node_stage_settle_long(&folder.stage);
        node_stage_end(&folder.stage, i % 2 == 0 ? STAGE_END_KILL : STAGE_END_CLEAN);
    }
    expect_all();
    cr_assert_eq(node_stage_absent(&folder.stage, &folder.document, more, FOLDER_COUNT), 0);
    node_folder_drop(&folder);
}
