/* Turns what one run measured into a report: report FOLDER. Its parts are in bench/report.
 *
 * Reads FOLDER/rows.jsonl and FOLDER/head.txt (lines "name: value"; one that begins with
 * "warning: " is shown as such), writes FOLDER/report.md and FOLDER/chart.svg.
 * Exit: 0; 1 when a key was lost or not answered, a command failed or a line was torn; 2 when
 * a file cannot be read or written. A figure that was not reached fails nothing.
 */
#include "bench/report/chart.h"
#include "bench/report/rows.h"
#include "bench/report/show.h"
#include "bench/report/tables.h"
#include "bench/report/verdict.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

enum { EXIT_BAD_ROWS = 1, EXIT_FILES = 2 };

static FILE *open_in(const char *folder, const char *name, const char *mode)
{
    char path[PATH_MAX];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, mode);
    if (file == NULL) {
        (void)fprintf(stderr, "report: cannot open %s: %s\n", path, strerror(errno));
    }
    return file;
}

/* True when everything was written. */
static bool close_written(FILE *file, const char *name)
{
    bool good = ferror(file) == 0;

    good = fclose(file) == 0 && good;
    if (!good) {
        (void)fprintf(stderr, "report: cannot write %s: %s\n", name, strerror(errno));
    }
    return good;
}

/* Points of one peer at VERDICT_IN_FLIGHT, in the order of batches, which is the runner's. */
static struct chart_line line_of(const struct cells *cells, const struct peer *peer, const char *op)
{
    bool adds = strcmp(op, "add") == 0;
    struct chart_line line = {.name = adds ? peer->add_name : peer->check_name};

    for (size_t i = 0; i < cells->count && line.count < CHART_MAX_POINTS; i++) {
        const struct cell *cell = &cells->items[i];

        if (strcmp(cell->key.target, peer->target) == 0 &&
            strcmp(cell->key.method, peer->method) == 0 && strcmp(cell->key.op, op) == 0 &&
            cell->key.size == VERDICT_SIZE && cell->key.in_flight == VERDICT_IN_FLIGHT &&
            cell->keys_per_s.min > 0) {
            line.points[line.count++] = (struct chart_point){.x = (double)cell->key.batch,
                                                             .y = cell->keys_per_s.median,
                                                             .low = cell->keys_per_s.min,
                                                             .high = cell->keys_per_s.max};
        }
    }
    return line;
}

/* "at 1,000: 7.4 x SMISMEMBER, 31 x GETBIT k=7" */
static void write_remark(const struct cells *cells, const char *op, char *out, size_t out_bytes)
{
    struct cell_key key = {"orbloom", "", op, 1000, VERDICT_IN_FLIGHT, VERDICT_SIZE, 0};
    double ours = cell_rate(cells_find(cells, &key));
    size_t used = 0;

    out[0] = '\0';
    for (size_t p = 1; p < PEERS; p++) {
        const struct peer *peer = &tables_peers[p];
        double theirs;
        char ratio[SHOW_BYTES];

        key.target = peer->target;
        key.method = peer->method;
        theirs = cell_rate(cells_find(cells, &key));
        if (!isnan(ours / theirs) && used < out_bytes) {
            used += (size_t)snprintf(
                out + used, out_bytes - used, "%s%s %s", used == 0 ? "at 1,000: " : ", ",
                show_ratio(ours / theirs, ratio), op[0] == 'a' ? peer->add_name : peer->check_name);
        }
    }
}

static bool write_chart(const char *folder, const struct cells *cells)
{
    static const char *const ops[] = {"check", "add"};
    static const char *const titles[] = {"Are these keys there? (check)", "Keep these keys (add)"};
    char remarks[2][200];
    struct chart chart = {
        .title = "Keys a second against the size of a request",
        .remark = "medians, thin bars from the least to the most of all rounds; 64 requests in "
                  "flight, 5,000,000 keys held; higher is better",
        .x_name = "keys in a request",
        .y_name = "keys a second",
        .count = 2};
    FILE *out = open_in(folder, "chart.svg", "w");

    if (out == NULL) {
        return false;
    }
    for (size_t o = 0; o < 2; o++) {
        struct chart_panel *panel = &chart.panels[o];

        write_remark(cells, ops[o], remarks[o], sizeof remarks[o]);
        *panel = (struct chart_panel){.title = titles[o], .remark = remarks[o]};
        for (size_t p = 0; p < PEERS; p++) {
            const struct peer *peer = &tables_peers[p];

            if (tables_has(cells, peer, "check") || tables_has(cells, peer, "add")) {
                panel->lines[panel->count++] = line_of(cells, peer, ops[o]);
            }
        }
    }
    chart_write(&chart, out);
    return close_written(out, "chart.svg");
}

/* "name: value" -> a list; warnings stand out. */
static bool copy_head(const char *folder, FILE *out)
{
    FILE *in = open_in(folder, "head.txt", "r");
    char line[512];

    if (in == NULL) {
        return false;
    }
    while (fgets(line, sizeof line, in) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "warning: ", 9) == 0) {
            (void)fprintf(out, "- **Warning: %s**\n", line + 9);
        } else if (line[0] != '\0') {
            (void)fprintf(out, "- %s\n", line);
        }
    }
    (void)fclose(in);
    return true;
}

static void write_operation(const struct cells *cells, const char *op, FILE *out)
{
    (void)fprintf(out,
                  "\n## Cluster: %s\n\nKeys a second, 5,000,000 keys held; medians "
                  "(least..most of all rounds).\n\n",
                  op);
    tables_grid(cells, op, out);
    tables_best(cells, op, out);
    (void)fputs("\nWhat a request and a key cost:\n\n", out);
    tables_costs(cells, op, out);
    (void)fputs("\nBy the number of keys held; batch 1,000, 64 in flight:\n\n", out);
    tables_sizes(cells, op, out);
}

static size_t count_bad(const struct rows *rows)
{
    size_t bad = rows->torn;

    for (size_t i = 0; i < rows->count; i++) {
        bad += row_bad(&rows->items[i]);
    }
    return bad;
}

static bool write_report(const char *folder, const struct rows *rows, const struct cells *cells)
{
    FILE *out = open_in(folder, "report.md", "w");
    bool good;

    if (out == NULL) {
        return false;
    }
    (void)fputs("# orbloom: what this machine measured\n\n", out);
    good = copy_head(folder, out);
    (void)fputs("\n## Figures to reach\n\n", out);
    tables_verdicts(cells, out);
    if (tables_measured(cells, "orbloom")) {
        (void)fputs("\n![keys a second against the size of a request](chart.svg)\n", out);
    }
    if (tables_measured(cells, "kernel")) {
        (void)fputs("\n## Kernel: one core, one array\n\n", out);
        tables_kernel(cells, out);
        tables_rates(rows, out);
        tables_site_batches(cells, rows, out);
    }
    if (tables_measured(cells, "orbloom")) {
        write_operation(cells, "check", out);
        write_operation(cells, "add", out);
    }
    if (tables_measured(cells, "figure")) {
        (void)fputs("\n## On disk\n\n", out);
        tables_durable(cells, out);
    }
    (void)fprintf(out,
                  "\n## Proof\n\n%zu measurements, %zu without proof (a command that failed, "
                  "a key lost or not answered, a torn line).\n",
                  rows->count, count_bad(rows));
    tables_problems(rows, out);
    return close_written(out, "report.md") && good;
}

int main(int argc, char **argv)
{
    struct rows rows = {0};
    struct cells cells = {0};
    int code = EXIT_FILES;
    FILE *in;

    if (argc != 2) {
        (void)fputs("usage: report FOLDER\n", stderr);
        return EXIT_FILES;
    }
    in = open_in(argv[1], "rows.jsonl", "r");
    if (in == NULL) {
        return EXIT_FILES;
    }
    if (rows_read(&rows, in, stderr) != STATUS_OK || cells_make(&cells, &rows) != STATUS_OK) {
        (void)fputs("report: rows.jsonl cannot be read, or memory is out\n", stderr);
    } else if (write_report(argv[1], &rows, &cells) && write_chart(argv[1], &cells)) {
        code = count_bad(&rows) == 0 && rows.count > 0 ? 0 : EXIT_BAD_ROWS;
    }
    (void)fclose(in);
    cells_fini(&cells);
    rows_fini(&rows);
    return code;
}
