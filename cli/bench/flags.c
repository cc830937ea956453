/* The table of `orbloom bench`'s flags, apart as its help is long. */
#include "cli/bench/load.h"
#include "cli/bench/settings.h"

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
