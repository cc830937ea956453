/* The simulator of whole sites. See docs/simulator.md.
 *
 *   sim-sites [--seeds N | --seeds A-B] [--keep-going]   many seeds, one line each that fails
 *   sim-sites --seed N [--trace]                         one seed again, with its trace
 */
#include "base/heap.h"
#include "base/log.h"
#include "tests/sim/sim_memory.h"
#include "tests/sim/sim_seeds.h"
#include "tests/sim_sites/sites.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DEFAULT_SEEDS = 60,
    FULL_SET = 1000,  /* as many must reach everything */
    TWICE_EVERY = 25, /* one seed in so many is run twice and must be the same run */
    EXIT_USAGE = 2,
    MMAP_FROM_BYTES = 4 << 20,
};

struct options {
    struct sim_seeds seeds;
    bool one;
    bool trace;
    bool keep_going;
};

struct outcome {
    bool failed;
    uint64_t hash;
    char failure[SIM_FAILURE_BYTES];
};

static struct outcome run_once(uint64_t seed, struct sites_coverage *coverage, bool detailed,
                               bool printed)
{
    size_t live = heap_live();
    struct sites *sites = sites_create(seed, coverage);
    struct outcome outcome = {0};

    sites_trace(sites, detailed, printed);
    sites_run(sites);
    outcome.failed = sites->failed;
    outcome.hash = sites_hash(sites);
    memcpy(outcome.failure, sites->failure, sizeof outcome.failure);
    if (detailed && !printed) {
        sites_print(sites);
    }
    sites_destroy(&sites);
    if (!outcome.failed && heap_live() != live) {
        outcome.failed = true;
        (void)snprintf(outcome.failure, sizeof outcome.failure, "%zu allocations are never freed",
                       heap_live() - live);
    }
    return outcome;
}

/* A failing seed is run again for its trace, every 25th one for its hash. */
static struct outcome run_again(uint64_t seed, bool detailed)
{
    struct sites_coverage *coverage = sim_memory_alloc(1, sizeof *coverage);
    struct outcome outcome = run_once(seed, coverage, detailed, false);

    heap_free(coverage);
    return outcome;
}

static struct outcome run_seed(uint64_t seed, struct sites_coverage *coverage)
{
    struct outcome outcome = run_once(seed, coverage, false, false);

    if (!outcome.failed && seed % TWICE_EVERY == 0 && run_again(seed, false).hash != outcome.hash) {
        outcome.failed = true;
        (void)snprintf(outcome.failure, sizeof outcome.failure, "two runs differ");
    }
    return outcome;
}

static void print_speed(const struct sites_coverage *coverage, double took_s)
{
    (void)printf("%" PRIu64 " runs in %.1f s of CPU: %.2f seeds/s, %" PRIu64
                 " messages and %" PRIu64 " between sites, %" PRIu64 " answers judged, %" PRIu64
                 " keys looked for in replicas, %.0f s of virtual time\n",
                 coverage->runs, took_s, (double)coverage->runs / took_s,
                 coverage->clusters.delivered, coverage->between, coverage->answers,
                 coverage->clusters.held, (double)coverage->virtual_us / 1e6);
}

static int run_many(const struct options *options)
{
    struct sites_coverage *coverage = sim_memory_alloc(1, sizeof *coverage);
    double started_s = sim_seeds_cpu_s();
    uint64_t passed = 0;
    uint64_t failed = 0;
    uint64_t first_failed = 0;

    for (uint64_t seed = options->seeds.first;
         seed <= options->seeds.last && (failed == 0 || options->keep_going); seed++) {
        struct outcome outcome = run_seed(seed, coverage);

        passed += !outcome.failed;
        failed += outcome.failed;
        if (outcome.failed) {
            first_failed = first_failed == 0 ? seed : first_failed;
            (void)printf("seed %" PRIu64 ": %s\n", seed, outcome.failure);
        }
    }
    if (failed > 0) {
        (void)printf("\nseed %" PRIu64 ", the last of its traces:\n", first_failed);
        (void)run_again(first_failed, true);
        (void)printf("  again: build/tests/sim-sites --seed %" PRIu64 " --trace\n", first_failed);
    }
    print_speed(coverage, sim_seeds_cpu_s() - started_s);
    if (failed == 0 && passed >= FULL_SET) {
        uint32_t gaps;

        sites_coverage_print(coverage);
        gaps = sites_coverage_gaps(coverage);
        passed += gaps == 0;
        failed += gaps > 0;
    }
    heap_free(coverage);
    (void)printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed == 0 && passed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_one(const struct options *options)
{
    struct sites_coverage *coverage = sim_memory_alloc(1, sizeof *coverage);
    struct outcome outcome = run_once(options->seeds.first, coverage, true, options->trace);

    (void)printf("seed %" PRIu64 ": %s; trace %016" PRIx64 ", %.1f s of virtual time\n",
                 options->seeds.first, outcome.failed ? outcome.failure : "every promise held",
                 outcome.hash, (double)coverage->virtual_us / 1e6);
    sites_coverage_print(coverage);
    heap_free(coverage);
    (void)printf("%d passed, %d failed\n", !outcome.failed, outcome.failed);
    return outcome.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static bool parse(int argc, char **argv, struct options *options)
{
    bool good = true;

    *options = (struct options){.seeds = {1, DEFAULT_SEEDS}};
    for (int i = 1; i < argc && good; i++) {
        bool has_value = i + 1 < argc;

        if (strcmp(argv[i], "--seeds") == 0 && has_value) {
            good = sim_seeds_parse(argv[++i], &options->seeds);
        } else if (strcmp(argv[i], "--seed") == 0 && has_value) {
            options->one = true;
            good = sim_seeds_parse(argv[++i], &options->seeds);
            options->seeds.first = options->seeds.last;
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
        (void)fprintf(stderr, "usage: sim-sites [--seeds N | --seeds A-B] [--keep-going]\n"
                              "       sim-sites --seed N [--trace]\n");
        return EXIT_USAGE;
    }
    (void)mallopt(M_MMAP_THRESHOLD, MMAP_FROM_BYTES);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    log_setup("sim-sites", options.trace ? LOG_INFO : LOG_ERROR);
    return options.one ? run_one(&options) : run_many(&options);
}
