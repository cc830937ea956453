/* Jobs of a simulated process, and a small user of its disk that counts on both contracts. */
#include "base/heap.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_memory.h"

#include <criterion/criterion.h>

enum { SEEDS = 120, STEPS_MOST = 400, RECORDS = 4000 };

static const char name[] = "log-0000000000000001";

/* A log of numbers 1, 2, 3...: each commit writes and syncs some more. */
struct ledger {
    struct job commit;
    struct job look; /* in the other lane */
    struct sim_process *process;
    uint32_t file;
    uint64_t asked;   /* numbers up to this one are to be written */
    uint64_t written; /* by run() */
    uint64_t acked;   /* by done() */
    uint64_t nran;
    uint64_t ndone;
    uint64_t looks;
    bool failed;
    bool stop;
};

static struct sim_coverage *coverage;
static struct sim *sim;
static struct ledger ledger;
static size_t live;

static struct disk *disk(void)
{
    return &ledger.process->disk->memory.seam;
}

static void submit(enum job_lane lane, struct job *job)
{
    ledger.process->effects.submit(ledger.process->effects.context, lane, job);
}

static void run_commit(struct job *job)
{
    uint64_t number = ledger.written + 1;

    (void)job;
    ledger.nran++;
    cr_assert_eq(ledger.nran, ledger.ndone + 1, "a job runs before the end of the one before");
    ledger.failed = disk()->write(disk()->context, ledger.file, 8 * ledger.written,
                                  span_of(&number, sizeof number)) != STATUS_OK ||
                    disk()->sync(disk()->context, ledger.file) != STATUS_OK;
    ledger.written = number;
}

static void done_commit(struct job *job, uint64_t now_us)
{
    cr_assert_not(ledger.process->paused);
    cr_assert_eq(now_us, sim_process_now(ledger.process));
    cr_assert_eq(ledger.ndone + 1, ledger.nran);
    ledger.ndone++;
    if (ledger.failed) {
        return;
    }
    ledger.acked = ledger.written;
    if (!ledger.stop && ledger.acked < RECORDS) {
        submit(JOB_COMMIT, job);
    }
}

static void run_look(struct job *job)
{
    uint64_t number;

    (void)job;
    if (ledger.acked > 0 && disk()->read(disk()->context, ledger.file, 8 * (ledger.acked - 1),
                                         &number, sizeof number) == STATUS_OK) {
        cr_assert_eq(number, ledger.acked);
    }
}

static void done_look(struct job *job, uint64_t now_us)
{
    (void)now_us;
    ledger.looks++;
    submit(JOB_BACKGROUND, job);
}

/* An actor that does nothing but what its jobs do. */
static uint64_t never(void *self)
{
    (void)self;
    return ACTOR_NEVER;
}

static void idle(void *self, uint64_t at_us)
{
    (void)self;
    (void)at_us;
}

static bool no_work(void *self, uint64_t at_us)
{
    (void)self;
    (void)at_us;
    return false;
}

static bool start(void *context, struct sim_process *process, struct actor *actor)
{
    (void)context;
    (void)process;
    *actor = (struct actor){.next_us = never, .turn = idle, .time = idle, .work = no_work};
    return true;
}

static void leave(void *context)
{
    (void)context;
}

static const struct sim_program program = {.start = start, .finish = leave, .destroy = leave};

static void begin(uint64_t seed)
{
    live = heap_live();
    coverage = sim_memory_alloc(1, sizeof *coverage);
    sim = sim_create(seed, (struct sim_options){.disks = SIM_DISKS_ALWAYS}, coverage);
    ledger = (struct ledger){
        .process = sim_process_of(sim, SIM_NODE, 0),
        .commit = {.run = run_commit, .done = done_commit},
        .look = {.run = run_look, .done = done_look},
    };
    ledger.process->program = &program;
    sim_process_start(ledger.process);
    cr_assert_eq(disk()->create(disk()->context, name, 8 * RECORDS, &ledger.file), STATUS_OK);
    cr_assert_eq(disk()->sync(disk()->context, ledger.file), STATUS_OK);
    cr_assert_eq(disk()->sync_folder(disk()->context), STATUS_OK);
    submit(JOB_COMMIT, &ledger.commit);
    submit(JOB_BACKGROUND, &ledger.look);
}

static void end(void)
{
    sim_destroy(&sim);
    heap_free(coverage);
    cr_assert_eq(heap_live(), live);
}

static void step(uint64_t times)
{
    for (uint64_t i = 0; i < times && sim_step(sim); i++) {
    }
}

/* A random number of steps of the seed's own. */
static void step_some(uint64_t seed)
{
    struct sim_random random;

    sim_random_init(&random, seed, 99);
    step(1 + sim_random_below(&random, STEPS_MOST));
}

/* How many numbers are in the file, without a gap. */
static uint64_t count_kept(void)
{
    const struct span bytes = memory_disk_bytes(&ledger.process->disk->memory, name);
    uint64_t count = 0;
    uint64_t number;

    for (; 8 * count < bytes.size; count++) {
        memcpy(&number, bytes.data + 8 * count, sizeof number);
        if (number != count + 1) {
            break;
        }
    }
    return count;
}

Test(sim_jobs, what_was_synced_and_told_survives_power_loss)
{
    uint64_t lost = 0;
    uint64_t unheard = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed);
        step_some(seed);
        sim_process_kill(ledger.process);
        sim_disk_lose_power(ledger.process->disk);
        cr_assert_geq(count_kept(), ledger.acked, "seed %zu", (size_t)seed);
        lost += count_kept() < ledger.written;
        unheard += count_kept() > ledger.acked;
        end();
    }
    cr_assert_gt(lost, 0, "power fails between run() and the end of its sync");
    cr_assert_gt(unheard, 0, "... and between that and done()");
}

Test(sim_jobs, a_killed_process_leaves_what_ran_and_hears_no_more)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t ndone;

        begin(seed);
        step_some(seed);
        sim_process_kill(ledger.process);
        ndone = ledger.ndone;
        step(STEPS_MOST);
        cr_assert_eq(ledger.ndone, ndone);
        cr_assert_eq(count_kept(), ledger.written);
        end();
    }
}

Test(sim_jobs, a_job_of_a_former_life_neither_runs_nor_ends)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t nran;

        begin(seed);
        step_some(seed);
        sim_process_kill(ledger.process);
        nran = ledger.nran + ledger.ndone + ledger.looks;
        sim_process_start(ledger.process);
        step(STEPS_MOST);
        cr_assert_eq(ledger.nran + ledger.ndone + ledger.looks, nran);
        end();
    }
}

Test(sim_jobs, a_paused_process_neither_runs_nor_hears)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t before;
        uint64_t ndone;

        begin(seed);
        step_some(seed);
        sim_process_pause(ledger.process);
        ndone = ledger.ndone;
        before = ledger.nran + ledger.ndone + ledger.looks;
        step(STEPS_MOST);
        cr_assert_eq(ledger.nran + ledger.ndone + ledger.looks, before);
        sim_process_resume(ledger.process);
        step(20 * STEPS_MOST);
        cr_assert_gt(ledger.ndone, ndone + 1, "it goes on");
        end();
    }
}

Test(sim_jobs, lanes_do_not_wait_for_each_other)
{
    begin(1);
    step(20 * STEPS_MOST);
    cr_assert_gt(ledger.ndone, 10);
    cr_assert_gt(ledger.looks, 2 * ledger.ndone, "reads are faster than syncs");
    end();
}

Test(sim_jobs, a_failed_commit_is_not_told_as_done)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed);
        step_some(seed);
        sim_disk_fail(ledger.process->disk, SIM_DISK_EIO, 1 + seed % 5);
        step(STEPS_MOST);
        sim_process_kill(ledger.process);
        sim_disk_lose_power(ledger.process->disk);
        cr_assert_geq(count_kept(), ledger.acked);
        end();
    }
}

static uint64_t hash_of(uint64_t seed)
{
    uint64_t hash;

    begin(seed);
    step(2 * STEPS_MOST);
    hash = sim->trace.hash ^ ledger.process->disk->digest;
    end();
    return hash;
}

Test(sim_jobs, the_same_seed_gives_the_same_course)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        cr_assert_eq(hash_of(seed), hash_of(seed));
        cr_assert_neq(hash_of(seed), hash_of(seed + 1));
    }
}
