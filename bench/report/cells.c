/* Gathers the rows of one measurement, and the spread of each of their figures. */
#include "bench/report/cells.h"

#include "base/heap.h"

#include <math.h>
#include <string.h>

static bool same(const struct cell_key *a, const struct cell_key *b)
{
    return a->batch == b->batch && a->in_flight == b->in_flight && a->size == b->size &&
           a->z == b->z && strcmp(a->target, b->target) == 0 && strcmp(a->method, b->method) == 0 &&
           strcmp(a->op, b->op) == 0;
}

static struct cell_key key_of(const struct row *row)
{
    return (struct cell_key){.target = row->target,
                             .method = row->method,
                             .op = row->op,
                             .batch = row->batch,
                             .in_flight = row->in_flight,
                             .size = row->size,
                             .z = row->z};
}

/* The field at `offset` of all rows that were measured under this key. */
static struct spread gather(const struct rows *rows, const struct cell_key *key, size_t offset,
                            double *values)
{
    size_t count = 0;

    for (size_t i = 0; i < rows->count; i++) {
        struct cell_key other = key_of(&rows->items[i]);

        if (row_measured(&rows->items[i]) && same(key, &other)) {
            memcpy(&values[count++], (const char *)&rows->items[i] + offset, sizeof *values);
        }
    }
    return spread_of(values, count);
}

static void fill(struct cell *cell, const struct rows *rows, double *values)
{
    const struct cell_key *key = &cell->key;

    cell->keys_per_s = gather(rows, key, offsetof(struct row, keys_per_s), values);
    cell->requests_per_s = gather(rows, key, offsetof(struct row, requests_per_s), values);
    cell->p50_us = gather(rows, key, offsetof(struct row, p50_us), values);
    cell->p99_us = gather(rows, key, offsetof(struct row, p99_us), values);
    cell->cpu_service_ns = gather(rows, key, offsetof(struct row, cpu_service_ns), values);
    cell->cpu_client_ns = gather(rows, key, offsetof(struct row, cpu_client_ns), values);
    cell->beyond_bytes = gather(rows, key, offsetof(struct row, beyond_bytes), values);
    cell->value = gather(rows, key, offsetof(struct row, value), values);
}

static struct cell *find(const struct cells *self, const struct cell_key *key)
{
    for (size_t i = 0; i < self->count; i++) {
        if (same(&self->items[i].key, key)) {
            return &self->items[i];
        }
    }
    return NULL;
}

static void count_row(struct cells *self, const struct row *row)
{
    struct cell_key key = key_of(row);
    struct cell *cell = find(self, &key);

    if (cell == NULL) {
        cell = &self->items[self->count++];
        *cell = (struct cell){.key = key, .not_run = row->not_run};
    }
    cell->unit = row->unit;
    cell->note = row->note;
    cell->absent_checked += row->absent_checked;
    cell->false_positives += row->false_positives;
}

enum status cells_make(struct cells *self, const struct rows *rows)
{
    double *values = heap_alloc(rows->count + 1, sizeof *values);

    *self = (struct cells){.items = heap_zalloc(rows->count + 1, sizeof *self->items)};
    if (values == NULL || self->items == NULL) {
        heap_free(values);
        cells_fini(self);
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < rows->count; i++) {
        if (strcmp(rows->items[i].op, "rate") != 0) {
            count_row(self, &rows->items[i]);
        }
    }
    for (size_t i = 0; i < self->count; i++) {
        fill(&self->items[i], rows, values);
    }
    heap_free(values);
    return STATUS_OK;
}

void cells_fini(struct cells *self)
{
    heap_free(self->items);
    *self = (struct cells){0};
}

const struct cell *cells_find(const struct cells *self, const struct cell_key *key)
{
    return find(self, key);
}

double cell_rate(const struct cell *cell)
{
    return cell == NULL ? NAN : cell->keys_per_s.median;
}
