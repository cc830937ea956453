/* Figures between two linked sites, each with its goal: sites [--seconds N] [--filters N]
 *
 * Starts a playground of two sites of three nodes, in a temporary folder, on free ports, in a
 * network of its own, and runs itself in it (--inside); between the links it puts a line that
 * delays and loses. docs/benchmark.md, "Between sites", says what each row means.
 *
 * Exit: 0, also where goals are missed; 1 when something could not be measured, or a key was lost;
 * 2 for wrong usage.
 */
#include "base/number.h"
#include "bench/sites_bench.h"
#include "bench/sites_rows.h"
#include "bench/wan/space.h"
#include "runtime/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SECONDS = 150, LEAST_SECONDS = 30, MOST_SECONDS = 300, IDLE = 1000, MOST_IDLE = 1000 };
enum { DELAY_US = 40000, LOSS = LINE_ALL / 100, NUMBER_BYTES = 24 };

/* What `--inside` says of the network: a wan can be had there. */
#define BY_WAN   "--inside=wan"
#define LOOPBACK "--inside=loopback"

static const char usage[] =
    "sites [--seconds N] [--filters N]: what keys cost between two sites, how late they are, and\n"
    "what is left of local speed, each beside its goal.\n"
    "  --seconds N   of loads, about; as long again until all of it is there, and filters without\n"
    "                traffic are made; 30 to 300 (default 150)\n"
    "  --filters N   without traffic, beside one with; 0 to 1000 (default 1000)\n";

static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    return text != NULL && number_parse_count(text, value) == STATUS_OK && *value >= least &&
           *value <= most;
}

/* False: refused, or `*helped`. */
static bool parse(int argc, char **argv, struct sites_bench *bench, const char **inside,
                  bool *helped)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        bool good = true;

        if (strcmp(word, "--help") == 0) {
            *helped = true;
            return false;
        }
        if (strcmp(word, BY_WAN) == 0 || strcmp(word, LOOPBACK) == 0) {
            *inside = word;
        } else if (strcmp(word, "--seconds") == 0) {
            good = parse_number(argv[++i], LEAST_SECONDS, MOST_SECONDS, &bench->seconds);
        } else if (strcmp(word, "--filters") == 0) {
            good = parse_number(argv[++i], 0, MOST_IDLE, &bench->idle);
        } else {
            good = false;
        }
        if (!good) {
            (void)fprintf(stderr, "sites: %s: unknown, or not a number in its range\n%s", word,
                          usage);
            return false;
        }
    }
    return true;
}

/* Where the programs are, from where this one is: in a folder beside them. */
static bool find_programs(char self[PATH_MAX], char bin[PATH_MAX])
{
    ssize_t size = readlink("/proc/self/exe", self, PATH_MAX - 1);
    char *slash;

    if (size <= 0) {
        return false;
    }
    self[size] = '\0';
    (void)snprintf(bin, PATH_MAX, "%s", self);
    slash = strrchr(bin, '/');
    if (slash == NULL || (size_t)(slash - bin) + sizeof "/../bin" > PATH_MAX) {
        return false;
    }
    memcpy(slash, "/../bin", sizeof "/../bin");
    return true;
}

/* Become a playground, which runs this program in turn. */
static int start_playground(const struct sites_bench *bench, char *self, const char *bin)
{
    const char *inside = BY_WAN;
    char program[PATH_MAX + 16];
    char seconds[NUMBER_BYTES];
    char idle[NUMBER_BYTES];

    if (!space_leave()) {
        (void)fprintf(stderr, "sites: no network of its own: %s\n", strerror(errno));
        inside = LOOPBACK;
    }
    (void)snprintf(program, sizeof program, "%s/orbloom", bin);
    (void)snprintf(seconds, sizeof seconds, "%" PRIu64, bench->seconds);
    (void)snprintf(idle, sizeof idle, "%" PRIu64, bench->idle);
    (void)execl(program, program, "playground", "--base-port", "0", "--sites", "2", "--nodes", "3",
                "--memory", "2GiB", "--log-level", "warn", "--run", self, inside, "--seconds",
                seconds, "--filters", idle, (char *)NULL);
    (void)fprintf(stderr, "sites: cannot start %s: %s\n", program, strerror(errno));
    return PROCESS_EXIT_FAILURE;
}

static void measure_direct(struct sites_bench *bench)
{
    sites_bench_strict(bench);
    sites_bench_lag(bench);
    sites_bench_catch_up(bench);
}

static void measure_far(struct sites_bench *bench)
{
    sites_bench_strict(bench);
    sites_bench_lag(bench);
    sites_bench_bytes(bench);
    sites_bench_local(bench);
    sites_bench_compare(bench);
    sites_bench_narrow(bench);
    sites_bench_cut(bench);
}

static void measure_lossy(struct sites_bench *bench)
{
    sites_bench_strict(bench);
    sites_bench_lag(bench);
    sites_bench_catch_up(bench);
}

static void measure(struct sites_bench *bench)
{
    sites_rows_head();
    measure_direct(bench);
    if (bench->clusters.wan == NULL) {
        sites_bench_local(bench);
        sites_bench_no_wan();
        return;
    }
    sites_clusters_set_line(&bench->clusters, &(struct line_kind){.delay_us = DELAY_US});
    measure_far(bench);
    sites_clusters_set_line(&bench->clusters,
                            &(struct line_kind){.delay_us = DELAY_US, .loss = LOSS});
    measure_lossy(bench);
    if (sites_bench_bbr(bench)) {
        measure_lossy(bench);
    }
    sites_clusters_set_line(&bench->clusters, &(struct line_kind){.delay_us = DELAY_US});
    sites_bench_idle(bench);
}

static int run_inside(struct sites_bench *bench, const char *bin, bool by_wan)
{
    int code = PROCESS_EXIT_FAILURE;

    (void)fprintf(stderr, "sites: links are started anew; that they have ended, as the playground "
                          "now says, is meant\n");
    if (sites_clusters_open(&bench->clusters, bin, by_wan) && sites_bench_prepare(bench)) {
        measure(bench);
        code = bench->failed ? PROCESS_EXIT_FAILURE : PROCESS_EXIT_OK;
    }
    sites_clusters_close(&bench->clusters);
    return code;
}

int main(int argc, char **argv)
{
    static struct sites_bench bench = {.seconds = SECONDS, .idle = IDLE};
    static char self[PATH_MAX];
    static char bin[PATH_MAX];
    const char *inside = NULL;
    bool helped = false;

    process_prepare();
    if (!parse(argc, argv, &bench, &inside, &helped)) {
        (void)(helped && fputs(usage, stdout) >= 0);
        return helped ? PROCESS_EXIT_OK : PROCESS_EXIT_USAGE;
    }
    if (!find_programs(self, bin)) {
        (void)fprintf(stderr, "sites: /proc/self/exe cannot be read\n");
        return PROCESS_EXIT_FAILURE;
    }
    return inside != NULL ? run_inside(&bench, bin, strcmp(inside, BY_WAN) == 0)
                          : start_playground(&bench, self, bin);
}
