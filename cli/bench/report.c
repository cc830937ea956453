/* The columns of the table, and the same figures as one line of JSON. */
#include "cli/bench/report.h"

#include "base/number.h"
#include "cli/output.h"

static double per_s(const struct bench_row *row, uint64_t count)
{
    uint64_t elapsed_us = row->result->elapsed_us;

    return elapsed_us > 0 ? (double)count * 1e6 / (double)elapsed_us : 0;
}

static double ns_per_key(const struct bench_row *row, size_t process)
{
    double keys = (double)row->result->keys;

    return keys > 0 ? (double)row->cpu->processes[process].used_ns / keys : 0;
}

static void show_header(const struct bench_settings *settings)
{
    if (settings->is_redis) {
        (void)printf("%-7s %-9s ", "target", "method");
    }
    (void)printf("%-6s %6s %9s %12s %12s %10s %10s  %s\n", "op", "batch", "in flight", "keys",
                 "keys/s", "p50 ms", "p99 ms", "CPU ns a key");
}

void bench_show_text(const struct bench_row *row)
{
    const struct bench_settings *settings = row->settings;
    const struct load_result *result = row->result;
    char keys[NUMBER_TEXT_BYTES];
    char pace[NUMBER_TEXT_BYTES];

    if (!settings->no_header) {
        show_header(settings);
    }
    if (settings->is_redis) {
        (void)printf("%-7s %-9s ", settings->target, settings->method);
    }
    (void)printf("%-6s %6u %9u %12s %12s %10.3f %10.3f ", settings->operation, (unsigned)row->batch,
                 (unsigned)row->in_flight, number_show_count(result->keys, keys),
                 number_show_count((uint64_t)per_s(row, result->keys), pace),
                 (double)latency_quantile_us(&result->latency, 0.5) / 1000,
                 (double)latency_quantile_us(&result->latency, 0.99) / 1000);
    for (size_t i = 0; i < row->cpu->count; i++) {
        (void)printf(" %s %.0f", row->cpu->processes[i].name, ns_per_key(row, i));
    }
    (void)putchar('\n');
}

static void show_request(struct json *json, const struct bench_row *row)
{
    json_text(json, "target", row->settings->target);
    json_text(json, "method", row->settings->method);
    json_text(json, "op", row->settings->operation);
    json_count(json, "batch", row->batch);
    json_count(json, "in_flight", row->in_flight);
    json_count(json, "size", row->settings->size);
}

static void show_result(struct json *json, const struct bench_row *row)
{
    const struct load_result *result = row->result;

    json_count(json, "keys", result->keys);
    json_number(json, "seconds", (double)result->elapsed_us / 1e6);
    json_number(json, "keys_per_s", per_s(row, result->keys));
    json_number(json, "requests_per_s", per_s(row, result->batches));
    json_count(json, "p50_us", latency_quantile_us(&result->latency, 0.5));
    json_count(json, "p99_us", latency_quantile_us(&result->latency, 0.99));
    json_count(json, "lost", result->lost);
    json_count(json, "unanswered", result->unanswered);
    json_count(json, "retries", result->retries);
    json_count(json, "absent_checked", result->absent);
    json_count(json, "false_positives", result->false_positives);
}

static void show_processes(struct json *json, const struct bench_row *row)
{
    const struct cpu_process *processes = row->cpu->processes;

    json_begin(json, "cpu_ns_per_key", '{');
    for (size_t i = 0; i < row->cpu->count; i++) {
        json_number(json, processes[i].name, ns_per_key(row, i));
    }
    json_end(json, '}');
    json_begin(json, "resident_bytes", '{');
    for (size_t i = 0; i < row->cpu->count; i++) {
        if (processes[i].resident_bytes > 0) {
            json_count(json, processes[i].name, processes[i].resident_bytes);
        }
    }
    json_end(json, '}');
}

static void show_arrays(struct json *json, const struct arrays *arrays)
{
    json_begin(json, "arrays_bytes", '{');
    for (size_t i = 0; i < arrays->count; i++) {
        if (arrays->nodes[i].answered) {
            json_count(json, arrays->nodes[i].name, arrays->nodes[i].bytes);
        }
    }
    json_end(json, '}');
}

void bench_show_json(const struct bench_row *row)
{
    struct json json;

    json_open_line(&json, stdout);
    json_begin(&json, NULL, '{');
    show_request(&json, row);
    show_result(&json, row);
    show_processes(&json, row);
    if (row->arrays != NULL) {
        show_arrays(&json, row->arrays);
    }
    json_end(&json, '}');
}
