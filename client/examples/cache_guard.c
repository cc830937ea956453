/* cache_guard.c - keep lookups of rows that do not exist away from a database:
 *
 *     orbloom create users --capacity 100k --fpr 1%
 *     cache_guard users users.db IDS      # IDS: a file of numbers
 *
 * A lookup gets through to SQLite unless the filter says that its id is ABSENT. Not sure is not
 * absent: while the cluster is away, each batch waits for TIMEOUT_MS and then gets through. */
#include "orbloom.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 1000, TIMEOUT_MS = 1000 };
static long long ids[BATCH]; /* a key is the bytes of an id */
static uint32_t lengths[BATCH];
static uint8_t answers[BATCH];
static struct orbloom_keys keys = {ids, lengths, 0};
static const char make_table[] = /* with the ids 10, 20 ... 1,000,000 */
    "CREATE TABLE IF NOT EXISTS demo (id INTEGER PRIMARY KEY); INSERT OR IGNORE INTO demo"
    " WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i+10 FROM n LIMIT 100000) SELECT i FROM n";

static void must(bool good, const char *cause)
{
    if (!good) {
        fprintf(stderr, "cache_guard: %s\n", cause);
        exit(1);
    }
}

/* All ids or none: a row whose id is not in the filter is hidden. New rows: first the id. */
static void load(struct orbloom *cluster, const char *filter, sqlite3_stmt *rows)
{
    do {
        for (keys.count = 0; keys.count < BATCH && sqlite3_step(rows) == SQLITE_ROW;) {
            ids[keys.count] = sqlite3_column_int64(rows, 0);
            lengths[keys.count++] = sizeof ids[0];
        }
        int code = orbloom_add(cluster, filter, &keys, answers);
        must(code == ORBLOOM_OK, orbloom_error(cluster));
    } while (keys.count == BATCH);
    must(sqlite3_finalize(rows) == SQLITE_OK, "SQLite cannot read the ids");
}

static void look_up(struct orbloom *cluster, const char *filter, sqlite3_stmt *by_id)
{
    size_t lookups = 0, queries = 0, found = 0, false_positives = 0;

    do {
        for (keys.count = 0; keys.count < BATCH && scanf("%lld", &ids[keys.count]) == 1;) {
            lengths[keys.count++] = sizeof ids[0];
        }
        if (orbloom_check(cluster, filter, &keys, answers) != ORBLOOM_OK) {
            fprintf(stderr, "cache_guard: not sure: %s\n", orbloom_error(cluster));
        }
        for (size_t i = 0; i < keys.count; i++) {
            if (answers[i] != ORBLOOM_ABSENT) { /* PRESENT, UNKNOWN or MAYBE */
                sqlite3_bind_int64(by_id, 1, ids[i]);
                bool row = sqlite3_step(by_id) == SQLITE_ROW;
                must(sqlite3_reset(by_id) == SQLITE_OK, "SQLite cannot look up an id");
                queries++;
                found += row;
                false_positives += !row && answers[i] == ORBLOOM_PRESENT;
            }
        }
        lookups += keys.count;
    } while (keys.count == BATCH);
    must(feof(stdin), "the file holds something that is no id");
    printf("%zu lookups, %zu queries got through, %zu rows found, %zu false positives\n", lookups,
           queries, found, false_positives);
}

int main(int argc, char **argv)
{
    struct orbloom_options options = {.timeout_ms = TIMEOUT_MS};
    struct orbloom *cluster = NULL;
    sqlite3_stmt *rows = NULL, *by_id = NULL;
    sqlite3 *db = NULL;

    if (argc != 4 || freopen(argv[3], "r", stdin) == NULL) {
        fprintf(stderr, "usage: cache_guard FILTER DATABASE IDS (a file that can be read)\n");
        return 2;
    }
    bool ready = sqlite3_open(argv[2], &db) == SQLITE_OK &&
                 sqlite3_exec(db, make_table, NULL, NULL, NULL) == SQLITE_OK &&
                 sqlite3_prepare_v2(db, "SELECT id FROM demo", -1, &rows, NULL) == SQLITE_OK &&
                 sqlite3_prepare_v2(db, "SELECT 1 FROM demo WHERE id=?", -1, &by_id, NULL) ==
                     SQLITE_OK;
    must(ready, sqlite3_errmsg(db));
    ready = orbloom_connect(&options, &cluster) == ORBLOOM_OK;
    must(ready, orbloom_error(cluster));
    load(cluster, argv[1], rows);
    look_up(cluster, argv[1], by_id);
    sqlite3_finalize(by_id);
    sqlite3_close(db);
    orbloom_close(&cluster);
    return 0;
}
