/* `orbloom status`: nodes and filters in full while they are few, and sums with what needs
 * attention when there are many. */
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/output.h"
#include "cli/replicas.h"
#include "cli/show/expansion.h"
#include "cli/show/expiry.h"
#include "cli/show/load.h"
#include "cli/show/rebuild.h"
#include "cli/show/status_brief.h"
#include "cli/show/status_json.h"
#include "cli/show/window.h"
#include "cli/summary.h"
#include "proto/replica_report.h"

struct status_settings {
    struct flags_common common;
    bool json;
    bool all;
};

static const struct option options[] = {
    {
        .name = "all",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct status_settings, all),
        .help = "show every filter and each of its replicas, however many there are",
    },
    {
        .name = "json",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct status_settings, json),
        .help = "print one object with \"attention\", \"nodes\", \"filters\", \"replicas\", "
                "\"changes\", \"lacking\" and \"cluster_key\" instead",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "status",
    .words = "",
    .summary = "Show the nodes and filters of the cluster, as a coordinator sees them.",
    .notes =
        "A replica is BUILDING (making its arrays, perhaps replaying its log), JOINING (takes\n"
        "adds, does not count yet: syncing, it copies what the others hold) or FULL (counts\n"
        "for quorums). NOT REPLACED: its node came back without its data, and it can't be\n"
        "copied; why, is told below. A replica that is growing serves all the while.\n\n"
        "Of more than 10 filters sums are shown, and in full up to 10 that need attention, the\n"
        "worst first; the others with --all. JSON always has all of them.\n\n"
        "Exit: 0 answered, 1 not, 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
};

static void show_details(const struct admin_reply *reply)
{
    summary_filters_text(reply);
    replicas_text(reply);
    replicas_lacking_text(reply);
    summary_losses_text(reply);
    replicas_changes_text(reply);
    expansion_text(reply);
    rebuild_text(reply);
    load_text(reply);
    window_text(reply);
    expiry_text(reply);
}

/* Of many filters sums, and in full those that need attention. */
static int show_filters(const struct admin_reply *reply)
{
    struct admin_reply brief = {0};

    if (status_brief_make(reply, &brief) != STATUS_OK) {
        return cmd_fail(STATUS_NOMEM, "%s", status_meaning(STATUS_NOMEM));
    }
    status_sums_text(reply);
    if (brief.nfilters > 0) {
        (void)putchar('\n');
        show_details(&brief);
    } else {
        (void)printf("All shards have all their replicas FULL.\n");
    }
    status_brief_free(&brief);
    return CMD_OK;
}

static int show_text(const struct admin_reply *reply, bool all)
{
    int code = CMD_OK;

    if (reply->message[0] != '\0') {
        (void)printf("%s\n\n", reply->message);
    }
    summary_nodes_text(reply);
    (void)putchar('\n');
    if (all || reply->nfilters <= STATUS_BRIEF_FILTERS) {
        show_details(reply);
    } else {
        code = show_filters(reply);
    }
    summary_moves_text(reply);
    summary_keys_text(reply);
    if (report_summarize(reply->replicas, reply->nreplicas, 0).joining > 0) {
        (void)printf("%s", summary_joining_note());
    }
    return code;
}

static int show(void *context, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    const struct status_settings *settings = context;
    struct json json;

    if (!settings->json) {
        return show_text(reply, settings->all);
    }
    json_open(&json, stdout);
    status_json(&json, NULL, reply);
    return CMD_OK;
}

static int run(int argc, char **argv)
{
    struct status_settings settings = {0};
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct option_words words;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    frame.body.admin_request = (struct admin_request){.action = ADMIN_STATUS, .name = ""};
    return cmd_ask(&settings.common, &frame, show, &settings);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_status(void)
{
    return &command;
}
