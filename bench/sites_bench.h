/* sites_bench.h - what is measured between two sites, a function a group of rows.
 *
 * Each prints its rows, also those that it could not measure, and says so in `failed`.
 *
 * Threads: the main thread.
 */
#ifndef ORBLOOM_BENCH_SITES_BENCH_H
#define ORBLOOM_BENCH_SITES_BENCH_H

#include "bench/sites_clusters.h"

/* Both sites have each; LINKED is one filter, ALONE is two that know nothing of each other. */
enum sites_filter { SITES_LINKED, SITES_ALONE, SITES_FILTERS };

struct sites_bench {
    uint64_t seconds; /* all of it, about */
    uint64_t idle;    /* filters without traffic */
    bool failed;
    struct sites_clusters clusters;
    uint64_t next[SITES_FILTERS][SITES_CLUSTERS]; /* number of the next key to be added there */
    uint64_t known[SITES_FILTERS];                /* keys below are in it, at both sites */
    uint64_t fresh;                               /* number of the next key of other kinds */
};

/* The filters, with some keys. False: nothing can be measured. */
bool sites_bench_prepare(struct sites_bench *self);

/* From now on TCP between the sites is BBR. False: it can't be measured, which is a row. */
bool sites_bench_bbr(struct sites_bench *self);

/* The row of all that takes a wan. */
void sites_bench_no_wan(void);

void sites_bench_strict(struct sites_bench *self); /* adds of each site, and fresh checks */
void sites_bench_lag(struct sites_bench *self);
void sites_bench_bytes(struct sites_bench *self);
void sites_bench_idle(struct sites_bench *self);
void sites_bench_local(struct sites_bench *self);
void sites_bench_compare(struct sites_bench *self); /* what both have */
void sites_bench_catch_up(struct sites_bench *self);
void sites_bench_narrow(struct sites_bench *self); /* catching up by a line of 100 Mbit/s */
void sites_bench_cut(struct sites_bench *self);

#endif
