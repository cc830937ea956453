/* Looks the two sides of each figure up among the cells, and compares them. */
#include "bench/report/verdict.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The worst of all rows of the cluster, not the median of one. */
static double most_beyond(const struct cells *cells)
{
    double most = NAN;

    for (size_t i = 0; i < cells->count; i++) {
        const struct cell *cell = &cells->items[i];

        if (strcmp(cell->key.target, "orbloom") == 0 && cell->beyond_bytes.count > 0 &&
            !(cell->beyond_bytes.max <= most)) {
            most = cell->beyond_bytes.max;
        }
    }
    return most;
}

static double value_of(const struct cells *cells, enum quantity quantity,
                       const struct cell_key *key)
{
    const struct cell *cell = quantity == BEYOND_BYTES ? NULL : cells_find(cells, key);

    if (quantity == BEYOND_BYTES) {
        return most_beyond(cells);
    }
    if (cell == NULL) {
        return NAN;
    }
    switch (quantity) {
    case VALUE:
        return cell->value.median;
    case KEYS_PER_S:
        return cell->keys_per_s.median;
    case REQUESTS_PER_S:
        return cell->requests_per_s.median;
    case P50_US:
        return cell->p50_us.median;
    case CPU_NS:
        return cell->cpu_service_ns.median;
    case BEYOND_BYTES:
    case SAME:
        break;
    }
    return NAN;
}

static const char *show(enum quantity quantity, double value, const char *unit,
                        char text[SHOW_BYTES])
{
    switch (quantity) {
    case KEYS_PER_S:
    case REQUESTS_PER_S:
        return show_rate(value, text);
    case P50_US:
        return show_time(value, text);
    case CPU_NS:
        return show_cpu(value, text);
    case VALUE:
        return show_value(value, unit, text);
    case BEYOND_BYTES:
    case SAME:
        break;
    }
    return show_bytes(value, text);
}

static enum verdict_outcome judge(const struct verdict *verdict)
{
    bool met;

    if (isnan(verdict->ratio)) {
        return VERDICT_NOT_MEASURED;
    }
    met = verdict->at_least ? verdict->ratio >= verdict->bound : verdict->ratio <= verdict->bound;
    return met ? VERDICT_MET : VERDICT_NOT_MET;
}

size_t verdict_count(void)
{
    return figures_count;
}

static bool has_target(const struct cells *cells, const char *target)
{
    for (size_t i = 0; i < cells->count; i++) {
        if (strcmp(cells->items[i].key.target, target) == 0) {
            return true;
        }
    }
    return false;
}

bool verdict_asked(size_t index, const struct cells *cells)
{
    assert(index < figures_count);
    return has_target(cells, figures_all[index].of.target);
}

struct verdict verdict_of(size_t index, const struct cells *cells)
{
    const struct figure *figure = &figures_all[index];
    const struct cell *cell = cells_find(cells, &figure->of);
    bool fixed = figure->reference.target == NULL;
    enum quantity quantity = figure->reference_quantity != SAME ? figure->reference_quantity
                                                                : figure->quantity;
    const char *unit = figure->unit != NULL ? figure->unit : "";
    double measured = value_of(cells, figure->quantity, &figure->of);
    double reference = fixed ? figure->fixed : value_of(cells, quantity, &figure->reference);
    struct verdict verdict = {.claim = figure->claim,
                              .note = cell != NULL && cell->note != NULL ? cell->note : "",
                              .not_run = cell != NULL ? cell->not_run : "",
                              .ratio = measured / reference,
                              .bound = figure->bound,
                              .at_least = figure->at_least};
    char text[SHOW_BYTES];

    assert(index < figures_count);
    (void)snprintf(verdict.reference, sizeof verdict.reference, "%s%s%s",
                   fixed ? "" : figure->against, fixed ? "" : ": ",
                   show(quantity, reference, unit, text));
    (void)show(figure->quantity, measured, unit, verdict.measured);
    verdict.outcome = judge(&verdict);
    return verdict;
}

const char *verdict_word(enum verdict_outcome outcome)
{
    switch (outcome) {
    case VERDICT_MET:
        return "met";
    case VERDICT_NOT_MET:
        return "not met";
    case VERDICT_NOT_MEASURED:
        break;
    }
    return "not measured";
}
