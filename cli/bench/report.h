/* report.h - one row of a benchmark, for people or for programs.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_BENCH_REPORT_H
#define ORBLOOM_CLI_BENCH_REPORT_H

#include "cli/bench/arrays.h"
#include "cli/bench/load.h"
#include "cli/bench/settings.h"

struct bench_row {
    const struct bench_settings *settings;
    uint64_t batch; /* as they were: a fill has its own */
    uint64_t in_flight;
    const struct load_result *result;
    const struct cpu_watch *cpu;
    const struct arrays *arrays; /* JSON; NULL: not asked for */
};

void bench_show_text(const struct bench_row *row);
void bench_show_json(const struct bench_row *row);

#endif
