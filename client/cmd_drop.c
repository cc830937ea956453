#include "client/cmd.h"
#include "client/cmd_ask.h"

struct drop_settings {
    struct flags_common common;
    bool confirmed_off;
};

static const struct flag flags[] = {
    {
        .name = "confirmed-off",
        .kind = FLAG_SWITCH,
        .offset = offsetof(struct drop_settings, confirmed_off),
        .help = "vouch that the former processes of restarted nodes are gone; without it their "
                "fences are waited for",
    },
};

static const struct flag_table table = {
    .command = "drop",
    .words = "NAME",
    .summary = "Drop a filter with all its keys, for good.",
    .notes = "Returns when no add or check can reach it any more; its name is free then.\n\n"
             "Exit: 0 dropped, 1 not (or not surely: ask again), 2 wrong usage.",
    .flags = flags,
    .count = sizeof flags / sizeof flags[0],
    .common = true,
    .min_words = 1,
    .max_words = 1,
};

static int show(void *context, const struct frame *frame)
{
    (void)frame;
    (void)printf("dropped %s\n", (const char *)context);
    return CMD_OK;
}

static int run(int argc, char **argv)
{
    struct drop_settings settings = {0};
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct words words;

    if (flags_parse(&table, argc, argv, &settings, &words) != STATUS_OK ||
        !cmd_check_filter_name(words.items[0])) {
        return CMD_USAGE;
    }
    frame.body.admin_request.action = ADMIN_DROP;
    frame.body.admin_request.name = words.items[0];
    frame.body.admin_request.confirmed_off = settings.confirmed_off;
    return cmd_ask_to_remove(&settings.common, &frame, show, words.items[0]);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_drop(void)
{
    return &command;
}
