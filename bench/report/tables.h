/* tables.h - the report's tables, as Markdown.
 *
 * Errors:  none here; look at ferror() of the file.
 * Owner:   everything is borrowed for the call.
 * Threads: any.
 */
#ifndef ORBLOOM_BENCH_REPORT_TABLES_H
#define ORBLOOM_BENCH_REPORT_TABLES_H

#include "bench/report/cells.h"

#include <stdio.h>

/* A way to keep a set that the cluster is measured beside. */
struct peer {
    const char *target;
    const char *method;
    const char *check_name; /* As the reader knows it: "SMISMEMBER". */
    const char *add_name;
};

enum { PEERS = 5 };

/* Ours first. */
extern const struct peer tables_peers[PEERS];

/* Has this run any cell of that peer and operation that was measured? */
bool tables_has(const struct cells *cells, const struct peer *peer, const char *op);

void tables_verdicts(const struct cells *cells, FILE *out);
void tables_kernel(const struct cells *cells, FILE *out);
void tables_rates(const struct rows *rows, FILE *out);

/* Batches between sites: their bytes, and how fast they are encoded and read. */
void tables_site_batches(const struct cells *cells, const struct rows *rows, FILE *out);

/* keys a second of all, over batch and in flight, for filters of VERDICT_SIZE keys. */
void tables_grid(const struct cells *cells, const char *op, FILE *out);

/* With how many in flight each was fastest, at batch 1,000. */
void tables_best(const struct cells *cells, const char *op, FILE *out);

/* What our own rows of the grid cost: latency, CPU, errors. */
void tables_costs(const struct cells *cells, const char *op, FILE *out);

void tables_sizes(const struct cells *cells, const char *op, FILE *out);

/* Adds on disk and in memory, beside Redis' log and the disk itself; then every single value. */
void tables_durable(const struct cells *cells, FILE *out);

/* Has this part been measured? */
bool tables_measured(const struct cells *cells, const char *target);

/* What was not run, why, and what failed; nothing when all ran well. */
void tables_problems(const struct rows *rows, FILE *out);

#endif
