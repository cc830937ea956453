/* Files that were changed, cut, swapped or taken away: never a crash, never an acknowledged key
 * absent as the same incarnation. What can't be used is named, set aside and not deleted. */
#include "base/heap.h"
#include "storage/segment.h"
#include "tests/support/node_disk_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum {
    COUNT = 1000,
    BATCHES = 40,
    KEYS = BATCHES * COUNT,
    HEADERS = 200,
    STRIDE = 3989,
    LIMIT_BYTES = 1 << 30
};

static struct node_stage stage;
static struct filter_document document;
static uint64_t keys[KEYS];
static uint64_t incarnation;
static struct memory_disk *folder; /* as a process left it */
static struct node_record record;
static uint32_t nkeys; /* that must not be lost */

/* Several runs and several segments, one filter, 40,000 keys. After a kill nothing tells that the
 * last batch had been synced, so that a change of it looks like a torn tail: it is left out. */
static void make_folder_with(enum stage_end how, uint64_t background_room)
{
    node_stage_init_disk(&stage);
    stage.config.reserve_bytes = LIMIT_BYTES - background_room;
    memory_disk_limit(stage.disk, LIMIT_BYTES);
    stage.config.retain_bytes = (uint64_t)2 * STAGE_DISK_SEGMENT_BYTES;
    cr_assert_eq(node_stage_open(&stage), 0);
    incarnation = stage.incarnation;
    node_stage_filter(&stage, 5, DURABILITY_SYNC, &document);
    node_stage_fingerprints(&document, 0, 1, KEYS, keys);
    for (uint32_t i = 0; i < BATCHES; i++) {
        cr_assert_eq(node_stage_add(&stage, &document, keys + (size_t)i * COUNT, COUNT), STATUS_OK);
    }
    record = stage.record;
    nkeys = how == STAGE_END_KILL ? KEYS - COUNT : KEYS;
    node_stage_end(&stage, how);
    folder = node_stage_copy_disk(&stage);
}

static void make_folder(enum stage_end how)
{
    make_folder_with(how, LIMIT_BYTES);
    cr_assert_geq(node_stage_files(&stage, "run-"), 2);
    cr_assert_geq(node_stage_files(&stage, "log-"), 3);
}

static void drop_folder(void)
{
    memory_disk_destroy(&folder);
    document_fini(&document);
    node_stage_fini_disk(&stage);
    cr_assert_eq(heap_live(), 0);
}

/* The folder once more, as it was. */
static void restore(void)
{
    struct memory_disk *fresh = memory_disk_create();
    struct node_stage source = {.disk = folder, .config.disk = memory_disk_seam(folder)};
    char name[DISK_NAME_BYTES];

    if (stage.node != NULL) {
        node_stage_end(&stage, STAGE_END_KILL);
    }
    for (unsigned i = 0; node_stage_file(&source, "", i, name); i++) {
        memory_disk_put(fresh, name, memory_disk_bytes(folder, name));
    }
    node_stage_use_disk(&stage, fresh);
    stage.record = record;
    stage.incarnation = incarnation;
    document_fini(&document);
    node_stage_make_filter(&stage, 5, DURABILITY_SYNC, &document);
}

/* Start, and see that it is right about what it has. */
static enum stage_outcome expect_honest(const char *what, const char *name, uint64_t place)
{
    enum stage_outcome outcome = node_stage_outcome(&stage, incarnation);
    struct segment segment = node_stage_segment(&document, OPERATION_CHECK, COUNT);
    static struct node_answer answer;

    cr_assert_neq(outcome, STAGE_REFUSED, "%s %s at %u", what, name, (unsigned)place);
    if (outcome == STAGE_SAME) {
        cr_assert_eq(node_stage_absent(&stage, &document, keys, nkeys), 0, "%s %s at %u", what,
                     name, (unsigned)place);
        return outcome;
    }
    cr_assert_geq(node_stage_counter(&stage, "amnesia_total"), 1);
    cr_assert(node_stage_ask_disk(&stage, &segment, keys, &answer));
    cr_assert_neq(answer.segment.status, STATUS_OK, "%s %s at %u", what, name, (unsigned)place);
    cr_assert_neq(answer.segment.state, REPLICA_FULL);
    return outcome;
}

/* What was not in the file is still there, as extra; of a log, what is in sorted runs. */
static void expect_rest(const char *name)
{
    struct node_stage source = {.disk = folder, .config.disk = memory_disk_seam(folder)};
    bool is_run = strncmp(name, "run-", 4) == 0;
    uint64_t files = is_run ? 1 : node_stage_files(&source, "log-");
    uint64_t lost = memory_disk_bytes(folder, name).size / 8 * files;

    cr_assert_lt(lost, nkeys, "it would say nothing");
    node_stage_hand(&stage, &document);
    node_stage_settle(&stage);
    node_stage_adopt(&stage, &document);
    cr_assert_leq(node_stage_absent(&stage, &document, keys, nkeys), lost);
}

/* ---- one bit ---- */

static uint64_t next_place(uint64_t place)
{
    return place < HEADERS ? place + 1 : place + STRIDE;
}

/* Returns how many of the changes were noticed. */
static unsigned flip_in(const char *name)
{
    uint64_t size = memory_disk_bytes(folder, name).size;
    unsigned another = 0;

    for (uint64_t place = 0; place < size; place = next_place(place)) {
        restore();
        memory_disk_flip(stage.disk, name, place * 8 + place % 8);
        if (expect_honest("a bit of", name, place) == STAGE_ANOTHER) {
            another++;
            cr_assert_geq(node_stage_files(&stage, "aside-"), 1);
            if (another % 32 == 1) {
                expect_rest(name);
            }
        }
    }
    restore();
    return another;
}

static void flip_everywhere(enum stage_end how, const char *prefix)
{
    char name[DISK_NAME_BYTES];
    unsigned another = 0;

    make_folder(how);
    for (unsigned i = 0;; i++) {
        struct node_stage source = {.disk = folder, .config.disk = memory_disk_seam(folder)};

        if (!node_stage_file(&source, prefix, i, name)) {
            break;
        }
        if (memory_disk_bytes(folder, name).size > SEGMENT_HEADER_BYTES) {
            another += flip_in(name);
        }
    }
    cr_assert_gt(another, HEADERS);
    drop_folder();
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

/* ---- whole files ---- */

static struct span bytes_of(const char *name)
{
    return memory_disk_bytes(folder, name);
}

/* Do it to every file but the log's last segment: nothing tells that there was more of that. */
static void damage_each(const char *what, void (*damage)(const char *name),
                        void (*judge)(const char *name, enum stage_outcome outcome))
{
    struct node_stage source = {.disk = folder, .config.disk = memory_disk_seam(folder)};
    unsigned count = node_stage_files(&source, "");
    unsigned nsegments = node_stage_files(&source, "log-");
    char name[DISK_NAME_BYTES];

    for (unsigned i = 0; i < count; i++) {
        enum stage_outcome outcome;

        cr_assert(node_stage_file(&source, "", i, name));
        restore();
        damage(name);
        if (i == nsegments - 1) { /* Names of logs come first. */
            cr_assert_neq(node_stage_outcome(&stage, incarnation), STAGE_REFUSED);
            continue;
        }
        outcome = expect_honest(what, name, 0);
        if (judge != NULL) {
            judge(name, outcome);
        }
    }
}

static void take_away(const char *name)
{
    const struct disk *disk = stage.config.disk;

    cr_assert_eq(disk->remove(disk->context, name), STATUS_OK);
    cr_assert_eq(disk->sync_folder(disk->context), STATUS_OK);
}

/* A run, or a segment in the middle, can't be missing; one in front may have been merged. */
static void must_miss(const char *name, enum stage_outcome outcome)
{
    char first[DISK_NAME_BYTES];
    struct node_stage source = {.disk = folder, .config.disk = memory_disk_seam(folder)};

    cr_assert(node_stage_file(&source, "log-", 0, first));
    cr_assert(outcome == STAGE_ANOTHER || strcmp(name, first) == 0, "%s is not missed", name);
    if (outcome == STAGE_ANOTHER) {
        expect_rest(name);
    }
}

Test(node_damage, a_file_that_is_missing)
{
    make_folder(STAGE_END_CLEAN);
    damage_each("all of", take_away, must_miss);
    drop_folder();
}

static void cut(const char *name)
{
    struct span bytes = bytes_of(name);

    memory_disk_put(stage.disk, name, span_of(bytes.data, bytes.size / 2));
}

static void empty(const char *name)
{
    memory_disk_put(stage.disk, name, span_of(NULL, 0));
}

static void zero(const char *name)
{
    static const uint8_t zeros[4 << 20];
    struct span bytes = bytes_of(name);

    cr_assert_leq(bytes.size, sizeof zeros);
    memory_disk_put(stage.disk, name, span_of(zeros, bytes.size));
}

Test(node_damage, a_file_that_was_cut)
{
    make_folder(STAGE_END_CLEAN);
    damage_each("half of", cut, NULL);
    damage_each("nothing of", empty, NULL);
    drop_folder();
}

Test(node_damage, a_file_of_zeros)
{
    make_folder(STAGE_END_CLEAN);
    damage_each("zeros in", zero, NULL);
    drop_folder();
}

/* Two files of one kind, one under the name of the other; also one of them twice. */
static void swap_all(const char *prefix, bool both)
{
    struct node_stage source = {.disk = folder, .config.disk = memory_disk_seam(folder)};
    unsigned count = node_stage_files(&source, prefix);

    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < count; k++) {
            char one[DISK_NAME_BYTES];
            char other[DISK_NAME_BYTES];

            if (i == k || (both && i > k)) {
                continue;
            }
            cr_assert(node_stage_file(&source, prefix, i, one));
            cr_assert(node_stage_file(&source, prefix, k, other));
            restore();
            memory_disk_put(stage.disk, one, bytes_of(other));
            if (both) {
                memory_disk_put(stage.disk, other, bytes_of(one));
            }
            cr_assert_eq(expect_honest("another file as", one, 0), STAGE_ANOTHER);
            cr_assert_geq(node_stage_files(&stage, "aside-"), 1);
        }
    }
}

Test(node_damage, files_that_were_swapped)
{
    make_folder(STAGE_END_CLEAN);
    swap_all("run-", true);
    swap_all("log-", true);
    drop_folder();
}

Test(node_damage, a_file_under_two_names)
{
    make_folder(STAGE_END_CLEAN);
    swap_all("run-", false);
    swap_all("log-", false);
    drop_folder();
}

/* Only sorted runs are left: nothing says what they were, and they are not thrown away. */
Test(node_damage, a_log_that_is_gone_leaves_its_runs_alone)
{
    unsigned runs;
    char name[DISK_NAME_BYTES];

    make_folder(STAGE_END_CLEAN);
    restore();
    runs = node_stage_files(&stage, "run-");
    while (node_stage_file(&stage, "log-", 0, name)) {
        take_away(name);
    }
    cr_assert_eq(expect_honest("the log", "", 0), STAGE_ANOTHER);
    cr_assert_eq(node_stage_files(&stage, "aside-"), runs);
    drop_folder();
}

/* Segments in front of the others that were not merged yet. */
Test(node_damage, a_missing_first_segment_is_missed)
{
    char name[DISK_NAME_BYTES];

    make_folder_with(STAGE_END_CLEAN, 0);
    cr_assert_eq(node_stage_files(&stage, "run-"), 0);
    restore();
    cr_assert(node_stage_file(&stage, "log-", 0, name));
    take_away(name);
    cr_assert_eq(expect_honest("all of", name, 0), STAGE_ANOTHER);
    node_stage_hand(&stage, &document);
    node_stage_settle(&stage);
    node_stage_adopt(&stage, &document);
    cr_assert_leq(node_stage_absent(&stage, &document, keys, nkeys), STAGE_DISK_SEGMENT_BYTES / 8);
    drop_folder();
}

/* Every copy of a filter's document is lost: its runs are kept, as the document comes again. */
Test(node_damage, runs_of_an_unknown_filter_are_kept)
{
    char name[DISK_NAME_BYTES];
    uint64_t run_keys;

    make_folder(STAGE_END_CLEAN);
    restore();
    for (unsigned i = 0; node_stage_file(&stage, "log-", i, name); i++) {
        struct span bytes = memory_disk_bytes(stage.disk, name);
        const uint8_t *found = memmem(bytes.data, bytes.size, document.content.name,
                                      strlen(document.content.name));

        cr_assert(found != NULL);
        memory_disk_flip(stage.disk, name, (uint64_t)(found - bytes.data) * 8);
    }
    cr_assert_eq(node_stage_outcome(&stage, incarnation), STAGE_ANOTHER);
    run_keys = node_stage_counter(&stage, "run_keys");
    cr_assert_gt(run_keys, 0);
    node_stage_settle_long(&stage);
    cr_assert_geq(node_stage_counter(&stage, "run_keys"), run_keys);
    node_stage_hand(&stage, &document);
    node_stage_settle(&stage);
    node_stage_adopt(&stage, &document);
    cr_assert_leq(node_stage_absent(&stage, &document, keys, nkeys), nkeys - run_keys + COUNT);
    drop_folder();
}

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

Test(node_damage, what_is_damaged_is_named)
{
    static const char *const prefixes[] = {"log-", "run-"};

    make_folder(STAGE_END_CLEAN);
    for (size_t i = 0; i < 2; i++) {
        char name[DISK_NAME_BYTES];
        bool named;

        restore();
        cr_assert(node_stage_file(&stage, prefixes[i], 0, name));
        memory_disk_flip(stage.disk, name, 8 * 5000); /* In a record; in a block. */
        listen();
        (void)node_stage_outcome(&stage, incarnation);
        named = was_said(name);
        cr_assert(named, "%s is not named", name);
        cr_assert_neq(stage.incarnation, incarnation);
    }
    drop_folder();
}

/* ---- another cluster's, another version's ---- */

static bool same_bytes(struct span a, struct span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static void expect_unchanged(struct memory_disk *before)
{
    struct node_stage source = {.disk = before, .config.disk = memory_disk_seam(before)};
    char name[DISK_NAME_BYTES];

    cr_assert_eq(node_stage_files(&stage, ""), node_stage_files(&source, ""));
    for (unsigned i = 0; node_stage_file(&source, "", i, name); i++) {
        cr_assert(same_bytes(memory_disk_bytes(stage.disk, name), memory_disk_bytes(before, name)),
                  "%s was changed", name);
    }
}

static void expect_refused(const char *name)
{
    struct memory_disk *before = node_stage_copy_disk(&stage);
    bool named;

    listen();
    node_stage_start(&stage);
    node_stage_settle(&stage);
    named = was_said(name);
    cr_assert(node_failed(stage.node));
    cr_assert(stage.actor.failed(stage.actor.self));
    cr_assert(named, "%s is not named", name);
    node_stage_end(&stage, STAGE_END_CLEAN);
    expect_unchanged(before);
    memory_disk_destroy(&before);
}

Test(node_damage, a_folder_of_another_cluster_is_refused)
{
    char name[DISK_NAME_BYTES];

    make_folder(STAGE_END_CLEAN);
    restore();
    stage.config.key = *sample_foreign_key();
    cr_assert(node_stage_file(&stage, "log-", 0, name));
    expect_refused(name);
    drop_folder();
}

/* Byte 7 is the version, bytes 56 to 64 are the checksum of those before, in both formats. */
static void make_version(const char *name, uint8_t version)
{
    static uint8_t bytes[4 << 20];
    struct span before = bytes_of(name);
    uint64_t checksum;

    cr_assert_leq(before.size, sizeof bytes);
    memcpy(bytes, before.data, before.size);
    bytes[7] = version;
    checksum = XXH3_64bits(bytes, 56);
    memcpy(bytes + 56, &checksum, sizeof checksum);
    memory_disk_put(stage.disk, name, span_of(bytes, before.size));
}

Test(node_damage, a_folder_of_another_version_is_refused)
{
    static const char *const prefixes[] = {"log-", "run-"};
    static const uint8_t versions[] = {0, 2, 255};

    make_folder(STAGE_END_CLEAN);
    for (size_t i = 0; i < 6; i++) {
        char name[DISK_NAME_BYTES];

        restore();
        cr_assert(node_stage_file(&stage, prefixes[i % 2], 1, name));
        make_version(name, versions[i / 2]);
        expect_refused(name);
    }
    drop_folder();
}

/* ... also where something else is damaged: whoever can read it all will judge that. */
Test(node_damage, a_version_is_refused_before_anything_is_set_aside)
{
    char bad[DISK_NAME_BYTES];
    char newer[DISK_NAME_BYTES];

    make_folder(STAGE_END_CLEAN);
    for (unsigned i = 0; i < 2; i++) {
        restore();
        cr_assert(node_stage_file(&stage, "run-", i, bad));
        cr_assert(node_stage_file(&stage, "run-", 1 - i, newer));
        memory_disk_flip(stage.disk, bad, 100);
        make_version(newer, 2);
        expect_refused(newer);
    }
    drop_folder();
}

/* ---- a loss that is found, and then another end ---- */

static void damage_log(void)
{
    char name[DISK_NAME_BYTES];
    struct node_stage source = {.disk = folder, .config.disk = memory_disk_seam(folder)};

    cr_assert(node_stage_file(&source, "log-", 1, name));
    memory_disk_flip(stage.disk, name, 20000 * 8);
}

/* Killed after so many steps of the first start on damaged data. Returns whether it had come to
 * its end. */
static bool kill_after(unsigned steps)
{
    bool went_on = true;

    node_stage_start(&stage);
    for (unsigned i = 0; i < steps && went_on; i++) {
        node_stage_turn(&stage);
        went_on = node_stage_run(&stage, JOB_BACKGROUND) || node_stage_run(&stage, JOB_COMMIT);
    }
    node_stage_end(&stage, STAGE_END_KILL);
    return !went_on;
}

/* The evidence must outlive the process that found it, until the new incarnation is on the disk. */
Test(node_damage, a_loss_is_not_forgotten_by_a_kill_while_it_is_found)
{
    bool ended = false;

    make_folder(STAGE_END_CLEAN);
    for (unsigned steps = 0; !ended; steps++) {
        restore();
        damage_log();
        ended = kill_after(steps);
        cr_assert_eq(node_stage_outcome(&stage, incarnation), STAGE_ANOTHER, "%u steps", steps);
        cr_assert_lt(steps, 1000);
    }
    restore();
    drop_folder();
}

/* Once told a loss is over: a later start goes on as what the first one began. */
Test(node_damage, a_loss_is_found_once)
{
    char name[DISK_NAME_BYTES];

    make_folder(STAGE_END_CLEAN);
    for (unsigned kind = 0; kind < 2; kind++) {
        uint64_t second;

        restore();
        if (kind == 0) {
            damage_log();
        } else {
            const struct disk *disk = memory_disk_seam(stage.disk);

            cr_assert(node_stage_file(&stage, "run-", 0, name));
            cr_assert_eq(disk->remove(disk->context, name), STATUS_OK);
        }
        cr_assert_eq(expect_honest("lost", "file", kind), STAGE_ANOTHER);
        node_stage_settle_long(&stage);
        second = stage.incarnation;
        node_stage_end(&stage, STAGE_END_KILL);
        cr_assert_eq(node_stage_outcome(&stage, second), STAGE_SAME, "kind %u", kind);
    }
    restore();
    drop_folder();
}
