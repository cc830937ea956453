/* Writes one table after the other from the cells: verdicts, rates, costs, what went wrong. */
#include "bench/report/tables.h"

#include "base/number.h"
#include "bench/report/show.h"
#include "bench/report/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const struct peer tables_peers[PEERS] = {
    {"orbloom", "", "orbloom", "orbloom"},         {"redis", "set", "SMISMEMBER", "SADD"},
    {"redis", "bits", "GETBIT k=7", "SETBIT k=7"}, {"redis", "bloom", "BF.MEXISTS", "BF.MADD"},
    {"redis", "bloom-one", "BF.EXISTS", "BF.ADD"},
};

/* Of the table by size. */
enum { SIZES_BATCH = 1000, MAX_SIZES = 16, CELL_BYTES = 3 * SHOW_BYTES };

static const char *name_of(const struct peer *peer, const char *op)
{
    return strcmp(op, "add") == 0 ? peer->add_name : peer->check_name;
}

static bool is_of_any(const struct cell_key *key)
{
    for (size_t p = 0; p < PEERS; p++) {
        if (strcmp(key->target, tables_peers[p].target) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_of(const struct cell *cell, const struct peer *peer, const char *op)
{
    return strcmp(cell->key.target, peer->target) == 0 &&
           strcmp(cell->key.method, peer->method) == 0 && strcmp(cell->key.op, op) == 0;
}

bool tables_has(const struct cells *cells, const struct peer *peer, const char *op)
{
    for (size_t i = 0; i < cells->count; i++) {
        if (is_of(&cells->items[i], peer, op) && cells->items[i].keys_per_s.count > 0) {
            return true;
        }
    }
    return false;
}

/* "9.43 M (8.69 M..9.90 M)", or why there is no figure. */
static const char *rate_text(const struct cell *cell, char text[CELL_BYTES])
{
    char median[SHOW_BYTES];
    char min[SHOW_BYTES];
    char max[SHOW_BYTES];

    if (cell == NULL || cell->keys_per_s.count == 0) {
        bool told = cell != NULL && cell->not_run[0] != '\0';

        (void)snprintf(text, CELL_BYTES, "%s%s", told ? "not run: " : "-",
                       told ? cell->not_run : "");
    } else if (cell->keys_per_s.count == 1) {
        (void)snprintf(text, CELL_BYTES, "%s", show_rate(cell->keys_per_s.median, median));
    } else {
        (void)snprintf(text, CELL_BYTES, "%s (%s..%s)", show_rate(cell->keys_per_s.median, median),
                       show_rate(cell->keys_per_s.min, min), show_rate(cell->keys_per_s.max, max));
    }
    return text;
}

static const struct cell *beside(const struct cells *cells, const struct peer *peer,
                                 const struct cell_key *key)
{
    struct cell_key other = *key;

    other.target = peer->target;
    other.method = peer->method;
    return cells_find(cells, &other);
}

/* Heads "NAME |" and then "x NAME |" of the peers that were measured. */
static void write_head(const struct cells *cells, const char *op, const char *first, FILE *out)
{
    int columns = 0;

    (void)fprintf(out, "| %s |", first);
    for (size_t p = 0; p < PEERS; p++) {
        if (tables_has(cells, &tables_peers[p], op)) {
            (void)fprintf(out, " %s |", name_of(&tables_peers[p], op));
            columns++;
        }
    }
    for (size_t p = 1; p < PEERS; p++) {
        if (tables_has(cells, &tables_peers[p], op)) {
            (void)fprintf(out, " x %s |", name_of(&tables_peers[p], op));
            columns++;
        }
    }
    (void)fputs("\n|", out);
    for (const char *at = first; at != NULL; at = strchr(at + 1, '|')) {
        (void)fputs("---:|", out);
    }
    while (columns-- > 0) {
        (void)fputs("---:|", out);
    }
    (void)fputc('\n', out);
}

/* The figures of all peers under this key, then ours in multiples of theirs. */
static void write_row(const struct cells *cells, const struct cell_key *key, FILE *out)
{
    double ours = cell_rate(beside(cells, &tables_peers[0], key));
    char text[CELL_BYTES];
    char ratio[SHOW_BYTES];

    for (size_t p = 0; p < PEERS; p++) {
        if (tables_has(cells, &tables_peers[p], key->op)) {
            (void)fprintf(out, " %s |", rate_text(beside(cells, &tables_peers[p], key), text));
        }
    }
    for (size_t p = 1; p < PEERS; p++) {
        if (tables_has(cells, &tables_peers[p], key->op)) {
            double theirs = cell_rate(beside(cells, &tables_peers[p], key));

            (void)fprintf(out, " %s |", show_ratio(ours / theirs, ratio));
        }
    }
    (void)fputc('\n', out);
}

void tables_verdicts(const struct cells *cells, FILE *out)
{
    (void)fputs("| figure | compared with | measured | ratio | to reach | |\n"
                "|---|---|---:|---:|---:|---|\n",
                out);
    for (size_t i = 0; i < verdict_count(); i++) {
        struct verdict verdict = verdict_of(i, cells);
        bool told = verdict.outcome == VERDICT_NOT_MEASURED && verdict.not_run[0] != '\0';
        bool missed = verdict.outcome == VERDICT_NOT_MET;
        char ratio[SHOW_BYTES];

        if (!verdict_asked(i, cells)) {
            continue;
        }
        (void)fprintf(out, "| %s%s%s | %s | %s | %s | %s %g x | %s%s%s%s |\n", verdict.claim,
                      verdict.note[0] != '\0' ? ": " : "", verdict.note, verdict.reference,
                      verdict.measured, show_ratio(verdict.ratio, ratio),
                      verdict.at_least ? "at least" : "at most", verdict.bound, missed ? "**" : "",
                      told ? "not run: " : verdict_word(verdict.outcome),
                      told ? verdict.not_run : "", missed ? "**" : "");
    }
}

static void write_kernel_row(const struct cells *cells, const struct cell_key *key,
                             const char *name, FILE *out)
{
    struct cell_key limit = *key;
    struct cell_key classic = *key;
    const struct cell *cell = cells_find(cells, key);
    double rate = cell_rate(cell);
    char size[NUMBER_TEXT_BYTES];
    char text[CELL_BYTES];
    char ratio[SHOW_BYTES];

    if (cell == NULL) {
        return;
    }
    limit.method = "limit";
    classic.method = "classic";
    limit.op = classic.op = "check";
    limit.z = classic.z = 1;
    (void)fprintf(out, "| %s | %s | %s | %.0f %% | %s |\n", number_show_count(key->size, size),
                  name, rate_text(cell, text), 100 * rate / cell_rate(cells_find(cells, &limit)),
                  show_ratio(rate / cell_rate(cells_find(cells, &classic)), ratio));
}

void tables_kernel(const struct cells *cells, FILE *out)
{
    static const uint64_t sizes[] = {1000000, 120000000, 1200000000};
    static const struct {
        const char *name;
        struct cell_key key;
    } kinds[] = {
        {"one random line a key: the limit", {"kernel", "limit", "check", 1024, 1, 0, 1}},
        {"classic filter, k=7, lookups", {"kernel", "classic", "check", 1024, 1, 0, 1}},
        {"**lookups**", {"kernel", "line", "check", 1024, 1, 0, 1}},
        {"**adds**", {"kernel", "line", "add", 1024, 1, 0, 1}},
        {"lookups, two lines a key", {"kernel", "line", "check", 1024, 1, 0, 2}},
        {"adds, two lines a key", {"kernel", "line", "add", 1024, 1, 0, 2}},
    };

    (void)fputs("| array, bytes | | keys/s | of the limit | x classic |\n"
                "|---:|---|---:|---:|---:|\n",
                out);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            struct cell_key key = kinds[k].key;

            key.size = sizes[s];
            write_kernel_row(cells, &key, kinds[k].name, out);
        }
    }
}

void tables_rates(const struct rows *rows, FILE *out)
{
    bool begun = false;

    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->items[i];

        if (strcmp(row->op, "rate") == 0 && row_measured(row)) {
            if (!begun) {
                (void)fputs("\n| asked rate | lines a key | bits a key | by the formula | measured "
                            "|\n|---:|---:|---:|---:|---:|\n",
                            out);
                begun = true;
            }
            (void)fprintf(out, "| %g %% | %" PRIu64 " | %.2f | %.4g %% | %.4g %% |\n",
                          100 * row->asked_rate, row->z, row->bits_per_key, 100 * row->model_rate,
                          100 * row->measured_rate);
        }
    }
}

/* Of the code alone: the same in each round. */
static double code_bytes_of(const struct rows *rows, const struct cell_key *key)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->items[i];

        if (strcmp(row->method, key->method) == 0 && strcmp(row->op, key->op) == 0 &&
            row->batch == key->batch && row_measured(row)) {
            return row->bits_per_key / 8;
        }
    }
    return NAN;
}

void tables_site_batches(const struct cells *cells, const struct rows *rows, FILE *out)
{
    bool begun = false;

    for (size_t i = 0; i < cells->count; i++) {
        const struct cell *cell = &cells->items[i];
        struct cell_key decode = cell->key;
        char keys[NUMBER_TEXT_BYTES];
        char encoded[CELL_BYTES];
        char decoded[CELL_BYTES];

        if (strcmp(cell->key.method, "site batch") != 0 || strcmp(cell->key.op, "encode") != 0) {
            continue;
        }
        if (!begun) {
            (void)fputs(
                "\n| batch between sites, keys | bytes a key, code | whole batch | encoded, "
                "keys/s | read, keys/s |\n|---:|---:|---:|---:|---:|\n",
                out);
            begun = true;
        }
        decode.op = "decode";
        (void)fprintf(out, "| %s | %.2f | %.2f | %s | %s |\n",
                      number_show_count(cell->key.batch, keys), code_bytes_of(rows, &cell->key),
                      cell->value.median, rate_text(cell, encoded),
                      rate_text(cells_find(cells, &decode), decoded));
    }
}

void tables_grid(const struct cells *cells, const char *op, FILE *out)
{
    write_head(cells, op, "batch | in flight", out);
    for (size_t i = 0; i < cells->count; i++) {
        const struct cell *cell = &cells->items[i];

        if (is_of(cell, &tables_peers[0], op) && cell->key.size == VERDICT_SIZE) {
            (void)fprintf(out, "| %" PRIu64 " | %" PRIu64 " |", cell->key.batch,
                          cell->key.in_flight);
            write_row(cells, &cell->key, out);
        }
    }
}

/* Sixty-four in flight need not be what suits everybody. */
void tables_best(const struct cells *cells, const char *op, FILE *out)
{
    const char *separator = "\nFastest at batch 1,000: ";

    for (size_t p = 0; p < PEERS; p++) {
        const struct cell *best = NULL;
        char text[SHOW_BYTES];

        for (size_t i = 0; i < cells->count; i++) {
            const struct cell *cell = &cells->items[i];

            if (is_of(cell, &tables_peers[p], op) && cell->key.size == VERDICT_SIZE &&
                cell->key.batch == SIZES_BATCH && cell->keys_per_s.count > 0 &&
                (best == NULL || cell_rate(cell) > cell_rate(best))) {
                best = cell;
            }
        }
        if (best != NULL) {
            (void)fprintf(out, "%s%s %s with %" PRIu64 " in flight", separator,
                          name_of(&tables_peers[p], op), show_rate(cell_rate(best), text),
                          best->key.in_flight);
            separator = ", ";
        }
    }
    (void)fputs(separator[0] == ',' ? ".\n" : "", out);
}

static void write_costs(const struct cells *cells, const struct cell *cell, FILE *out)
{
    const struct cell *set = beside(cells, &tables_peers[1], &cell->key);
    char p50[SHOW_BYTES];
    char p99[SHOW_BYTES];
    char theirs[SHOW_BYTES];
    char service[SHOW_BYTES];
    char client[SHOW_BYTES];
    char their_cpu[SHOW_BYTES];

    (void)fprintf(out, "| %" PRIu64 " | %" PRIu64 " | %s | %s | %s | %s | %s | %s |",
                  cell->key.batch, cell->key.in_flight, show_time(cell->p50_us.median, p50),
                  show_time(cell->p99_us.median, p99),
                  show_time(set == NULL ? NAN : set->p50_us.median, theirs),
                  show_cpu(cell->cpu_service_ns.median, service),
                  show_cpu(cell->cpu_client_ns.median, client),
                  show_cpu(set == NULL ? NAN : set->cpu_service_ns.median, their_cpu));
    if (cell->absent_checked > 0) {
        (void)fprintf(out, " %.2f %% |\n",
                      100 * (double)cell->false_positives / (double)cell->absent_checked);
    } else {
        (void)fputs(" - |\n", out);
    }
}

void tables_costs(const struct cells *cells, const char *op, FILE *out)
{
    (void)fprintf(out,
                  "| batch | in flight | p50 | p99 | p50 of %s | CPU a key, router + nodes | "
                  "client | redis-server | false positives |\n"
                  "|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
                  name_of(&tables_peers[1], op));
    for (size_t i = 0; i < cells->count; i++) {
        const struct cell *cell = &cells->items[i];

        if (is_of(cell, &tables_peers[0], op) && cell->key.size == VERDICT_SIZE &&
            cell->keys_per_s.count > 0) {
            write_costs(cells, cell, out);
        }
    }
}

/* Ascending; of whoever was measured, or not run, with it. */
static size_t find_sizes(const struct cells *cells, const char *op, uint64_t sizes[MAX_SIZES])
{
    size_t count = 0;
    uint64_t below = 0;

    while (count < MAX_SIZES) {
        uint64_t next = UINT64_MAX;

        for (size_t i = 0; i < cells->count; i++) {
            const struct cell_key *key = &cells->items[i].key;

            if (is_of_any(key) && strcmp(key->op, op) == 0 && key->batch == SIZES_BATCH &&
                key->in_flight == VERDICT_IN_FLIGHT && key->size > below && key->size < next) {
                next = key->size;
            }
        }
        if (next == UINT64_MAX) {
            break;
        }
        sizes[count++] = below = next;
    }
    return count;
}

void tables_sizes(const struct cells *cells, const char *op, FILE *out)
{
    uint64_t sizes[MAX_SIZES];
    size_t count = find_sizes(cells, op, sizes);

    write_head(cells, op, "keys in the filter", out);
    for (size_t i = 0; i < count; i++) {
        struct cell_key key = {
            .op = op, .batch = SIZES_BATCH, .in_flight = VERDICT_IN_FLIGHT, .size = sizes[i]};
        char text[NUMBER_TEXT_BYTES];

        (void)fprintf(out, "| %s |", number_show_count(sizes[i], text));
        write_row(cells, &key, out);
    }
}

static void write_name(const struct row *row, FILE *out)
{
    if (strcmp(row->target, "figure") == 0) {
        (void)fputs(row->op, out);
        return;
    }
    (void)fprintf(out, "%s%s%s %s, batch %" PRIu64 ", %" PRIu64 " in flight, size %" PRIu64,
                  row->target, row->method[0] == '\0' ? "" : " ", row->method, row->op, row->batch,
                  row->in_flight, row->size);
}

void tables_problems(const struct rows *rows, FILE *out)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->items[i];

        if (row_bad(row)) {
            (void)fputs("- **failed**: ", out);
            write_name(row, out);
            (void)fprintf(out,
                          ", round %" PRIu64 ": %" PRIu64 " lost, %" PRIu64 " unanswered. %s\n",
                          row->round, row->lost, row->unanswered, row->failed);
        } else if (row->not_run[0] != '\0' && row->round <= 1) { /* The same in all rounds. */
            (void)fputs("- not run: ", out);
            write_name(row, out);
            (void)fprintf(out, ": %s\n", row->not_run);
        }
    }
}
