#include "base/number.h"
#include "client/cmd.h"
#include "client/cmd_bench_cpu.h"
#include "client/cmd_bench_load.h"
#include "client/cmd_output.h"
#include "cluster/document.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bench_settings {
    struct flags_common common;
    const char *filter;
    const char *operation;
    uint64_t keys;
    uint64_t batch;
    uint64_t in_flight;
    double rate;
    const char *dir;
    bool no_header;
    bool json;
};

#define FIELD(name) offsetof(struct bench_settings, name)

static const struct flag flags[] = {
    {
        .name = "op",
        .kind = FLAG_CHOICE,
        .offset = FIELD(operation),
        .sample = "OP",
        .range = "check | add | mix",
        .value = "check",
        .help = "what to measure; mix: batches of both in turn",
    },
    {
        .name = "keys",
        .kind = FLAG_COUNT,
        .offset = FIELD(keys),
        .min = 1,
        .max = UINT64_C(100000000000),
        .sample = "KEYS",
        .range = "1 to 100G",
        .value = "5M",
        .help = "keys to send",
    },
    {
        .name = "batch",
        .kind = FLAG_COUNT,
        .offset = FIELD(batch),
        .min = 1,
        .max = LOAD_MAX_BATCH,
        .sample = "KEYS",
        .range = "1 to 65536",
        .value = "1000",
        .help = "keys in one request",
    },
    {
        .name = "in-flight",
        .kind = FLAG_COUNT,
        .offset = FIELD(in_flight),
        .min = 1,
        .max = 1024,
        .sample = "N",
        .range = "1 to 1024",
        .value = "32",
        .help = "requests sent before the first is answered",
    },
    {
        .name = "filter",
        .kind = FLAG_TEXT,
        .offset = FIELD(filter),
        .sample = "NAME",
        .help = "use this filter (keys are added to it); else one of its own, dropped after",
    },
    {
        .name = "fpr",
        .kind = FLAG_RATE,
        .offset = FIELD(rate),
        .sample = "RATE",
        .range = "1e-9 to 50%",
        .value = "1%",
        .help = "of its own filter",
    },
    {
        .name = "dir",
        .kind = FLAG_TEXT,
        .offset = FIELD(dir),
        .sample = "DIR",
        .help = "a playground's: also show the CPU time of its processes; else $ORBLOOM_DIR",
    },
    {
        .name = "no-header",
        .kind = FLAG_SWITCH,
        .offset = FIELD(no_header),
        .help = "print the row alone",
    },
    {
        .name = "json",
        .kind = FLAG_SWITCH,
        .offset = FIELD(json),
        .help = "print one object instead",
    },
};

static const struct flag_table table = {
    .command = "bench",
    .words = "",
    .summary = "Measure a cluster: keys a second, latency, CPU time; and judge every answer.",
    .notes = "Keys are URLs of 60 bytes, half of them present. Latency is of a whole batch, from\n"
             "submit to answer. A present key answered absent is a lost key and an error.\n\n"
             "Example: orbloom bench --op check --batch 64 --keys 1M\n\n"
             "Exit: 0, 1 a key was lost or not answered, 2 wrong usage.",
    .flags = flags,
    .count = sizeof flags / sizeof flags[0],
    .common = true,
};

enum { KNOWN_MOST = 1000000, FILL_BATCH = 4096, FILL_IN_FLIGHT = 8, US_PER_MS = 1000 };

struct bench {
    struct bench_settings settings;
    char name[DOCUMENT_NAME_BYTES];
    struct orbloom *handle;
    uint64_t known;
    struct load_result result;
    struct cpu_watch cpu;
};

static enum load_kind kind_of(const char *operation)
{
    if (strcmp(operation, "add") == 0) {
        return LOAD_ADD;
    }
    return strcmp(operation, "mix") == 0 ? LOAD_MIX : LOAD_CHECK;
}

static int complain(const struct bench *bench)
{
    (void)fprintf(stderr, "orbloom: %s\n", orbloom_error(bench->handle));
    return CMD_PARTIAL;
}

/* Keys that are there before the measurement; the filter has room for all that follow. */
static int prepare(struct bench *bench)
{
    const struct bench_settings *settings = &bench->settings;
    struct load fill = {.handle = bench->handle,
                        .filter = bench->name,
                        .kind = LOAD_FILL,
                        .batch = FILL_BATCH,
                        .in_flight = FILL_IN_FLIGHT};
    struct orbloom_filter filter = {.name = bench->name, .rate = settings->rate};

    bench->known = settings->keys / 2 + 1 < KNOWN_MOST ? settings->keys / 2 + 1 : KNOWN_MOST;
    filter.capacity = bench->known + settings->keys / 2 + 1;
    if (settings->filter == NULL && orbloom_create(bench->handle, &filter, NULL) != ORBLOOM_OK) {
        return complain(bench);
    }
    fill.keys = bench->known;
    if (!load_run(&fill, &bench->result)) {
        return cmd_fail(STATUS_NOMEM, "no memory for batches; give a smaller --batch");
    }
    if (bench->result.unanswered > 0) {
        return cmd_fail((enum status)bench->result.code, "filling the filter: %s",
                        bench->result.message);
    }
    return CMD_OK;
}

static int measure(struct bench *bench)
{
    const struct bench_settings *settings = &bench->settings;
    struct load load = {.handle = bench->handle,
                        .filter = bench->name,
                        .kind = kind_of(settings->operation),
                        .keys = settings->keys,
                        .known = bench->known,
                        .fresh = bench->known,
                        .batch = (uint32_t)settings->batch,
                        .in_flight = (uint32_t)settings->in_flight};

    cpu_begin(&bench->cpu);
    if (!load_run(&load, &bench->result)) {
        return cmd_fail(STATUS_NOMEM, "no memory for batches; give a smaller --batch");
    }
    cpu_end(&bench->cpu);
    if (bench->result.lost > 0) {
        return cmd_fail(STATUS_INTERNAL, "%" PRIu64 " added keys were answered absent",
                        bench->result.lost);
    }
    if (bench->result.unanswered > 0) {
        return cmd_fail((enum status)bench->result.code, "%" PRIu64 " keys without an answer: %s",
                        bench->result.unanswered, bench->result.message);
    }
    return CMD_OK;
}

static double keys_per_s(const struct load_result *result)
{
    return result->elapsed_us > 0 ? (double)result->keys * 1e6 / (double)result->elapsed_us : 0;
}

static double ns_per_key(const struct bench *bench, size_t process)
{
    double keys = (double)bench->result.keys;

    return keys > 0 ? (double)bench->cpu.processes[process].used_ns / keys : 0;
}

static void show_text(const struct bench *bench)
{
    const struct bench_settings *settings = &bench->settings;
    const struct load_result *result = &bench->result;
    char keys[NUMBER_TEXT_BYTES];
    char pace[NUMBER_TEXT_BYTES];

    if (!settings->no_header) {
        (void)printf("%-6s %6s %9s %12s %12s %10s %10s  %s\n", "op", "batch", "in flight", "keys",
                     "keys/s", "p50 ms", "p99 ms", "CPU ns a key");
    }
    (void)printf("%-6s %6u %9u %12s %12s %10.3f %10.3f ", settings->operation,
                 (unsigned)settings->batch, (unsigned)settings->in_flight,
                 number_show_count(result->keys, keys),
                 number_show_count((uint64_t)keys_per_s(result), pace),
                 load_latency_us(result, 0.5) / 1000, load_latency_us(result, 0.99) / 1000);
    for (size_t i = 0; i < bench->cpu.count; i++) {
        (void)printf(" %s %.0f", bench->cpu.processes[i].name, ns_per_key(bench, i));
    }
    (void)putchar('\n');
}

static void show_json(const struct bench *bench)
{
    const struct bench_settings *settings = &bench->settings;
    const struct load_result *result = &bench->result;
    struct json json;

    json_open(&json, stdout);
    json_begin(&json, NULL, '{');
    json_text(&json, "op", settings->operation);
    json_count(&json, "batch", settings->batch);
    json_count(&json, "in_flight", settings->in_flight);
    json_count(&json, "keys", result->keys);
    json_number(&json, "seconds", (double)result->elapsed_us / 1e6);
    json_number(&json, "keys_per_s", keys_per_s(result));
    json_number(&json, "p50_us", load_latency_us(result, 0.5));
    json_number(&json, "p99_us", load_latency_us(result, 0.99));
    json_count(&json, "lost", result->lost);
    json_count(&json, "unanswered", result->unanswered);
    json_count(&json, "absent_checked", result->absent);
    json_count(&json, "false_positives", result->false_positives);
    json_begin(&json, "cpu_ns_per_key", '{');
    for (size_t i = 0; i < bench->cpu.count; i++) {
        json_number(&json, bench->cpu.processes[i].name, ns_per_key(bench, i));
    }
    json_end(&json, '}');
    json_end(&json, '}');
}

static int run_bench(struct bench *bench)
{
    int code = prepare(bench);

    if (code == CMD_OK) {
        code = measure(bench);
    }
    if (bench->result.keys > 0 && code != CMD_USAGE) {
        if (bench->settings.json) {
            show_json(bench);
        } else {
            show_text(bench);
        }
    }
    if (bench->settings.filter == NULL && orbloom_drop(bench->handle, bench->name) != ORBLOOM_OK &&
        code == CMD_OK) {
        code = complain(bench);
    }
    return code;
}

static int run(int argc, char **argv)
{
    static struct bench bench;
    struct bench_settings *settings = &bench.settings;
    struct orbloom_options options = {0};
    struct words words;
    int code;

    if (flags_parse(&table, argc, argv, settings, &words) != STATUS_OK ||
        (settings->filter != NULL && !cmd_check_filter_name(settings->filter))) {
        return CMD_USAGE;
    }
    if (settings->filter != NULL) {
        (void)snprintf(bench.name, sizeof bench.name, "%s", settings->filter);
    } else {
        (void)snprintf(bench.name, sizeof bench.name, "bench-%ld", (long)getpid());
    }
    cpu_open(&bench.cpu, settings->dir != NULL ? settings->dir : getenv("ORBLOOM_DIR"));
    options.routers = settings->common.routers;
    options.coordinators = settings->common.coordinators;
    options.timeout_ms = (uint32_t)(settings->common.timeout_us / US_PER_MS);
    options.max_in_flight = (uint32_t)settings->in_flight + FILL_IN_FLIGHT;
    code = orbloom_connect(&options, &bench.handle);
    code = code == ORBLOOM_OK ? run_bench(&bench) : complain(&bench);
    orbloom_close(&bench.handle);
    return cmd_close_output(code);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_bench(void)
{
    return &command;
}
