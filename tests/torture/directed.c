/* Waits until logs show a phase that wants a kill, and kills. */
#include "tests/torture/directed.h"

#include "tests/support/random.h"
#include "tests/torture/journal.h"
#include "tests/torture/report.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
    LEAST_GAP_MS = 50,
    NODE_GAP_MS = 300, /* and a second for each ten million keys, which are read back */
    KEYS_A_MS = 10000,
    ALL_ODDS = 2, /* each so many-th time all coordinators go at once, not one */
    LOAD_MS = 600000,
};

static uint64_t round_keys(uint64_t keys)
{
    return (keys + LEDGER_BATCH - 1) / LEDGER_BATCH * LEDGER_BATCH;
}

bool directed_begin(struct torture *torture)
{
    const struct options *options = &torture->options;
    bool grows = options->change == CHANGE_EXPAND;
    const struct admin_kind kind = {.sync = true};
    struct ledger_filter *filter = NULL;
    struct admin admin;

    if (admin_open(&admin, torture) &&
        admin_create(&admin, "keep", grows ? options->keys : options->to, &kind) == STATUS_OK) {
        filter = ledger_open(&torture->ledger, "keep", round_keys(options->to), true, grows, 0);
    }
    if (filter != NULL) {
        atomic_store(&filter->limit, round_keys(options->keys));
    } else {
        tally_fail(&torture->tally, "the filter can't be created: %s", admin.error);
    }
    admin_close(&admin);
    return filter != NULL;
}

/* ---- what is seen ---- */

static const struct daemon *daemon_of(const struct directed *self, uint32_t index)
{
    return &self->run->torture.cluster.daemons[index];
}

static void open_tails(struct directed *self)
{
    char path[DAEMON_PATH_BYTES];

    for (uint32_t i = 0; i < self->run->torture.cluster.ndaemons; i++) {
        (void)daemon_path(daemon_of(self, i), "log", path);
        tail_open(&self->tails[i], path);
        (void)inotify_add_watch(self->written, path, IN_MODIFY);
    }
}

/* A phase may be over within less than a millisecond. */
static void await_line(struct directed *self)
{
    struct pollfd wake = {.fd = self->written, .events = POLLIN};
    char events[4096];

    if (poll(&wake, 1, RUN_TICK_MS) > 0) {
        (void)!read(self->written, events, sizeof events);
    }
}

static uint32_t observe(struct directed *self)
{
    uint64_t now_ms = journal_now_ms();

    for (uint32_t i = 0; i < self->run->torture.cluster.ndaemons; i++) {
        const char *line;

        while ((line = tail_next(&self->tails[i])) != NULL) {
            stages_hear(&self->stages, i, line, now_ms);
        }
    }
    return stages_now(&self->stages, atomic_load(&self->run->watch.valve), now_ms);
}

/* ---- whom to kill ---- */

static bool is_up(const struct directed *self, uint32_t index)
{
    return daemon_of(self, index)->state == DAEMON_RUNNING && !self->run->faults.active[index].used;
}

/* What a running daemon is to the change under way. */
static enum kills_who who_is(const struct directed *self, uint32_t index)
{
    switch (daemon_of(self, index)->kind) {
    case DAEMON_ROUTER:
        return KILLS_ROUTER;
    case DAEMON_COORDINATOR:
        return KILLS_COORDINATOR;
    case DAEMON_NODE:
    case DAEMON_KINDS:
        break;
    }
    if ((self->joiners >> index & 1) != 0) {
        return KILLS_JOINING; /* Also its own next life. */
    }
    if (self->stages.change == CHANGE_EXPAND ? stages_builder(&self->stages) == index
                                             : atomic_load(&self->changes.leaving) == index + 1) {
        return KILLS_ACTOR;
    }
    return KILLS_OTHER;
}

/* One node at a time; a lost one that is being replaced is no obstacle. */
static bool spares_nodes(const struct directed *self)
{
    for (uint32_t i = 0; i < self->run->torture.cluster.ndaemons; i++) {
        bool lost = atomic_load(&self->run->torture.replacing) == i + 1;

        if (daemon_of(self, i)->kind == DAEMON_NODE && !lost && !is_up(self, i)) {
            return true;
        }
    }
    return journal_now_ms() < self->next_node_ms;
}

/* What to kill: a daemon, or all nodes. False: nothing. */
static bool choose(struct directed *self, uint32_t stages, uint32_t *target, enum kills_who *who)
{
    uint32_t ndaemons = self->run->torture.cluster.ndaemons;
    uint32_t first = (uint32_t)random_below(&self->random, ndaemons);
    uint64_t fewest = journal_now_ms() < self->next_ms ? 1 : UINT64_MAX; /* less than this */
    bool spares = spares_nodes(self);
    bool any = false;

    for (uint32_t i = 0; i < ndaemons; i++) {
        uint32_t index = (first + i) % ndaemons;
        uint64_t count = kills_fewest(&self->kills, stages, who_is(self, index));

        if (is_up(self, index) && count < fewest &&
            !(spares && daemon_of(self, index)->kind == DAEMON_NODE)) {
            *target = index;
            *who = who_is(self, index);
            fewest = count;
            any = true;
        }
    }
    if (!spares && kills_fewest(&self->kills, stages, KILLS_NODES) < fewest) {
        *target = self->run->torture.cluster.ndaemons - 1;
        *who = KILLS_NODES;
        any = true;
    }
    return any;
}

/* ---- killing ---- */

/* The signal first, everything else after that. */
static uint64_t send_kill(struct directed *self, uint32_t target, enum kills_who who)
{
    enum daemon_kind kind = daemon_of(self, target)->kind;
    bool all = who == KILLS_NODES ||
               (kind == DAEMON_COORDINATOR && random_below(&self->random, ALL_ODDS) == 0);
    uint64_t victims = 0;

    for (uint32_t i = 0; i < self->run->torture.cluster.ndaemons; i++) {
        if (i == target || (all && is_up(self, i) && daemon_of(self, i)->kind == kind)) {
            daemon_signal(daemon_of(self, i), SIGKILL);
            victims |= UINT64_C(1) << i;
        }
    }
    return victims;
}

static void show(uint32_t stages, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (enum stage stage = 0; stage < STAGES && used < size; stage++) {
        if ((stages >> stage & 1) != 0) {
            used += (size_t)snprintf(text + used, size - used, " %s", stage_name(stage));
        }
    }
}

/* What was seen at the victims' end: of a node that builds the very phase. */
static uint32_t bury(struct directed *self, uint64_t victims, enum daemon_kind kind,
                     uint32_t before)
{
    uint32_t builder = stages_builder(&self->stages);
    bool builds = self->stages.change == CHANGE_EXPAND && builder < CLUSTER_MAX_DAEMONS &&
                  (victims >> builder & 1) != 0;
    uint32_t seen = before & observe(self);

    for (uint32_t i = 0; i < self->run->torture.cluster.ndaemons; i++) {
        if ((victims >> i & 1) != 0) {
            faults_begin(&self->run->faults, coverage_row(FAULT_KILL, kind), i);
        }
    }
    if (builds) { /* It is dead now, and has said all. */
        seen = observe(self) & ~(1U << STAGE_VALVE);
        seen |= before & 1U << STAGE_VALVE;
    }
    for (uint32_t i = 0; kind == DAEMON_NODE && i < self->run->torture.cluster.ndaemons; i++) {
        if ((victims >> i & 1) != 0) {
            stages_forget(&self->stages, i);
        }
    }
    return seen;
}

static void kill_some(struct directed *self, uint32_t target, enum kills_who who, uint32_t before)
{
    enum daemon_kind kind = daemon_of(self, target)->kind;
    uint64_t victims = send_kill(self, target, who);
    uint32_t seen = bury(self, victims, kind, before);
    char text[64];

    kills_count(&self->kills, seen, who);
    show(seen, text, sizeof text);
    journal_say("killed %s%s in:%s", daemon_of(self, target)->name,
                (victims & (victims - 1)) != 0 ? " and all of its kind" : "", text);
    if (kind == DAEMON_NODE) {
        self->next_node_ms = journal_now_ms() + NODE_GAP_MS +
                             self->run->torture.options.keys / KEYS_A_MS;
    }
    self->soon_ms = journal_now_ms() + LEAST_GAP_MS;
    self->next_ms = self->soon_ms + random_below(&self->random, self->run->torture.options.gap_ms);
}

/* A node's data is to be taken. */
static void lose(struct directed *self)
{
    uint32_t lost = atomic_load(&self->changes.lose);
    struct faults *faults = &self->run->faults;

    if (lost != 0 && !faults->unhealed && faults_count_active(faults) == 0) {
        bool place = atomic_load(&self->changes.lose_place);

        faults_begin(faults, coverage_row(place ? FAULT_REPLACE : FAULT_WIPE, DAEMON_NODE),
                     lost - 1);
        atomic_store(&self->changes.lose, 0);
        self->next_node_ms = journal_now_ms() + NODE_GAP_MS;
    }
}

/* ---- the course ---- */

/* Changes are heard of from when they are asked for until the thread says that they are over. */
static void follow(struct directed *self)
{
    bool underway = atomic_load(&self->changes.underway) && atomic_load(&self->changes.lose) == 0;
    uint64_t joiners = atomic_load(&self->run->watch.joiners);

    if (underway && self->stages.asked_ms == 0) {
        (void)observe(self);
        stages_begin(&self->stages, self->run->torture.options.change, journal_now_ms());
        self->joiners = 0;
    } else if (!underway && self->stages.asked_ms != 0) {
        stages_end(&self->stages);
    }
    self->joiners = joiners != 0 ? joiners : self->joiners;
}

static bool is_enough(const struct directed *self)
{
    const struct options *options = &self->run->torture.options;

    return kills_done(&self->kills) || atomic_load(&self->changes.rounds) + 1 >= options->rounds ||
           journal_now_ms() - self->run->start_ms > options->seconds * 1000;
}

/* Only while a filter that is full grows for the first time can a valve open, and a node that was
 * killed builds no more: the other phases come again. */
static uint32_t kept_for_now(const struct directed *self, uint32_t stages)
{
    bool first = self->stages.change == CHANGE_EXPAND && atomic_load(&self->changes.rounds) == 0;

    return first ? stages & 1U << STAGE_VALVE : stages;
}

static void step(struct directed *self)
{
    uint32_t stages;
    enum kills_who who;
    uint32_t target;

    follow(self);
    lose(self);
    stages = observe(self);
    if (stages == 0 || journal_now_ms() < self->soon_ms) {
        return;
    }
    if (choose(self, kept_for_now(self, stages), &target, &who)) {
        kill_some(self, target, who, stages);
    }
}

/* As fast as it goes, up to a number of keys. */
static void load(struct directed *self, uint64_t keys)
{
    struct torture *torture = &self->run->torture;
    struct ledger_filter *filter = &torture->ledger.filters[0];
    uint64_t limit_ms = journal_now_ms() + LOAD_MS;

    atomic_store(&torture->pace, UINT32_MAX);
    atomic_store(&filter->repeats, false);
    atomic_store(&filter->limit, round_keys(keys));
    while (!run_must_stop(self->run) && (atomic_load(&filter->next) < atomic_load(&filter->limit) ||
                                         atomic_load(&torture->adding) > 0)) {
        run_tick(self->run, RUN_TICK_MS);
        if (journal_now_ms() > limit_ms) {
            tally_fail(&torture->tally, "STUCK: the filter can't be filled");
        }
    }
    journal_tell("%" PRIu64 " keys are acknowledged", atomic_load(&filter->acked));
}

/* New keys come all the time; when there are no more, the same ones again. */
static void go_on_adding(struct directed *self)
{
    struct torture *torture = &self->run->torture;
    const struct options *options = &torture->options;
    struct ledger_filter *filter = &torture->ledger.filters[0];
    uint64_t pace = (options->to - options->keys) / options->seconds;

    self->keys_before = atomic_load(&filter->acked);
    atomic_store(&torture->pace, pace < options->pace && pace > 1000 ? pace : options->pace);
    atomic_store(&filter->limit, filter->keys);
    atomic_store(&filter->repeats, true);
}

void directed_run(struct directed *self, struct run *run)
{
    struct torture *torture = &run->torture;

    *self = (struct directed){
        .run = run,
        .random = torture->options.seed,
        .written = inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
        .kills = {.change = torture->options.change, .wanted = torture->options.hits}};
    run->start_ms = run->progress_ms = journal_now_ms();
    faults_init(&run->faults, torture, &run->watch);
    run_start_load(run);
    load(self, torture->options.keys);
    open_tails(self);
    go_on_adding(self);
    run->start_ms = journal_now_ms();
    self->changes = (struct changes_thread){
        .torture = torture, .watch = &run->watch, .random = torture->options.seed + 80};
    run_start_worker(run, changes_thread, &self->changes);
    while (!run_must_stop(run) && !atomic_load(&self->changes.idle)) {
        run_tick(run, 0);
        step(self);
        await_line(self);
        if (torture->options.sabotage == SABOTAGE_FALSE_CLAIM && !run->sabotaged) {
            run_claim_falsely(run);
        }
        atomic_store(&self->changes.enough, is_enough(self));
    }
    load(self, torture->options.to);
    run_finish(run);
    for (uint32_t i = 0; i < torture->cluster.ndaemons; i++) {
        tail_close(&self->tails[i]);
    }
    (void)close(self->written);
}

int directed_report(struct directed *self, uint64_t took_ms)
{
    struct run *run = self->run;
    const struct options *options = &run->torture.options;
    uint32_t empty;

    (void)printf("\n");
    empty = kills_print(&self->kills, stdout);
    (void)printf("\n%-18s %16" PRIu64 "   of them in no phase for certain %" PRIu64
                 ", cells never hit %u\n",
                 "kills", kills_sum(&self->kills), self->kills.missed, empty);
    (void)printf("%-18s %16" PRIu64 "   %s; %" PRIu64 " keys before the first, up to %" PRIu64
                 " after it\n",
                 "changes", atomic_load(&self->changes.rounds),
                 options_change_name(options->change), self->keys_before, options->to);
    return report_end(&run->torture, &run->faults, took_ms);
}
