/* Nothing depends on an imprint: whatever is wrong with it, all keys are there, and no bit that it
 * alone had; and where it shows that the log has lost something, that is told. */
#include "base/heap.h"
#include "node/private.h"
#include "node/store/private.h"
#include "tests/support/imprint_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- whatever is wrong with it ---- */

/* The imprint that is there, by another one: of `id` and `shape`, all bits of its pages set. */
struct forgery {
    char name[DISK_NAME_BYTES];
    struct record_snapshot id;
    struct snapshot_shape shape;
    struct snapshot_reader *reader;
    struct disk *disk;
    bool pages_as_they_are;
};

static uint64_t tag(void)
{
    return cluster_id_tag(&imprint_stage.config.cluster);
}

static void forge_begin(struct forgery *self)
{
    uint64_t number;

    *self = (struct forgery){.disk = memory_disk_seam(imprint_stage.disk)};
    cr_assert(node_stage_file(&imprint_stage, "imprint-", 0, self->name));
    cr_assert(imprint_name_parse(self->name, &number));
    cr_assert_eq(imprint_reader_create(self->disk, tag(), number, &self->id, &self->reader),
                 STATUS_OK);
    self->shape = *snapshot_reader_shape(self->reader);
}

static void forge_end(struct forgery *self)
{
    static uint8_t page[SNAPSHOT_PAGE_BYTES];
    struct snapshot_writer *writer = NULL;
    size_t count;

    cr_assert_eq(self->disk->remove(self->disk->context, self->name), STATUS_OK);
    cr_assert_eq(snapshot_writer_create(self->disk, tag(), &self->id, &self->shape, &writer),
                 STATUS_OK);
    for (uint64_t i = 0; i < snapshot_npages(&self->shape); i++) {
        cr_assert_eq(snapshot_reader_next(self->reader, page, 1, &count), STATUS_OK);
        if (!self->pages_as_they_are) {
            memset(page, 0xff, sizeof page);
        }
        cr_assert_eq(snapshot_writer_add(writer, page, 1), STATUS_OK);
    }
    cr_assert_eq(snapshot_writer_finish(writer, self->id.end, self->shape.groups), STATUS_OK);
    snapshot_writer_destroy(&writer);
    snapshot_reader_destroy(&self->reader);
}

/* Its first pages are good as far as their checksums go, and full of bits. */
Test(node_imprint, of_the_pages_before_a_damaged_one_nothing_stays)
{
    struct forgery forgery;
    struct span bytes;

    imprint_open_with_one();
    forge_begin(&forgery);
    forge_end(&forgery);
    bytes = memory_disk_bytes(imprint_stage.disk, forgery.name);
    memory_disk_flip(imprint_stage.disk, forgery.name, bytes.size * 5);
    imprint_expect_refused();
    imprint_close_stage();
}

Test(node_imprint, a_flipped_bit_anywhere_is_no_loss)
{
    struct memory_disk *kept;

    imprint_open_with_one();
    kept = node_stage_copy_disk(&imprint_stage);
    for (uint32_t part = 0; part < 16; part++) {
        struct node_stage source = {.disk = kept, .config.disk = memory_disk_seam(kept)};
        char name[DISK_NAME_BYTES];
        uint64_t bits;

        node_stage_use_disk(&imprint_stage, node_stage_copy_disk(&source));
        cr_assert(node_stage_file(&imprint_stage, "imprint-", 0, name));
        bits = memory_disk_bytes(imprint_stage.disk, name).size * 8;
        memory_disk_flip(imprint_stage.disk, name, bits / 16 * part + part);
        imprint_expect_refused();
        node_stage_end(&imprint_stage, STAGE_END_KILL);
        memset(&imprint_stage.record, 0, sizeof imprint_stage.record);
    }
    memory_disk_destroy(&kept);
    cr_assert_eq(node_stage_open(&imprint_stage), 0);
    imprint_close_stage();
}

Test(node_imprint, one_that_was_cut_is_no_loss)
{
    char name[DISK_NAME_BYTES];
    struct span bytes;

    imprint_open_with_one();
    cr_assert(node_stage_file(&imprint_stage, "imprint-", 0, name));
    bytes = memory_disk_bytes(imprint_stage.disk, name);
    memory_disk_put(imprint_stage.disk, name, span_of(bytes.data, bytes.size / 2));
    imprint_expect_refused();
    imprint_close_stage();
}

enum wrong {
    OTHER_INCARNATION,
    OTHER_BOOT,
    OTHER_GENERATION,
    OTHER_SEED,
    OTHER_KEYSET,
    LESS_SHARDS,
    NWRONGS
};

static void bend(struct forgery *self, enum wrong wrong)
{
    switch (wrong) {
    case OTHER_INCARNATION:
        self->shape.life.incarnation++;
        break;
    case OTHER_BOOT:
        self->shape.life.boot++;
        break;
    case OTHER_GENERATION:
        self->id.generation++;
        break;
    case OTHER_SEED:
        self->shape.geometry.seed++;
        break;
    case OTHER_KEYSET:
        self->id.keyset++;
        break;
    case LESS_SHARDS:
        self->shape.nshards--;
        self->pages_as_they_are = true;
        break;
    case NWRONGS:
        break;
    }
}

Test(node_imprint, one_that_is_of_something_else_is_no_loss_and_not_believed)
{
    for (int wrong = 0; wrong < NWRONGS; wrong++) {
        struct forgery forgery;

        imprint_open_with_one();
        forge_begin(&forgery);
        bend(&forgery, (enum wrong)wrong);
        forge_end(&forgery);
        cr_assert_eq(node_stage_open(&imprint_stage), 0);
        cr_assert_eq(node_stage_counter(&imprint_stage, "imprints_read_total"), 0, "%d", wrong);
        cr_assert_eq(node_stage_counter(&imprint_stage, "amnesia_total"), 0);
        imprint_expect_keys();
        imprint_close_stage();
    }
}

Test(node_imprint, of_another_number_than_its_name_says_it_is_not_believed)
{
    struct forgery forgery;

    imprint_open_with_one();
    forge_begin(&forgery);
    forge_end(&forgery);
    cr_assert_eq(
        forgery.disk->rename(forgery.disk->context, forgery.name, "imprint-0000000000000777"),
        STATUS_OK);
    imprint_expect_refused();
    imprint_close_stage();
}

/* A run that is lost is in its bits. */
Test(node_imprint, it_goes_with_the_life_that_it_was_of)
{
    char name[DISK_NAME_BYTES];
    uint64_t incarnation;

    imprint_open_with_one();
    incarnation = imprint_stage.incarnation;
    cr_assert(node_stage_file(&imprint_stage, "run-", 0, name));
    cr_assert_eq(imprint_stage.config.disk->remove(imprint_stage.config.disk->context, name),
                 STATUS_OK);
    cr_assert_eq(node_stage_outcome(&imprint_stage, incarnation), STAGE_ANOTHER);
    cr_assert_eq(node_stage_counter(&imprint_stage, "imprints_read_total"), 0);
    cr_assert_eq(node_stage_counter(&imprint_stage, "imprints_refused_total"), 1);
    imprint_close_stage();
}

/* ---- runs of an older release, which say nothing of their place in the log ---- */

static void cut_runs(void)
{
    struct record_run runs[64];
    size_t nruns = imprint_stage.node->storage->nruns;

    cr_assert_leq(nruns, sizeof runs / sizeof runs[0]);
    memcpy(runs, imprint_stage.node->storage->runs, nruns * sizeof *runs);
    node_stage_end(&imprint_stage, STAGE_END_CLEAN);
    for (size_t i = 0; i < nruns; i++) {
        char name[DISK_NAME_BYTES];

        run_name(runs[i].number, name);
        memory_disk_put(
            imprint_stage.disk, name,
            span_of(memory_disk_bytes(imprint_stage.disk, name).data, run_bytes(runs[i].count)));
    }
}

/* The first start reads them, and takes an imprint that has them. */
Test(node_imprint, after_an_upgrade_runs_are_read_once)
{
    uint64_t read[3];

    imprint_open_stage(1);
    imprint_add_until_one();
    node_stage_settle_long(&imprint_stage);
    cut_runs();
    for (int boot = 0; boot < 3; boot++) {
        memset(&imprint_stage.record, 0, sizeof imprint_stage.record);
        cr_assert_eq(node_stage_open(&imprint_stage), 0);
        read[boot] = node_stage_counter(&imprint_stage, "replayed_keys_total");
        for (int i = 0; i < 5; i++) {
            imprint_stage.now_us += 20000000;
            node_stage_settle_long(&imprint_stage);
        }
        imprint_expect_keys();
        node_stage_end(&imprint_stage, STAGE_END_CLEAN);
    }
    cr_assert_geq(read[0], IMPRINT_POOL / 2, "of these nobody knows where they are");
    cr_assert_lt(read[1], read[0] / 4);
    cr_assert_lt(read[2], read[0] / 4);
    cr_assert_eq(node_stage_open(&imprint_stage), 0);
    imprint_close_stage();
}

Test(node_imprint, runs_that_can_t_be_written_to_are_no_loss)
{
    for (int64_t operation = 0; operation < 40; operation++) {
        uint64_t incarnation;

        imprint_open_stage(1);
        imprint_add_until_one();
        incarnation = imprint_stage.incarnation;
        cut_runs();
        memory_disk_fail_once(imprint_stage.disk, operation, STATUS_IO);
        (void)node_stage_open(&imprint_stage);
        node_stage_end(&imprint_stage, STAGE_END_POWER);
        memory_disk_fail_after(imprint_stage.disk, MEMORY_DISK_NEVER);
        cr_assert_eq(node_stage_outcome(&imprint_stage, incarnation), STAGE_SAME);
        imprint_expect_keys();
        imprint_close_stage();
    }
}

/* ---- the log has lost what was durable, and looks whole ---- */

static void remove_newest_segment(void)
{
    char name[DISK_NAME_BYTES];
    unsigned count = node_stage_files(&imprint_stage, "log-");
    bool begun = false;

    while (!begun) { /* Behind it are those that were made ahead. */
        cr_assert(node_stage_file(&imprint_stage, "log-", --count, name));
        begun = memory_disk_bytes(imprint_stage.disk, name).data[0] == 'O';
        cr_assert_eq(imprint_stage.config.disk->remove(imprint_stage.config.disk->context, name),
                     STATUS_OK);
    }
}

/* Of all that was added, when the log's newest segment is gone. */
static void lose_segment(void)
{
    uint64_t before;

    imprint_open_stage(1);
    imprint_add_until_one();
    imprint_add(IMPRINT_POOL);
    storage_imprints_forget(imprint_stage.node->storage);
    imprint_stage.node->storage->config.imprint_eager = true;
    before = imprint_count();
    for (uint32_t i = 0; imprint_count() == before; i++) {
        cr_assert_lt(i, 100);
        imprint_stage.now_us += 20000000;
        node_stage_settle_long(&imprint_stage);
    }
    node_stage_end(&imprint_stage, STAGE_END_KILL);
    remove_newest_segment();
}

static void expect_another_life(uint64_t incarnation)
{
    imprint_stage.config.imprint_bytes = UINT64_MAX; /* That life takes none. */
    cr_assert_eq(node_stage_outcome(&imprint_stage, incarnation), STAGE_ANOTHER);
    cr_assert_eq(node_stage_counter(&imprint_stage, "amnesia_total"), 1);
    cr_assert_eq(node_stage_counter(&imprint_stage, "imprints_read_total"), 0);
    node_stage_settle_long(&imprint_stage);
    cr_assert_eq(node_stage_files(&imprint_stage, "imprint-"), 0, "it has shown what it could");
}

Test(node_imprint, one_that_knows_of_a_loss_tells_it)
{
    uint64_t incarnation;

    lose_segment();
    incarnation = imprint_stage.incarnation;
    expect_another_life(incarnation);
    cr_assert_gt(node_stage_files(&imprint_stage, "aside-"), 0,
                 "runs that only the lost part named");
    imprint_close_stage();
}

/* Until the loss is written down the next start must find it, too. */
Test(node_imprint, it_tells_of_a_loss_however_often_a_start_is_cut_short)
{
    static const enum stage_end ends[] = {STAGE_END_KILL, STAGE_END_POWER};

    for (int64_t operation = 0; operation < 30; operation++) {
        uint64_t incarnation;

        lose_segment();
        incarnation = imprint_stage.incarnation;
        memory_disk_fail_after(imprint_stage.disk, operation);
        node_stage_start(&imprint_stage);
        node_stage_settle_long(&imprint_stage);
        node_stage_end(&imprint_stage, ends[operation % 2]);
        memory_disk_fail_after(imprint_stage.disk, MEMORY_DISK_NEVER);
        cr_assert_eq(node_stage_outcome(&imprint_stage, incarnation), STAGE_ANOTHER, "%d",
                     (int)operation);
        imprint_close_stage();
    }
}

static struct disk refusing;

static enum status refuse_remove(void *context, const char *name)
{
    uint64_t number;

    return imprint_name_parse(name, &number)
               ? STATUS_IO
               : memory_disk_seam(imprint_stage.disk)->remove(context, name);
}

/* It is of the life before, so the next start takes it for no other loss. */
Test(node_imprint, one_that_has_told_of_a_loss_and_can_t_be_removed_tells_it_once)
{
    uint64_t incarnation;

    lose_segment();
    incarnation = imprint_stage.incarnation;
    refusing = *imprint_stage.config.disk;
    refusing.remove = refuse_remove;
    imprint_stage.config.disk = &refusing;
    imprint_stage.config.imprint_bytes = UINT64_MAX;
    cr_assert_eq(node_stage_outcome(&imprint_stage, incarnation), STAGE_ANOTHER);
    node_stage_settle_long(&imprint_stage);
    cr_assert_not(node_failed(imprint_stage.node));
    cr_assert_gt(node_stage_files(&imprint_stage, "imprint-"), 0);
    node_stage_end(&imprint_stage, STAGE_END_KILL);
    imprint_stage.config.disk = memory_disk_seam(imprint_stage.disk);
    incarnation = imprint_stage.incarnation;
    cr_assert_eq(node_stage_outcome(&imprint_stage, incarnation), STAGE_SAME);
    cr_assert_eq(node_stage_files(&imprint_stage, "imprint-"), 0);
    imprint_close_stage();
}

Test(node_imprint, of_a_boot_before_it_tells_of_a_loss_as_well)
{
    struct forgery forgery;
    uint64_t incarnation;

    imprint_open_with_one();
    cr_assert_eq(node_stage_open(&imprint_stage), 0);
    node_stage_end(&imprint_stage, STAGE_END_KILL);
    forge_begin(&forgery);
    forgery.id.end += 1 << 30;
    forge_end(&forgery);
    incarnation = imprint_stage.incarnation;
    expect_another_life(incarnation);
    imprint_close_stage();
}
