/* `orbloom expand`: asks for another capacity or rate, or takes that back, and shows the way there:
 * looks at the filter again and again, and reckons from the last looks how long is left. */
#include "cli/commands/expand.h"

#include "base/number.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/commands/watch.h"
#include "filter/sizing.h"
#include "runtime/hub.h"

#include <inttypes.h>
#include <string.h>

/* ---- a line ---- */

void watch_pace_note(struct watch_pace *self, uint64_t now_us, const struct expansion_state *state)
{
    double moved;
    double seconds;

    if (self->begin_us == 0) {
        *self = (struct watch_pace){.begin_us = now_us, .begin_share = state->share, .left_s = -1};
        return;
    }
    moved = state->share - self->begin_share;
    seconds = (double)(now_us - self->begin_us) / 1e6;
    if (moved > 0 && seconds > 0) {
        self->keys_per_s = moved * (double)state->keys / seconds;
        self->left_s = (1 - state->share) * seconds / moved;
    }
}

static void add_pace(const struct watch_pace *pace, char *text, size_t size)
{
    char keys[NUMBER_TEXT_BYTES];

    if (pace->left_s >= 0) {
        (void)snprintf(text, size, ", %s keys/s, %.0f s left",
                       number_show_count((uint64_t)pace->keys_per_s, keys), pace->left_s);
    } else {
        text[0] = '\0';
    }
}

const char *watch_line(const struct expansion_state *state, const struct watch_pace *pace,
                       const char *awaited, char text[WATCH_LINE_BYTES])
{
    char bar[PROGRESS_BAR_BYTES];
    char moving[2 * NUMBER_TEXT_BYTES];

    add_pace(pace, moving, sizeof moving);
    (void)snprintf(text, WATCH_LINE_BYTES,
                   "%s %3.0f %%, %" PRIu64 " of %" PRIu64 " shards%s%s%.100s",
                   progress_bar(state->share, bar), 100 * state->share, state->grown, state->shards,
                   moving, awaited[0] != '\0' ? "; " : "", awaited);
    return text;
}

/* ---- watching ---- */

struct expansion_watch {
    struct watch watch; /* first */
    const char *name;
    uint64_t filter_id;
    uint32_t wanted;
    struct watch_pace pace;
    bool chained; /* it can't be taken back */
};

static void show(struct expansion_watch *self, const struct expansion_state *state,
                 const char *awaited)
{
    uint64_t now_us = hub_now_us();
    char text[WATCH_LINE_BYTES];

    watch_pace_note(&self->pace, now_us, state);
    progress_show(&self->watch.progress, now_us, watch_line(state, &self->pace, awaited, text));
}

static const struct filter_summary *find(const struct admin_reply *reply, uint64_t id)
{
    for (size_t i = 0; i < reply->nfilters; i++) {
        if (reply->filters[i].id == id) {
            return &reply->filters[i];
        }
    }
    return NULL;
}

static void look(struct watch *watch, const struct admin_reply *reply)
{
    struct expansion_watch *self = (struct expansion_watch *)watch;
    const struct filter_summary *filter = find(reply, self->filter_id);
    struct expansion_state state;
    char text[EXPANSION_TEXT_BYTES];

    if (filter == NULL || filter->state != FILTER_ACTIVE || filter->ngenerations == 0) {
        progress_end(&watch->progress);
        watch_end(watch,
                  cmd_fail(STATUS_DROPPED, "filter %s has been dropped meanwhile", self->name));
        return;
    }
    state = expansion_state_of(reply, filter);
    self->chained = filter->nchain > 0;
    if (expansion_is_running(filter) && expansion_is_there(filter, self->wanted) &&
        state.wanted > self->wanted) {
        state.wanted = self->wanted; /* It was there, and is on its way to another one already. */
        state.running = false;
    }
    if (state.wanted != self->wanted) {
        progress_end(&watch->progress);
        watch_end(watch, cmd_fail(STATUS_CONFLICT,
                                  "another change was asked for meanwhile; see `orbloom status`"));
    } else if (state.running) {
        show(self, &state, filter->growth_awaited);
    } else {
        progress_end(&watch->progress);
        (void)printf("%s: %s\n", self->name, expansion_wanted_text(filter, text));
        watch_end(watch, CMD_OK);
    }
}

static void say_left(const struct expansion_watch *self)
{
    (void)fprintf(stderr, "left; it goes on by itself. `orbloom expand %s` shows it again%s%s%s\n",
                  self->name, self->chained ? "" : ", `orbloom expand ",
                  self->chained ? "" : self->name, self->chained ? "" : " --abort` takes it back");
}

/* Show until it serves generation `wanted` alone; Ctrl-C ends the watch, not the change. Returns
 * the exit code; what went wrong is printed. */
static int watch(const struct flags_common *common, const char *name, uint64_t filter_id,
                 uint32_t wanted)
{
    const struct admin_request request = {.action = ADMIN_STATUS, .name = name};
    struct expansion_watch self = {
        .watch = {.look = look}, .name = name, .filter_id = filter_id, .wanted = wanted};

    watch_run(&self.watch, common, &request);
    if (!self.watch.over) {
        say_left(&self);
        self.watch.code = CMD_PARTIAL;
    }
    return cmd_close_output(self.watch.code);
}

/* ---- the command ---- */

struct expand_settings {
    struct flags_common common;
    uint64_t capacity;
    double rate;
    bool abort;
    bool detach;
};

#define FIELD(name) offsetof(struct expand_settings, name)

static const struct option options[] = {
    {
        .name = "capacity",
        .kind = OPTION_COUNT,
        .offset = FIELD(capacity),
        .min = 1,
        .max = SIZING_CAPACITY_MAX,
        .sample = "KEYS",
        .range = "1 to 1T",
        .help = "distinct keys that it is to be made for; else as it is",
    },
    {
        .name = "fpr",
        .kind = OPTION_RATE,
        .offset = FIELD(rate),
        .sample = "RATE",
        FLAG_RATE_BOUNDS,
        .help = "false positives at that capacity, at most; else as it is",
    },
    {
        .name = "abort",
        .kind = OPTION_SWITCH,
        .offset = FIELD(abort),
        .help = "take back what is under way; the filter does not grow by itself then, until asked "
                "to expand",
    },
    {
        .name = "detach",
        .kind = OPTION_SWITCH,
        .offset = FIELD(detach),
        .help = "return as soon as it has begun",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "expand",
    .words = "NAME [--capacity KEYS] [--fpr RATE]",
    .summary = "Give a filter another capacity or rate while it serves, and show how far it is.",
    .notes =
        "Grows, shrinks, or changes the rate: nodes build new arrays from their own logs, shard "
        "by\n"
        "shard and host by host. No key is needed and none is lost; adds and checks go on.\n"
        "Without a log of keys (keylog off, or durability memory) a filter that was created with\n"
        "when-full expand grows by one more generation, and checks read all of them; it takes no\n"
        "smaller capacity, no other rate and no way back.\n"
        "A capacity from which it would at once grow by itself (when-full expand) is refused.\n"
        "What is under way already is joined, by the same numbers or none; Ctrl-C leaves it\n"
        "running. The timeout is that of each question to a coordinator.\n\n"
        "Examples:\n"
        "  orbloom expand seen --capacity 40M\n"
        "  orbloom expand seen --fpr 0.1%\n"
        "  orbloom expand seen            (show what is under way)\n"
        "  orbloom expand seen --abort\n\n"
        "Exit: 0 it is there, or with --detach has begun; 1 refused, or left before the end;\n"
        "2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 1,
    .max_words = 1,
};

/* What the coordinator said, to go on from. */
struct answered {
    const char *name;
    uint64_t filter_id;
    uint32_t wanted;
    bool running;
};

static int take(void *context, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct answered *self = context;
    const struct filter_summary *filter = reply->nfilters == 1 ? &reply->filters[0] : NULL;
    const struct generation_summary *wanted;
    char text[EXPANSION_TEXT_BYTES];

    if (filter == NULL || filter->ngenerations == 0) {
        return cmd_fail(STATUS_MALFORMED, "the coordinator's answer tells of no filter; run the "
                                          "same version of orbloom everywhere");
    }
    wanted = &filter->generations[filter->ngenerations - 1];
    self->filter_id = filter->id;
    self->wanted = wanted->id;
    self->running = expansion_is_running(filter);
    (void)expansion_wanted_text(filter, text);
    if (!self->running) {
        (void)printf("%s: %s, as it is already\n", self->name, text);
    } else {
        (void)fprintf(stderr, "%s: %s %s\n", self->name,
                      !reply->created                          ? "on its way already to"
                      : wanted->id < filter->generations[0].id ? "goes back to"
                                                               : "on its way to",
                      text);
    }
    return CMD_OK;
}

static int check_words(const struct expand_settings *settings)
{
    if (settings->abort && (settings->capacity != 0 || settings->rate != 0)) {
        return cmd_fail(STATUS_USAGE, "--abort takes back what is under way; leave out --capacity "
                                      "and --fpr");
    }
    return CMD_OK;
}

static int run(int argc, char **argv)
{
    struct expand_settings settings = {0};
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct answered answered = {0};
    struct option_words words;
    int code;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK ||
        !cmd_check_filter_name(words.items[0]) || check_words(&settings) != CMD_OK) {
        return CMD_USAGE;
    }
    answered.name = words.items[0];
    frame.body.admin_request = (struct admin_request){
        .action = ADMIN_EXPAND,
        .name = words.items[0],
        .expand = {.capacity = settings.capacity, .rate = settings.rate, .abort = settings.abort},
    };
    code = cmd_ask(&settings.common, &frame, take, &answered);
    if (code != CMD_OK || settings.detach || !answered.running) {
        return code;
    }
    return watch(&settings.common, answered.name, answered.filter_id, answered.wanted);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_expand(void)
{
    return &command;
}
