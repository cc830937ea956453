/* Files that were changed, cut, swapped or taken away: never a crash, never an acknowledged key
 * absent as the same incarnation. What can't be used is set aside and not deleted. */
#include "log/cluster_file.h"
#include "log/segment.h"
#include "tests/support/node_folder.h"

#include <criterion/criterion.h>
#include <string.h>

enum { HEADERS = 200, STRIDE = 3989 };

static struct node_folder folder;

/* What was not in the file is still there, as extra; of a log, what is in sorted runs. */
/* Not those that were made ahead. */
static uint64_t begun_segments(void)
{
    char name[DISK_NAME_BYTES];
    uint64_t begun = 0;

    for (unsigned i = 0; node_folder_file(&folder, "log-", i, name); i++) {
        begun += node_folder_bytes(&folder, name).data[0] != 0;
    }
    return begun;
}

static void expect_rest(const char *name)
{
    bool is_run = strncmp(name, "run-", 4) == 0;
    uint64_t files = is_run ? 1 : begun_segments();

    node_folder_expect_rest(&folder, node_folder_bytes(&folder, name).size / 8 * files);
}

/* ---- one bit ---- */

static uint64_t next_place(uint64_t place)
{
    return place < HEADERS ? place + 1 : place + STRIDE;
}

/* Returns how many of the changes were noticed. */
static unsigned flip_in(const char *name)
{
    uint64_t size = node_folder_bytes(&folder, name).size;
    unsigned another = 0;

    for (uint64_t place = 0; place < size; place = next_place(place)) {
        node_folder_restore(&folder);
        memory_disk_flip(folder.stage.disk, name, place * 8 + place % 8);
        if (node_folder_start(&folder, "a bit of", name, place) == STAGE_ANOTHER) {
            another++;
            cr_assert_geq(node_stage_files(&folder.stage, "aside-"), 1);
            if (another % 32 == 1) {
                expect_rest(name);
            }
        }
    }
    node_folder_restore(&folder);
    return another;
}

static void flip_everywhere(enum stage_end how, const char *prefix)
{
    char name[DISK_NAME_BYTES];
    unsigned another = 0;

    node_folder_make(&folder, how);
    for (unsigned i = 0;; i++) {

        if (!node_folder_file(&folder, prefix, i, name)) {
            break;
        }
        if (node_folder_bytes(&folder, name).size > SEGMENT_HEADER_BYTES) {
            another += flip_in(name);
        }
    }
    cr_assert_gt(another, HEADERS);
    node_folder_drop(&folder);
}

Test(node_damage, a_changed_bit_of_a_sorted_run)
{
    flip_everywhere(STAGE_END_CLEAN, "run-");
}

Test(node_damage, a_changed_bit_of_the_log_after_a_clean_end)
{
    flip_everywhere(STAGE_END_CLEAN, "log-");
}

Test(node_damage, a_changed_bit_of_the_log_after_a_kill)
{
    flip_everywhere(STAGE_END_KILL, "log-");
}

/* All of its batches are in sorted runs: what is lost is lost to other nodes only. */
Test(node_damage, a_changed_bit_of_a_segment_that_was_merged)
{
    char name[DISK_NAME_BYTES];
    unsigned noticed = 0;

    node_folder_make(&folder, STAGE_END_CLEAN);
    cr_assert(node_folder_file(&folder, "log-", 1, name));
    for (uint64_t place = 0; place < node_folder_bytes(&folder, name).size;
         place = next_place(place)) {
        unsigned aside;

        node_folder_restore(&folder);
        memory_disk_flip(folder.stage.disk, name, place * 8 + place % 8);
        cr_assert_eq(node_folder_start(&folder, "a bit of", name, place), STAGE_SAME, "at %u",
                     (unsigned)place);
        aside = node_stage_files(&folder.stage, "aside-");
        noticed += aside > 0;
        node_stage_end(&folder.stage, STAGE_END_KILL);
        cr_assert_eq(node_folder_start(&folder, "again", name, place), STAGE_SAME);
        cr_assert_eq(node_stage_files(&folder.stage, "aside-"), aside, "found again");
    }
    cr_assert_gt(noticed, HEADERS / 2);
    node_folder_drop(&folder);
}

/* ---- whole files ---- */

static struct span bytes_of(const char *name)
{
    return node_folder_bytes(&folder, name);
}

/* Do it to every file but the log's last segment: nothing tells that there was more of that. */
static void damage_each(const char *what, void (*damage)(const char *name),
                        void (*judge)(const char *name, enum stage_outcome outcome))
{
    unsigned count = node_folder_files(&folder, "");
    unsigned nsegments = node_folder_files(&folder, "log-");
    char name[DISK_NAME_BYTES];

    for (unsigned i = 0; i < count; i++) {
        enum stage_outcome outcome;

        cr_assert(node_folder_file(&folder, "", i, name));
        node_folder_restore(&folder);
        damage(name);
        if (strcmp(name, CLUSTER_FILE_NAME) == 0) { /* A coordinator has told it again. */
            cr_assert_eq(node_folder_start(&folder, what, name, 0), STAGE_SAME);
            continue;
        }
        if (i == nsegments) { /* Names of logs come first, after that one. */
            cr_assert_neq(node_stage_outcome(&folder.stage, folder.incarnation), STAGE_REFUSED);
            continue;
        }
        outcome = node_folder_start(&folder, what, name, 0);
        if (judge != NULL) {
            judge(name, outcome);
        }
    }
}

static void take_away(const char *name)
{
    node_folder_remove(&folder, name);
}

static void must_miss(const char *name, enum stage_outcome outcome)
{
    cr_assert_eq(outcome, STAGE_ANOTHER, "%s is not missed", name);
}

/* Segments that were merged are kept for other nodes only. */
static void must_miss_runs(const char *name, enum stage_outcome outcome)
{
    cr_assert(outcome == STAGE_ANOTHER || strncmp(name, "log-", 4) == 0, "%s is not missed", name);
    if (outcome == STAGE_ANOTHER) {
        expect_rest(name);
    }
}

Test(node_damage, a_file_that_is_missing)
{
    node_folder_make(&folder, STAGE_END_CLEAN);
    damage_each("all of", take_away, must_miss_runs);
    node_folder_drop(&folder);
    node_folder_make_unmerged(&folder, STAGE_END_CLEAN);
    damage_each("all of", take_away, must_miss);
    node_folder_drop(&folder);
}

static void cut(const char *name)
{
    struct span bytes = bytes_of(name);

    memory_disk_put(folder.stage.disk, name, span_of(bytes.data, bytes.size / 2));
}

static void empty(const char *name)
{
    memory_disk_put(folder.stage.disk, name, span_of(NULL, 0));
}

static void zero(const char *name)
{
    static const uint8_t zeros[4 << 20];
    struct span bytes = bytes_of(name);

    cr_assert_leq(bytes.size, sizeof zeros);
    memory_disk_put(folder.stage.disk, name, span_of(zeros, bytes.size));
}

Test(node_damage, a_file_that_was_cut)
{
    node_folder_make(&folder, STAGE_END_CLEAN);
    damage_each("half of", cut, NULL);
    damage_each("nothing of", empty, NULL);
    node_folder_drop(&folder);
}

Test(node_damage, a_file_of_zeros)
{
    node_folder_make(&folder, STAGE_END_CLEAN);
    damage_each("zeros in", zero, NULL);
    node_folder_drop(&folder);
}

/* Two files of one kind, one under the name of the other; also one of them twice. */
static void swap_all(const char *prefix, bool both)
{
    unsigned count = node_folder_files(&folder, prefix);

    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < count; k++) {
            char one[DISK_NAME_BYTES];
            char other[DISK_NAME_BYTES];

            if (i == k || (both && i > k)) {
                continue;
            }
            cr_assert(node_folder_file(&folder, prefix, i, one));
            cr_assert(node_folder_file(&folder, prefix, k, other));
            node_folder_restore(&folder);
            memory_disk_put(folder.stage.disk, one, bytes_of(other));
            if (both) {
                memory_disk_put(folder.stage.disk, other, bytes_of(one));
            }
            cr_assert_eq(node_folder_start(&folder, "another file as", one, 0), STAGE_ANOTHER);
            cr_assert_geq(node_stage_files(&folder.stage, "aside-"), 1);
        }
    }
}

Test(node_damage, files_that_were_swapped)
{
    node_folder_make(&folder, STAGE_END_CLEAN);
    swap_all("run-", true);
    node_folder_drop(&folder);
    node_folder_make_unmerged(&folder, STAGE_END_CLEAN);
    swap_all("log-", true);
    node_folder_drop(&folder);
}

Test(node_damage, a_file_under_two_names)
{
    node_folder_make(&folder, STAGE_END_CLEAN);
    swap_all("run-", false);
    node_folder_drop(&folder);
    node_folder_make_unmerged(&folder, STAGE_END_CLEAN);
    swap_all("log-", false);
    node_folder_drop(&folder);
}

/* Only sorted runs are left: nothing says what they were, and they are not thrown away. */
Test(node_damage, a_log_that_is_gone_leaves_its_runs_alone)
{
    unsigned runs;
    char name[DISK_NAME_BYTES];

    node_folder_make(&folder, STAGE_END_CLEAN);
    node_folder_restore(&folder);
    runs = node_stage_files(&folder.stage, "run-");
    while (node_stage_file(&folder.stage, "log-", 0, name)) {
        node_folder_remove(&folder, name);
    }
    cr_assert_eq(node_folder_start(&folder, "the log", "", 0), STAGE_ANOTHER);
    cr_assert_eq(node_stage_files(&folder.stage, "aside-"), runs);
    node_folder_drop(&folder);
}

/* Segments in front of the others that were not merged yet. */
Test(node_damage, a_missing_first_segment_is_missed)
{
    char name[DISK_NAME_BYTES];

    node_folder_make_unmerged(&folder, STAGE_END_CLEAN);
    cr_assert_eq(node_stage_files(&folder.stage, "run-"), 0);
    node_folder_restore(&folder);
    cr_assert(node_stage_file(&folder.stage, "log-", 0, name));
    node_folder_remove(&folder, name);
    cr_assert_eq(node_folder_start(&folder, "all of", name, 0), STAGE_ANOTHER);
    node_stage_hand(&folder.stage, &folder.document);
    node_stage_settle(&folder.stage);
    node_stage_adopt(&folder.stage, &folder.document);
    cr_assert_leq(node_stage_absent(&folder.stage, &folder.document, folder.keys, folder.nkeys),
                  STAGE_DISK_SEGMENT_BYTES / 8);
    node_folder_drop(&folder);
}

/* Every copy of a filter's document is lost: its runs are kept, as the document comes again. */
Test(node_damage, runs_of_an_unknown_filter_are_kept)
{
    char name[DISK_NAME_BYTES];
    uint64_t run_keys;

    node_folder_make(&folder, STAGE_END_CLEAN);
    node_folder_restore(&folder);
    for (unsigned i = 0; node_stage_file(&folder.stage, "log-", i, name); i++) {
        struct span bytes = memory_disk_bytes(folder.stage.disk, name);
        const uint8_t *found = memmem(bytes.data, bytes.size, folder.document.content.name,
                                      strlen(folder.document.content.name));

        cr_assert(found != NULL);
        memory_disk_flip(folder.stage.disk, name, (uint64_t)(found - bytes.data) * 8);
    }
    cr_assert_eq(node_stage_outcome(&folder.stage, folder.incarnation), STAGE_ANOTHER);
    run_keys = node_stage_counter(&folder.stage, "run_keys");
    cr_assert_gt(run_keys, 0);
    node_stage_settle_long(&folder.stage);
    cr_assert_geq(node_stage_counter(&folder.stage, "run_keys"), run_keys);
    node_stage_hand(&folder.stage, &folder.document);
    node_stage_settle(&folder.stage);
    node_stage_adopt(&folder.stage, &folder.document);
    cr_assert_leq(node_stage_absent(&folder.stage, &folder.document, folder.keys, folder.nkeys),
                  folder.nkeys - run_keys + FOLDER_COUNT);
    node_folder_drop(&folder);
}
