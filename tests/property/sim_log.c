/* A log keeps what was acknowledged through many lives of its process, whatever the disk does
 * within its contract; and what a flipped bit takes is noticed. The writer and the survey of
 * lib/log, on a simulated disk with jobs in virtual time. */
#include "base/heap.h"
#include "log/log_reader.h"
#include "log/log_writer.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_memory.h"

#include <criterion/criterion.h>

enum {
    SEEDS = 150,
    LIVES = 12,
    STEPS_MOST = 300,
    TRIES = 50,
    CLUSTER = 77,
    SEGMENT_BYTES = 64 << 10,
    BATCH_KEYS_MOST = 600,
    TURN_US = 150,
};

/* Writes numbers 1, 2, 3... in batches. */
struct keeper {
    struct sim_process *process;
    struct log_writer *writer;
    uint64_t next;     /* number to write */
    uint64_t acked;    /* numbers up to this one were promised to be kept */
    uint64_t ends[64]; /* of batches not yet acknowledged, in order */
    uint64_t lasts[64];
    size_t nopen;
    uint64_t turn_us;
    uint64_t seen; /* by the survey under way: numbers up to this one */
    bool flipped;
    bool lost; /* the survey says so */
    bool failed;
    uint64_t rolls;
    uint64_t surveys;
};

static struct sim_coverage *coverage;
static struct sim *sim;
static struct keeper keeper;
static uint64_t seed_now;

/* ---- the actor ---- */

static void on_moved(void *context, uint64_t now_us)
{
    size_t done = 0;

    (void)context;
    (void)now_us;
    while (done < keeper.nopen && keeper.ends[done] <= log_writer_synced(keeper.writer)) {
        keeper.acked = keeper.lasts[done++];
    }
    keeper.nopen -= done;
    memmove(keeper.ends, keeper.ends + done, keeper.nopen * sizeof keeper.ends[0]);
    memmove(keeper.lasts, keeper.lasts + done, keeper.nopen * sizeof keeper.lasts[0]);
}

static void on_failed(void *context, enum status status, const char *what)
{
    (void)context;
    cr_assert(status == STATUS_IO || status == STATUS_NO_SPACE, "%s: %s", what,
              status_code(status));
    keeper.failed = true;
}

static void append(void)
{
    uint64_t numbers[BATCH_KEYS_MOST];
    struct record_batch batch = {.filter_id = 1, .epoch = 1, .ntargets = 1};
    enum status status = STATUS_OK;
    uint8_t *body;

    batch.count = 1 + (uint32_t)sim_random_below(&keeper.process->random, BATCH_KEYS_MOST);
    batch.fingerprints = numbers;
    for (uint32_t i = 0; i < batch.count; i++) {
        numbers[i] = keeper.next + i;
    }
    body = log_writer_append(keeper.writer, RECORD_BATCH, 0, record_batch_size(&batch), false,
                             &keeper.ends[keeper.nopen], &status);
    if (body == NULL) {
        cr_assert(status == STATUS_NO_SPACE || status == STATUS_OVERLOADED || status == STATUS_IO);
        return;
    }
    record_batch_put(body - RECORD_HEADER_BYTES, &batch);
    keeper.next += batch.count;
    keeper.lasts[keeper.nopen++] = keeper.next - 1;
}

static void turn(void *self, uint64_t now_us)
{
    uint64_t segment = log_writer_segment(keeper.writer);

    (void)self;
    (void)now_us;
    for (uint64_t i = sim_random_below(&keeper.process->random, 3); i > 0 && keeper.nopen < 60;
         i--) {
        append();
    }
    keeper.rolls += log_writer_segment(keeper.writer) != segment;
    if (sim_random_chance(&keeper.process->random, 100)) {
        log_writer_want_sync(keeper.writer);
    }
    log_writer_turn(keeper.writer);
}

static uint64_t next_us(void *self)
{
    (void)self;
    return keeper.turn_us;
}

static void on_time(void *self, uint64_t now_us)
{
    (void)self;
    keeper.turn_us = now_us + TURN_US;
}

static bool work(void *self, uint64_t now_us)
{
    (void)self;
    (void)now_us;
    return false;
}

static bool has_failed(void *self)
{
    (void)self;
    return keeper.failed;
}

/* ---- its lives ---- */

static enum status visit(void *context, const struct record_header *header, struct span record)
{
    struct record_batch batch;

    (void)context;
    if (header->type == RECORD_BATCH) {
        cr_assert_eq(record_batch_get(record, &batch), STATUS_OK);
        if (keeper.flipped && keeper.seen == 0) {
            keeper.seen = batch.fingerprints[0] - 1; /* An older segment may not be found. */
        }
        cr_assert_eq(batch.fingerprints[0], keeper.seen + 1, "seed %zu: %zu follows %zu",
                     (size_t)seed_now, (size_t)batch.fingerprints[0], (size_t)keeper.seen);
        keeper.seen += batch.count;
    }
    return STATUS_OK;
}

/* False: the disk failed meanwhile. */
static bool survey(struct log_survey *found)
{
    keeper.seen = 0;
    if (log_survey_make(&keeper.process->disk->memory.seam, CLUSTER, visit, NULL, found) !=
        STATUS_OK) {
        return false;
    }
    keeper.surveys++;
    keeper.lost = found->state == LOG_CORRUPT || (found->count > 0 && found->extents[0].first > 0);
    if (!keeper.flipped) {
        cr_assert(found->state == LOG_OK || found->state == LOG_EMPTY, "seed %zu: %s: %s at %zu",
                  (size_t)seed_now, found->reason, found->bad_name, (size_t)found->bad_at);
    }
    if (!keeper.lost) {
        cr_assert_geq(keeper.seen, keeper.acked, "seed %zu: acknowledged to %zu, found to %zu",
                      (size_t)seed_now, (size_t)keeper.acked, (size_t)keeper.seen);
    }
    return true;
}

static bool start(void *context, struct sim_process *process, struct actor *actor)
{
    struct log_survey found;
    struct log_writer_config config = {
        .disk = &process->disk->memory.seam,
        .effects = &process->effects,
        .cluster = CLUSTER,
        .incarnation = 5,
        .boot = sim_random_next(&process->random),
        .segment_bytes = SEGMENT_BYTES,
        .sync = seed_now % 3 != 0,
        .moved = on_moved,
        .failed = on_failed,
    };

    (void)context;
    if (!survey(&found)) {
        return false;
    }
    config.first = found.count > 0 ? found.extents[found.count - 1].end : 0;
    config.number = found.next_number;
    log_survey_fini(&found);
    cr_assert_eq(log_writer_create(&config, &keeper.writer), STATUS_OK);
    keeper.next = keeper.seen + 1;
    keeper.acked = keeper.seen; /* The survey has synced it. */
    keeper.nopen = 0;
    keeper.failed = false;
    keeper.turn_us = 0;
    *actor = (struct actor){
        .turn = turn, .next_us = next_us, .time = on_time, .work = work, .over = has_failed};
    return true;
}

static void finish(void *context)
{
    (void)context;
    if (!keeper.failed && log_writer_finish(keeper.writer) == STATUS_OK) {
        keeper.acked = keeper.next - 1;
    }
}

static void destroy(void *context)
{
    (void)context;
    log_writer_destroy(&keeper.writer);
}

static const struct sim_program program = {.start = start, .finish = finish, .destroy = destroy};

static void step(uint64_t times)
{
    for (uint64_t i = 0; i < times && keeper.process->alive && sim_step(sim); i++) {
    }
}

/* While it lives. */
static void trouble(struct sim_random *random)
{
    struct sim_disk *disk = keeper.process->disk;

    switch (sim_random_below(random, 6)) {
    case 0:
        sim_disk_fail(disk, SIM_DISK_CRASH, 1 + sim_random_below(random, 12));
        step(STEPS_MOST);
        break;
    case 1:
        sim_disk_fail(disk, SIM_DISK_EIO, 1 + sim_random_below(random, 12));
        step(STEPS_MOST);
        break;
    case 2:
        memory_disk_limit(&disk->memory, sim_random_below(random, 2 * SEGMENT_BYTES));
        step(STEPS_MOST);
        break;
    case 3:
        if (!keeper.failed) {
            sim_process_stop(keeper.process);
        }
        break;
    default:
        break;
    }
}

/* It ends somehow; its machine may end with it. */
static void end_life(struct sim_random *random)
{
    struct sim_disk *disk = keeper.process->disk;

    if (keeper.process->alive) {
        trouble(random);
    }
    if (keeper.process->alive) {
        sim_process_kill(keeper.process);
    }
    /* What a failed sync has dropped can still be read until then. */
    if (disk->memory.diverged || sim_random_chance(random, 500)) {
        sim_disk_lose_power(disk);
    }
    memory_disk_limit(&disk->memory, UINT64_MAX);
}

/* The start may fail itself. */
static void begin_life(struct sim_random *random)
{
    for (int i = 0; i < TRIES && !keeper.process->alive; i++) {
        sim_process_start(keeper.process);
        if (sim_random_chance(random, 100) && keeper.process->alive) {
            sim_disk_fail(keeper.process->disk, SIM_DISK_CRASH, 1 + sim_random_below(random, 6));
        }
    }
    cr_assert(keeper.process->alive);
}

static void live(struct sim_random *random, int lives)
{
    for (int i = 0; i < lives; i++) {
        begin_life(random);
        step(sim_random_below(random, STEPS_MOST));
        end_life(random);
    }
}

static void begin(uint64_t seed)
{
    seed_now = seed;
    coverage = sim_memory_alloc(1, sizeof *coverage);
    sim = sim_create(seed, (struct sim_options){.disks = SIM_DISKS_ALWAYS}, coverage);
    sim->scenario.calm = true; /* Nobody else breaks its disk. */
    keeper.process = sim_process_of(sim, SIM_NODE, 0);
    keeper.process->program = &program;
    keeper.acked = 0;
    keeper.flipped = false;
}

static void end(void)
{
    sim_destroy(&sim);
    heap_free(coverage);
}

Test(sim_log, what_was_acknowledged_is_found_in_every_later_life)
{
    size_t alive = heap_live();
    uint64_t acked = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_random random;

        sim_random_init(&random, seed, 98);
        begin(seed);
        live(&random, LIVES);
        begin_life(&random);
        acked += keeper.acked;
        end();
    }
    cr_assert_eq(heap_live(), alive);
    cr_log_info("%zu acknowledged, %zu segments begun, %zu surveys", (size_t)acked,
                (size_t)keeper.rolls, (size_t)keeper.surveys);
    cr_assert(acked > 100000 && keeper.rolls > 100);
}

Test(sim_log, a_flipped_bit_that_takes_something_is_noticed)
{
    int noticed = 0;
    int harmless = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_random random;
        struct log_survey found;

        sim_random_init(&random, seed, 97);
        begin(seed);
        live(&random, 3);
        keeper.flipped = sim_disk_flip(keeper.process->disk);
        sim_disk_attach(keeper.process->disk);
        cr_assert(survey(&found));
        log_survey_fini(&found);
        sim_disk_detach(keeper.process->disk);
        noticed += keeper.lost;
        harmless += keeper.flipped && !keeper.lost;
        end();
    }
    cr_assert(noticed > SEEDS / 3, "%d noticed, %d harmless", noticed, harmless);
}
