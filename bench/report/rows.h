/* rows.h - what the runner measured: one JSON object a line, one line a row and round.
 *
 * Lines come from `orbloom bench --json`, `kernel --json` and `disk`; the runner adds "round", and
 * "failed" or "not_run" with a reason. What is no load but one value of a `unit` has the target
 * "figure", its name as op and the `value`; `note` says what it is of. Fields that are not known
 * are passed over, so that the commands may say more than this reads.
 *
 * Units:   as the fields say; what a row does not tell is NAN.
 * Errors:  STATUS_MALFORMED for a torn line, a wrong type, or a figure without what proves it
 *          (keys_per_s; lost and unanswered, except of kernel and disk; value of a "figure");
 *          *why says it in words.
 * Owner:   rows_fini() frees what rows_read() gathered.
 * Threads: none.
 */
#ifndef ORBLOOM_BENCH_REPORT_ROWS_H
#define ORBLOOM_BENCH_REPORT_ROWS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { ROW_WORD_BYTES = 64, ROW_REASON_BYTES = 200, ROWS_MAX = 100000 };

struct row {
    char target[ROW_WORD_BYTES]; /* "orbloom", "redis", "kernel", "durable", "disk", "figure" */
    char method[ROW_WORD_BYTES]; /* "" of orbloom; how a durable filter is kept: "sync" */
    char op[ROW_WORD_BYTES];
    uint64_t batch;
    uint64_t in_flight;
    uint64_t size; /* Keys; of the kernel bytes. */
    uint64_t z;    /* Lines a key; the kernel's. */
    uint64_t round;
    double keys_per_s;
    double requests_per_s;
    double p50_us;
    double p99_us;
    double cpu_service_ns; /* A key: all processes but client and coordinator. */
    double cpu_client_ns;
    double beyond_bytes; /* Resident less arrays, of the node that has most of it. */
    double asked_rate;   /* The next four: the kernel's error rates. */
    double model_rate;
    double measured_rate;
    double bits_per_key;
    double value; /* Of a figure. */
    char unit[ROW_WORD_BYTES];
    char note[ROW_REASON_BYTES];
    uint64_t lost;
    uint64_t unanswered;
    uint64_t absent_checked;
    uint64_t false_positives;
    char failed[ROW_REASON_BYTES]; /* "" unless the command failed. */
    char not_run[ROW_REASON_BYTES];
};

struct rows {
    struct row *items;
    size_t count;
    size_t capacity;
    size_t torn; /* Lines that were no row. */
};

/* Is one of the two: a figure to use? */
bool row_measured(const struct row *row);

/* May nothing be proved by this row: the command failed, a key was lost or not answered? */
bool row_bad(const struct row *row);

MUST_USE enum status rows_parse(const char *line, struct row *out, const char **why);

/* Lines that are no rows are named on `complaints` and counted. */
MUST_USE enum status rows_read(struct rows *self, FILE *in, FILE *complaints);

void rows_fini(struct rows *self);

#endif
