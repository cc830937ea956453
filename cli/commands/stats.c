/* `orbloom stats`: the counters of each process that is named, or why it did not answer. */
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/show/counters.h"
#include "client/endpoint_list.h"

#include <inttypes.h>

struct stats_settings {
    const char *credential;
    uint64_t timeout_us;
    bool json;
};

#define FIELD(name) offsetof(struct stats_settings, name)

static const struct option options[] = {
    {
        .name = "json",
        .kind = OPTION_SWITCH,
        .offset = FIELD(json),
        .help = "print an array of objects instead",
    },
    FLAG_CREDENTIAL(FIELD(credential)),
    FLAG_TIMEOUT(FIELD(timeout_us)),
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "stats",
    .words = "ENDPOINT...",
    .summary = "Show the counters of routers, nodes or coordinators.",
    .notes = "Example: orbloom stats tcp://127.0.0.1:7401\n\n"
             "Exit: 0 all answered, 1 not all, 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 1,
    .max_words = SIZE_MAX,
};

struct view {
    const char *endpoint;
    struct json *json; /* NULL: text */
};

static void show_json(struct json *json, const char *endpoint, const struct stats_reply *reply)
{
    json_begin(json, NULL, '{');
    json_text(json, "endpoint", endpoint);
    json_text(json, "program", reply->program);
    json_text(json, "name", reply->name);
    counters_json(json, reply);
    json_end(json, '}');
}

static int show(void *context, const struct frame *frame)
{
    const struct stats_reply *reply = &frame->body.stats_reply;
    const struct view *view = context;

    if (view->json != NULL) {
        show_json(view->json, view->endpoint, reply);
        return CMD_OK;
    }
    (void)printf("%s  %s %s\n", view->endpoint, reply->program, reply->name);
    for (size_t i = 0; i < reply->nvalues; i++) {
        (void)printf("  %-36s %16" PRIu64 "\n", reply->values[i].name, reply->values[i].value);
    }
    return CMD_OK;
}

static int run(int argc, char **argv)
{
    struct stats_settings settings = {0};
    struct frame frame = {.kind = FRAME_STATS_REQUEST};
    struct json json;
    struct option_words words;
    int code = CMD_OK;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    for (size_t i = 0; i < words.count; i++) {
        if (!endpoint_is_valid(words.items[i])) {
            return cmd_fail(STATUS_INVALID, "\"%.200s\" is not an endpoint; write tcp://HOST:PORT",
                            words.items[i]);
        }
    }
    json_open(&json, stdout);
    if (settings.json) {
        json_begin(&json, NULL, '[');
    }
    for (size_t i = 0; i < words.count; i++) {
        struct flags_common common = {.routers = words.items[i],
                                      .credential = settings.credential,
                                      .timeout_us = settings.timeout_us};
        struct view view = {.endpoint = words.items[i], .json = settings.json ? &json : NULL};
        int one = cmd_ask(&common, &frame, show, &view);

        code = one != CMD_OK ? one : code;
    }
    if (settings.json) {
        json_end(&json, ']');
    }
    return cmd_close_output(code);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_stats(void)
{
    return &command;
}
