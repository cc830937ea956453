/* `orbloom create`: the question, which is asked anew while nodes get on with the filter; flags,
 * what follows from those that were left out, and what is refused before a coordinator is asked.
 */
#include "cli/commands/create.h"

#include "base/number.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/commands/site_change.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/summary.h"
#include "filter/sizing.h"
#include "map/acks.h"
#include "map/history/window.h"
#include "map/staleness.h"
#include "runtime/hub.h"

#include <string.h>

enum {
    LOOK_EVERY_US = 500000,
    SLICE_US = 50000,
};

/* ---- how far ---- */

static double made_part(const struct replica_report *report)
{
    bool ready = report->state == REPLICA_FULL || report->state == REPLICA_JOINING;

    return ready ? 1 : report->state == REPLICA_BUILDING ? report->progress : 0;
}

struct create_state create_state_of(const struct admin_reply *reply, const char *name)
{
    struct create_state state = {0};
    uint64_t id = 0;
    double sum = 0;

    for (size_t i = 0; i < reply->nfilters; i++) {
        const struct filter_summary *filter = &reply->filters[i];

        if (filter->state == FILTER_ACTIVE && strcmp(filter->name, name) == 0) {
            state.found = true;
            state.replicas = filter->rule.replicas * filter->ngroups;
            id = filter->id;
        }
    }
    for (size_t i = 0; state.found && i < reply->nreplicas; i++) {
        if (reply->replicas[i].filter_id == id) {
            double part = made_part(&reply->replicas[i]);

            sum += part;
            state.ready += part >= 1 && reply->replicas[i].state != REPLICA_BUILDING;
        }
    }
    state.share = sum < state.replicas ? sum / state.replicas : state.found;
    return state;
}

const char *create_line(const struct create_state *state, char text[CREATE_LINE_BYTES])
{
    char bar[PROGRESS_BAR_BYTES];

    (void)snprintf(text, CREATE_LINE_BYTES, "%s %3.0f %%, %u of %u replicas ready",
                   progress_bar(state->share, bar), 100 * state->share, state->ready,
                   state->replicas);
    return text;
}

/* ---- waiting ---- */

struct wait {
    const struct frame *frame;
    cmd_show_fn show;
    void *context;
    struct channel *channel;
    struct progress progress;
    double share;     /* the most that was seen */
    bool found;       /* it is being made */
    bool moved;       /* since the question under way was asked */
    bool looking;     /* the state is being asked for */
    uint64_t look_us; /* when to look again */
    bool answered;    /* the question is */
    bool over;
    int code;
};

static void finish(struct wait *self, int code)
{
    self->over = true;
    self->code = code;
}

/* What was seen being made has been made by now, whichever of the questions did it. */
static int show_made(struct wait *self, const struct frame *frame)
{
    struct frame answer = *frame;

    answer.body.admin_reply.created = frame->body.admin_reply.created || self->found;
    return self->show(self->context, &answer);
}

static void on_created(void *context, const struct session_result *result)
{
    struct wait *self = context;

    self->answered = true;
    if (result->status == STATUS_DEADLINE && self->moved) {
        return; /* Asked again. */
    }
    progress_end(&self->progress);
    if (result->status == STATUS_OK) {
        finish(self, show_made(self, result->frame));
    } else {
        (void)cmd_fail(result->status, "%s", result->message);
        finish(self, CMD_PARTIAL);
    }
}

static void note(struct wait *self, const struct create_state *state)
{
    char text[CREATE_LINE_BYTES];

    if (!state->found || self->answered || (state->share >= 1 && !self->found)) {
        return; /* One that was there before is not shown. */
    }
    self->moved = self->moved || !self->found || state->share > self->share;
    self->share = state->share > self->share ? state->share : self->share;
    self->found = true;
    progress_show(&self->progress, hub_now_us(), create_line(state, text));
}

static void on_looked(void *context, const struct session_result *result)
{
    struct wait *self = context;

    self->looking = false;
    self->look_us = hub_now_us() + LOOK_EVERY_US;
    if (result->status == STATUS_OK) {
        const struct admin_reply *reply = &result->frame->body.admin_reply;
        struct create_state state = create_state_of(reply, self->frame->body.admin_request.name);

        note(self, &state);
    }
}

static void look(struct wait *self, uint64_t timeout_us)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST,
                          .body.admin_request = {.action = ADMIN_STATUS,
                                                 .name = self->frame->body.admin_request.name}};
    uint64_t now_us = hub_now_us();

    if (!self->looking && now_us >= self->look_us) {
        self->looking = session_ask(channel_session(self->channel), now_us, timeout_us, &frame,
                                    on_looked, self) == STATUS_OK;
        self->look_us = now_us + LOOK_EVERY_US;
    }
}

static void ask(struct wait *self, uint64_t timeout_us)
{
    enum status status;

    self->answered = false;
    self->moved = false;
    status = session_ask(channel_session(self->channel), hub_now_us(), timeout_us, self->frame,
                         on_created, self);
    if (status != STATUS_OK) {
        finish(self, cmd_fail(status, "%s", status_meaning(status)));
    }
    while (!self->over && !self->answered && !interrupt_came()) {
        look(self, timeout_us);
        channel_run(self->channel, SLICE_US);
    }
}

static int leave(const struct wait *self)
{
    const char *name = self->frame->body.admin_request.name;

    progress_end(&self->progress);
    if (self->found) {
        (void)fprintf(stderr,
                      "left; %s goes on being made. The same command waits again, `orbloom status` "
                      "shows it, `orbloom drop %s` ends it\n",
                      name, name);
    } else {
        (void)fprintf(stderr,
                      "left before an answer; `orbloom info %s` tells whether it was made\n", name);
    }
    return CMD_PARTIAL;
}

/* A large filter's arrays take longer than any one question to a coordinator may. The question is
 * asked again when its time is over, as creating what exists already does nothing, if the
 * replicas got further meanwhile. So the timeout ends a wait in which nothing moves, after once to
 * twice its length; Ctrl-C ends the wait, not the filter.
 *
 * Returns the exit code; what went wrong is printed. */
static int ask_and_wait(const struct flags_common *common, const struct frame *frame,
                        cmd_show_fn show, void *context)
{
    struct wait self = {.frame = frame, .show = show, .context = context};
    struct channel_options options = flags_channel(common);
    char reason[CHANNEL_REASON_BYTES];
    enum status status = channel_open(&options, &self.channel, reason);

    if (status != STATUS_OK) {
        return cmd_fail(status, "%s", reason);
    }
    progress_open(&self.progress);
    self.look_us = hub_now_us() + LOOK_EVERY_US; /* Most are there before. */
    interrupt_catch();
    while (!self.over && !interrupt_came()) {
        ask(&self, common->timeout_us);
    }
    if (!self.over) {
        self.code = leave(&self);
    }
    channel_close(&self.channel);
    return cmd_close_output(self.code);
}

/* ---- the command ---- */

enum { DEFAULT_SLICES = 7 };

struct create_settings {
    struct flags_common common;
    uint64_t capacity;
    double rate;
    uint64_t max_capacity;
    uint64_t replicas;
    uint64_t write_quorum;
    uint64_t read_quorum;
    const char *hash;
    const char *when_unavailable;
    const char *when_full;
    const char *durability;
    const char *keylog;
    const char *sites;
    const char *max_staleness;
    const char *acks;
    uint64_t window_us;
    uint64_t nslices;
};

#define FIELD(name) offsetof(struct create_settings, name)

static const struct option options[] = {
    {
        .name = "capacity",
        .kind = OPTION_COUNT,
        .required = true,
        .offset = FIELD(capacity),
        .min = 1,
        .max = SIZING_CAPACITY_MAX,
        .sample = "KEYS",
        .range = "1 to 1T",
        .help = "distinct keys that the filter is made for",
    },
    {
        .name = "fpr",
        .kind = OPTION_RATE,
        .required = true,
        .offset = FIELD(rate),
        .sample = "RATE",
        FLAG_RATE_BOUNDS,
        .help = "false positives at capacity, at most",
    },
    {
        .name = "replicas",
        .kind = OPTION_COUNT,
        .offset = FIELD(replicas),
        .min = 1,
        .max = QUORUM_MAX_REPLICAS,
        .sample = "N",
        .range = "1 to 7",
        .value = "3",
        .help = "copies of every shard, on different nodes",
    },
    {
        .name = "write-quorum",
        .kind = OPTION_COUNT,
        .offset = FIELD(write_quorum),
        .min = 1,
        .max = QUORUM_MAX_REPLICAS,
        .sample = "W",
        .range = "1 to N",
        .help = "copies that make an add acknowledged; else more than half of N",
    },
    {
        .name = "read-quorum",
        .kind = OPTION_COUNT,
        .offset = FIELD(read_quorum),
        .min = 1,
        .max = QUORUM_MAX_REPLICAS,
        .sample = "R",
        .range = "1 to N",
        .help = "copies that prove a key absent; else N - W + 1",
    },
    {
        .name = "max-capacity",
        .kind = OPTION_COUNT,
        .offset = FIELD(max_capacity),
        .min = 1,
        .max = SIZING_CAPACITY_GROWTH * SIZING_CAPACITY_MAX,
        .sample = "KEYS",
        .range = "capacity to 64T",
        .help = "the largest it may ever grow to, which fixes its shards; else 64 capacities",
    },
    {
        .name = "when-unavailable",
        .kind = OPTION_CHOICE,
        .offset = FIELD(when_unavailable),
        .sample = "POLICY",
        .range = "error | maybe",
        .value = "error",
        .help = "when too few copies answer a check: an error, or \"maybe\" (fail open)",
    },
    {
        .name = "when-full",
        .kind = OPTION_CHOICE,
        .offset = FIELD(when_full),
        .sample = "POLICY",
        .range = "refuse | expand",
        .help =
            "before its capacity: grow, or past it refuse adds; else expand, or refuse in memory",
    },
    {
        .name = "durability",
        .kind = OPTION_CHOICE,
        .offset = FIELD(durability),
        .sample = "KIND",
        .range = "sync | os | memory",
        .help = "what acknowledged keys survive (below); else sync where enough nodes have a disk, "
                "or memory",
    },
    {
        .name = "keylog",
        .kind = OPTION_CHOICE,
        .offset = FIELD(keylog),
        .sample = "on|off",
        .range = "on | off",
        .value = "on",
        .help = "whether nodes keep fingerprints on disk, 8 bytes a key, or bits only (below)",
    },
    {
        .name = "window",
        .kind = OPTION_DURATION,
        .offset = FIELD(window_us),
        .min = WINDOW_SLICE_MIN_US,
        .max = WINDOW_MAX_US,
        .sample = "TIME",
        .range = "1s to 3650d",
        .help = "keys are kept for so long after they were added last (below); else for ever",
    },
    {
        .name = "slices",
        .kind = OPTION_COUNT,
        .offset = FIELD(nslices),
        .min = 1,
        .max = DOCUMENT_MAX_SLICES,
        .sample = "COUNT",
        .range = "1 to 64",
        .help = "steps that the window moves in, of a second at least; with --window 7",
    },
    {
        .name = "sites",
        .kind = OPTION_TEXT,
        .offset = FIELD(sites),
        .sample = "SITE,...",
        .range = "names of sites",
        .help = "the sites that are to have it, with or without this one: as `site add` for each",
    },
    FLAG_MAX_STALENESS(FIELD(max_staleness),
                       "how late \"absent\" may hear of other sites (below); else no bound"),
    FLAG_ACKS(FIELD(acks), "how many sites have what is acknowledged (below); else local"),
    {
        .name = "hash",
        .kind = OPTION_CHOICE,
        .offset = FIELD(hash),
        .sample = "HASH",
        .range = "siphash | xxh3",
        .value = "siphash",
        .help = "siphash withstands chosen keys; xxh3 is faster, for trusted keys only",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "create",
    .words = "NAME --capacity KEYS --fpr RATE",
    .summary = "Create a filter. Fine when it exists with the same parameters.",
    .notes =
        "NAME: 1 to 128 of A-Z a-z 0-9 . _ : -\n"
        "Quorums need W + R > N and 2 W > N: any add then meets any check.\n"
        "Durability: with sync, acknowledged keys survive power loss of all nodes at once; with\n"
        "os, kill -9 of all of them; with memory, the restart of N - W nodes, as each comes back\n"
        "empty. sync and os take nodes with a disk, memory nodes without one.\n"
        "Keylog off takes less disk: a copy of the bits and a log that is cut. Such a filter can\n"
        "never be built anew at another size or rate, growing adds an array beside the old ones "
        "(the\n"
        "first one is made for half of the rate, unless when-full is refuse: 1.44 bits a key), "
        "and\n"
        "replicas copy bits from each other: what one has they all get, exact keys are not "
        "known.\n"
        "When full: a filter grows by itself before it is full, up to max-capacity, unless it is "
        "to\n"
        "refuse adds (FULL) past its capacity, which is what one of durability memory does if "
        "left\n"
        "out. One that has grown since counts as the same when it has at least the capacity asked\n"
        "for.\n"
        "Window: a key is there for the whole window since its add was sent, and is gone about "
        "one\n"
        "slice later. Capacity is what the window holds, the same in each slice; with k slices a\n"
        "copy has k + 2 arrays. It takes a key log and durability sync or os.\n"
        "Bound: in several sites \"absent\" means never acknowledged here, nor elsewhere but\n"
        "for what is still on its way. With --max-staleness 5s all counts that any site\n"
        "acknowledged more than 5s before the check; with 0 all before the check, at a round\n"
        "trip between sites. What can't be told within the bound is unknown (BEHIND), or maybe.\n"
        "Acks: in several sites an add is acknowledged by its own site. With --acks 2 (to 8) so\n"
        "many that count have it by then, its own too; with each all that count, so that no site\n"
        "says absent of what any acknowledged. It takes a round trip between sites. What is\n"
        "not confirmed before the timeout is not acknowledged (BEHIND); adding it again is safe.\n"
        "Sites that join take bound and acks over.\n\n"
        "Waits until all replicas can serve, and shows how far they are: as long as they get on\n"
        "with it, and for the timeout when nothing moves. Ctrl-C leaves it being made.\n\n"
        "Examples:\n"
        "  orbloom create seen --capacity 10M --fpr 1%\n"
        "  orbloom create guard --capacity 1M --fpr 0.1% --when-unavailable maybe\n"
        "  orbloom create week --capacity 70M --fpr 1% --window 7d --slices 7\n\n"
        "Exit: 0 it exists now, 1 it could not be created, 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .min_words = 1,
    .max_words = 1,
};

/* What is left out follows from N: majorities that meet. */
static void settle_quorums(struct create_settings *settings)
{
    uint64_t n = settings->replicas;

    if (settings->write_quorum == 0) {
        settings->write_quorum = n / 2 + 1;
    }
    if (settings->read_quorum == 0) {
        settings->read_quorum = settings->write_quorum <= n ? n - settings->write_quorum + 1 : 1;
    }
}

static int check_rule(const struct create_settings *settings, struct quorum_rule *rule)
{
    uint32_t majority;

    rule->replicas = (uint32_t)settings->replicas;
    rule->write = (uint32_t)settings->write_quorum;
    rule->read = (uint32_t)settings->read_quorum;
    if (quorum_rule_check(rule) == STATUS_OK) {
        return CMD_OK;
    }
    majority = rule->replicas / 2 + 1;
    return cmd_fail(STATUS_INVALID,
                    "write quorum %u and read quorum %u of %u replicas do not always meet: W and R "
                    "must be at most N, W + R > N and 2 W > N; try %u and %u",
                    rule->write, rule->read, rule->replicas, majority,
                    rule->replicas - majority + 1);
}

static int check_capacities(const struct create_settings *settings)
{
    if (settings->max_capacity != 0 && settings->max_capacity < settings->capacity) {
        return cmd_fail(
            STATUS_INVALID,
            "--max-capacity is less than --capacity; leave it out for 64 times as much");
    }
    return CMD_OK;
}

static int check_window(struct create_settings *settings)
{
    const char *fault;

    if (settings->window_us != 0 && settings->nslices == 0) {
        settings->nslices = DEFAULT_SLICES;
    }
    fault = window_fault(settings->window_us, settings->nslices);
    return fault == NULL ? CMD_OK : cmd_fail(STATUS_INVALID, "%s", fault);
}

/* Its first generation has id 1, and no other one. */
static bool has_changed(const struct admin_reply *reply)
{
    const struct filter_summary *filter = reply->nfilters > 0 ? &reply->filters[0] : NULL;

    return filter != NULL && filter->ngenerations > 0 &&
           (filter->ngenerations > 1 || filter->generations[0].id > 1);
}

static int show(void *context, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    const char *name = context;
    char keys[NUMBER_TEXT_BYTES];
    char rate[NUMBER_TEXT_BYTES];
    char bytes[NUMBER_TEXT_BYTES];

    if (!reply->created) {
        (void)printf("%s exists already, %s\n", name,
                     has_changed(reply) ? "and has another size by now: see `orbloom info`"
                                        : "same parameters");
        return CMD_OK;
    }
    (void)printf("created %s", name);
    if (reply->nfilters > 0) {
        const struct filter_summary *filter = &reply->filters[0];

        (void)printf(": %s keys at %s, %u x %s in %u shards, durability %s%s",
                     number_show_count(filter->capacity, keys),
                     number_show_rate(filter->rate, rate), filter->rule.replicas,
                     number_show_bytes(summary_copy_bytes(filter), bytes), filter->nshards,
                     durability_name(filter->durability),
                     filter->keylog == KEYLOG_OFF ? ", keylog off" : "");
    }
    if (reply->nfilters > 0 && reply->filters[0].nslices > 0) {
        (void)printf(", window %s in %u slices",
                     number_show_duration(reply->filters[0].window_us, keys),
                     reply->filters[0].nslices);
    }
    if (reply->nfilters > 0 && reply->filters[0].max_staleness != 0) {
        (void)printf(", max-staleness %s", staleness_show(reply->filters[0].max_staleness, keys));
    }
    if (reply->nfilters > 0 && reply->filters[0].acks != 0) {
        (void)printf(", acks %s", acks_show(reply->filters[0].acks, keys));
    }
    (void)putchar('\n');
    return CMD_OK;
}

/* 0: the coordinator chooses. */
static enum durability durability_of(const char *name)
{
    static const enum durability all[] = {DURABILITY_MEMORY, DURABILITY_OS, DURABILITY_SYNC};

    for (size_t i = 0; name != NULL && i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(name, durability_name(all[i])) == 0) {
            return all[i];
        }
    }
    return (enum durability)0;
}

/* 0: the coordinator chooses. */
static enum when_full when_full_of(const char *name)
{
    if (name == NULL) {
        return (enum when_full)0;
    }
    return strcmp(name, when_full_name(WHEN_FULL_EXPAND)) == 0 ? WHEN_FULL_EXPAND
                                                               : WHEN_FULL_REFUSE;
}

static int run(int argc, char **argv)
{
    struct create_settings settings = {0};
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct create_parameters *create = &frame.body.admin_request.create;
    struct option_words words;
    int code;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK ||
        !cmd_check_filter_name(words.items[0])) {
        return CMD_USAGE;
    }
    settle_quorums(&settings);
    code = check_rule(&settings, &create->rule);
    if (code == CMD_OK) {
        code = check_capacities(&settings);
    }
    if (code == CMD_OK) {
        code = check_window(&settings);
    }
    if (code == CMD_OK && settings.sites != NULL) {
        code = site_check_list(settings.sites);
    }
    if (code != CMD_OK) {
        return code;
    }
    frame.body.admin_request.action = ADMIN_CREATE;
    frame.body.admin_request.name = words.items[0];
    create->capacity = settings.capacity;
    create->rate = settings.rate;
    create->max_capacity = settings.max_capacity;
    create->hash = strcmp(settings.hash, hash_kind_name(HASH_XXH3)) == 0 ? HASH_XXH3
                                                                         : HASH_SIPHASH24;
    create->when_unavailable = strcmp(settings.when_unavailable, "maybe") == 0
                                   ? WHEN_UNAVAILABLE_MAYBE
                                   : WHEN_UNAVAILABLE_ERROR;
    create->when_full = when_full_of(settings.when_full);
    create->keylog = strcmp(settings.keylog, keylog_name(KEYLOG_OFF)) == 0 ? KEYLOG_OFF : KEYLOG_ON;
    create->durability = durability_of(settings.durability);
    create->window_us = settings.window_us;
    create->nslices = (uint32_t)settings.nslices;
    create->max_staleness = flags_bound(settings.max_staleness);
    create->acks = flags_acks(settings.acks);
    code = ask_and_wait(&settings.common, &frame, show, words.items[0]);
    return code == CMD_OK && settings.sites != NULL
               ? site_add_all(&settings.common, words.items[0], settings.sites)
               : code;
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_create(void)
{
    return &command;
}
