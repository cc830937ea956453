/* `orbloom check`: a line for each key, or only the keys with a given answer; --replicas hands
 * over to check_audit.c. */
#include "base/number.h"
#include "cli/cmd.h"
#include "cli/commands/check_audit.h"
#include "cli/stream.h"
#include "map/quorum.h"

#include <string.h>

struct check_settings {
    struct stream_settings stream;
    const char *only;
    const char *replicas;
    const char *max_staleness;
};

static const struct option options[] = {
    {
        .name = "only",
        .kind = OPTION_CHOICE,
        .offset = offsetof(struct check_settings, only),
        .sample = "ANSWER",
        .range = "absent | present | unknown | maybe",
        .help = "print the keys with this answer, instead of answers",
    },
    {
        .name = "replicas",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct check_settings, replicas),
        .sample = "SETS",
        .range = "all | slots such as 0,1 | several sets: 0,1/1,2",
        .help = "ask these replica slots only; of several sets, each of them",
    },
    FLAG_MAX_STALENESS(
        offsetof(struct check_settings, max_staleness),
        "how late \"absent\" may hear of other sites (below); else as the filter says"),
    STREAM_FLAGS,
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "check",
    .words = "NAME [FILE...]",
    .summary = "Check keys, one a line: prints present, absent, unknown or maybe for each.",
    .notes =
        "Answers are in input order, one a line of input. present: added before, or one of\n"
        "the filter's false positives. absent: never acknowledged. unknown: not sure, which\n"
        "is never absent; also printed for a line that is no key. maybe: not sure either,\n"
        "from a filter made with --when-unavailable maybe.\n\n"
        "Of a filter in several sites --max-staleness 5s has \"absent\" count all that any site\n"
        "acknowledged more than 5s before the check, 0 all before the check, at a round trip\n"
        "between sites. Of this bound and the filter's own the smaller one counts. What can't\n"
        "be told within it before the timeout is unknown: BEHIND, with who is how far behind.\n\n"
        "--replicas 0,1 asks these replica slots only; the read quorum still counts.\n"
        "--replicas all, or several sets, asks every set of R of N slots, or each that is\n"
        "named, through every router given, and prints no answers but each \"absent\":\n"
        "KEY, absent, the set and the router, with tabs between.\n\n"
        "Examples:\n"
        "  orbloom check seen urls.txt\n"
        "  orbloom check seen --only absent < urls.txt\n"
        "  orbloom check seen --max-staleness 0 < urls.txt\n"
        "  orbloom check seen --replicas all < acknowledged.txt\n\n"
        "Exit: 0 all answered, 1 not all (unknown), 2 wrong usage; with --replicas all or\n"
        "several sets: 0 every answer was present.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 1,
    .max_words = SIZE_MAX,
};

static const char *const answer_names[] = {
    [ORBLOOM_UNKNOWN] = "unknown",
    [ORBLOOM_PRESENT] = "present",
    [ORBLOOM_ABSENT] = "absent",
    [ORBLOOM_MAYBE] = "maybe",
};

static void print_answer(void *context, const struct stream_line *line)
{
    (void)context;
    (void)puts(answer_names[line->bad ? ORBLOOM_UNKNOWN : line->answer]);
}

static void print_key(void *context, const struct stream_line *line)
{
    const struct check_settings *settings = context;

    if (!line->bad && strcmp(answer_names[line->answer], settings->only) == 0) {
        (void)fwrite(line->key.data, 1, line->key.size, stdout);
        (void)putchar(settings->stream.nul ? '\0' : '\n');
    }
}

static void summarize(const struct stream_totals *totals, const char *filter)
{
    char text[5][NUMBER_TEXT_BYTES];
    char pace[64];

    (void)fprintf(stderr, "check %s: %s read, %s present, %s absent, %s maybe, %s unknown; %s\n",
                  filter, number_show_count(totals->lines, text[0]),
                  number_show_count(totals->answers[ORBLOOM_PRESENT], text[1]),
                  number_show_count(totals->answers[ORBLOOM_ABSENT], text[2]),
                  number_show_count(totals->answers[ORBLOOM_MAYBE], text[3]),
                  number_show_count(totals->answers[ORBLOOM_UNKNOWN] + totals->bad, text[4]),
                  stream_show_pace(totals, pace));
}

static int refuse_sets(const char *text)
{
    return cmd_fail(STATUS_INVALID,
                    "--replicas \"%.40s\" is not a list of replica slots; give numbers from 0 "
                    "to %d, separated by commas: 0,1; several lists by slashes: 0,1/1,2; or all",
                    text, QUORUM_MAX_REPLICAS - 1);
}

static int run(int argc, char **argv)
{
    struct check_settings settings = {0};
    struct stream stream = {
        .settings = &settings.stream, .operation = ORBLOOM_CHECK, .context = &settings};
    struct check_sets sets = {0};
    struct stream_totals totals;
    struct option_words words;
    int code;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK ||
        !cmd_check_filter_name(words.items[0])) {
        return CMD_USAGE;
    }
    if (settings.replicas != NULL && check_sets_parse(settings.replicas, &sets) != STATUS_OK) {
        return refuse_sets(settings.replicas);
    }
    stream.filter = words.items[0];
    stream.bound = flags_bound(settings.max_staleness);
    if (sets.all || sets.count > 1) {
        return settings.only == NULL
                   ? audit_run(&stream, &sets, words.items + 1, words.count - 1)
                   : cmd_fail(STATUS_USAGE,
                              "--only and several sets of --replicas do not go together; leave "
                              "one out");
    }
    stream.replicas = sets.count == 1 ? sets.masks[0] : 0;
    stream.line = settings.only != NULL ? print_key : print_answer;
    code = stream_run(&stream, words.items + 1, words.count - 1, &totals);
    if (code != CMD_USAGE && !settings.stream.quiet) {
        summarize(&totals, words.items[0]);
    }
    return code;
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_check(void)
{
    return &command;
}
