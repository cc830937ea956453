/* fuzz_loop.h - the command line of every fuzz program: NAME SEED COUNT.
 *
 * Input i is made from SEED + i alone, so any one of them can be made again: NAME SEED+i 1. Prints
 * what failed, then "N passed, N failed".
 */
#ifndef ORBLOOM_TESTS_SUPPORT_FUZZ_LOOP_H
#define ORBLOOM_TESTS_SUPPORT_FUZZ_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/* Makes one input and tries it: does the program under test keep its word? */
typedef bool fuzz_try_fn(void *context, uint64_t seed);

/* Returns the program's exit code: 0 all passed, 1 not all, 2 wrong usage. */
int fuzz_loop(const char *name, int argc, char **argv, fuzz_try_fn *try_one, void *context);

#endif
