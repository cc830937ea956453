/* `orbloom rename`: returns when no router goes by the old name any more. */
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/lives.h"

#include <string.h>

struct rename_settings {
    struct flags_common common;
    bool replace;
    const char *confirmed_off;
};

static const struct option options[] = {
    {
        .name = "replace",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct rename_settings, replace),
        .help = "drop the filter that has the new name, in the same step",
    },
    {
        .name = "confirmed-off",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct rename_settings, confirmed_off),
        .range = CMD_LIVES_RANGE,
        .help = "vouch that no process of these nodes runs any more, but for the one that "
                "`status` shows as alive, if any: what they would confirm is not waited for",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "rename",
    .words = "OLD NEW",
    .summary = "Give a filter another name, while it serves.",
    .notes = "With --replace the filter that is called NEW is dropped, and at no moment there is\n"
             "none of that name: checks are answered by the one or by the other. Returns when no\n"
             "add or check can reach either filter by its former name any more. Adds to NEW that\n"
             "are under way meanwhile may go to the filter that is dropped.\n\n"
             "Exit: 0 renamed, 1 not (or not surely: ask again), 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 2,
    .max_words = 2,
};

static int show(void *context, const struct frame *frame)
{
    const struct admin_request *asked = context;

    (void)frame;
    (void)printf("renamed %s to %s\n", asked->name, asked->rename.name);
    return CMD_OK;
}

static int run(int argc, char **argv)
{
    static struct life_names lives;
    struct rename_settings settings = {0};
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct admin_request *request = &frame.body.admin_request;
    struct option_words words;
    int code;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK ||
        !cmd_check_filter_name(words.items[0]) || !cmd_check_filter_name(words.items[1])) {
        return CMD_USAGE;
    }
    request->action = ADMIN_RENAME;
    request->name = words.items[0];
    request->successor = "";
    request->rename = (struct rename_parameters){.name = words.items[1],
                                                 .replace = settings.replace};
    code = cmd_lives_vouch(&settings.common, settings.confirmed_off, &lives, request);
    if (code != CMD_OK) {
        return code;
    }
    return cmd_ask(&settings.common, &frame, show, request);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_rename(void)
{
    return &command;
}
