/* `orbloom add`: nothing on stdout, counts on stderr. */
#include "base/number.h"
#include "cli/cmd.h"
#include "cli/resume/resume.h"
#include "cli/stream.h"

#include <stddef.h>

struct add_settings {
    struct stream_settings stream;
    const char *acks;
    const char *resume;
};

static const struct option options[] = {
    FLAG_ACKS(offsetof(struct add_settings, acks),
              "how many sites have what is acknowledged (below); else as the filter says"),
    {
        .name = "resume",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct add_settings, resume),
        .sample = "STATE",
        .range = "a file",
        .help = "note there how far it is, or go on from there (below)",
    },
    STREAM_FLAGS,
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "add",
    .words = "NAME [FILE...]",
    .summary = "Add keys, one a line, to a filter. Silent; a summary goes to stderr.",
    .notes =
        "Without FILE, or for \"-\", keys come from standard input. A key is 1 to 65,536 bytes;\n"
        "what is not is told as FILE:LINE and left out, and the rest goes on.\n"
        "A key that was not acknowledged is told the same way; adding it again is safe.\n\n"
        "In several sites --acks 2 (to 8) acknowledges what so many that count have, this one\n"
        "too; each: what all that count have; local: what this one has. Of this and the\n"
        "filter's own acks the one that takes more sites counts. What the others have not\n"
        "confirmed before the timeout is told as BEHIND, with one that has not.\n\n"
        "With --resume STATE the same command goes on where it was: after Ctrl-C, after a key\n"
        "that was not acknowledged, where it stops, and after kill -9. STATE is a small file: it\n"
        "is there until all keys are acknowledged, but for lines that are no keys. Keys of the\n"
        "last seconds may be added twice, none is left out. Files that have changed, and another\n"
        "filter of the name, are refused. dedup has no --resume: what it has added, but not\n"
        "printed yet, would be a duplicate when it goes on, and never be printed.\n\n"
        "Examples:\n"
        "  orbloom add seen urls.txt\n"
        "  orbloom add seen --resume seen.state --timeout 10m urls-*.txt\n"
        "  orbloom add blocked --acks each < urls.txt\n\n"
        "Exit: 0 all acknowledged, 1 not all, 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 1,
    .max_words = SIZE_MAX,
};

static void ignore_line(void *context, const struct stream_line *line)
{
    (void)context;
    (void)line;
}

static void summarize(const struct stream_totals *totals, const char *filter)
{
    uint64_t unknown = totals->answers[ORBLOOM_UNKNOWN];
    char read[NUMBER_TEXT_BYTES];
    char fresh[NUMBER_TEXT_BYTES];
    char seen[NUMBER_TEXT_BYTES];
    char lost[NUMBER_TEXT_BYTES];
    char pace[64];

    (void)fprintf(
        stderr, "add %s: %s read, %s new, %s present before, %s not acknowledged; %s\n", filter,
        number_show_count(totals->lines, read),
        number_show_count(totals->answers[ORBLOOM_NEW] + totals->answers[ORBLOOM_MAYBE_NEW], fresh),
        number_show_count(totals->answers[ORBLOOM_PRESENT], seen),
        number_show_count(unknown + totals->bad, lost), stream_show_pace(totals, pace));
}

static int stream_resumed(const struct stream *stream, const char *state,
                          const struct option_words *words, struct stream_totals *totals)
{
    struct stream noted = *stream;
    struct resume resume = {
        .path = state, .stream = stream, .names = words->items + 1, .nnames = words->count - 1};
    int code = resume_begin(&resume);

    if (code != CMD_OK) {
        return code;
    }
    noted.notes = &resume.notes;
    code = stream_run(&noted, resume.names, resume.nnames, totals);
    return resume_end(&resume, totals, code);
}

static int run(int argc, char **argv)
{
    struct add_settings settings = {0};
    struct stream stream = {
        .settings = &settings.stream, .operation = ORBLOOM_ADD, .line = ignore_line};
    struct stream_totals totals = {0};
    struct option_words words;
    int code;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK ||
        !cmd_check_filter_name(words.items[0])) {
        return CMD_USAGE;
    }
    stream.filter = words.items[0];
    stream.acks = flags_acks(settings.acks);
    code = settings.resume != NULL ? stream_resumed(&stream, settings.resume, &words, &totals)
                                   : stream_run(&stream, words.items + 1, words.count - 1, &totals);
    if (code != CMD_USAGE && !settings.stream.quiet &&
        (settings.resume == NULL || totals.lines > 0)) {
        summarize(&totals, words.items[0]);
    }
    return code;
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_add(void)
{
    return &command;
}
