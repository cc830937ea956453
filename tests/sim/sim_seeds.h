/* sim_seeds.h - which seeds are asked for, and what it takes to run them: for main().
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_SIM_SEEDS_H
#define ORBLOOM_TESTS_SIM_SIM_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

struct sim_seeds {
    uint64_t first;
    uint64_t last;
};

/* "1000", which begins with 1, or "200-300". */
bool sim_seeds_parse(const char *text, struct sim_seeds *out);

/* Of the processor: what a run takes does not depend on who else is at work. */
double sim_seeds_cpu_s(void);

#endif
