/* metrics.h - what a process counts, as Prometheus reads it: its text format, version 0.0.4.
 *
 * A family is a name with its help and type, then its samples, one after the other. Units are base
 * units: seconds and bytes, and the names say so; a counter's name ends in _total.
 *
 * Errors:  kept in `status`; after one nothing more is written.
 * Owner:   texts are borrowed: a family's name and help until the next family begins.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_BASE_TELEMETRY_METRICS_H
#define ORBLOOM_BASE_TELEMETRY_METRICS_H

#include "base/buffer.h"
#include "base/telemetry/counter.h"
#include "base/telemetry/histogram.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum { METRICS_NAME_BYTES = 128 };

enum metrics_kind { METRICS_COUNTER, METRICS_GAUGE, METRICS_HISTOGRAM };

struct metrics {
    struct buffer *out;
    enum status status;
    const char *family;
};

struct metrics_label {
    const char *name;
    const char *value; /* any text */
};

static inline struct metrics metrics_to(struct buffer *out)
{
    return (struct metrics){.out = out};
}

/* Whoever tells can't go on. */
static inline void metrics_fail(struct metrics *self, enum status status)
{
    self->status = self->status == STATUS_OK ? status : self->status;
}

/* Each name once. */
void metrics_family(struct metrics *self, const char *name, enum metrics_kind kind,
                    const char *help);

/* Of the family that was begun last. */
void metrics_count(struct metrics *self, const struct metrics_label *labels, size_t nlabels,
                   uint64_t value);
void metrics_seconds(struct metrics *self, const struct metrics_label *labels, size_t nlabels,
                     uint64_t value_us);
void metrics_ratio(struct metrics *self, const struct metrics_label *labels, size_t nlabels,
                   double value);

/* All samples of one histogram: its buckets, its sum in seconds, its count. */
void metrics_histogram(struct metrics *self, const struct metrics_label *labels, size_t nlabels,
                       const struct histogram *histogram);

/* A family each: "orbloom_node_" and a row's name, in base units. */
void metrics_counters(struct metrics *self, const char *prefix, const struct counter_table *table,
                      const uint64_t *values);

/* How a row is called there. True: its values are microseconds, and told in seconds. */
bool metrics_name(const char *prefix, const struct counter_def *def, char name[METRICS_NAME_BYTES]);

#endif
