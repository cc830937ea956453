/* fuzz_loop.h - the command line of every fuzz program.
 *
 *   NAME SEED COUNT             inputs made from SEED on; prints what failed, then "N passed, N
 * failed" NAME --corpus FOLDER COUNT  writes that many of them as files, to begin a search with
 *   NAME --guided ARGUMENTS...  libFuzzer searches, its arguments as it has them; also tries single
 *                               files again (builds with ORBLOOM_GUIDED only)
 *
 * Input i is made from SEED + i alone, so any one of them can be made again: NAME SEED+i 1. All
 * three try inputs by the same function.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_FUZZ_LOOP_H
#define ORBLOOM_TESTS_SUPPORT_FUZZ_LOOP_H

#include "base/buffer.h"

#include <stdbool.h>

enum { FUZZ_INPUT_BYTES = 1 << 20 };

struct fuzz_target {
    const char *name;
    void *context;
    /* Appends one input, and may remember in the context what it knows of it. */
    void (*make)(void *context, uint64_t seed, struct buffer *input);
    /* Does the program under test keep its word? Any bytes may come, made before or not. */
    bool (*try_input)(void *context, struct span input);
    /* NULL, or bends an input of `size` bytes where it is, knowing its structure, to at most
     * `most`; libFuzzer has it do every other step. The new size. */
    size_t (*bend)(void *context, uint64_t seed, uint8_t *input, size_t size, size_t most);
};

/* Returns the program's exit code: 0 all passed, 1 not all, 2 wrong usage. */
int fuzz_loop(const struct fuzz_target *target, int argc, char **argv);

/* Append to an input; running out of memory aborts. */
void fuzz_put(struct buffer *input, const void *bytes, size_t size);

/* The next `size` bytes of an input into `out`, zeros where it has no more. */
void fuzz_take(struct span *input, void *out, size_t size);

/* Bytes on the heap, to their exact size, so that reading past them is seen; to be freed. */
uint8_t *fuzz_copy(struct span bytes);

/* Bend bytes as a disk or a stranger would: bits are flipped, stretches lost, repeated, cut off,
 * numbers put. */
void fuzz_bend(uint64_t *random, uint8_t *bytes, size_t *size);

#endif
