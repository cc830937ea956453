/* tail.h - lines that are added to a file, read as they come.
 *
 * Errors:  a file that is not there yet has no lines.
 * Owner:   tail_close() when done; zeroed is closed.
 * Threads: one a struct tail.
 */
#ifndef ORBLOOM_TESTS_TORTURE_TAIL_H
#define ORBLOOM_TESTS_TORTURE_TAIL_H

#include <stdbool.h>
#include <stddef.h>

enum { TAIL_LINE_BYTES = 1024 };

struct tail {
    int descriptor; /* plus one; 0: closed */
    char line[TAIL_LINE_BYTES];
    size_t size;
};

/* From its present end on. */
void tail_open(struct tail *self, const char *path);
void tail_close(struct tail *self);

/* The next whole line, without its newline, good until the next call; NULL: none yet. */
const char *tail_next(struct tail *self);

#endif
