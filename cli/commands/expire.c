/* `orbloom expire`: reads a time as a duration or a date, by this machine's clock, and asks for
 * that. */
#include "base/number.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "runtime/date.h"

#include <string.h>

struct expire_settings {
    struct flags_common common;
};

static const struct option options[] = {FLAGS_COMMON};

static const struct option_table table = {
    .program = "orbloom",
    .command = "expire",
    .words = "NAME TIME|never",
    .summary = "Drop a filter by itself after some time, or no longer.",
    .notes = "TIME counts from now on: 90s, 12h, 30d. Or it is a date, in seconds since 1970: "
             "@1900000000\n"
             "(from `date -d 2030-03-17 +%s`). What was asked for before is replaced.\n\n"
             "Nodes count on their own clocks: a filter may go later than that, and never earlier. "
             "From\n"
             "then on it is as if it was dropped (orbloom drop). `orbloom info` and `status` show "
             "it.\n\n"
             "Exit: 0 written, 1 not (or not surely: ask again), 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 2,
    .max_words = 2,
};

static bool read_date(const char *text, struct expiry_wish *wish)
{
    uint64_t date_s;
    uint64_t now_s = date_now_ms() / 1000;

    if (number_parse_count(text, &date_s) != STATUS_OK || date_s > UINT64_MAX / 1000) {
        return false;
    }
    wish->dated = true;
    wish->at_ms = date_s * 1000;
    wish->after_us = date_s > now_s ? (date_s - now_s) * 1000000 : 0;
    return date_s <= now_s || date_s - now_s <= EXPIRY_MAX_US / 1000000;
}

static bool read_time(const char *text, struct expiry_wish *wish)
{
    if (strcmp(text, "never") == 0) {
        wish->never = true;
        return true;
    }
    if (text[0] == '@' ? !read_date(text + 1, wish)
                       : number_parse_duration(text, &wish->after_us) != STATUS_OK ||
                             wish->after_us > EXPIRY_MAX_US) {
        (void)cmd_fail(
            STATUS_USAGE,
            "TIME cannot be \"%.100s\"; give a time with its unit (90s, 12h, 30d), a date "
            "in seconds since 1970 (@1900000000), or never; 1,000 years at most",
            text);
        return false;
    }
    if (wish->after_us == 0) {
        (void)cmd_fail(STATUS_USAGE, "that would be now; to drop the filter: orbloom drop");
        return false;
    }
    return true;
}

static int show(void *context, const struct frame *frame)
{
    const struct admin_request *asked = context;
    char time[NUMBER_TEXT_BYTES];

    (void)frame;
    if (asked->expire.never) {
        (void)printf("%s stays until it is dropped\n", asked->name);
    } else {
        (void)printf("%s is dropped in %s\n", asked->name,
                     number_show_duration(asked->expire.after_us, time));
    }
    return CMD_OK;
}

static int run(int argc, char **argv)
{
    struct expire_settings settings = {0};
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct admin_request *request = &frame.body.admin_request;
    struct option_words words;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK ||
        !cmd_check_filter_name(words.items[0]) || !read_time(words.items[1], &request->expire)) {
        return CMD_USAGE;
    }
    request->action = ADMIN_EXPIRE;
    request->name = words.items[0];
    request->successor = "";
    return cmd_ask(&settings.common, &frame, show, request);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_expire(void)
{
    return &command;
}
