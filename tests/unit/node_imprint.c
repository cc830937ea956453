/* An imprint of an array stands in for sorted runs at a start, and nothing depends on it: whatever
 * is wrong with it, all keys are there, and no bit that it alone had. */
#include "base/heap.h"
#include "node/private.h"
#include "node/store/private.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000, POOL = 16000, LATER = 4000, OTHERS = 2000 };

static struct node_stage stage;
static struct filter_document document;
static uint64_t keys[POOL + LATER + OTHERS];
static uint64_t lines = 128; /* of a shard */
static uint64_t added;       /* of the pool, then of LATER */

static void open_stage(uint64_t imprint_bytes)
{
    node_stage_init_disk(&stage);
    stage.config.imprint_bytes = imprint_bytes;
    stage.config.steps[STEP_LOAD_PAGES] = 2;
    stage.config.steps[STEP_SNAPSHOT_PAGES] = 3;
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_make_filter(&stage, 5, DURABILITY_SYNC, &document);
    document.generations[0].geometry.lines = lines;
    node_stage_hand(&stage, &document);
    node_stage_settle(&stage);
    sample_fingerprints(&document, 0, 1, POOL + LATER + OTHERS, keys);
    added = 0;
}

static void close_stage(void)
{
    document_fini(&document);
    node_stage_fini_disk(&stage);
    cr_assert_eq(heap_live(), 0);
}

static void add(uint32_t from)
{
    cr_assert_eq(node_stage_add(&stage, &document, keys + from, COUNT), STATUS_OK);
    added = from + COUNT > added ? from + COUNT : added;
}

static struct arrays *array(void)
{
    struct document_entry *entry = document_cache_find(&stage.node->documents, document.id);
    struct hosted_filter *hosted = entry->attachment;

    cr_assert_not_null(hosted->set);
    return hosted->set;
}

static uint64_t count_of_keys(void)
{
    return array()->groups[0].keys;
}

static uint64_t imprints(void)
{
    return node_stage_counter(&stage, "imprints_total");
}

/* The pool again and again, until there is one more than before. */
static void add_until_imprint(void)
{
    uint64_t before = imprints();

    for (uint32_t i = 0; imprints() == before; i++) {
        cr_assert_lt(i, 1000, "there is never an imprint");
        add(i * COUNT % POOL);
        node_stage_settle_long(&stage);
    }
}

/* What is in no imprint: in runs that were merged of what it has and what it has not, and in the
 * log. */
static void add_later(void)
{
    stage.node->storage->config.imprint_bytes = UINT64_MAX; /* No other one is taken. */
    for (uint32_t i = 0; i < 200; i++) {
        add(i % 2 == 0 ? i * COUNT % POOL : POOL + i / 2 * COUNT % LATER);
        node_stage_settle(&stage);
    }
    node_stage_settle_long(&stage);
}

static void expect_keys(void)
{
    cr_assert_eq(node_stage_absent(&stage, &document, keys, (uint32_t)added), 0);
    cr_assert_gt(node_stage_absent(&stage, &document, keys + POOL + LATER, OTHERS), OTHERS / 2,
                 "what was never added is mostly absent");
}

/* Half of the pool, and an imprint is due. */
static void add_runs(void)
{
    stage.node->storage->config.imprint_bytes = UINT64_MAX;
    for (uint32_t n = 0; n < 40; n++) {
        add(n * COUNT % (POOL / 2));
    }
    node_stage_settle_long(&stage);
    cr_assert_eq(imprints(), 0);
    stage.node->storage->config.imprint_bytes = 1;
    stage.node->storage->imprints.looked = false;
}

/* A start whose imprint is of no use. */
static void expect_refused(void)
{
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_geq(node_stage_counter(&stage, "imprints_refused_total"), 1);
    cr_assert_eq(node_stage_counter(&stage, "imprints_read_total"), 0);
    cr_assert_eq(node_stage_counter(&stage, "amnesia_total"), 0, "it is no loss");
    expect_keys();
}

/* ---- what it is for ---- */

Test(node_imprint, a_start_reads_it_and_what_came_later)
{
    static const enum stage_end ends[] = {STAGE_END_CLEAN, STAGE_END_KILL, STAGE_END_POWER};

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        uint64_t before;

        open_stage(1);
        add_until_imprint();
        cr_assert_eq(node_stage_files(&stage, "imprint-"), 1, "only the newest");
        cr_assert_gt(node_stage_counter(&stage, "imprint_bytes"), 0);
        before = count_of_keys();
        node_stage_end(&stage, ends[i]);
        cr_assert_eq(node_stage_open(&stage), 0);
        cr_assert_eq(node_stage_counter(&stage, "imprints_read_total"), 1);
        cr_assert_lt(node_stage_counter(&stage, "replayed_keys_total"), POOL,
                     "the runs were not read");
        cr_assert_eq(count_of_keys(), before);
        expect_keys();

        add_later();
        before = count_of_keys();
        for (int again = 0; again < 3; again++) {
            node_stage_end(&stage, ends[i]);
            cr_assert_eq(node_stage_open(&stage), 0);
            cr_assert_eq(node_stage_counter(&stage, "imprints_read_total"), 1);
            cr_assert_eq(count_of_keys(), before);
            expect_keys();
            stage.node->storage->config.imprint_bytes = UINT64_MAX;
        }
        close_stage();
    }
}

Test(node_imprint, a_newer_one_takes_the_place_of_the_one_before)
{
    open_stage(1);
    add_until_imprint();
    for (uint32_t i = 0; i < 100; i++) {
        add(POOL + i * COUNT % LATER);
    }
    node_stage_settle_long(&stage);
    add_until_imprint();
    node_stage_settle_long(&stage);
    cr_assert_eq(node_stage_files(&stage, "imprint-"), 1);
    node_stage_end(&stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_eq(node_stage_counter(&stage, "imprints_read_total"), 1);
    expect_keys();
    close_stage();
}

/* Nothing is added, so no run says that it is time to look. */
Test(node_imprint, when_the_array_is_another_one_there_is_a_new_imprint)
{
    for (int i = 0; i < 3; i++) {
        struct storage_imprint *imprint;

        open_stage(1);
        add_until_imprint();
        imprint = &stage.node->storage->imprints.items[0];
        imprint->id.generation += i == 0;
        imprint->geometry.seed += i == 1;
        imprint->shards += i == 2;
        for (int seconds = 0; seconds < 60 && imprints() < 2; seconds++) {
            stage.now_us += 1000000;
            node_stage_settle(&stage);
        }
        cr_assert_eq(imprints(), 2);
        node_stage_settle_long(&stage);
        cr_assert_eq(node_stage_files(&stage, "imprint-"), 1);
        close_stage();
    }
}

Test(node_imprint, small_arrays_have_none)
{
    static const uint64_t sizes[] = {0, 1 << 20};

    for (size_t i = 0; i < 2; i++) {
        open_stage(sizes[i]);
        for (uint32_t n = 0; n < 100; n++) {
            add(n * COUNT % POOL);
        }
        node_stage_settle_long(&stage);
        cr_assert_eq(imprints(), 0);
        node_stage_end(&stage, STAGE_END_KILL);
        cr_assert_eq(node_stage_open(&stage), 0);
        expect_keys();
        close_stage();
    }
}

Test(node_imprint, it_goes_when_none_are_wanted_any_more)
{
    open_stage(1);
    add_until_imprint();
    node_stage_end(&stage, STAGE_END_KILL);
    stage.config.imprint_bytes = 0;
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_eq(node_stage_files(&stage, "imprint-"), 0);
    expect_keys();
    close_stage();
}

Test(node_imprint, of_an_array_with_bits_that_no_record_has_none_is_taken)
{
    open_stage(1);
    add(0);
    array()->strays = true;
    for (uint32_t n = 0; n < 100; n++) {
        add(n * COUNT % POOL);
    }
    node_stage_settle_long(&stage);
    cr_assert_eq(imprints(), 0);
    close_stage();
}

/* Adds go on while pages are copied: some of their bits are in the pages, some are not. */
Test(node_imprint, keys_added_while_it_is_taken_are_counted_once)
{
    struct subrequest subrequest;
    uint64_t before;
    uint64_t after;
    uint32_t n = 0;

    open_stage(1);
    add_runs();
    while (stage.node->storage->snapshot == NULL) {
        stage.now_us += 1000000;
        (void)stage.actor.work(stage.actor.self, stage.now_us);
        cr_assert_lt(n++, 10);
    }
    n = (uint32_t)stage.batches;
    for (uint32_t i = 0; i < 8; i++) {
        subrequest = node_stage_subrequest(&document, OPERATION_ADD, COUNT);
        subrequest.batch.number = ++n;
        fake_forget(&stage.fake);
        node_stage_send(&stage, &subrequest, 1, keys + (8 + i) * COUNT, 5);
        node_stage_turn(&stage);
        (void)node_stage_run(&stage, JOB_BACKGROUND); /* a slice */
        cr_assert_not_null(stage.node->storage->snapshot, "it is still being taken");
    }
    stage.batches = n;
    added = POOL;
    node_stage_settle_long(&stage);
    cr_assert_geq(imprints(), 1);
    before = count_of_keys();
    node_stage_end(&stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_eq(node_stage_counter(&stage, "imprints_read_total"), 1);
    after = count_of_keys();
    /* 8,000 came meanwhile: within a few square roots of that, where a count at either end would
     * be wrong by half of them. */
    cr_assert(after + 400 > before && after < before + 400, "%u, was %u", (unsigned)after,
              (unsigned)before);
    expect_keys();
    close_stage();
}

static void step(void)
{
    node_stage_turn(&stage);
    (void)node_stage_run(&stage, JOB_COMMIT);
    (void)node_stage_run(&stage, JOB_BACKGROUND);
    (void)node_stage_run(&stage, JOB_MEMORY);
}

static const struct arrays *array_if_any(void)
{
    struct document_entry *entry = document_cache_find(&stage.node->documents, document.id);
    const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;

    return hosted != NULL ? hosted->set : NULL;
}

static void settle_registered(void)
{
    node_stage_settle(&stage);
    (void)node_stage_meet(&stage);
    node_stage_settle(&stage);
}

/* All but the log was read when memory is short, so it begins with the imprint once more. */
Test(node_imprint, a_replay_that_begins_again_counts_the_same)
{
    uint64_t before;
    bool runs_read = false;

    open_stage(1);
    add_until_imprint();
    add_later();
    before = count_of_keys();
    node_stage_end(&stage, STAGE_END_KILL);
    node_stage_start(&stage);
    for (int steps = 0; !runs_read; steps++) {
        cr_assert_lt(steps, 100000);
        step();
        runs_read = array_if_any() != NULL && array_if_any()->runs_read &&
                    !stage.node->replay.active;
        if (!runs_read) {
            (void)stage.actor.work(stage.actor.self, stage.now_us);
        }
    }
    for (int steps = 0; array()->runs_read; steps++) {
        cr_assert_lt(steps, 100000);
        heap_fault_after(0);
        (void)stage.actor.work(stage.actor.self, stage.now_us);
        heap_fault_clear();
    }
    settle_registered();
    cr_assert_eq(node_stage_counter(&stage, "imprints_read_total"), 2);
    expect_keys();
    cr_assert_eq(count_of_keys(), before);
    close_stage();
}

/* Some pages were read when its reading ends, and the imprint goes before it begins again. */
Test(node_imprint, of_one_that_is_not_read_to_its_end_nothing_is_missing_in_the_count)
{
    struct storage_load *load;
    uint64_t before;

    open_stage(1);
    add_until_imprint();
    add_later();
    before = count_of_keys();
    node_stage_end(&stage, STAGE_END_KILL);
    stage.config.imprint_bytes = UINT64_MAX;
    node_stage_start(&stage);
    load = &stage.node->replay.load;
    for (int steps = 0; !load->imprint || load->npages == 0; steps++) {
        cr_assert_lt(steps, 100000);
        step();
        (void)stage.actor.work(stage.actor.self, stage.now_us);
    }
    cr_assert_not(load->end);
    storage_load_stop(stage.node->storage, load);
    storage_imprints_forget(stage.node->storage);
    load->done(load, stage.now_us, STATUS_NOMEM);
    settle_registered();
    cr_assert_eq(node_stage_counter(&stage, "imprints_read_total"), 0);
    expect_keys();
    cr_assert(count_of_keys() + 400 > before && count_of_keys() < before + 400, "%u, was %u",
              (unsigned)count_of_keys(), (unsigned)before);
    close_stage();
}

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
    return cluster_id_tag(&stage.config.cluster);
}

static void forge_begin(struct forgery *self)
{
    uint64_t number;

    *self = (struct forgery){.disk = memory_disk_seam(stage.disk)};
    cr_assert(node_stage_file(&stage, "imprint-", 0, self->name));
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

static void open_with_imprint(void)
{
    open_stage(1);
    add_until_imprint();
    add_later();
    node_stage_end(&stage, STAGE_END_KILL);
}

/* Its first pages are good as far as their checksums go, and full of bits. */
Test(node_imprint, of_the_pages_before_a_damaged_one_nothing_stays)
{
    struct forgery forgery;
    struct span bytes;

    open_with_imprint();
    forge_begin(&forgery);
    forge_end(&forgery);
    bytes = memory_disk_bytes(stage.disk, forgery.name);
    memory_disk_flip(stage.disk, forgery.name, bytes.size * 5);
    expect_refused();
    close_stage();
}

Test(node_imprint, a_flipped_bit_anywhere_is_no_loss)
{
    struct memory_disk *kept;

    open_with_imprint();
    kept = node_stage_copy_disk(&stage);
    for (uint32_t part = 0; part < 16; part++) {
        struct node_stage source = {.disk = kept, .config.disk = memory_disk_seam(kept)};
        char name[DISK_NAME_BYTES];
        uint64_t bits;

        node_stage_use_disk(&stage, node_stage_copy_disk(&source));
        cr_assert(node_stage_file(&stage, "imprint-", 0, name));
        bits = memory_disk_bytes(stage.disk, name).size * 8;
        memory_disk_flip(stage.disk, name, bits / 16 * part + part);
        expect_refused();
        node_stage_end(&stage, STAGE_END_KILL);
        memset(&stage.record, 0, sizeof stage.record);
    }
    memory_disk_destroy(&kept);
    cr_assert_eq(node_stage_open(&stage), 0);
    close_stage();
}

Test(node_imprint, one_that_was_cut_is_no_loss)
{
    char name[DISK_NAME_BYTES];
    struct span bytes;

    open_with_imprint();
    cr_assert(node_stage_file(&stage, "imprint-", 0, name));
    bytes = memory_disk_bytes(stage.disk, name);
    memory_disk_put(stage.disk, name, span_of(bytes.data, bytes.size / 2));
    expect_refused();
    close_stage();
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

        open_with_imprint();
        forge_begin(&forgery);
        bend(&forgery, (enum wrong)wrong);
        forge_end(&forgery);
        cr_assert_eq(node_stage_open(&stage), 0);
        cr_assert_eq(node_stage_counter(&stage, "imprints_read_total"), 0, "%d", wrong);
        cr_assert_eq(node_stage_counter(&stage, "amnesia_total"), 0);
        expect_keys();
        close_stage();
    }
}

Test(node_imprint, of_another_number_than_its_name_says_it_is_not_believed)
{
    struct forgery forgery;

    open_with_imprint();
    forge_begin(&forgery);
    forge_end(&forgery);
    cr_assert_eq(
        forgery.disk->rename(forgery.disk->context, forgery.name, "imprint-0000000000000777"),
        STATUS_OK);
    expect_refused();
    close_stage();
}

/* A run that is lost is in its bits. */
Test(node_imprint, it_goes_with_the_life_that_it_was_of)
{
    char name[DISK_NAME_BYTES];
    uint64_t incarnation;

    open_with_imprint();
    incarnation = stage.incarnation;
    cr_assert(node_stage_file(&stage, "run-", 0, name));
    cr_assert_eq(stage.config.disk->remove(stage.config.disk->context, name), STATUS_OK);
    cr_assert_eq(node_stage_outcome(&stage, incarnation), STAGE_ANOTHER);
    cr_assert_eq(node_stage_counter(&stage, "imprints_read_total"), 0);
    cr_assert_eq(node_stage_counter(&stage, "imprints_refused_total"), 1);
    close_stage();
}

/* ---- runs of an older release, which say nothing of their place in the log ---- */

static void cut_runs(void)
{
    struct record_run runs[64];
    size_t nruns = stage.node->storage->nruns;

    cr_assert_leq(nruns, sizeof runs / sizeof runs[0]);
    memcpy(runs, stage.node->storage->runs, nruns * sizeof *runs);
    node_stage_end(&stage, STAGE_END_CLEAN);
    for (size_t i = 0; i < nruns; i++) {
        char name[DISK_NAME_BYTES];

        run_name(runs[i].number, name);
        memory_disk_put(
            stage.disk, name,
            span_of(memory_disk_bytes(stage.disk, name).data, run_bytes(runs[i].count)));
    }
}

/* The first start reads them, and takes an imprint that has them. */
Test(node_imprint, after_an_upgrade_runs_are_read_once)
{
    uint64_t read[3];

    open_stage(1);
    add_until_imprint();
    node_stage_settle_long(&stage);
    cut_runs();
    for (int boot = 0; boot < 3; boot++) {
        memset(&stage.record, 0, sizeof stage.record);
        cr_assert_eq(node_stage_open(&stage), 0);
        read[boot] = node_stage_counter(&stage, "replayed_keys_total");
        for (int i = 0; i < 5; i++) {
            stage.now_us += 20000000;
            node_stage_settle_long(&stage);
        }
        expect_keys();
        node_stage_end(&stage, STAGE_END_CLEAN);
    }
    cr_assert_geq(read[0], POOL / 2, "of these nobody knows where they are");
    cr_assert_lt(read[1], read[0] / 4);
    cr_assert_lt(read[2], read[0] / 4);
    cr_assert_eq(node_stage_open(&stage), 0);
    close_stage();
}

Test(node_imprint, runs_that_can_t_be_written_to_are_no_loss)
{
    for (int64_t operation = 0; operation < 40; operation++) {
        uint64_t incarnation;

        open_stage(1);
        add_until_imprint();
        incarnation = stage.incarnation;
        cut_runs();
        memory_disk_fail_once(stage.disk, operation, STATUS_IO);
        (void)node_stage_open(&stage);
        node_stage_end(&stage, STAGE_END_POWER);
        memory_disk_fail_after(stage.disk, MEMORY_DISK_NEVER);
        cr_assert_eq(node_stage_outcome(&stage, incarnation), STAGE_SAME);
        expect_keys();
        close_stage();
    }
}

/* ---- the log has lost what was durable, and looks whole ---- */

static void remove_newest_segment(void)
{
    char name[DISK_NAME_BYTES];
    unsigned count = node_stage_files(&stage, "log-");
    bool begun = false;

    while (!begun) { /* Behind it are those that were made ahead. */
        cr_assert(node_stage_file(&stage, "log-", --count, name));
        begun = memory_disk_bytes(stage.disk, name).data[0] == 'O';
        cr_assert_eq(stage.config.disk->remove(stage.config.disk->context, name), STATUS_OK);
    }
}

/* Of all that was added, when the log's newest segment is gone. */
static void lose_segment(void)
{
    uint64_t before;

    open_stage(1);
    add_until_imprint();
    add(POOL);
    storage_imprints_forget(stage.node->storage);
    stage.node->storage->config.imprint_eager = true;
    before = imprints();
    for (uint32_t i = 0; imprints() == before; i++) {
        cr_assert_lt(i, 100);
        stage.now_us += 20000000;
        node_stage_settle_long(&stage);
    }
    node_stage_end(&stage, STAGE_END_KILL);
    remove_newest_segment();
}

static void expect_another_life(uint64_t incarnation)
{
    stage.config.imprint_bytes = UINT64_MAX; /* That life takes none. */
    cr_assert_eq(node_stage_outcome(&stage, incarnation), STAGE_ANOTHER);
    cr_assert_eq(node_stage_counter(&stage, "amnesia_total"), 1);
    cr_assert_eq(node_stage_counter(&stage, "imprints_read_total"), 0);
    node_stage_settle_long(&stage);
    cr_assert_eq(node_stage_files(&stage, "imprint-"), 0, "it has shown what it could");
}

Test(node_imprint, one_that_knows_of_a_loss_tells_it)
{
    uint64_t incarnation;

    lose_segment();
    incarnation = stage.incarnation;
    expect_another_life(incarnation);
    cr_assert_gt(node_stage_files(&stage, "aside-"), 0, "runs that only the lost part named");
    close_stage();
}

/* Until the loss is written down the next start must find it, too. */
Test(node_imprint, it_tells_of_a_loss_however_often_a_start_is_cut_short)
{
    static const enum stage_end ends[] = {STAGE_END_KILL, STAGE_END_POWER};

    for (int64_t operation = 0; operation < 30; operation++) {
        uint64_t incarnation;

        lose_segment();
        incarnation = stage.incarnation;
        memory_disk_fail_after(stage.disk, operation);
        node_stage_start(&stage);
        node_stage_settle_long(&stage);
        node_stage_end(&stage, ends[operation % 2]);
        memory_disk_fail_after(stage.disk, MEMORY_DISK_NEVER);
        cr_assert_eq(node_stage_outcome(&stage, incarnation), STAGE_ANOTHER, "%d", (int)operation);
        close_stage();
    }
}

Test(node_imprint, of_a_boot_before_it_tells_of_a_loss_as_well)
{
    struct forgery forgery;
    uint64_t incarnation;

    open_with_imprint();
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_end(&stage, STAGE_END_KILL);
    forge_begin(&forgery);
    forgery.id.end += 1 << 30;
    forge_end(&forgery);
    incarnation = stage.incarnation;
    expect_another_life(incarnation);
    close_stage();
}

/* ---- while it is taken ---- */

/* The disk fails at any of the operations that take one, then the process ends in either way. */
Test(node_imprint, a_crash_at_any_moment_loses_nothing)
{
    static const enum stage_end ends[] = {STAGE_END_KILL, STAGE_END_POWER};
    bool taken = false;

    for (int64_t operation = 0; !taken; operation++) {
        cr_assert_lt(operation, 400);
        for (size_t i = 0; i < 2; i++) {
            open_stage(1);
            add_runs();
            memory_disk_fail_after(stage.disk, operation);
            node_stage_settle_long(&stage);
            taken = imprints() > 0 && !node_failed(stage.node);
            node_stage_end(&stage, ends[i]);
            memory_disk_fail_after(stage.disk, MEMORY_DISK_NEVER);
            cr_assert_eq(node_stage_open(&stage), 0);
            cr_assert_eq(node_stage_counter(&stage, "amnesia_total"), 0);
            expect_keys();
            close_stage();
        }
    }
}

Test(node_imprint, without_room_none_is_taken_and_adds_go_on)
{
    open_stage(1);
    memory_disk_limit(stage.disk, (uint64_t)24 * STAGE_DISK_SEGMENT_BYTES);
    stage.config.reserve_bytes = 0;
    stage.node->storage->config.reserve_bytes = (uint64_t)1 << 40;
    for (uint32_t n = 0; n < 8; n++) {
        add(n * COUNT % POOL);
    }
    node_stage_settle_long(&stage);
    cr_assert_eq(imprints(), 0);
    cr_assert_eq(node_stage_files(&stage, "imprint-"), 0);
    expect_keys();
    close_stage();
}

/* A disk that fails for an imprint only; the log goes on. */
Test(node_imprint, one_that_can_t_be_written_harms_nothing)
{
    for (int64_t operation = 0; operation < 6; operation++) {
        open_stage(1);
        add_runs();
        memory_disk_fail_once(stage.disk, operation, STATUS_IO);
        node_stage_settle_long(&stage);
        cr_assert_not(node_failed(stage.node));
        memory_disk_fail_after(stage.disk, MEMORY_DISK_NEVER);
        expect_keys();
        close_stage();
    }
}

/* ---- a disk that refuses something about imprints only ---- */

static struct disk refusing;
static unsigned opens_left;

static bool is_imprint(const char *name)
{
    uint64_t number;

    return imprint_name_parse(name, &number);
}

static enum status refuse_open(void *context, const char *name, uint32_t *file, uint64_t *size)
{
    if (is_imprint(name) && opens_left == 0) {
        return STATUS_IO;
    }
    opens_left -= is_imprint(name);
    return memory_disk_seam(stage.disk)->open(context, name, file, size);
}

static enum status refuse_remove(void *context, const char *name)
{
    return is_imprint(name) ? STATUS_IO : memory_disk_seam(stage.disk)->remove(context, name);
}

/* The start's look at it is the first. */
Test(node_imprint, one_that_can_t_be_opened_is_no_loss)
{
    for (unsigned opens = 0; opens < 2; opens++) {
        open_with_imprint();
        refusing = *stage.config.disk;
        refusing.open = refuse_open;
        opens_left = opens;
        stage.config.disk = &refusing;
        stage.config.imprint_bytes = UINT64_MAX;
        expect_refused();
        node_stage_settle_long(&stage);
        cr_assert_eq(node_stage_files(&stage, "imprint-"), 0);
        close_stage();
    }
}

Test(node_imprint, one_that_can_t_be_removed_harms_nothing)
{
    open_with_imprint();
    refusing = *stage.config.disk;
    refusing.remove = refuse_remove;
    stage.config.disk = &refusing;
    stage.config.imprint_bytes = 0;
    cr_assert_eq(node_stage_open(&stage), 0);
    expect_keys();
    node_stage_end(&stage, STAGE_END_KILL);
    stage.config.imprint_bytes = UINT64_MAX;
    cr_assert_eq(node_stage_open(&stage), 0);
    storage_imprints_forget(stage.node->storage);
    node_stage_settle_long(&stage);
    cr_assert_not(node_failed(stage.node));
    expect_keys();
    close_stage();
}

/* ---- when the disk is full ---- */

static void open_eager(void)
{
    lines = 1024;
    open_stage(1);
    stage.node->storage->config.imprint_eager = true;
    add_until_imprint();
}

Test(node_imprint, it_goes_before_adds_lack_room)
{
    open_eager();
    memory_disk_limit(stage.disk, 0);
    for (uint32_t i = 0; i < 30; i++) { /* Several segments. */
        enum status status = node_stage_add(&stage, &document, keys, COUNT);

        cr_assert(status == STATUS_OK || status == STATUS_NO_SPACE);
    }
    node_stage_settle_long(&stage);
    cr_assert_eq(node_stage_files(&stage, "imprint-"), 0);
    cr_assert_eq(node_stage_add(&stage, &document, keys, COUNT), STATUS_OK, "its room is theirs");
    expect_keys();
    close_stage();
}

static void begin_one(void)
{
    for (int seconds = 0; stage.node->storage->snapshot == NULL; seconds++) {
        cr_assert_lt(seconds, 100);
        stage.now_us += 1000000;
        (void)stage.actor.work(stage.actor.self, stage.now_us);
    }
}

/* Slice after slice, in all moments: it is being copied, waits for the log, or is whole. */
Test(node_imprint, one_that_is_being_taken_goes_before_adds_lack_room)
{
    bool taken = false;

    for (unsigned slices = 0; !taken; slices++) {
        struct storage *storage;

        open_stage(1);
        add_runs();
        begin_one();
        storage = stage.node->storage;
        for (unsigned i = 0; i < slices && storage->snapshot != NULL; i++) {
            (void)node_stage_run(&stage, JOB_BACKGROUND);
        }
        taken = storage->snapshot == NULL;
        storage_imprints_make_room(storage, stage.now_us);
        cr_assert_not(storage_snapshot_yield(storage), "once");
        node_stage_settle_long(&stage);
        cr_assert_eq(imprints(), taken);
        cr_assert_eq(node_stage_files(&stage, "imprint-"), 0);
        expect_keys();
        close_stage();
        cr_assert_lt(slices, 1000);
    }
}

/* Groups came or went when the lane was about to end it. */
Test(node_imprint, one_that_is_whole_and_counts_no_more_goes)
{
    bool taken = false;

    for (unsigned slices = 0; !taken; slices++) {
        struct storage *storage;

        open_stage(1);
        add_runs();
        begin_one();
        storage = stage.node->storage;
        for (unsigned i = 0; i < slices && storage->snapshot != NULL; i++) {
            step();
        }
        taken = storage->snapshot == NULL;
        array()->hosting += !taken;
        stage.node->storage->config.imprint_bytes = UINT64_MAX;
        node_stage_settle_long(&stage);
        cr_assert_eq(imprints(), taken);
        cr_assert_eq(node_stage_files(&stage, "imprint-"), taken);
        close_stage();
        cr_assert_lt(slices, 1000);
    }
}

Test(node_imprint, it_goes_before_a_start_lacks_room)
{
    open_eager();
    node_stage_end(&stage, STAGE_END_KILL);
    memory_disk_limit(stage.disk, 0);
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_eq(node_stage_files(&stage, "imprint-"), 0);
    expect_keys();
    close_stage();
}
