/* `orbloom rebuild`: its steps, which are asked of coordinators, and feeding a list, which is a
 * stream of keys like `add`. */
#include "base/number.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/flags.h"
#include "cli/stream.h"
#include "proto/codec.h"
#include "runtime/hub.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* ---- the steps begin, commit and abort: asked by the ids of the filter and of the rebuild that
 * were seen first, so that what comes late, or again, means these and no later ones; and again
 * while nodes are awaited ---- */

struct rebuild_ask {
    const struct flags_common *common;
    const char *name;
    uint64_t filter_id;
    uint32_t open;    /* the rebuild's number; 0: none is open */
    uint32_t serving; /* that of the keys that checks read */
};

enum { SLICE_US = 1000000 /* how long one question waits before whom it waits for is shown */ };

static int take_look(void *context, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct rebuild_ask *self = context;

    if (reply->nfilters != 1) {
        return cmd_fail(STATUS_MALFORMED, "the coordinator's answer tells of no filter; run the "
                                          "same version of orbloom everywhere");
    }
    self->filter_id = reply->filters[0].id;
    self->open = reply->filters[0].rebuild_keyset;
    self->serving = reply->filters[0].keyset;
    return CMD_OK;
}

/* How the filter stands. */
static int look(struct rebuild_ask *self, const struct flags_common *common, const char *name)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST,
                          .body.admin_request = {.action = ADMIN_STATUS, .name = name}};

    *self = (struct rebuild_ask){.common = common, .name = name};
    return cmd_ask(common, &frame, take_look, self);
}

static struct frame frame_of(const struct rebuild_ask *self,
                             const struct rebuild_parameters *wanted)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};

    frame.body.admin_request = (struct admin_request){
        .action = ADMIN_REBUILD,
        .name = self->name,
        .filter_id = self->filter_id,
        .rebuild = *wanted,
    };
    return frame;
}

static int take_nothing(void *context, const struct frame *frame)
{
    (void)context;
    (void)frame;
    return CMD_OK;
}

/* So many keys of a list have been acknowledged. */
static int tell_fed(const struct rebuild_ask *self, uint64_t keys)
{
    const struct rebuild_parameters wanted = {
        .step = REBUILD_FED, .keyset = self->open, .fed_keys = keys};
    struct frame frame = frame_of(self, &wanted);

    return cmd_ask(self->common, &frame, take_nothing, NULL);
}

/* ---- steps that wait ---- */

struct waiting {
    const char *name;
    enum rebuild_step step;
    bool joins;         /* it was open before; a commit: it was written before */
    uint32_t committed; /* ... for this rebuild */
    bool terminal;
    bool last; /* there is no time for another question */
    bool over;
    int code;
};

static void clear_line(const struct waiting *self)
{
    if (self->terminal) {
        (void)fputs("\r\033[K", stderr);
    }
}

static void show_committed(const struct waiting *self)
{
    if (self->joins) {
        (void)printf("%s: rebuild %" PRIu32 " is committed already; what was neither fed nor added "
                     "since its begin is forgotten\n",
                     self->name, self->committed);
    } else {
        (void)printf("%s: committed; what was neither fed nor added since begin is forgotten\n",
                     self->name);
    }
}

static void show_done(const struct waiting *self, const struct admin_reply *reply)
{
    uint32_t keyset = reply->nfilters == 1 ? reply->filters[0].rebuild_keyset : 0;

    switch (self->step) {
    case REBUILD_BEGIN:
        (void)printf("%s: rebuild %" PRIu32 " %s\n", self->name, keyset,
                     self->joins ? "is open already" : "is open");
        (void)fprintf(stderr,
                      "Make the list of what is to be kept once the adds now under way have been "
                      "answered; then\n`orbloom rebuild %s feed FILE`, and commit.\n",
                      self->name);
        break;
    case REBUILD_COMMIT:
        show_committed(self);
        if (reply->message[0] != '\0') {
            (void)fprintf(stderr, "%s: %s\n", self->name, reply->message);
        }
        break;
    case REBUILD_ABORT:
        (void)printf("%s: aborted; all is as it was\n", self->name);
        break;
    case REBUILD_FED:
        break;
    }
}

/* Another question may be answered: nodes are awaited, or a coordinator has just started. */
static bool is_passing(enum status status)
{
    return status == STATUS_DEADLINE || status == STATUS_UNAVAILABLE || status == STATUS_OVERLOADED;
}

static void on_done(void *context, const struct session_result *result)
{
    struct waiting *self = context;

    clear_line(self);
    if (result->status == STATUS_OK) {
        show_done(self, &result->frame->body.admin_reply);
    } else if (is_passing(result->status) && !self->last) {
        if (self->terminal) {
            (void)fprintf(stderr, "\r%.200s", result->message);
        }
        return;
    } else {
        (void)cmd_fail(result->status, "%s", result->message);
        self->code = CMD_PARTIAL;
    }
    self->over = true;
}

/* Never 0, "whichever is open": somebody may begin another one just now. Where none is open it is
 * the one that was committed last, so that a commit may be repeated until all have confirmed. */
static uint32_t meant(const struct rebuild_ask *self, enum rebuild_step step)
{
    if (step == REBUILD_BEGIN) {
        return 0;
    }
    return self->open != 0 ? self->open : self->serving;
}

/* Begin, commit or abort. The first two wait for nodes to confirm, for the common timeout; on a
 * terminal whom they wait for is shown. */
static int do_step(const struct rebuild_ask *self, enum rebuild_step step, bool yes)
{
    const struct rebuild_parameters wanted = {
        .step = step, .keyset = meant(self, step), .empty = yes};
    struct frame frame = frame_of(self, &wanted);
    struct channel_options options = flags_channel(self->common);
    struct waiting waiting = {.name = self->name,
                              .step = step,
                              .joins = (self->open != 0) == (step == REBUILD_BEGIN),
                              .committed = self->serving,
                              .terminal = isatty(STDERR_FILENO) != 0,
                              .code = CMD_OK};
    uint64_t end_us = hub_now_us() + self->common->timeout_us;
    struct channel *channel = NULL;
    char reason[CHANNEL_REASON_BYTES];
    enum status status = channel_open(&options, &channel, reason);

    if (status != STATUS_OK) {
        return cmd_fail(status, "%s", reason);
    }
    while (!waiting.over) {
        uint64_t now_us = hub_now_us();
        uint64_t left_us = end_us > now_us ? end_us - now_us : 1;

        waiting.last = left_us <= 2 * SLICE_US;
        channel_ask(channel, waiting.last ? left_us : SLICE_US, &frame, on_done, &waiting);
    }
    channel_close(&channel);
    return cmd_close_output(waiting.code);
}

/* ---- the command, and feeding a list ---- */

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
    if (count_fed(&totals) > 0 && tell_fed(ask, count_fed(&totals)) != CMD_OK) {
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
    code = look(&ask, &settings.stream.common, words.items[0]);
    if (code != CMD_OK) {
        return code;
    }
    return step == REBUILD_FED ? feed(&ask, &settings, &words) : do_step(&ask, step, settings.yes);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_rebuild(void)
{
    return &command;
}
