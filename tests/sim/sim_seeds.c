/* Reads "A-B" and the like from the command line, and the processor time from the system. */
#include "tests/sim/sim_seeds.h"

#include <stdlib.h>
#include <time.h>

bool sim_seeds_parse(const char *text, struct sim_seeds *out)
{
    char *end = NULL;

    out->first = 1;
    out->last = strtoull(text, &end, 10);
    if (*end == '-') {
        out->first = out->last;
        out->last = strtoull(end + 1, &end, 10);
    }
    return *text >= '0' && *text <= '9' && *end == '\0' && out->first <= out->last;
}

double sim_seeds_cpu_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
