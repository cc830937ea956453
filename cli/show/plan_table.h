/* plan_table.h - the textbook's table: the rates of classic Bloom filters with m/n bits a key
 * and k hashes, (1 - e^(-kn/m))^k.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHOW_PLAN_TABLE_H
#define ORBLOOM_CLI_SHOW_PLAN_TABLE_H

#include <stdio.h>

enum { PLAN_TABLE_BITS_MIN = 2, PLAN_TABLE_BITS_MAX = 32, PLAN_TABLE_HASHES_MAX = 8 };

/* A row for each m/n, a column for each k. */
void plan_table_show(FILE *out);

/* An array of rows: bits_per_key, best_hashes, rates from k = 1 on. */
void plan_table_show_json(FILE *out);

#endif
