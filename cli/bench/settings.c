/* The flags, and what they say, checked against each other, since targets don't take the same ones.
 */
#include "cli/bench/settings.h"

#include "cli/bench/bits.h"
#include "cli/bench/load.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name) offsetof(struct bench_settings, name)

static const struct option options[] = {
    {
        .name = "op",
        .kind = OPTION_CHOICE,
        .offset = FIELD(operation),
        .sample = "OP",
        .range = "check | add | mix | fill",
        .value = "check",
        .help = "what to measure; mix: batches of both in turn; fill: fill --filter and leave it",
    },
    {
        .name = "keys",
        .kind = OPTION_COUNT,
        .offset = FIELD(keys),
        .min = 1,
        .max = UINT64_C(100000000000),
        .sample = "KEYS",
        .range = "1 to 100G",
        .value = "5M",
        .help = "keys to send",
    },
    {
        .name = "for",
        .kind = OPTION_DURATION,
        .offset = FIELD(for_us),
        .min = 1000,
        .max = UINT64_C(86400000000),
        .sample = "TIME",
        .range = "1ms to 24h",
        .help = "send no more after this; else all --keys",
    },
    {
        .name = "pace",
        .kind = OPTION_COUNT,
        .offset = FIELD(pace),
        .min = 1,
        .max = UINT64_C(1000000000),
        .sample = "KEYS",
        .range = "1 to 1G",
        .help = "send so many a second, answered or not, and count latency from a batch's time",
    },
    {
        .name = "batch",
        .kind = OPTION_COUNT,
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
        .kind = OPTION_COUNT,
        .offset = FIELD(in_flight),
        .min = 1,
        .max = LOAD_MAX_IN_FLIGHT,
        .sample = "N",
        .range = "1 to 1024",
        .value = "32",
        .help = "requests sent before the first is answered",
    },
    {
        .name = "size",
        .kind = OPTION_COUNT,
        .offset = FIELD(size),
        .min = 1,
        .max = UINT64_C(100000000000),
        .sample = "KEYS",
        .range = "1 to 100G",
        .help = "keys that are added beforehand; else half of --keys, at most 1M",
    },
    {
        .name = "filter",
        .kind = OPTION_TEXT,
        .offset = FIELD(filter),
        .sample = "NAME",
        .help = "use this filter (keys are added to it); else one of its own, dropped after",
    },
    {
        .name = "filled",
        .kind = OPTION_SWITCH,
        .offset = FIELD(filled),
        .help = "--filter holds its --size keys already, of --op fill",
    },
    {
        .name = "fresh",
        .kind = OPTION_COUNT,
        .offset = FIELD(fresh),
        .min = 1,
        .max = UINT64_C(1000000000000),
        .sample = "NUMBER",
        .range = "1 to 1T",
        .help = "number of the first key that is not in the filter; else --size",
    },
    {
        .name = "fpr",
        .kind = OPTION_RATE,
        .offset = FIELD(rate),
        .sample = "RATE",
        FLAG_RATE_BOUNDS,
        .value = "1%",
        .help = "of the filter that it makes",
    },
    {
        .name = "hash",
        .kind = OPTION_CHOICE,
        .offset = FIELD(hash),
        .sample = "HASH",
        .range = "siphash | xxh3",
        .value = "siphash",
        .help = "of the filter that it makes",
    },
    {
        .name = "target",
        .kind = OPTION_CHOICE,
        .offset = FIELD(target),
        .sample = "TARGET",
        .range = "orbloom | redis",
        .value = "orbloom",
        .help = "what to measure it on",
    },
    {
        .name = "redis",
        .kind = OPTION_TEXT,
        .offset = FIELD(redis),
        .sample = "ENDPOINT",
        .range = "HOST:PORT or unix:PATH",
        .help = "the Redis server; else $ORBLOOM_REDIS",
    },
    {
        .name = "method",
        .kind = OPTION_CHOICE,
        .offset = FIELD(method),
        .sample = "METHOD",
        .range = "set | bits | bloom | bloom-one",
        .help = "redis: how it keeps keys; else set",
    },
    {
        .name = "dir",
        .kind = OPTION_TEXT,
        .offset = FIELD(dir),
        .sample = "DIR",
        .help = "a playground's: also show the CPU time of its processes; else $ORBLOOM_DIR",
    },
    {
        .name = "no-header",
        .kind = OPTION_SWITCH,
        .offset = FIELD(no_header),
        .help = "print the row alone",
    },
    {
        .name = "json",
        .kind = OPTION_SWITCH,
        .offset = FIELD(json),
        .help = "print one object in one line instead",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "bench",
    .words = "",
    .summary = "Measure a cluster: keys a second, latency, CPU time; and judge every answer.",
    .notes =
        "Keys are URLs of 60 bytes, half of them present. Latency is of a whole batch, from\n"
        "submit to answer. A present key answered absent is a lost key and an error.\n\n"
        "The filter that it makes has room for --size keys and the fresh half of --keys. Adds to\n"
        "a --filled one use up its room: give every run a --fresh of its own.\n\n"
        "--target redis sends the same keys in the same batches to a Redis server, by one\n"
        "pipelined connection. set: SADD and SMISMEMBER. bits: 7 SETBIT or GETBIT a key.\n"
        "bloom: BF.MADD and BF.MEXISTS; bloom-one: BF.ADD and BF.EXISTS, a command a key.\n\n"
        "Example: orbloom bench --op check --batch 64 --keys 1M\n"
        "         orbloom bench --target redis --redis 127.0.0.1:6379 --batch 64 --keys 1M\n\n"
        "Exit: 0, 1 a key was lost or not answered, 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
};

const struct option_table *bench_flags(void)
{
    return &table;
}

/* ---- what they say ---- */

enum { SIZE_DEFAULT_MOST = 1000000 };

static int refuse(const char *message)
{
    return cmd_fail(STATUS_USAGE, "%s", message);
}

static enum redis_method method_of(const char *name)
{
    if (strcmp(name, "bits") == 0) {
        return REDIS_BITS;
    }
    if (strcmp(name, "bloom") == 0) {
        return REDIS_BLOOM;
    }
    return strcmp(name, "bloom-one") == 0 ? REDIS_BLOOM_ONE : REDIS_SET;
}

static int check_redis(struct bench_settings *self)
{
    const char *place = self->redis != NULL ? self->redis : getenv("ORBLOOM_REDIS");

    self->method = self->method != NULL ? self->method : "set";
    self->redis_method = method_of(self->method);
    if (place == NULL || place[0] == '\0') {
        return refuse("no Redis server is named, and there is no default, so that nobody's is "
                      "filled by accident; give --redis HOST:PORT or unix:PATH, or set "
                      "$ORBLOOM_REDIS");
    }
    if (!redis_place_parse(place, &self->place)) {
        return cmd_fail(STATUS_INVALID,
                        "\"%.100s\" is no Redis server's endpoint; write HOST:PORT or unix:PATH "
                        "(at most 107 bytes)",
                        place);
    }
    if (self->redis_method == REDIS_BITS && bits_for_keys(self->size) > bits_most) {
        return cmd_fail(STATUS_INVALID,
                        "a Redis string holds the bits of %" PRIu64 " keys at most; give a "
                        "smaller --size",
                        bits_most / BITS_A_KEY);
    }
    return CMD_OK;
}

static int check_target(struct bench_settings *self)
{
    self->is_redis = strcmp(self->target, "redis") == 0;
    if (self->is_redis) {
        return check_redis(self);
    }
    if (self->method != NULL || self->redis != NULL) {
        return refuse("--method and --redis are for --target redis; add it, or leave them out");
    }
    self->method = "";
    return CMD_OK;
}

static int check_filter(const struct bench_settings *self)
{
    if (self->is_fill && self->filter == NULL) {
        return refuse("--op fill leaves a filter behind; give it a name with --filter NAME");
    }
    if (self->is_fill && self->filled) {
        return refuse("--op fill fills, --filled says that it is done; leave one of them out");
    }
    if (self->filled && (self->filter == NULL || self->size == 0)) {
        return refuse("--filled needs to know what holds how many keys; give --filter NAME "
                      "--size KEYS");
    }
    return CMD_OK;
}

static void set_size(struct bench_settings *self)
{
    uint64_t half = self->keys > 1 ? self->keys / 2 : 1;

    if (self->size == 0) {
        self->size = half < SIZE_DEFAULT_MOST ? half : SIZE_DEFAULT_MOST;
    }
}

int bench_settings_parse(struct bench_settings *self, int argc, char **argv)
{
    struct option_words words;
    int code;

    if (options_parse_command(bench_flags(), argc, argv, self, &words) != STATUS_OK ||
        (self->filter != NULL && !cmd_check_filter_name(self->filter))) {
        return CMD_USAGE;
    }
    self->is_fill = strcmp(self->operation, "fill") == 0;
    code = check_filter(self);
    if (code != CMD_OK) {
        return code;
    }
    set_size(self);
    if (self->fresh == 0) {
        self->fresh = self->size;
    }
    if (self->fresh < self->size) {
        return refuse("keys below --size are in the filter already; give a --fresh of at least "
                      "--size");
    }
    return check_target(self);
}
