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

static int take_id(void *context, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;

    *(uint64_t *)context = reply->nfilters == 1 ? reply->filters[0].id : 0;
    return CMD_OK;
}

static int show(void *context, const struct frame *frame)
{
    (void)frame;
    (void)printf("dropped %s\n", (const char *)context);
    return CMD_OK;
}

/* By id, so that a command which comes late can't drop the next filter of that name. */
static int run(int argc, char **argv)
{
    struct drop_settings settings = {0};
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct admin_request *request = &frame.body.admin_request;
    struct words words;
    int code;

    if (flags_parse(&table, argc, argv, &settings, &words) != STATUS_OK ||
        !cmd_check_filter_name(words.items[0])) {
        return CMD_USAGE;
    }
    request->action = ADMIN_STATUS;
    request->name = words.items[0];
    code = cmd_ask(&settings.common, &frame, take_id, &request->filter_id);
    if (code != CMD_OK) {
        return code;
    }
    request->action = ADMIN_DROP;
    request->confirmed_off = settings.confirmed_off;
    return cmd_ask(&settings.common, &frame, show, words.items[0]);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_drop(void)
{
    return &command;
}
