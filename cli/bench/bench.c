/* `orbloom bench`: makes or finds the target, fills it, measures each kind of load in turn and
 * judges what came back. */
#include "cli/bench/orbloom.h"
#include "cli/bench/redis.h"
#include "cli/bench/report.h"
#include "runtime/hub.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILL_BATCH = 4096, FILL_IN_FLIGHT = 8, US_PER_MS = 1000 };

struct bench {
    struct bench_settings settings;
    char name[DOCUMENT_NAME_BYTES];
    struct bench_set set;
    struct bench_target *target; /* one of the two below */
    struct bench_orbloom orbloom;
    struct bench_redis redis;
    uint64_t batch; /* of what is shown */
    uint64_t in_flight;
    struct load_result result;
    struct cpu_watch cpu;
    struct arrays arrays;
};

static int complain(const struct bench *bench)
{
    (void)fprintf(stderr, "orbloom: %s\n", bench->target->ops->error(bench->target));
    return CMD_PARTIAL;
}

/* ---- before the measurement ---- */

static int add_all(struct bench *bench)
{
    struct load fill = {.target = bench->target,
                        .kind = LOAD_ADD,
                        .choice = {.only_fresh = true},
                        .keys = bench->set.size,
                        .batch = FILL_BATCH,
                        .in_flight = FILL_IN_FLIGHT};

    bench->batch = fill.batch;
    bench->in_flight = fill.in_flight;
    if (!load_run(&fill, &bench->result)) {
        return cmd_fail(STATUS_NOMEM, "no memory for batches of %d keys", FILL_BATCH);
    }
    if (bench->result.unanswered > 0) {
        (void)cmd_fail((enum status)bench->result.code, "filling the filter: %s",
                       bench->result.message);
        return CMD_PARTIAL;
    }
    return CMD_OK;
}

static int upload(struct bench *bench, int code, const struct bench_upload *upload)
{
    if (code != ORBLOOM_OK) {
        return complain(bench);
    }
    bench->in_flight = 1;
    bench->batch = upload->chunk_keys < bench->set.size ? upload->chunk_keys : bench->set.size;
    bench->result.keys = bench->set.size;
    bench->result.batches = upload->requests;
    return CMD_OK;
}

static int fill(struct bench *bench)
{
    const struct bench_target_ops *ops = bench->target->ops;
    struct bench_upload uploaded = {0};
    uint64_t start_us = hub_now_us();
    int code = ORBLOOM_EXISTS;

    cpu_begin(&bench->cpu);
    if (ops->upload != NULL) {
        code = ops->upload(bench->target, &uploaded);
    }
    code = code == ORBLOOM_EXISTS ? add_all(bench) : upload(bench, code, &uploaded);
    bench->result.elapsed_us = hub_now_us() - start_us;
    cpu_end(&bench->cpu);
    return code;
}

/* A cluster's filter that is named was made by its user, unless it is to be made now. */
static int prepare(struct bench *bench)
{
    const struct bench_settings *settings = &bench->settings;
    bool makes = bench->set.own || settings->is_fill || settings->is_redis;

    if (settings->filled) {
        return CMD_OK;
    }
    if (makes && bench->target->ops->create(bench->target) != ORBLOOM_OK) {
        return complain(bench);
    }
    return fill(bench);
}

/* ---- the measurement ---- */

static enum load_kind kind_of(const char *operation)
{
    if (strcmp(operation, "add") == 0) {
        return LOAD_ADD;
    }
    return strcmp(operation, "mix") == 0 ? LOAD_MIX : LOAD_CHECK;
}

static int judge(const struct bench *bench)
{
    const struct load_result *result = &bench->result;

    if (result->lost > 0) {
        (void)cmd_fail(bench->settings.filled ? STATUS_INVALID : STATUS_INTERNAL,
                       "%" PRIu64 " added keys were answered absent%s", result->lost,
                       bench->settings.filled
                           ? ", or never added: does the filter hold --size keys of --op fill?"
                           : "");
        return CMD_PARTIAL;
    }
    if (result->unanswered > 0 || result->code != ORBLOOM_OK) {
        (void)cmd_fail((enum status)result->code, "%" PRIu64 " keys without an answer: %s",
                       result->unanswered, result->message);
        return CMD_PARTIAL;
    }
    if (bench->settings.is_redis && bench->settings.redis_method == REDIS_SET &&
        result->false_positives > 0) {
        return cmd_fail(STATUS_INTERNAL,
                        "%" PRIu64 " keys that were never added were answered present, by a set; "
                        "were they added by another run? Give a higher --fresh",
                        result->false_positives);
    }
    return CMD_OK;
}

static int measure(struct bench *bench)
{
    const struct bench_settings *settings = &bench->settings;
    struct load load = {.target = bench->target,
                        .kind = kind_of(settings->operation),
                        .choice = {.known = settings->size, .fresh = settings->fresh},
                        .keys = settings->keys,
                        .pace = settings->pace,
                        .for_us = settings->for_us,
                        .batch = (uint32_t)settings->batch,
                        .in_flight = (uint32_t)settings->in_flight};

    bench->batch = settings->batch;
    bench->in_flight = settings->in_flight;
    cpu_begin(&bench->cpu);
    if (!load_run(&load, &bench->result)) {
        return cmd_fail(STATUS_NOMEM, "no memory for batches; give a smaller --batch");
    }
    cpu_end(&bench->cpu);
    return judge(bench);
}

static void show(struct bench *bench)
{
    struct bench_row row = {.settings = &bench->settings,
                            .batch = bench->batch,
                            .in_flight = bench->in_flight,
                            .result = &bench->result,
                            .cpu = &bench->cpu};

    if (!bench->settings.json) {
        bench_show_text(&row);
        return;
    }
    if (!bench->settings.is_redis) {
        arrays_ask(&bench->arrays, &bench->settings.common);
        row.arrays = &bench->arrays;
    }
    bench_show_json(&row);
}

static int run_bench(struct bench *bench)
{
    int code = prepare(bench);

    bool measures = code == CMD_OK && !bench->settings.is_fill;

    if (measures) {
        code = measure(bench);
    }
    if (bench->result.keys > 0 && bench->result.unanswered == 0 &&
        (measures || bench->settings.is_fill)) {
        show(bench);
    }
    if (bench->set.own && bench->target->ops->drop(bench->target) != ORBLOOM_OK && code == CMD_OK) {
        code = complain(bench);
    }
    return code;
}

/* ---- targets ---- */

static int open_orbloom(struct bench *bench)
{
    const struct bench_settings *settings = &bench->settings;
    const char *dir = settings->dir != NULL ? settings->dir : getenv("ORBLOOM_DIR");
    struct orbloom_options options = {
        .routers = settings->common.routers,
        .credential = settings->common.credential,
        .coordinators = settings->common.coordinators,
        .timeout_ms = (uint32_t)(settings->common.timeout_us / US_PER_MS),
        .max_in_flight = (uint32_t)settings->in_flight + FILL_IN_FLIGHT,
    };

    bench->target = &bench->orbloom.target;
    if (dir != NULL) {
        cpu_watch_folder(&bench->cpu, dir);
    }
    return bench_orbloom_open(&bench->orbloom, &options, &bench->set);
}

static int open_redis(struct bench *bench)
{
    const struct bench_settings *settings = &bench->settings;
    struct bench_redis_options options = {.place = settings->place,
                                          .method = settings->redis_method,
                                          .timeout_us = settings->common.timeout_us,
                                          .set = &bench->set};
    int code;

    bench->target = &bench->redis.target;
    code = bench_redis_open(&bench->redis, &options);
    if (code == ORBLOOM_OK) {
        cpu_watch_process(&bench->cpu, "redis-server", bench_redis_pid(&bench->redis));
    }
    return code;
}

static void describe_set(struct bench *bench)
{
    const struct bench_settings *settings = &bench->settings;
    const char *prefix = settings->is_redis ? "orbloom-bench" : "bench";

    if (settings->filter != NULL) {
        (void)snprintf(bench->name, sizeof bench->name, "%s", settings->filter);
    } else {
        (void)snprintf(bench->name, sizeof bench->name, "%s-%ld", prefix, (long)getpid());
    }
    bench->set = (struct bench_set){.name = bench->name,
                                    .size = settings->size,
                                    .capacity = settings->size + settings->keys / 2 + 1,
                                    .rate = settings->rate,
                                    .xxh3 = strcmp(settings->hash, "xxh3") == 0,
                                    .own = settings->filter == NULL};
}

static int run(int argc, char **argv)
{
    static struct bench bench;
    int code = bench_settings_parse(&bench.settings, argc, argv);

    if (code != CMD_OK) {
        return code;
    }
    describe_set(&bench);
    code = bench.settings.is_redis ? open_redis(&bench) : open_orbloom(&bench);
    cpu_watch_process(&bench.cpu, "client", (long)getpid());
    code = code == ORBLOOM_OK ? run_bench(&bench) : complain(&bench);
    if (bench.settings.is_redis) {
        bench_redis_close(&bench.redis);
    } else {
        bench_orbloom_close(&bench.orbloom);
    }
    return cmd_close_output(code);
}

const struct command *cmd_bench(void)
{
    static struct command command = {.run = run};

    command.flags = bench_flags();
    return &command;
}
