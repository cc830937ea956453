/* Reads lines of JSON, and refuses those that claim a figure without proof. */
#include "bench/report/rows.h"

#include "base/heap.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One line while it is read; `why` is set by the first field that is wrong. */
struct reader {
    json_t *object;
    const char *why;
};

static void text(struct reader *self, const char *name, char *out, size_t out_bytes)
{
    const json_t *value = json_object_get(self->object, name);

    out[0] = '\0';
    if (json_is_string(value)) {
        (void)snprintf(out, out_bytes, "%s", json_string_value(value));
    } else if (value != NULL) {
        self->why = "a text is no text";
    }
}

static double number(struct reader *self, const char *name)
{
    const json_t *value = json_object_get(self->object, name);

    if (value == NULL) {
        return NAN;
    }
    if (!json_is_number(value) || json_number_value(value) < 0) {
        self->why = "a number is no number of 0 or more";
        return NAN;
    }
    return json_number_value(value);
}

static uint64_t count(struct reader *self, const char *name)
{
    const json_t *value = json_object_get(self->object, name);

    if (value == NULL) {
        return 0;
    }
    if (!json_is_integer(value) || json_integer_value(value) < 0) {
        self->why = "a count is no whole number of 0 or more";
        return 0;
    }
    return (uint64_t)json_integer_value(value);
}

static json_t *processes(struct reader *self, const char *name)
{
    json_t *value = json_object_get(self->object, name);

    if (value != NULL && !json_is_object(value)) {
        self->why = "figures by process are no object";
    }
    return value;
}

/* What a key costs where it is served: the coordinator takes no part in it. */
static void read_cpu(struct reader *self, struct row *row)
{
    const char *process;
    json_t *value;
    double service_ns = 0;
    bool any = false;
    json_t *all = processes(self, "cpu_ns_per_key");

    row->cpu_service_ns = NAN;
    row->cpu_client_ns = NAN;
    json_object_foreach(all, process, value)
    {
        if (strcmp(process, "client") == 0) {
            row->cpu_client_ns = json_number_value(value);
        } else if (strcmp(process, "coordinator") != 0) {
            service_ns += json_number_value(value);
            any = true;
        }
    }
    if (any) {
        row->cpu_service_ns = service_ns;
    }
}

static void read_memory(struct reader *self, struct row *row)
{
    json_t *arrays = processes(self, "arrays_bytes");
    json_t *resident = processes(self, "resident_bytes");
    const char *process;
    json_t *value;

    row->beyond_bytes = NAN;
    json_object_foreach(resident, process, value)
    {
        const json_t *of_arrays = json_object_get(arrays, process);
        double beyond = json_number_value(value) - json_number_value(of_arrays);

        if (of_arrays != NULL && strncmp(process, "node-", 5) == 0 &&
            !(beyond <= row->beyond_bytes)) {
            row->beyond_bytes = beyond;
        }
    }
}

static void read_figures(struct reader *self, struct row *row)
{
    row->keys_per_s = number(self, "keys_per_s");
    row->requests_per_s = number(self, "requests_per_s");
    row->p50_us = number(self, "p50_us");
    row->p99_us = number(self, "p99_us");
    row->asked_rate = number(self, "asked_rate");
    row->model_rate = number(self, "model_rate");
    row->measured_rate = number(self, "measured_rate");
    row->bits_per_key = number(self, "bits_per_key");
    row->value = number(self, "value");
    row->lost = count(self, "lost");
    row->unanswered = count(self, "unanswered");
    row->absent_checked = count(self, "absent_checked");
    row->false_positives = count(self, "false_positives");
    read_cpu(self, row);
    read_memory(self, row);
}

/* A load that does not say how many keys were lost proves nothing. */
static void demand_proof(struct reader *self, const struct row *row)
{
    bool sends_keys = strcmp(row->target, "kernel") != 0 && strcmp(row->target, "disk") != 0;

    if (!row_measured(row) || self->why != NULL || strcmp(row->op, "rate") == 0) {
        return;
    }
    if (strcmp(row->target, "figure") == 0) {
        self->why = isnan(row->value) ? "no value" : NULL;
    } else if (isnan(row->keys_per_s)) {
        self->why = "no keys_per_s";
    } else if (sends_keys && (json_object_get(self->object, "lost") == NULL ||
                              json_object_get(self->object, "unanswered") == NULL)) {
        self->why = "no lost or no unanswered";
    }
}

static void read_row(struct reader *self, struct row *row)
{
    text(self, "target", row->target, sizeof row->target);
    text(self, "method", row->method, sizeof row->method);
    text(self, "op", row->op, sizeof row->op);
    text(self, "failed", row->failed, sizeof row->failed);
    text(self, "not_run", row->not_run, sizeof row->not_run);
    text(self, "unit", row->unit, sizeof row->unit);
    text(self, "note", row->note, sizeof row->note);
    row->batch = count(self, "batch");
    row->in_flight = count(self, "in_flight");
    row->size = count(self, "size");
    row->z = count(self, "z");
    row->round = count(self, "round");
    read_figures(self, row);
    if (self->why == NULL && (row->target[0] == '\0' || row->op[0] == '\0')) {
        self->why = "no target or no op";
    }
    demand_proof(self, row);
}

bool row_measured(const struct row *row)
{
    return row->failed[0] == '\0' && row->not_run[0] == '\0';
}

bool row_bad(const struct row *row)
{
    return row->failed[0] != '\0' || row->lost > 0 || row->unanswered > 0;
}

enum status rows_parse(const char *line, struct row *out, const char **why)
{
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    struct reader reader = {.object = object};
    struct row row = {.round = 0};

    if (!json_is_object(object)) {
        reader.why = "no JSON object";
    } else {
        read_row(&reader, &row);
    }
    json_decref(object);
    if (reader.why != NULL) {
        *why = reader.why;
        return STATUS_MALFORMED;
    }
    *out = row;
    return STATUS_OK;
}

static enum status append(struct rows *self, const struct row *row)
{
    if (self->count == ROWS_MAX) {
        return STATUS_TOO_LARGE;
    }
    if (!heap_grow(&self->items, &self->capacity, self->count + 1, sizeof *self->items)) {
        return STATUS_NOMEM;
    }
    self->items[self->count++] = *row;
    return STATUS_OK;
}

enum status rows_read(struct rows *self, FILE *in, FILE *complaints)
{
    enum status status = STATUS_OK;
    char *line = NULL;
    size_t line_bytes = 0;

    *self = (struct rows){0};
    for (size_t place = 1; status == STATUS_OK && getline(&line, &line_bytes, in) >= 0; place++) {
        struct row row;
        const char *why = "";

        if (rows_parse(line, &row, &why) == STATUS_OK) {
            status = append(self, &row);
        } else {
            self->torn++;
            (void)fprintf(complaints, "line %zu is no row: %s\n", place, why);
        }
    }
    free(line);
    if (status == STATUS_OK && ferror(in)) {
        status = STATUS_IO;
    }
    if (status != STATUS_OK) {
        rows_fini(self);
    }
    return status;
}

void rows_fini(struct rows *self)
{
    heap_free(self->items);
    *self = (struct rows){0};
}
