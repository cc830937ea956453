/* Hashes events as they come, and keeps the last lines for whoever reads them. */
#include "tests/sim/sim_trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

void sim_trace_hash(struct sim_trace *self, uint64_t now_us, uint64_t what, uint64_t which)
{
    self->hash = mix(mix(mix(self->hash, now_us), what), which);
    self->events++;
}

void sim_trace_line(struct sim_trace *self, uint64_t now_us, const char *format, ...)
{
    char *line = self->lines[self->nlines % SIM_TRACE_LINES];
    int used;
    va_list arguments;

    if (!self->detailed) {
        return;
    }
    self->nlines++;
    used = snprintf(line, SIM_TRACE_LINE_BYTES, "[%6" PRIu64 ".%03" PRIu64 "] %s%s", now_us / 1000,
                    now_us % 1000, self->label != NULL ? self->label : "",
                    self->label != NULL ? " " : "");
    va_start(arguments, format);
    (void)vsnprintf(line + used, (size_t)(SIM_TRACE_LINE_BYTES - used), format, arguments);
    va_end(arguments);
    if (self->printed) {
        (void)puts(line);
    }
}

void sim_trace_print(const struct sim_trace *self)
{
    uint64_t first = self->nlines > SIM_TRACE_LINES ? self->nlines - SIM_TRACE_LINES : 0;

    for (uint64_t i = first; i < self->nlines; i++) {
        (void)printf("  %s\n", self->lines[i % SIM_TRACE_LINES]);
    }
}
