/* counter.h - counts of what happened, declared once with unit and help.
 *
 * A program keeps an array of uint64_t indexed by its own enum; one table names them. The
 * same table feeds `orbloom stats` and metrics.
 */
#ifndef ORBLOOM_BASE_TELEMETRY_COUNTER_H
#define ORBLOOM_BASE_TELEMETRY_COUNTER_H

#include <stddef.h>
#include <stdint.h>

struct counter_def {
    const char *name; /* lower_case; ends in _total unless it is a gauge */
    const char *unit; /* "requests", "bytes", "keys"... */
    const char *help;
};

struct counter_table {
    const struct counter_def *defs;
    size_t count;
};

/* A table with its counts. */
struct counter_set {
    const char *prefix; /* of the names, where several programs' are together: "orbloom_node_" */
    struct counter_table table;
    const uint64_t *values; /* borrowed */
};

#endif
