/* `orbloom rebalance`: writes the wish, or takes it back; what the coordinator answers has a
 * part for each line. */
#include "cli/ask.h"
#include "cli/cmd.h"

#include <string.h>

struct rebalance_settings {
    struct flags_common common;
    bool dry_run;
    bool stop;
};

static const struct option options[] = {
    {
        .name = "dry-run",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct rebalance_settings, dry_run),
        .help = "only tell what would move, and how many bytes that is",
    },
    {
        .name = "stop",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct rebalance_settings, stop),
        .excludes = "dry-run",
        .help = "no more; moves that have begun are seen through",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "rebalance",
    .words = "",
    .summary = "Move replicas from nodes that are fuller to nodes that are less full.",
    .notes =
        "Returns once the wish is written; `orbloom status` shows what is under way. It ends by\n"
        "itself when no move gains anything.\n\n"
        "Exit: 0 written, 1 refused, or not surely written (ask again), 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
};

/* A part a line. */
static int show(void *context, const struct frame *frame)
{
    const char *text = frame->body.admin_reply.message;

    (void)context;
    while (*text != '\0') {
        size_t size = strcspn(text, ";");

        (void)printf("%.*s\n", (int)size, text);
        text += size;
        text += *text == ';' ? 1 : 0;
    }
    return CMD_OK;
}

static int run(int argc, char **argv)
{
    struct rebalance_settings settings = {0};
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct option_words words;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    frame.body.admin_request = (struct admin_request){
        .action = ADMIN_REBALANCE,
        .name = "",
        .successor = "",
        .dry_run = settings.dry_run,
        .undo = settings.stop,
    };
    return cmd_ask(&settings.common, &frame, show, NULL);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_rebalance(void)
{
    return &command;
}
