/* What is said of a damaged folder, and folders that are refused: another cluster's, or of another
 * version. Nothing in them is changed. */
#include "log/cluster_file.h"
#include "log/record.h"
#include "log/segment.h"
#include "tests/support/node_folder.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static struct node_folder folder;

/* ---- what is said ---- */

static FILE *said;
static int stderr_before;

static void listen(void)
{
    (void)fflush(stderr);
    said = tmpfile();
    stderr_before = dup(STDERR_FILENO);
    cr_assert(said != NULL && stderr_before >= 0);
    cr_assert_geq(dup2(fileno(said), STDERR_FILENO), 0);
}

static bool was_said(const char *text)
{
    static char all[1 << 16];
    size_t size;

    (void)fflush(stderr);
    (void)dup2(stderr_before, STDERR_FILENO);
    (void)close(stderr_before);
    rewind(said);
    size = fread(all, 1, sizeof all - 1, said);
    all[size] = '\0';
    (void)fclose(said);
    return strstr(all, text) != NULL;
}

Test(node_refused, what_is_damaged_is_named)
{
    static const char *const prefixes[] = {"log-", "run-"};
    static const bool loses[] = {false, true}; /* Of that subrequest everything is in runs. */

    node_folder_make(&folder, STAGE_END_CLEAN);
    for (size_t i = 0; i < 2; i++) {
        char name[DISK_NAME_BYTES];
        bool named;

        node_folder_restore(&folder);
        cr_assert(node_stage_file(&folder.stage, prefixes[i], 0, name));
        memory_disk_flip(folder.stage.disk, name, 8 * 5000); /* In a record; in a block. */
        listen();
        (void)node_stage_outcome(&folder.stage, folder.incarnation);
        named = was_said(name);
        cr_assert(named, "%s is not named", name);
        cr_assert_eq(folder.stage.incarnation != folder.incarnation, loses[i], "%s", name);
    }
    node_folder_drop(&folder);
}

/* ---- another cluster's, another version's ---- */

static bool same_bytes(struct span a, struct span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static void expect_unchanged(struct memory_disk *before)
{
    char name[DISK_NAME_BYTES];

    cr_assert_eq(node_stage_files(&folder.stage, ""), node_folder_files(&folder, ""));
    for (unsigned i = 0; node_folder_file(&folder, "", i, name); i++) {
        cr_assert(
            same_bytes(memory_disk_bytes(folder.stage.disk, name), memory_disk_bytes(before, name)),
            "%s was changed", name);
    }
}

static void expect_refused(const char *name)
{
    struct memory_disk *before = node_stage_copy_disk(&folder.stage);
    bool named;

    listen();
    node_stage_start(&folder.stage);
    node_stage_settle(&folder.stage);
    named = was_said(name);
    cr_assert(node_failed(folder.stage.node));
    cr_assert(folder.stage.actor.over(folder.stage.actor.self));
    cr_assert(named, "%s is not named", name);
    node_stage_end(&folder.stage, STAGE_END_CLEAN);
    expect_unchanged(before);
    memory_disk_destroy(&before);
}

Test(node_refused, a_folder_of_another_cluster_is_refused)
{
    const struct cluster_id another = cluster_id_make(1, 2);
    uint8_t file[CLUSTER_FILE_BYTES];
    char name[DISK_NAME_BYTES];

    cluster_file_put(file, &another);
    node_folder_make(&folder, STAGE_END_CLEAN);
    folder.stage.config.cluster = another;
    for (int i = 0; i < 2; i++) { /* As its file says; as coordinators do, where that is damaged. */
        node_folder_restore(&folder);
        memory_disk_put(folder.stage.disk, CLUSTER_FILE_NAME, span_of(file, sizeof file));
        if (i == 1) {
            memory_disk_flip(folder.stage.disk, CLUSTER_FILE_NAME, 99);
        }
        cr_assert(node_stage_file(&folder.stage, "log-", 0, name));
        expect_refused(name);
    }
    node_folder_drop(&folder);
}

/* Its documents could not be read, and with them the fences would be gone. */
Test(node_refused, another_cluster_key_is_refused_and_costs_nothing)
{
    node_folder_make(&folder, STAGE_END_CLEAN);
    node_folder_restore(&folder);
    folder.stage.config.key = *sample_foreign_key();
    listen();
    node_stage_start(&folder.stage);
    node_stage_settle(&folder.stage);
    cr_assert(was_said("another cluster key"));
    cr_assert(node_failed(folder.stage.node));
    node_stage_end(&folder.stage, STAGE_END_CLEAN);
    folder.stage.config.key = *sample_key();
    cr_assert_eq(node_stage_outcome(&folder.stage, folder.incarnation), STAGE_SAME);
    cr_assert_eq(node_stage_absent(&folder.stage, &folder.document, folder.keys, folder.nkeys), 0);
    node_folder_drop(&folder);
}

/* Byte 7 is the version, bytes 56 to 64 are the checksum of those before, in both formats. */
static void make_version(const char *name, uint8_t version)
{
    static uint8_t bytes[4 << 20];
    struct span before = node_folder_bytes(&folder, name);
    uint64_t checksum;

    cr_assert_leq(before.size, sizeof bytes);
    memcpy(bytes, before.data, before.size);
    bytes[7] = version;
    checksum = XXH3_64bits(bytes, 56);
    memcpy(bytes + 56, &checksum, sizeof checksum);
    memory_disk_put(folder.stage.disk, name, span_of(bytes, before.size));
}

Test(node_refused, a_folder_of_another_version_is_refused)
{
    static const char *const prefixes[] = {"log-", "run-"};
    static const uint8_t versions[][2] = {{0, 0}, {1, 2}, {255, 255}};

    node_folder_make(&folder, STAGE_END_CLEAN);
    for (size_t i = 0; i < 6; i++) {
        char name[DISK_NAME_BYTES];

        node_folder_restore(&folder);
        cr_assert(node_stage_file(&folder.stage, prefixes[i % 2], 1, name));
        make_version(name, versions[i / 2][i % 2]);
        expect_refused(name);
    }
    node_folder_drop(&folder);
}

/* ... also where something else is damaged: whoever can read it all will judge that. */
Test(node_refused, a_version_is_refused_before_anything_is_set_aside)
{
    char bad[DISK_NAME_BYTES];
    char newer[DISK_NAME_BYTES];

    node_folder_make(&folder, STAGE_END_CLEAN);
    for (unsigned i = 0; i < 2; i++) {
        node_folder_restore(&folder);
        cr_assert(node_stage_file(&folder.stage, "run-", i, bad));
        cr_assert(node_stage_file(&folder.stage, "run-", 1 - i, newer));
        memory_disk_flip(folder.stage.disk, bad, 100);
        make_version(newer, 3);
        expect_refused(newer);
    }
    node_folder_drop(&folder);
}

/* The first batch of that subrequest says what no version knew. */
static void make_flag(const char *name)
{
    enum { AT_BATCH_FLAGS = RECORD_HEADER_BYTES + 44 };
    static _Alignas(8) uint8_t bytes[4 << 20];
    struct span before = node_folder_bytes(&folder, name);
    struct record_header header = {0};
    size_t at = SEGMENT_HEADER_BYTES;

    cr_assert_leq(before.size, sizeof bytes);
    memcpy(bytes, before.data, before.size);
    do {
        at += header.size;
        cr_assert_eq(record_open(span_of(bytes + at, before.size - at), &header), STATUS_OK);
    } while (header.type != RECORD_BATCH);
    bytes[at + AT_BATCH_FLAGS] |= 0x40;
    record_seal(bytes + at, header.boot, header.durable);
    memory_disk_put(folder.stage.disk, name, span_of(bytes, before.size));
}

/* Read as damage it would cost the node its data: it would begin a new incarnation. */
Test(node_refused, a_flag_of_another_version_is_refused)
{
    char name[DISK_NAME_BYTES];

    node_folder_make_unmerged(&folder, STAGE_END_KILL);
    node_folder_restore(&folder);
    cr_assert(node_stage_file(&folder.stage, "log-", 0, name));
    make_flag(name);
    expect_refused(name);
    make_flag(name);
    expect_refused("a newer orbloom wrote a record of it; upgrade to that version");
    node_folder_drop(&folder);
}

/* ---- a name that leaves no number for what comes after it ---- */

enum { MORE_KEYS = 10000 };

/* Start beside it, add some, be killed: all is there, or nothing was accepted. */
static void start_beside(const char *name)
{
    static uint64_t more[MORE_KEYS];

    node_folder_restore(&folder);
    memory_disk_put(folder.stage.disk, name, span_of((const uint8_t *)"?", 1));
    if (node_stage_outcome(&folder.stage, folder.incarnation) == STAGE_REFUSED) {
        return;
    }
    sample_fingerprints(&folder.document, 0, 2, MORE_KEYS, more);
    for (uint32_t i = 0; i < MORE_KEYS; i += FOLDER_COUNT) {
        cr_assert_eq(node_stage_add(&folder.stage, &folder.document, more + i, FOLDER_COUNT),
                     STATUS_OK);
    }
    node_stage_settle_long(&folder.stage);
    cr_assert_not(node_failed(folder.stage.node), "%s", name);
    node_stage_end(&folder.stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_outcome(&folder.stage, folder.incarnation), STAGE_SAME, "%s", name);
    cr_assert_eq(node_stage_absent(&folder.stage, &folder.document, more, MORE_KEYS), 0, "%s",
                 name);
}

Test(node_refused, no_number_is_left)
{
    node_folder_make(&folder, STAGE_END_CLEAN);
    start_beside("log-ffffffffffffffff");
    start_beside("log-fffffffffffffffe");
    start_beside("run-ffffffffffffffff");
    start_beside("run-fffffffffffffffe");
    node_folder_drop(&folder);
}
