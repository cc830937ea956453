/* The report's tables about what is kept on disk. */
#include "bench/report/show.h"
#include "bench/report/tables.h"

#include <inttypes.h>
#include <string.h>

enum { TEXT_BYTES = 3 * SHOW_BYTES };

static const struct {
    const char *target;
    const char *method;
    const char *name;
} kinds[] = {
    {"durable", "memory", "in memory"},           {"durable", "os", "on disk, `os`"},
    {"durable", "sync", "on disk, `sync`"},       {"aof", "set", "SADD, appendfsync everysec"},
    {"disk", "sync", "4 KiB written and synced"},
};

bool tables_measured(const struct cells *cells, const char *target)
{
    for (size_t i = 0; i < cells->count; i++) {
        if (strcmp(cells->items[i].key.target, target) == 0) {
            return true;
        }
    }
    return false;
}

/* "9.43 M (8.69 M..9.90 M)" */
static const char *spread_text(const struct spread *spread, const char *unit, char text[TEXT_BYTES])
{
    char median[SHOW_BYTES];
    char min[SHOW_BYTES];
    char max[SHOW_BYTES];

    (void)show_value(spread->median, unit, median);
    if (spread->count > 1) {
        (void)snprintf(text, TEXT_BYTES, "%s (%s..%s)", median, show_value(spread->min, unit, min),
                       show_value(spread->max, unit, max));
    } else {
        (void)snprintf(text, TEXT_BYTES, "%s", median);
    }
    return text;
}

static void write_load(const struct cell *cell, const char *name, FILE *out)
{
    char rate[TEXT_BYTES];
    char p50[TEXT_BYTES];
    char p99[SHOW_BYTES];
    char cpu[SHOW_BYTES];

    (void)fprintf(out, "| %s | %" PRIu64 " | %" PRIu64 " | %s | %s | %s | %s |\n", name,
                  cell->key.batch, cell->key.in_flight, spread_text(&cell->keys_per_s, "/s", rate),
                  spread_text(&cell->p50_us, "us", p50), show_time(cell->p99_us.median, p99),
                  show_cpu(cell->cpu_service_ns.median, cpu));
}

static void write_loads(const struct cells *cells, FILE *out)
{
    (void)fputs("| adds | batch | in flight | a second | p50 | p99 | CPU a key, service |\n"
                "|---|---:|---:|---:|---:|---:|---:|\n",
                out);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (size_t i = 0; i < cells->count; i++) {
            const struct cell *cell = &cells->items[i];

            if (strcmp(cell->key.target, kinds[k].target) == 0 && cell->keys_per_s.count > 0 &&
                strcmp(cell->key.method, kinds[k].method) == 0 &&
                strcmp(cell->key.op, "check") != 0) {
                write_load(cell, kinds[k].name, out);
            }
        }
    }
}

void tables_durable(const struct cells *cells, FILE *out)
{
    char text[TEXT_BYTES];

    write_loads(cells, out);
    (void)fputs("\n| figure | measured | of |\n|---|---:|---|\n", out);
    for (size_t i = 0; i < cells->count; i++) {
        const struct cell *cell = &cells->items[i];

        if (strcmp(cell->key.target, "figure") == 0 && cell->value.count > 0) {
            (void)fprintf(out, "| %s | %s | %s |\n", cell->key.op,
                          spread_text(&cell->value, cell->unit, text), cell->note);
        }
    }
}
