/* `orbloom drop`: returns when the name is free; --confirmed-off names nodes that will not
 * answer for it. */
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/lives.h"

struct drop_settings {
    struct flags_common common;
    const char *confirmed_off;
    bool here;
    bool everywhere;
};

static const struct option options[] = {
    {
        .name = "confirmed-off",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct drop_settings, confirmed_off),
        .range = CMD_LIVES_RANGE,
        .help = "vouch that no process of these nodes runs any more, but for the one that "
                "`status` shows as alive, if any: what they would confirm is not waited for",
    },
    {
        .name = "here",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct drop_settings, here),
        .help = "of a filter in several sites that this one leaves, or has left: what this one "
                "has; the "
                "others keep it",
        .excludes = "everywhere",
    },
    {
        .name = "everywhere",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct drop_settings, everywhere),
        .help = "of a filter in several sites: at all of them",
        .excludes = "here",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "drop",
    .words = "NAME",
    .summary = "Drop a filter with all its keys, for good.",
    .notes = "Returns when no add or check can reach it any more; its name is free then. That\n"
             "takes the word of enough of its nodes. Of those that are gone for good, or came\n"
             "back without their data, only you can know that nothing of them still runs\n"
             "somewhere: name them with --confirmed-off. It counts for the incarnations that\n"
             "`status` shows now, and for those before.\n\n"
             "A filter in several sites is dropped with --here or --everywhere only. Here it is\n"
             "once this site leaves them (`orbloom site remove`), as the others would wait for it\n"
             "or have it make the filter anew; everywhere means also those that are cut off, as "
             "soon as they are back.\n\n"
             "Exit: 0 dropped, 1 not (or not surely: ask again), 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
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
    static struct life_names lives;
    struct drop_settings settings = {0};
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct admin_request *request = &frame.body.admin_request;
    struct option_words words;
    int code;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK ||
        !cmd_check_filter_name(words.items[0])) {
        return CMD_USAGE;
    }
    request->action = ADMIN_DROP;
    request->name = words.items[0];
    request->scope = settings.here ? DROP_HERE : settings.everywhere ? DROP_EVERYWHERE : 0;
    code = cmd_lives_vouch(&settings.common, settings.confirmed_off, &lives, request);
    if (code != CMD_OK) {
        return code;
    }
    return cmd_ask(&settings.common, &frame, show, words.items[0]);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_drop(void)
{
    return &command;
}
