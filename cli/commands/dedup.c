/* `orbloom dedup`: prints what was not seen before, and what may not have been (MAYBE_NEW). */
#include "base/number.h"
#include "cli/cmd.h"
#include "cli/stream.h"

#include <stddef.h>

struct dedup_settings {
    struct stream_settings stream;
    const char *acks;
};

static const struct option options[] = {
    FLAG_ACKS(offsetof(struct dedup_settings, acks),
              "how many sites have what is acknowledged (below); else as the filter says"),
    STREAM_FLAGS,
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "dedup",
    .words = "NAME [FILE...]",
    .summary = "Add keys, one a line, and print those seen for the first time.",
    .notes =
        "Lines come out in input order. A line that the filter takes for seen is not printed:\n"
        "a duplicate or, at the filter's rate, a false positive. After a retry the history of\n"
        "a key can be unsure; it is printed then, as printing twice is better than never.\n"
        "A key that was not acknowledged is told as FILE:LINE and not printed.\n"
        "In several sites --acks 2 (to 8) or each acknowledges what so many that count have; of\n"
        "this and the filter's own acks the one that takes more sites counts. What they have not\n"
        "confirmed before the timeout (BEHIND) is in the filter all the same: another dedup may\n"
        "take it for a duplicate.\n"
        "One dedup sends its batches in order to one router, so of equal keys the first is\n"
        "printed. Several dedups on one filter share the work: of equal keys that they send\n"
        "at the same moment at most one is surely new, in a race both may be printed.\n\n"
        "Example: tail -f access.log | orbloom dedup seen\n\n"
        "Exit: 0 all acknowledged, 1 not all, 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 1,
    .max_words = SIZE_MAX,
};

static void print_first_seen(void *context, const struct stream_line *line)
{
    const struct stream_settings *settings = context;

    if (!line->bad && (line->answer == ORBLOOM_NEW || line->answer == ORBLOOM_MAYBE_NEW)) {
        (void)fwrite(line->key.data, 1, line->key.size, stdout);
        (void)putchar(settings->nul ? '\0' : '\n');
    }
}

static void summarize(const struct stream_totals *totals, const char *filter)
{
    uint64_t unsure = totals->answers[ORBLOOM_MAYBE_NEW];
    char text[5][NUMBER_TEXT_BYTES];
    char pace[64];

    (void)fprintf(
        stderr,
        "dedup %s: %s read, %s first seen (%s unsure), %s duplicates, %s not acknowledged; %s\n",
        filter, number_show_count(totals->lines, text[0]),
        number_show_count(totals->answers[ORBLOOM_NEW] + unsure, text[1]),
        number_show_count(unsure, text[2]),
        number_show_count(totals->answers[ORBLOOM_PRESENT], text[3]),
        number_show_count(totals->answers[ORBLOOM_UNKNOWN] + totals->bad, text[4]),
        stream_show_pace(totals, pace));
}

static int run(int argc, char **argv)
{
    struct dedup_settings settings = {0};
    struct stream stream = {.settings = &settings.stream,
                            .operation = ORBLOOM_ADD,
                            .line = print_first_seen,
                            .context = &settings.stream};
    struct stream_totals totals;
    struct option_words words;
    int code;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK ||
        !cmd_check_filter_name(words.items[0])) {
        return CMD_USAGE;
    }
    stream.filter = words.items[0];
    stream.acks = flags_acks(settings.acks);
    code = stream_run(&stream, words.items + 1, words.count - 1, &totals);
    if (code != CMD_USAGE && !settings.stream.quiet) {
        summarize(&totals, words.items[0]);
    }
    return code;
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_dedup(void)
{
    return &command;
}
