/* `orbloom expand`: asks for another capacity or rate, or takes that back; expand_watch.c shows
 * the way there. */
#include "cli/cmd.h"
#include "cli/ask.h"
#include "cli/commands/expand_watch.h"
#include "filter/sizing.h"

struct expand_settings {
    struct flags_common common;
    uint64_t capacity;
    double rate;
    bool abort;
    bool detach;
};

#define FIELD(name) offsetof(struct expand_settings, name)

static const struct option options[] = {
    {
        .name = "capacity",
        .kind = OPTION_COUNT,
        .offset = FIELD(capacity),
        .min = 1,
        .max = SIZING_CAPACITY_MAX,
        .sample = "KEYS",
        .range = "1 to 1T",
        .help = "distinct keys that it is to be made for; else as it is",
    },
    {
        .name = "fpr",
        .kind = OPTION_RATE,
        .offset = FIELD(rate),
        .sample = "RATE",
        FLAG_RATE_BOUNDS,
        .help = "false positives at that capacity, at most; else as it is",
    },
    {
        .name = "abort",
        .kind = OPTION_SWITCH,
        .offset = FIELD(abort),
        .help = "take back what is under way; the filter does not grow by itself then, until asked "
                "to expand",
    },
    {
        .name = "detach",
        .kind = OPTION_SWITCH,
        .offset = FIELD(detach),
        .help = "return as soon as it has begun",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "expand",
    .words = "NAME [--capacity KEYS] [--fpr RATE]",
    .summary = "Give a filter another capacity or rate while it serves, and show how far it is.",
    .notes =
        "Grows, shrinks, or changes the rate: nodes build new arrays from their own logs, shard "
        "by\n"
        "shard and host by host. No key is needed and none is lost; adds and checks go on.\n"
        "Without a log of keys (keylog off, or durability memory) a filter that was created with\n"
        "when-full expand grows by one more generation, and checks read all of them; it takes no\n"
        "smaller capacity, no other rate and no way back.\n"
        "A capacity from which it would at once grow by itself (when-full expand) is refused.\n"
        "What is under way already is joined, by the same numbers or none; Ctrl-C leaves it\n"
        "running. The timeout is that of each question to a coordinator.\n\n"
        "Examples:\n"
        "  orbloom expand seen --capacity 40M\n"
        "  orbloom expand seen --fpr 0.1%\n"
        "  orbloom expand seen            (show what is under way)\n"
        "  orbloom expand seen --abort\n\n"
        "Exit: 0 it is there, or with --detach has begun; 1 refused, or left before the end;\n"
        "2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 1,
    .max_words = 1,
};

/* What the coordinator said, to go on from. */
struct answered {
    const char *name;
    uint64_t filter_id;
    uint32_t wanted;
    bool running;
};

static int take(void *context, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct answered *self = context;
    const struct filter_summary *filter = reply->nfilters == 1 ? &reply->filters[0] : NULL;
    const struct generation_summary *wanted;
    char text[EXPANSION_TEXT_BYTES];

    if (filter == NULL || filter->ngenerations == 0) {
        return cmd_fail(STATUS_MALFORMED, "the coordinator's answer tells of no filter; run the "
                                          "same version of orbloom everywhere");
    }
    wanted = &filter->generations[filter->ngenerations - 1];
    self->filter_id = filter->id;
    self->wanted = wanted->id;
    self->running = expansion_is_running(filter);
    (void)expansion_wanted_text(filter, text);
    if (!self->running) {
        (void)printf("%s: %s, as it is already\n", self->name, text);
    } else {
        (void)fprintf(stderr, "%s: %s %s\n", self->name,
                      !reply->created                          ? "on its way already to"
                      : wanted->id < filter->generations[0].id ? "goes back to"
                                                               : "on its way to",
                      text);
    }
    return CMD_OK;
}

static int check_words(const struct expand_settings *settings)
{
    if (settings->abort && (settings->capacity != 0 || settings->rate != 0)) {
        return cmd_fail(STATUS_USAGE, "--abort takes back what is under way; leave out --capacity "
                                      "and --fpr");
    }
    return CMD_OK;
}

static int run(int argc, char **argv)
{
    struct expand_settings settings = {0};
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct answered answered = {0};
    struct option_words words;
    int code;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK ||
        !cmd_check_filter_name(words.items[0]) || check_words(&settings) != CMD_OK) {
        return CMD_USAGE;
    }
    answered.name = words.items[0];
    frame.body.admin_request = (struct admin_request){
        .action = ADMIN_EXPAND,
        .name = words.items[0],
        .expand = {.capacity = settings.capacity, .rate = settings.rate, .abort = settings.abort},
    };
    code = cmd_ask(&settings.common, &frame, take, &answered);
    if (code != CMD_OK || settings.detach || !answered.running) {
        return code;
    }
    return watch_run(&settings.common, answered.name, answered.filter_id, answered.wanted);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_expand(void)
{
    return &command;
}
