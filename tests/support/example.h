/* example.h - the programs of client/examples in a cluster of their own: one run at a time.
 *
 * Errors:  a failed cr_assert.
 * Owner:   example_start()'s caller calls example_stop(), which removes the files too.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_EXAMPLE_H
#define ORBLOOM_TESTS_SUPPORT_EXAMPLE_H

#include "tests/support/playground.h"

/* Beside the folder of the programs, whatever the variant. */
#define EXAMPLE_DEDUP       "../examples/dedup"
#define EXAMPLE_BLACKLIST   "../examples/blacklist"
#define EXAMPLE_CACHE_GUARD "../examples/cache_guard"

enum { EXAMPLE_LIMIT_S = 120, EXAMPLE_PATH_BYTES = 96 };

struct example {
    struct playground playground;
    struct command command; /* the run */
    char folder[EXAMPLE_PATH_BYTES];
    char input[EXAMPLE_PATH_BYTES];    /* a file for lines, in the folder */
    char database[EXAMPLE_PATH_BYTES]; /* likewise, for SQLite */
};

/* A cluster with one filter. */
void example_start(struct example *self, const char *filter, const char *capacity,
                   const char *rate);
void example_stop(struct example *self);

/* Without two of three replicas nothing is acknowledged and nothing is called absent. */
void example_pause_nodes(struct example *self);
void example_continue_nodes(struct example *self);

/* Lines PREFIX-N of every `step`th number from `first` up to before `end`; free() it. */
char *example_lines(const char *prefix, int first, int end, int step);

void example_write_input(const struct example *self, const char *text);

/* About the last run. */
void example_expect_exit(const struct example *self, int status);
void example_expect_error(const struct example *self, const char *text);

#endif
