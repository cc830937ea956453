#include "bench/verdict.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum quantity { KEYS_PER_S, REQUESTS_PER_S, P50_US, CPU_NS, BEYOND_BYTES };

struct figure {
    const char *claim;
    const char *against; /* Names the reference. */
    enum quantity quantity;
    struct cell_key of;
    struct cell_key reference; /* Without target: the fixed value. */
    double fixed;
    double bound;
    bool at_least;
};

#define CLUSTER(operation, keys, flying)                                       \
    {                                                                          \
        .target = "orbloom", .method = "", .op = (operation), .batch = (keys), \
        .in_flight = (flying), .size = VERDICT_SIZE                            \
    }
#define REDIS(way, operation, keys, flying)                                     \
    {                                                                           \
        .target = "redis", .method = (way), .op = (operation), .batch = (keys), \
        .in_flight = (flying), .size = VERDICT_SIZE                             \
    }
#define KERNEL(way, lines, size_bytes)                                                     \
    {                                                                                      \
        .target = "kernel", .method = (way), .op = "check", .batch = 1024, .in_flight = 1, \
        .size = (size_bytes), .z = (lines)                                                 \
    }

static const struct figure figures[] = {
    {.claim = "check, batch 1,000, 64 in flight",
     .against = "SMISMEMBER",
     .quantity = KEYS_PER_S,
     .of = CLUSTER("check", 1000, 64),
     .reference = REDIS("set", "check", 1000, 64),
     .bound = 7,
     .at_least = true},
    {.claim = "check, batch 1,000, 64 in flight",
     .against = "GETBIT k=7",
     .quantity = KEYS_PER_S,
     .of = CLUSTER("check", 1000, 64),
     .reference = REDIS("bits", "check", 1000, 64),
     .bound = 25,
     .at_least = true},
    {.claim = "check, batch 4,096, 64 in flight",
     .against = "batch 1,000",
     .quantity = KEYS_PER_S,
     .of = CLUSTER("check", 4096, 64),
     .reference = CLUSTER("check", 1000, 64),
     .bound = 1.4,
     .at_least = true},
    {.claim = "add, batch 1,000, 64 in flight",
     .against = "SADD",
     .quantity = KEYS_PER_S,
     .of = CLUSTER("add", 1000, 64),
     .reference = REDIS("set", "add", 1000, 64),
     .bound = 7,
     .at_least = true},
    {.claim = "CPU a key of router and nodes, check, batch 1,000",
     .against = "fixed",
     .quantity = CPU_NS,
     .of = CLUSTER("check", 1000, 64),
     .fixed = 170,
     .bound = 1},
    {.claim = "single keys checked, requests/s, 64 in flight",
     .against = "fixed",
     .quantity = REQUESTS_PER_S,
     .of = CLUSTER("check", 1, 64),
     .fixed = 80000,
     .bound = 1,
     .at_least = true},
    {.claim = "median latency of one key checked, 1 in flight",
     .against = "SMISMEMBER",
     .quantity = P50_US,
     .of = CLUSTER("check", 1, 1),
     .reference = REDIS("set", "check", 1, 1),
     .bound = 5},
    {.claim = "kernel lookups, 120 MB, batch 1,024",
     .against = "one line a key",
     .quantity = KEYS_PER_S,
     .of = KERNEL("line", 1, 120000000),
     .reference = KERNEL("limit", 1, 120000000),
     .bound = 0.8,
     .at_least = true},
    {.claim = "kernel lookups, 1.2 GB, batch 1,024",
     .against = "120 MB",
     .quantity = KEYS_PER_S,
     .of = KERNEL("line", 1, 1200000000),
     .reference = KERNEL("line", 1, 120000000),
     .bound = 0.65,
     .at_least = true},
    {.claim = "node memory beyond arrays, worst node and row",
     .against = "fixed",
     .quantity = BEYOND_BYTES,
     .fixed = 64.0 * 1024 * 1024,
     .bound = 1},
};

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
    case KEYS_PER_S:
        return cell->keys_per_s.median;
    case REQUESTS_PER_S:
        return cell->requests_per_s.median;
    case P50_US:
        return cell->p50_us.median;
    case CPU_NS:
        return cell->cpu_service_ns.median;
    case BEYOND_BYTES:
        break;
    }
    return NAN;
}

static const char *show(enum quantity quantity, double value, char text[SHOW_BYTES])
{
    switch (quantity) {
    case KEYS_PER_S:
    case REQUESTS_PER_S:
        return show_rate(value, text);
    case P50_US:
        return show_time(value, text);
    case CPU_NS:
        return show_cpu(value, text);
    case BEYOND_BYTES:
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
    return sizeof figures / sizeof figures[0];
}

struct verdict verdict_of(size_t index, const struct cells *cells)
{
    const struct figure *figure = &figures[index];
    bool fixed = figure->reference.target == NULL;
    double measured = value_of(cells, figure->quantity, &figure->of);
    double reference = fixed ? figure->fixed
                             : value_of(cells, figure->quantity, &figure->reference);
    struct verdict verdict = {.claim = figure->claim,
                              .ratio = measured / reference,
                              .bound = figure->bound,
                              .at_least = figure->at_least};
    char text[SHOW_BYTES];

    assert(index < verdict_count());
    (void)snprintf(verdict.reference, sizeof verdict.reference, "%s%s%s",
                   fixed ? "" : figure->against, fixed ? "" : ": ",
                   show(figure->quantity, reference, text));
    (void)show(figure->quantity, measured, verdict.measured);
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
