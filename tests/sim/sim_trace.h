/* sim_trace.h - what happened: a hash of every event, and the last lines as text.
 *
 * The hash covers every event with the bytes of every message, so two runs with one hash
 * are the same run. Texts are made only when somebody will read them (`detailed`); they
 * are not part of the hash.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_TRACE_H
#define ORBLOOM_TESTS_SIM_TRACE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_TRACE_LINES = 40, SIM_TRACE_LINE_BYTES = 320 };

struct sim_trace {
    uint64_t hash;
    uint64_t events;
    bool detailed;     /* keep the last lines */
    bool printed;      /* print every line at once, too */
    const char *label; /* before each line: whose it is, of several clusters; NULL: nothing */
    uint64_t nlines;
    char lines[SIM_TRACE_LINES][SIM_TRACE_LINE_BYTES];
};

/* An event: numbers that tell it from others. */
void sim_trace_hash(struct sim_trace *self, uint64_t now_us, uint64_t what, uint64_t which);

/* Its text; nothing unless `detailed`. */
void sim_trace_line(struct sim_trace *self, uint64_t now_us, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* The last lines, oldest first, on stdout. */
void sim_trace_print(const struct sim_trace *self);

#endif
