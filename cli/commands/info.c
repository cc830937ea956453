/* `orbloom info`: one filter in full, by its replicas that a router asked; or a list of all,
 * from a coordinator. */
#include "base/number.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/output.h"
#include "cli/show/expansion.h"
#include "cli/show/expiry.h"
#include "cli/show/load.h"
#include "cli/show/rebuild.h"
#include "cli/show/window.h"
#include "cli/summary.h"
#include "filter/wilson.h"
#include "map/history/window.h"
#include "proto/measured_rate.h"
#include "proto/rate.h"
#include "proto/replica_report.h"

struct info_settings {
    struct flags_common common;
    bool json;
};

static const struct option options[] = {
    {
        .name = "json",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct info_settings, json),
        .help = "print an object (with NAME) or an array of objects instead",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "info",
    .words = "[NAME]",
    .summary = "Describe one filter (asks a router), or list all (asks a coordinator).",
    .notes = "Keys are estimated from the bits that are set; duplicates count once.\n\n"
             "Exit: 0 answered, 1 not, 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .max_words = 1,
};

static void measured_text(const struct report_sum *sum)
{
    struct wilson interval = measured_rate_interval(sum);
    char rate[NUMBER_TEXT_BYTES];
    char low[NUMBER_TEXT_BYTES];
    char high[NUMBER_TEXT_BYTES];
    char probes[NUMBER_TEXT_BYTES];

    if (sum->probes == 0) {
        (void)printf("measured rate not yet: no absent keys were looked up in its arrays as they "
                     "are\n");
        return;
    }
    (void)printf("measured rate %s (%s to %s, of %s probes)\n",
                 number_show_rate(measured_rate(sum), rate), number_show_rate(interval.low, low),
                 number_show_rate(interval.high, high), number_show_count(sum->probes, probes));
}

static void show_json(const struct info_reply *reply, const struct report_sum *sum)
{
    struct json json;

    json_open(&json, stdout);
    json_begin(&json, NULL, '{');
    summary_filter_json(&json, &reply->filter);
    expansion_json(&json, &reply->filter);
    expansion_at_json(&json, &reply->filter);
    rebuild_json(&json, &reply->filter);
    load_json(&json, &reply->filter);
    window_json(&json, &reply->filter);
    expiry_json(&json, &reply->filter);
    json_count(&json, "keys_estimate", report_sum_keys(sum, reply->filter.nslices));
    json_number(&json, "rate_now", rate_now(reply, sum));
    measured_rate_json(&json, sum);
    json_begin(&json, "replicas_reported", '[');
    for (size_t i = 0; i < reply->nreplicas; i++) {
        summary_replica_json(&json, &reply->replicas[i]);
    }
    json_end(&json, ']');
    json_end(&json, '}');
}

static void show_text(const struct info_reply *reply, const struct report_sum *sum)
{
    const struct filter_summary *filter = &reply->filter;
    char a[NUMBER_TEXT_BYTES];
    char b[NUMBER_TEXT_BYTES];
    double share = report_sum_fill(sum, filter->nslices, filter->capacity);

    summary_filter_text(filter);
    expansion_generations_text(filter);
    rebuild_info_text(filter);
    load_info_text(filter);
    summary_loss_text(filter);
    window_info_text(filter);
    expiry_info_text(filter);
    (void)printf("keys          about %s, %.1f %% of the capacity%s\n",
                 number_show_count(report_sum_keys(sum, filter->nslices), a), 100 * share,
                 filter->nslices > 0 ? " in the fullest slice" : "");
    (void)printf("rate now      %s expected, asked for at most %s\n",
                 number_show_rate(rate_now(reply, sum), a), number_show_rate(filter->rate, b));
    measured_text(sum);
    (void)printf("slot groups   %u; replicas reported: %u FULL, %u JOINING, %u BUILDING\n",
                 filter->ngroups, sum->full, sum->joining, sum->building);
    if (sum->joining > 0) {
        (void)printf("%s", summary_joining_note());
    }
}

static int show_one(void *context, const struct frame *frame)
{
    const struct info_reply *reply = &frame->body.info_reply;
    struct report_sum sum = report_summarize(reply->replicas, reply->nreplicas, 0);

    if (*(const bool *)context) {
        show_json(reply, &sum);
    } else {
        show_text(reply, &sum);
    }
    return CMD_OK;
}

static int show_all(void *context, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct json json;

    if (!*(const bool *)context) {
        summary_filters_text(reply);
        return CMD_OK;
    }
    json_open(&json, stdout);
    summary_filters_json(&json, NULL, reply);
    return CMD_OK;
}

static int run(int argc, char **argv)
{
    struct info_settings settings = {0};
    struct frame frame = {.kind = FRAME_INFO_REQUEST};
    struct option_words words;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    if (words.count == 0) {
        frame.kind = FRAME_ADMIN_REQUEST;
        frame.body.admin_request = (struct admin_request){.action = ADMIN_STATUS, .name = ""};
        return cmd_ask(&settings.common, &frame, show_all, &settings.json);
    }
    if (!cmd_check_filter_name(words.items[0])) {
        return CMD_USAGE;
    }
    frame.body.info_request.filter = words.items[0];
    return cmd_ask(&settings.common, &frame, show_one, &settings.json);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_info(void)
{
    return &command;
}
