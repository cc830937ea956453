/* `orbloom upgrade`: who knows which features, what stands in the way of using new ones, and
 * taking them into use. */
#include "cli/ask.h"
#include "cli/cmd.h"
#include "map/feature.h"

#include <string.h>

struct upgrade_settings {
    struct flags_common common;
};

static const struct option options[] = {FLAGS_COMMON};

static const struct option_table table = {
    .program = "orbloom",
    .command = "upgrade",
    .words = "status|finalize",
    .summary = "Show which features all processes know; use those of a newer version.",
    .notes =
        "A newer version may know features that an older one does not: they are refused until\n"
        "every process knows them and finalize was said. So upgrade coordinators, nodes,\n"
        "routers and links one by one, in any order, and go back while finalize was not said.\n"
        "From then on a process that lacks one of them is refused.\n\n"
        "status shows per process what it knows, what is in use, and what stands in the way.\n"
        "Of other coordinators and of routers at other coordinators nobody tells: upgrade\n"
        "those, too, before you say finalize.\n\n"
        "  orbloom upgrade status\n"
        "  orbloom upgrade finalize\n\n"
        "Exit: 0 done, 1 not, 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 1,
    .max_words = 1,
};

static void show_features(const struct upgrade_page *page)
{
    for (unsigned bit = 0; bit < FEATURES_MAX; bit++) {
        uint64_t mask = (uint64_t)1 << bit;
        char text[FEATURES_TEXT_BYTES];

        if (((page->known | page->in_use) & mask) != 0) {
            (void)printf("  %-10s %-12s %s\n", features_show(mask, text),
                         (page->in_use & mask) != 0 ? "in use" : "not in use",
                         feature_help(bit) != NULL ? feature_help(bit) : "of a newer version");
        }
    }
}

static void show_processes(const struct upgrade_page *page)
{
    static const char *const kinds[] = {[PROCESS_COORDINATOR] = "coordinator",
                                        [PROCESS_NODE] = "node",
                                        [PROCESS_ROUTER] = "router"};

    for (size_t i = 0; i < page->nprocesses; i++) {
        const struct process_features *process = &page->processes[i];
        uint64_t lacks = (page->known | page->in_use) & ~process->features;
        char text[FEATURES_TEXT_BYTES];

        if (!process->heard) {
            (void)printf("  %-11s %s: not heard of\n", kinds[process->kind], process->name);
        } else {
            (void)printf("  %-11s %s: knows %s", kinds[process->kind], process->name,
                         features_show(process->features, text));
            (void)printf(lacks != 0 ? "; not %s\n" : "\n", features_show(lacks, text));
        }
    }
}

static int show_status(void *context, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;

    (void)context;
    (void)printf("features\n");
    show_features(&reply->upgrade);
    (void)printf("processes\n");
    show_processes(&reply->upgrade);
    if (reply->message[0] != '\0') {
        (void)printf("%s\n", reply->message);
    }
    return CMD_OK;
}

static int show_finalized(void *context, const struct frame *frame)
{
    (void)context;
    (void)printf("%s\n", frame->body.admin_reply.message);
    return CMD_OK;
}

static int run(int argc, char **argv)
{
    struct upgrade_settings settings = {0};
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct admin_request *request = &frame.body.admin_request;
    struct option_words words;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    request->name = "";
    if (strcmp(words.items[0], "status") == 0) {
        request->action = ADMIN_UPGRADE_STATUS;
        return cmd_ask(&settings.common, &frame, show_status, NULL);
    }
    if (strcmp(words.items[0], "finalize") == 0) {
        request->action = ADMIN_UPGRADE_FINALIZE;
        return cmd_ask(&settings.common, &frame, show_finalized, NULL);
    }
    return cmd_fail(STATUS_USAGE, "upgrade takes status or finalize, not \"%.60s\"",
                    words.items[0]);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_upgrade(void)
{
    return &command;
}
