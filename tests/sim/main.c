/* The simulator: whole clusters in virtual time. See docs/simulator.md.
 *
 *   sim [--long] [--seeds N | --seeds A-B] [--keep-going]   many seeds, one line each that fails
 *   sim [--long] --seed N [--trace]                         one seed again, with its trace
 *
 * With --scenario NAME (in capitals, sim_scenario.h) all seeds have that one.
 */
#include "base/heap.h"
#include "base/log.h"
#include "base/number.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_memory.h"
#include "tests/sim/sim_seeds.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DEFAULT_SEEDS = 1000,
    MOST_FAILURES = 40, /* without a lost key among them: then it is time to look at one */
    FULL_SET = 1000,    /* as many must reach everything */
    TWICE_EVERY = 25,   /* one seed in so many is run twice and must be the same run */
    EXIT_USAGE = 2,
    MMAP_FROM_BYTES = 4 << 20,
};

struct options {
    struct sim_options run;
    struct sim_seeds seeds;
    bool one;
    bool trace;
    bool keep_going;
};

/* What became of one run. */
struct outcome {
    bool failed;
    uint64_t hash;
    char failure[SIM_FAILURE_BYTES];
};

static struct outcome run_once(uint64_t seed, struct sim_options options,
                               struct sim_coverage *coverage, bool detailed, bool printed)
{
    size_t live = heap_live();
    struct sim *sim = sim_create(seed, options, coverage);
    struct outcome outcome = {0};

    sim->trace.detailed = detailed;
    sim->trace.printed = printed;
    sim_run(sim);
    outcome.failed = sim->failed;
    outcome.hash = sim->trace.hash;
    memcpy(outcome.failure, sim->failure, sizeof outcome.failure);
    if (detailed && !printed) {
        sim_trace_print(&sim->trace);
    }
    sim_destroy(&sim);
    if (!outcome.failed && heap_live() != live) {
        outcome.failed = true;
        (void)snprintf(outcome.failure, sizeof outcome.failure, "%zu allocations are never freed",
                       heap_live() - live);
    }
    return outcome;
}

/* A failing seed is run again for its trace: the texts cost more than the run. */
static void report(uint64_t seed, struct sim_options options, const struct outcome *outcome)
{
    struct sim_coverage *coverage = sim_memory_alloc(1, sizeof *coverage);

    (void)printf("\nseed %" PRIu64 ", the last of its trace:\n", seed);
    (void)run_once(seed, options, coverage, true, false);
    (void)printf("seed %" PRIu64 ": %s\n  again: build/tests/sim%s --seed %" PRIu64 " --trace\n",
                 seed, outcome->failure, options.lengthy ? " --long" : "", seed);
    heap_free(coverage);
}

static void run_twice(uint64_t seed, struct sim_options options, struct outcome *outcome)
{
    struct sim_coverage *coverage = sim_memory_alloc(1, sizeof *coverage);
    struct outcome second = run_once(seed, options, coverage, false, false);

    if (!outcome->failed && second.hash != outcome->hash) {
        outcome->failed = true;
        (void)snprintf(outcome->failure, sizeof outcome->failure,
                       "two runs differ: traces %016" PRIx64 " and %016" PRIx64, outcome->hash,
                       second.hash);
    }
    heap_free(coverage);
}

static void print_speed(const struct sim_coverage *coverage, double took_s)
{
    (void)printf("%" PRIu64 " runs in %.1f s of CPU: %.0f seeds/s, %" PRIu64
                 " messages (%.0f a second), "
                 "%" PRIu64 " answers judged, %" PRIu64 " keys looked for in replicas, %.0f s of "
                 "virtual time\n",
                 coverage->runs, took_s, (double)coverage->runs / took_s, coverage->delivered,
                 (double)coverage->delivered / took_s, coverage->answers, coverage->held,
                 (double)coverage->virtual_us / 1e6);
    (void)printf("a run: %" PRIu64 " messages and %" PRIu64 " faults, at least %" PRIu64
                 " and %" PRIu64 "\n",
                 coverage->delivered / coverage->runs, coverage->events / coverage->runs,
                 coverage->least_delivered, coverage->least_events);
}

/* All seeds of a range, and the one to look at. */
struct series {
    uint64_t passed;
    uint64_t failed;
    uint64_t seed; /* the first that failed, or the first that lost a key */
    struct outcome outcome;
};

static bool loses_key(const struct outcome *outcome)
{
    return strncmp(outcome->failure, "lost key", 8) == 0 ||
           strncmp(outcome->failure, "forgotten key", 13) == 0;
}

/* A lost key is what to look at first; it ends the series. */
static void take_failure(struct series *self, uint64_t seed, const struct outcome *outcome)
{
    (void)printf("seed %" PRIu64 ": %s\n", seed, outcome->failure);
    if (self->failed == 0 || (loses_key(outcome) && !loses_key(&self->outcome))) {
        self->seed = seed;
        self->outcome = *outcome;
    }
    self->failed++;
}

static void run_series(const struct options *options, struct sim_coverage *coverage,
                       struct series *series)
{
    for (uint64_t seed = options->seeds.first; seed <= options->seeds.last; seed++) {
        struct outcome outcome = run_once(seed, options->run, coverage, false, false);

        if (seed % TWICE_EVERY == 0) {
            run_twice(seed, options->run, &outcome);
        }
        if (!outcome.failed) {
            series->passed++;
            continue;
        }
        take_failure(series, seed, &outcome);
        if (!options->keep_going && (loses_key(&outcome) || series->failed == MOST_FAILURES)) {
            return;
        }
    }
}

static int run_many(const struct options *options)
{
    struct sim_coverage *coverage = sim_memory_alloc(1, sizeof *coverage);
    struct series series = {0};
    double started_s = sim_seeds_cpu_s();

    run_series(options, coverage, &series);
    if (series.failed > 0) {
        report(series.seed, options->run, &series.outcome);
    }
    print_speed(coverage, sim_seeds_cpu_s() - started_s);
    if (series.failed == 0 && series.passed >= FULL_SET) {
        uint32_t gaps;

        sim_coverage_print(coverage);
        gaps = sim_coverage_gaps(coverage);
        series.passed += gaps == 0;
        series.failed += gaps > 0;
    }
    heap_free(coverage);
    (void)printf("%" PRIu64 " passed, %" PRIu64 " failed\n", series.passed, series.failed);
    return series.failed == 0 && series.passed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_one(const struct options *options)
{
    struct sim_coverage *coverage = sim_memory_alloc(1, sizeof *coverage);
    struct outcome outcome = run_once(options->seeds.first, options->run, coverage, true,
                                      options->trace);

    (void)printf("seed %" PRIu64 ": %s; trace %016" PRIx64 ", %" PRIu64 " messages, %" PRIu64
                 " faults\n",
                 options->seeds.first, outcome.failed ? outcome.failure : "every promise held",
                 outcome.hash, coverage->delivered, coverage->events);
    heap_free(coverage);
    (void)printf("%d passed, %d failed\n", !outcome.failed, outcome.failed);
    return outcome.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static bool parse(int argc, char **argv, struct options *options)
{
    bool good = true;

    *options = (struct options){.run = {.disks = SIM_DISKS_DRAWN}, .seeds = {1, DEFAULT_SEEDS}};
    for (int i = 1; i < argc && good; i++) {
        bool has_value = i + 1 < argc;

        if (strcmp(argv[i], "--seeds") == 0 && has_value) {
            good = sim_seeds_parse(argv[++i], &options->seeds);
        } else if (strcmp(argv[i], "--seed") == 0 && has_value) {
            options->one = true;
            good = sim_seeds_parse(argv[++i], &options->seeds);
            options->seeds.first = options->seeds.last;
        } else if (strcmp(argv[i], "--scenario") == 0 && has_value) {
            options->run.scenario = sim_scenario_named(argv[++i]);
            good = options->run.scenario != 0;
        } else if (strcmp(argv[i], "--long") == 0) {
            options->run.lengthy = true;
        } else if (strcmp(argv[i], "--trace") == 0) {
            options->trace = true;
        } else if (strcmp(argv[i], "--keep-going") == 0) {
            options->keep_going = true;
        } else {
            good = false;
        }
    }
    return good;
}

int main(int argc, char **argv)
{
    struct options options;

    if (!parse(argc, argv, &options)) {
        (void)fprintf(stderr, "usage: sim [--long] [--seeds N | --seeds A-B] [--keep-going]\n"
                              "       sim [--long] --seed N [--trace]\n"
                              "either with --scenario NAME\n");
        return EXIT_USAGE;
    }
    /* The largest memory of started processes comes zeroed from the kernel, most of it unused. */
    (void)mallopt(M_MMAP_THRESHOLD, MMAP_FROM_BYTES);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    /* The cores complain about what is done to them; only a trace is worth their words. */
    log_setup("sim", options.trace ? LOG_INFO : LOG_ERROR);
    return options.one ? run_one(&options) : run_many(&options);
}
