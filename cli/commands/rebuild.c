/* `orbloom rebuild`: its words, and feeding a list, which is a stream of keys like `add`. */
#include "base/number.h"
#include "cli/cmd.h"
#include "cli/commands/rebuild_ask.h"
#include "cli/stream.h"

#include <inttypes.h>
#include <string.h>

struct rebuild_settings {
    struct stream_settings stream; /* feed */
    bool yes;                      /* commit */
};

static const struct option options[] = {
    STREAM_FLAGS,
    {
        .name = "yes",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct rebuild_settings, yes),
        .help = "commit: even if no list has been fed, so that all older keys are forgotten",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "rebuild",
    .words = "NAME begin|feed|commit|abort [FILE...]",
    .summary = "Replace a filter's keys by a list of yours while it serves: the way to forget.",
    .notes =
        "begin   Opens a second, empty set of keys, to which adds go from now on too; checks "
        "still\n"
        "        read the old one. Returns when no add can miss the new set any more.\n"
        "feed    Adds the keys of your list, one a line, to the new set only. Any number of "
        "times.\n"
        "commit  From now on checks read the new set: your list, and what was added since begin.\n"
        "        All other keys are forgotten, for good.\n"
        "abort   The new set is forgotten; all is as it was.\n\n"
        "Make the list after begin has returned and the adds that were under way then have been\n"
        "answered: of those some are in the old set only. Or put a key into the source of your\n"
        "list before you add it to the filter.\n"
        "A rebuild may stay open for days; it takes the filter's memory once more. What runs "
        "out\n"
        "of time may be repeated. Without FILE, or for \"-\", feed reads standard input.\n\n"
        "Examples:\n"
        "  orbloom rebuild seen begin\n"
        "  orbloom rebuild seen feed keep.txt\n"
        "  orbloom rebuild seen commit\n\n"
        "Exit: 0 done, of a list all; 1 refused, or not all, or not surely; 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 2,
    .max_words = SIZE_MAX,
};

/* ---- feed ---- */

static void ignore_line(void *context, const struct stream_line *line)
{
    (void)context;
    (void)line;
}

static uint64_t count_fed(const struct stream_totals *totals)
{
    return totals->answers[ORBLOOM_NEW] + totals->answers[ORBLOOM_PRESENT] +
           totals->answers[ORBLOOM_MAYBE_NEW];
}

static void summarize(const struct stream_totals *totals, const char *filter)
{
    char read[NUMBER_TEXT_BYTES];
    char fed[NUMBER_TEXT_BYTES];
    char lost[NUMBER_TEXT_BYTES];
    char pace[64];

    (void)fprintf(stderr, "feed %s: %s read, %s fed, %s not acknowledged; %s\n", filter,
                  number_show_count(totals->lines, read), number_show_count(count_fed(totals), fed),
                  number_show_count(totals->answers[ORBLOOM_UNKNOWN] + totals->bad, lost),
                  stream_show_pace(totals, pace));
}

/* Into the rebuild that is open now; what is late for it does not get into another one. The
 * coordinator is told at the end that there was a list. */
static int feed(struct rebuild_ask *ask, const struct rebuild_settings *settings,
                const struct option_words *words)
{
    struct stream stream = {
        .settings = &settings->stream,
        .filter = ask->name,
        .operation = ORBLOOM_FEED,
        .keyset = ask->open,
        .line = ignore_line,
    };
    struct stream_totals totals;
    int code;

    if (ask->open == 0) {
        (void)cmd_fail(STATUS_INVALID, "no rebuild of %s is open: begin first", ask->name);
        return CMD_PARTIAL;
    }
    code = stream_run(&stream, words->items + 2, words->count - 2, &totals);
    if (code == CMD_USAGE) {
        return code;
    }
    if (count_fed(&totals) > 0 && rebuild_tell_fed(ask, count_fed(&totals)) != CMD_OK) {
        (void)fprintf(stderr, "orbloom: the keys are fed, but the coordinator does not know: "
                              "`commit` will ask for --yes\n");
        code = CMD_PARTIAL;
    }
    if (!settings->stream.quiet) {
        summarize(&totals, ask->name);
    }
    return code;
}

/* ---- words ---- */

static const struct {
    const char *word;
    enum rebuild_step step;
} verbs[] = {
    {"begin", REBUILD_BEGIN},
    {"feed", REBUILD_FED},
    {"commit", REBUILD_COMMIT},
    {"abort", REBUILD_ABORT},
};

static enum rebuild_step find_verb(const char *word)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(word, verbs[i].word) == 0) {
            return verbs[i].step;
        }
    }
    return 0;
}

static int check(const struct rebuild_settings *settings, const struct option_words *words,
                 enum rebuild_step step)
{
    if (step == 0) {
        return cmd_fail(STATUS_USAGE, "unknown word \"%.60s\"; usage: orbloom rebuild %s",
                        words->items[1], table.words);
    }
    if (step != REBUILD_FED && words->count > 2) {
        return cmd_fail(STATUS_USAGE, "\"%s\" takes no file; only feed does", words->items[1]);
    }
    if (settings->yes && step != REBUILD_COMMIT) {
        return cmd_fail(STATUS_USAGE, "--yes goes with commit");
    }
    return CMD_OK;
}

static int run(int argc, char **argv)
{
    struct rebuild_settings settings = {0};
    struct rebuild_ask ask = {0};
    struct option_words words;
    enum rebuild_step step;
    int code;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK ||
        !cmd_check_filter_name(words.items[0])) {
        return CMD_USAGE;
    }
    step = find_verb(words.items[1]);
    if (check(&settings, &words, step) != CMD_OK) {
        return CMD_USAGE;
    }
    code = rebuild_look(&ask, &settings.stream.common, words.items[0]);
    if (code != CMD_OK) {
        return code;
    }
    return step == REBUILD_FED ? feed(&ask, &settings, &words)
                               : rebuild_do(&ask, step, settings.yes);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_rebuild(void)
{
    return &command;
}
