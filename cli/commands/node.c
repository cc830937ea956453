/* `orbloom node`: drain, replace, remove; what an operator wishes is written, and the
 * coordinators see to it. */
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/lives.h"

#include <string.h>

struct node_settings {
    struct flags_common common;
    bool confirmed_off;
    bool undo;
};

static const struct option options[] = {
    {
        .name = "confirmed-off",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct node_settings, confirmed_off),
        .help = "drain, replace: vouch that the node's process, of the incarnation that `status` "
                "shows (or NODE@INCARNATION), is gone for good, so that nothing is waited for that "
                "only it could confirm (read quorum 1)",
    },
    {
        .name = "undo",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct node_settings, undo),
        .help = "drain: no more; moves that have begun are seen through",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "node",
    .words = "drain NODE | replace OLD NEW | remove NODE",
    .summary = "Move replicas off a node, give a dead node's place to another, take one off the "
               "list.",
    .notes =
        "drain    Its replicas move to other nodes, a few groups at a time, while all goes on.\n"
        "         Also for a dead node whose replicas may go to several others.\n"
        "replace  OLD is dead, and NEW takes all that it held; copied from those that live.\n"
        "remove   Takes a node off the list that holds nothing and has ended.\n\n"
        "The command returns once the wish is written; `orbloom status` shows how far it is, and\n"
        "what it waits for. No coordinator has to stay alive for it.\n\n"
        "Exit: 0 written, 1 refused, or not surely written (ask again), 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 2,
    .max_words = 3,
};

static const struct {
    const char *word;
    enum admin_action action;
    size_t nwords;
} verbs[] = {
    {"drain", ADMIN_NODE_DRAIN, 2},
    {"replace", ADMIN_NODE_REPLACE, 3},
    {"remove", ADMIN_NODE_REMOVE, 2},
};

static int show(void *context, const struct frame *frame)
{
    (void)printf("%s: %s\n", (const char *)context, frame->body.admin_reply.message);
    return CMD_OK;
}

static int check(const struct node_settings *settings, const struct option_words *words,
                 struct admin_request *request)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(words->items[0], verbs[i].word) == 0) {
            request->action = verbs[i].action;
            if (words->count != verbs[i].nwords) {
                return cmd_fail(STATUS_USAGE,
                                "\"node %s\" takes %zu name%s; usage: orbloom node %s",
                                verbs[i].word, verbs[i].nwords - 1, verbs[i].nwords == 2 ? "" : "s",
                                table.words);
            }
        }
    }
    if (request->action == 0) {
        return cmd_fail(STATUS_USAGE, "unknown word \"%.60s\"; usage: orbloom node %s",
                        words->items[0], table.words);
    }
    if ((settings->undo && (request->action != ADMIN_NODE_DRAIN || settings->confirmed_off)) ||
        (settings->confirmed_off && request->action == ADMIN_NODE_REMOVE)) {
        return cmd_fail(STATUS_USAGE, "--undo goes with drain alone, --confirmed-off with drain or "
                                      "replace");
    }
    return CMD_OK;
}

/* The life that the node has now, or the one that is named behind the '@', which is cut off. */
static int vouch(const struct node_settings *settings, char *name, struct admin_request *request)
{
    static struct life_names lives;
    int code = CMD_OK;

    if (settings->confirmed_off) {
        code = cmd_lives_vouch(&settings->common, name, &lives, request);
        name[strcspn(name, "@")] = '\0';
    }
    return code;
}

static int run(int argc, char **argv)
{
    struct node_settings settings = {0};
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct admin_request *request = &frame.body.admin_request;
    struct option_words words;
    int code;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    code = check(&settings, &words, request);
    if (code != CMD_OK) {
        return code;
    }
    request->name = words.items[1];
    request->successor = words.count > 2 ? words.items[2] : "";
    request->undo = settings.undo;
    code = vouch(&settings, words.items[1], request);
    if (code != CMD_OK) {
        return code;
    }
    return cmd_ask(&settings.common, &frame, show, words.items[1]);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_node(void)
{
    return &command;
}
