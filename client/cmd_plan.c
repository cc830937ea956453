#include "base/number.h"
#include "client/cmd.h"
#include "client/cmd_output.h"
#include "cluster/quorum.h"
#include "filter/lines.h"
#include "filter/sizing.h"

struct plan_settings {
    uint64_t capacity;
    double rate;
    uint64_t max_capacity;
    uint64_t replicas;
    uint64_t nodes;
    bool json;
};

#define FIELD(name) offsetof(struct plan_settings, name)

static const struct flag flags[] = {
    {
        .name = "capacity",
        .kind = FLAG_COUNT,
        .required = true,
        .offset = FIELD(capacity),
        .min = 1,
        .max = SIZING_CAPACITY_MAX,
        .sample = "KEYS",
        .range = "1 to 1T",
        .help = "distinct keys",
    },
    {
        .name = "fpr",
        .kind = FLAG_RATE,
        .required = true,
        .offset = FIELD(rate),
        .sample = "RATE",
        .range = "1e-9 to 50%",
        .help = "false positives at capacity, at most",
    },
    {
        .name = "replicas",
        .kind = FLAG_COUNT,
        .offset = FIELD(replicas),
        .min = 1,
        .max = QUORUM_MAX_REPLICAS,
        .sample = "N",
        .range = "1 to 7",
        .value = "3",
        .help = "copies of every shard",
    },
    {
        .name = "nodes",
        .kind = FLAG_COUNT,
        .offset = FIELD(nodes),
        .min = 1,
        .max = 1024,
        .sample = "N",
        .range = "1 to 1024",
        .help = "nodes that share the filter; else as many as replicas",
    },
    {
        .name = "max-capacity",
        .kind = FLAG_COUNT,
        .offset = FIELD(max_capacity),
        .min = 1,
        .max = SIZING_CAPACITY_GROWTH * SIZING_CAPACITY_MAX,
        .sample = "KEYS",
        .range = "capacity to 64T",
        .help = "the largest it may ever grow to; else 64 capacities",
    },
    {
        .name = "json",
        .kind = FLAG_SWITCH,
        .offset = FIELD(json),
        .help = "print one object instead",
    },
};

static const struct flag_table table = {
    .command = "plan",
    .words = "--capacity KEYS --fpr RATE",
    .summary =
        "Show the memory that a filter takes, beside the classic Bloom filter's. Asks nobody.",
    .notes = "classic: m = -n ln p / (ln 2)^2 bits, k = m/n ln 2, rate = (1 - e^(-kn/m))^k\n\n"
             "Example: orbloom plan --capacity 1G --fpr 0.1%\n\n"
             "Exit: 0, or 2 wrong usage.",
    .flags = flags,
    .count = sizeof flags / sizeof flags[0],
};

struct answer {
    struct sizing_plan ours;
    struct sizing_classic classic;
    uint64_t bits;
    uint32_t hashes;
    uint32_t shards;
    uint64_t cluster_bytes;
    uint64_t node_bytes; /* of the fullest */
};

/* Whole shards are placed: the fullest node holds its share rounded up. */
static void place(const struct plan_settings *settings, struct answer *answer)
{
    uint64_t copies = settings->replicas * answer->shards;

    answer->cluster_bytes = answer->ours.total_bytes * settings->replicas;
    answer->node_bytes = (copies + settings->nodes - 1) / settings->nodes *
                         answer->ours.shard_bytes;
}

static enum status compute(const struct plan_settings *settings, struct answer *answer)
{
    struct sizing_request request = {.capacity = settings->capacity,
                                     .rate = settings->rate,
                                     .max_capacity = settings->max_capacity};
    enum status status = sizing_plan_make(&request, &answer->ours);

    if (status == STATUS_OK) {
        status = sizing_classic_make(settings->capacity, settings->rate, &answer->classic);
    }
    if (status == STATUS_OK) {
        answer->bits = answer->ours.total_bytes * 8;
        answer->hashes = answer->ours.z * 8;
        answer->shards = 1U << answer->ours.shard_bits;
        place(settings, answer);
    }
    return status;
}

static void show_json(const struct plan_settings *settings, const struct answer *answer)
{
    struct json json;

    json_open(&json, stdout);
    json_begin(&json, NULL, '{');
    json_count(&json, "capacity", settings->capacity);
    json_number(&json, "rate", settings->rate);
    json_count(&json, "bits", answer->bits);
    json_count(&json, "hashes", answer->hashes);
    json_number(&json, "bits_per_key", answer->ours.bits_per_key);
    json_number(&json, "expected_rate", answer->ours.expected_rate);
    json_count(&json, "shards", answer->shards);
    json_count(&json, "shard_bytes", answer->ours.shard_bytes);
    json_count(&json, "replicas", settings->replicas);
    json_count(&json, "nodes", settings->nodes);
    json_count(&json, "copy_bytes", answer->ours.total_bytes);
    json_count(&json, "node_bytes", answer->node_bytes);
    json_count(&json, "cluster_bytes", answer->cluster_bytes);
    json_begin(&json, "classic", '{');
    json_count(&json, "bits", answer->classic.bits);
    json_count(&json, "hashes", answer->classic.hashes);
    json_number(&json, "bits_per_key", answer->classic.bits_per_key);
    json_number(&json, "expected_rate", answer->classic.rate);
    json_end(&json, '}');
    json_end(&json, '}');
}

static void show_text(const struct plan_settings *settings, const struct answer *answer)
{
    char a[NUMBER_TEXT_BYTES];
    char b[NUMBER_TEXT_BYTES];

    (void)printf("%s keys, at most %s false positives\n\n",
                 number_show_count(settings->capacity, a), number_show_rate(settings->rate, b));
    (void)printf("                 %20s %20s\n", "orbloom", "classic optimum");
    (void)printf("bits             %20s %20s\n", number_show_count(answer->bits, a),
                 number_show_count(answer->classic.bits, b));
    (void)printf("hashes (k)       %20u %20u\n", answer->hashes, answer->classic.hashes);
    (void)printf("bits a key       %20.3f %20.3f\n", answer->ours.bits_per_key,
                 answer->classic.bits_per_key);
    (void)printf("expected rate    %20s %20s\n", number_show_rate(answer->ours.expected_rate, a),
                 number_show_rate(answer->classic.rate, b));
    (void)printf("one copy         %20s %20s\n", number_show_bytes(answer->ours.total_bytes, a),
                 number_show_bytes(answer->classic.bits / 8, b));
    (void)printf("\none shard        %20s   (%u shards)\n",
                 number_show_bytes(answer->ours.shard_bytes, a), answer->shards);
    (void)printf("a node           %20s   (%u nodes, the fullest)\n",
                 number_show_bytes(answer->node_bytes, a), (unsigned)settings->nodes);
    (void)printf("the cluster      %20s   (%u replicas)\n",
                 number_show_bytes(answer->cluster_bytes, a), (unsigned)settings->replicas);
}

static int run(int argc, char **argv)
{
    struct plan_settings settings = {0};
    struct answer answer = {0};
    struct words words;

    if (flags_parse(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    if (settings.nodes == 0) {
        settings.nodes = settings.replicas;
    }
    if (settings.nodes < settings.replicas) {
        return cmd_fail(STATUS_INVALID, "%u replicas need as many nodes; give --nodes %u or more",
                        (unsigned)settings.replicas, (unsigned)settings.replicas);
    }
    if (compute(&settings, &answer) != STATUS_OK) {
        return cmd_fail(STATUS_INVALID,
                        "no plan for these numbers; is --max-capacity less than --capacity?");
    }
    if (settings.json) {
        show_json(&settings, &answer);
    } else {
        show_text(&settings, &answer);
    }
    return cmd_close_output(CMD_OK);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_plan(void)
{
    return &command;
}
