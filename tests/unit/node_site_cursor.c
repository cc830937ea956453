/* Records of other sites' cursors, which are of no use here yet, do no harm. */
#include "node/private.h"
#include "node/store/private.h"
#include "tests/support/log_samples.h"
#include "tests/support/node_folder.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

static struct node_folder folder;

/* ---- cursors of another site's logs, which nobody writes yet ---- */

static void expect_all(void)
{
    cr_assert_eq(node_stage_outcome(&folder.stage, folder.incarnation), STAGE_SAME);
    cr_assert_eq(node_stage_absent(&folder.stage, &folder.document, folder.keys, folder.nkeys), 0);
}

static void put_site_cursor(void)
{
    uint8_t *body;
    uint64_t end;

    cr_assert_eq(storage_append(folder.stage.node->storage, RECORD_SITE_CURSOR, false,
                                record_site_cursor_size(&sample_site_cursor), &body, &end),
                 STATUS_OK);
    record_site_cursor_put(body - RECORD_HEADER_BYTES, &sample_site_cursor);
}

Test(node_site_cursor, a_site_cursor_is_read_and_passed_over)
{
    uint64_t more[FOLDER_COUNT];

    node_folder_make(&folder, STAGE_END_CLEAN);
    node_folder_restore(&folder);
    sample_fingerprints(&folder.document, 0, 99, FOLDER_COUNT, more);
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
