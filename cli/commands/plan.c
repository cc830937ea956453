/* `orbloom plan`: sizes without a cluster; its flags, lists of capacities and rates, and which
 * of the tables is shown. */
#include "cli/show/plan.h"

#include "base/heap.h"
#include "base/number.h"
#include "cli/cmd.h"
#include "cli/show/plan_answer.h"
#include "cli/show/plan_table.h"
#include "map/quorum.h"

enum { LIST_MAX = 64 };

struct plan_settings {
    uint64_t capacities[LIST_MAX];
    double rates[LIST_MAX];
    uint32_t ncapacities;
    uint32_t nrates;
    uint64_t max_capacity;
    uint64_t replicas;
    uint64_t nodes;
    bool table;
    bool json;
};

#define FIELD(name) offsetof(struct plan_settings, name)

static const struct option options[] = {
    {
        .name = "capacity",
        .kind = OPTION_COUNTS,
        .required = true,
        .excludes = "table",
        .offset = FIELD(capacities),
        .count_offset = FIELD(ncapacities),
        .max_count = LIST_MAX,
        .min = 1,
        .max = SIZING_CAPACITY_MAX,
        .sample = "KEYS[,KEYS...]",
        .range = "1 to 1T",
        .help = "distinct keys",
    },
    {
        .name = "fpr",
        .kind = OPTION_RATES,
        .required = true,
        .excludes = "table",
        .offset = FIELD(rates),
        .count_offset = FIELD(nrates),
        .max_count = LIST_MAX,
        .sample = "RATE[,RATE...]",
        FLAG_RATE_BOUNDS,
        .help = "false positives at capacity, at most",
    },
    {
        .name = "replicas",
        .kind = OPTION_COUNT,
        .excludes = "table",
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
        .kind = OPTION_COUNT,
        .excludes = "table",
        .offset = FIELD(nodes),
        .min = 1,
        .max = 1024,
        .sample = "N",
        .range = "1 to 1024",
        .help = "nodes that share the filter; else as many as replicas",
    },
    {
        .name = "max-capacity",
        .kind = OPTION_COUNT,
        .excludes = "table",
        .offset = FIELD(max_capacity),
        .min = 1,
        .max = SIZING_CAPACITY_GROWTH * SIZING_CAPACITY_MAX,
        .sample = "KEYS",
        .range = "capacity to 64T",
        .help = "the largest it may ever grow to; else 64 capacities",
    },
    {
        .name = "table",
        .kind = OPTION_SWITCH,
        .offset = FIELD(table),
        .help = "the textbook's rates instead, for 2 to 32 bits a key and 1 to 8 hashes",
    },
    {
        .name = "json",
        .kind = OPTION_SWITCH,
        .offset = FIELD(json),
        .help = "print an object instead, of a list or table an array",
    },
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "plan",
    .words = "--capacity KEYS --fpr RATE | --table",
    .summary =
        "Show the memory that a filter takes, beside the classic Bloom filter's. Asks nobody.",
    .notes = "classic: m = -n ln p / (ln 2)^2 bits, k = m/n ln 2, rate = (1 - e^(-kn/m))^k\n\n"
             "Of several capacities or rates, each with each, a line is shown for each plan.\n\n"
             "Examples:\n"
             "  orbloom plan --capacity 1G --fpr 0.1%\n"
             "  orbloom plan --capacity 100k,1M,5M,100M --fpr 1%,0.1%\n"
             "  orbloom plan --table\n\n"
             "Exit: 0, or 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
};

/* What is left out, and what the plans would contradict. */
static int settle(struct plan_settings *settings)
{
    char text[NUMBER_TEXT_BYTES];

    if (settings->nodes == 0) {
        settings->nodes = settings->replicas;
    }
    if (settings->nodes < settings->replicas) {
        return cmd_fail(STATUS_INVALID, "%u replicas need as many nodes; give --nodes %u or more",
                        (unsigned)settings->replicas, (unsigned)settings->replicas);
    }
    for (size_t i = 0; settings->max_capacity != 0 && i < settings->ncapacities; i++) {
        uint64_t capacity = settings->capacities[i];

        if (settings->max_capacity < capacity) {
            return cmd_fail(STATUS_INVALID,
                            "--max-capacity is less than a --capacity of %s; raise it, or leave it "
                            "out for 64 times as much",
                            number_show_count(capacity, text));
        }
    }
    return CMD_OK;
}

/* One answer for each capacity at each rate. */
static enum status compute(const struct plan_settings *settings, struct plan_answer *answers)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < settings->ncapacities; i++) {
        for (size_t j = 0; status == STATUS_OK && j < settings->nrates; j++) {
            struct plan_question question = {
                .filter = {.capacity = settings->capacities[i],
                           .rate = settings->rates[j],
                           .max_capacity = settings->max_capacity},
                .replicas = settings->replicas,
                .nodes = settings->nodes,
            };

            status = plan_answer_make(&question, answers++);
        }
    }
    return status;
}

static void show(const struct plan_settings *settings, const struct plan_answer *answers,
                 size_t count)
{
    if (count == 1 && settings->json) {
        plan_show_one_json(answers, stdout);
    } else if (count == 1) {
        plan_show_one(answers, stdout);
    } else if (settings->json) {
        plan_show_list_json(answers, count, stdout);
    } else {
        plan_show_list(answers, count, stdout);
    }
}

static int run_plans(const struct plan_settings *settings)
{
    size_t count = settings->ncapacities * settings->nrates;
    struct plan_answer *answers = heap_zalloc(count, sizeof *answers);
    enum status status = answers != NULL ? compute(settings, answers) : STATUS_NOMEM;

    if (status == STATUS_OK) {
        show(settings, answers, count);
    }
    heap_free(answers);
    return status == STATUS_OK ? cmd_close_output(CMD_OK)
                               : cmd_fail(status, "no plan: %s", status_meaning(status));
}

static int run_table(bool as_json)
{
    if (as_json) {
        plan_table_show_json(stdout);
    } else {
        plan_table_show(stdout);
    }
    return cmd_close_output(CMD_OK);
}

static int run(int argc, char **argv)
{
    struct plan_settings settings = {0};
    struct option_words words;
    int code;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    if (settings.table) {
        return run_table(settings.json);
    }
    code = settle(&settings);
    return code == CMD_OK ? run_plans(&settings) : code;
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_plan(void)
{
    return &command;
}
