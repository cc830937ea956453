/* `orbloom shard accept-loss`: what is gone is told first, and given up only when asked for with
 * --yes. */
#include "base/number.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/lives.h"

#include <stdlib.h>
#include <string.h>

struct shard_settings {
    struct flags_common common;
    const char *confirmed_off;
    bool yes;
};

static const struct option options[] = {
    {
        .name = "confirmed-off",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct shard_settings, confirmed_off),
        .range = CMD_LIVES_RANGE,
        .help = "vouch that these silent nodes are gone for good, with what they held, and that "
                "none of their processes still runs",
    },
    {
        .name = "yes",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct shard_settings, yes),
        .help = "do it; without it what would be lost is told, and nothing is done",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "shard",
    .words = "accept-loss FILTER SHARD|all",
    .summary = "Let shards serve again whose replicas are gone for good; keys may be lost.",
    .notes =
        "When fewer replicas than N - W + 1 of a shard have kept their data, some acknowledged\n"
        "keys may be in none of them, and the shard stays NOT_READY: start nodes that still\n"
        "have theirs. Only when they never will, accept the loss: the others' logs are then\n"
        "what counts, and new replicas are completed from those; an empty shard, if none is\n"
        "left. It is for all shards on the same nodes as SHARD (counted from 0), or for all\n"
        "where it is needed. `info` and `status` show for ever after that it was done.\n\n"
        "Exit: 0 accepted, 1 not, 2 wrong usage, or refused: not needed, or without --yes.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 3,
    .max_words = 3,
};

static int show(void *context, const struct frame *frame)
{
    const char *message = frame->body.admin_reply.message;

    if (!*(const bool *)context) {
        return cmd_fail(STATUS_INVALID,
                        "to be given up: %s. Nothing was done; with --yes you accept that, and "
                        "vouch that no process with that data still runs",
                        message);
    }
    (void)printf("given up: %s\n", message);
    return CMD_OK;
}

/* "all", or a number. */
static bool take_shard(const char *word, struct loss_parameters *loss)
{
    char *end = NULL;
    unsigned long number = strtoul(word, &end, 10);

    loss->all = strcmp(word, "all") == 0;
    loss->shard = (uint32_t)number;
    return loss->all ||
           (word[0] >= '0' && word[0] <= '9' && *end == '\0' && number < DOCUMENT_MAX_SHARDS);
}

static int ask(struct shard_settings *settings, const struct option_words *words)
{
    static struct life_names lives;
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct admin_request *request = &frame.body.admin_request;
    int code;

    *request = (struct admin_request){
        .action = ADMIN_ACCEPT_LOSS,
        .name = words->items[1],
        .successor = "",
        .dry_run = !settings->yes,
    };
    if (strcmp(words->items[0], "accept-loss") != 0) {
        return cmd_fail(STATUS_USAGE, "unknown word \"%.60s\"; usage: orbloom shard %s",
                        words->items[0], table.words);
    }
    if (!cmd_check_filter_name(request->name)) {
        return CMD_USAGE;
    }
    if (!take_shard(words->items[2], &request->loss)) {
        return cmd_fail(STATUS_USAGE, "\"%.60s\" is neither a shard's number nor \"all\"",
                        words->items[2]);
    }
    code = cmd_lives_vouch(&settings->common, settings->confirmed_off, &lives, request);
    if (code != CMD_OK) {
        return code;
    }
    return cmd_ask(&settings->common, &frame, show, &settings->yes);
}

static int run(int argc, char **argv)
{
    struct shard_settings settings = {0};
    struct option_words words;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    return ask(&settings, &words);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_shard(void)
{
    return &command;
}
