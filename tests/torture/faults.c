/* Draws which fault comes next, where and when, within what the cluster survives. */
#include "tests/torture/faults.h"

#include "tests/support/random.h"
#include "tests/torture/fault_act.h"
#include "tests/torture/healing.h"
#include "tests/torture/journal.h"

#include <inttypes.h>
#include <string.h>

enum {
    PHASE_WAIT_MS = 400, /* for the phase that a fault is meant for */
    HEAL_MARGIN_MS = 300,
    CROWD_ODDS = 6,
};

static bool is_destruction(enum fault fault)
{
    return fault == FAULT_WIPE || fault == FAULT_REPLACE || fault == FAULT_ROLLBACK ||
           fault == FAULT_REWIND;
}

/* ---- what may be injected ---- */

static bool is_allowed(const struct torture *torture, const struct coverage_row *row)
{
    const struct options *options = &torture->options;
    bool needs_disk = is_destruction(row->fault) || row->fault == FAULT_KILL_ALL ||
                      (row->fault == FAULT_KILL && row->kind == DAEMON_NODE);

    if (row->fault == FAULT_REPLACE && !torture_may(torture, "move")) {
        return false;
    }
    if (row->fault == FAULT_CUT && !torture->cluster.network.namespaces) {
        return false;
    }
    return (options->only == NULL || options_list_has(options->only, row->name)) &&
           !options_list_has(options->without, row->name) && !(needs_disk && options->in_memory);
}

void faults_init(struct faults *self, struct torture *torture, struct watch_thread *watch)
{
    *self = (struct faults){.torture = torture,
                            .watch = watch,
                            .random = torture->options.seed,
                            .planned = COVERAGE_ROWS};
    for (uint32_t row = 0; row < COVERAGE_ROWS; row++) {
        self->rows |= (uint32_t)is_allowed(torture, &coverage_rows[row]) << row;
    }
}

/* ---- looking after ---- */

uint32_t faults_count_active(const struct faults *self)
{
    const struct cluster *cluster = &self->torture->cluster;
    uint32_t count = 0;

    for (uint32_t i = 0; i < cluster->ndaemons; i++) {
        count += self->active[i].used || cluster->daemons[i].state != DAEMON_RUNNING;
    }
    return count;
}

static void tick_daemon(struct faults *self, uint32_t index)
{
    struct daemon *daemon = &self->torture->cluster.daemons[index];
    char text[64];
    int status;

    daemon_poll(daemon);
    if (daemon_ended(daemon, &status)) {
        tally_fail(&self->torture->tally, "CRASHED: %s ended by itself: %s; see %s/log",
                   daemon->name, daemon_show_status(status, text), daemon->dir);
    }
    if (self->active[index].used && fault_act_tick(self, index)) {
        self->ended++;
    }
    if (daemon->state == DAEMON_STARTING && !self->active[index].used &&
        journal_now_ms() - daemon->ready_ms > self->torture->options.patience * 1000) {
        tally_fail(&self->torture->tally, "STUCK: %s is not ready after %" PRIu64 " s; see %s/log",
                   daemon->name, self->torture->options.patience, daemon->dir);
    }
}

/* It is not whole yet. */
static void wait_for_healing(struct faults *self, uint64_t took_ms)
{
    switch (healing_after(took_ms, atomic_load(&self->torture->patience_ms))) {
    case HEALING_STORM:
    case HEALING_CALM:
        break;
    case HEALING_EASED:
        if (!atomic_exchange(&self->torture->eased, true)) {
            journal_tell("slow to heal: little is asked until it is whole");
        }
        break;
    case HEALING_FAILED:
        tally_fail(&self->torture->tally,
                   "NOT READY: not every replica is FULL %" PRIu64 " s after a node lost its data",
                   took_ms / 1000);
        break;
    }
}

/* Whole, as seen since the last destroyed node came back? */
static void tick_healing(struct faults *self)
{
    uint64_t since_ms = self->unhealed_ms;
    uint64_t took_ms = journal_now_ms() - self->unhealed_ms;
    struct daemon *node;

    if (!self->unhealed) {
        return;
    }
    for (uint32_t i = 0; (node = cluster_next(&self->torture->cluster, DAEMON_NODE, &i)) != NULL;) {
        if (node->lives == 0) {
            continue; /* It comes later, with nothing to heal. */
        }
        if (node->state != DAEMON_RUNNING ||
            self->active[node - self->torture->cluster.daemons].used) {
            return;
        }
        since_ms = node->ready_ms > since_ms ? node->ready_ms : since_ms;
    }
    if (atomic_load(&self->watch->whole_ms) > since_ms + HEAL_MARGIN_MS) {
        self->unhealed = false;
        atomic_store(&self->torture->eased, false);
        self->heals++;
        self->heal_ms_max = took_ms > self->heal_ms_max ? took_ms : self->heal_ms_max;
        atomic_store(&self->watch->wants_whole, false);
        journal_say("whole again after %" PRIu64 " ms", took_ms);
    } else {
        wait_for_healing(self, took_ms);
    }
}

/* What holds documents of before the rotation is of no use once the former key has gone. */
bool faults_may_copy(const struct torture *torture)
{
    uint32_t step = atomic_load(&torture->rotating);

    return step != TALLY_SIGN && step != TALLY_RETIRE;
}

void faults_tick(struct faults *self)
{
    if (!faults_may_copy(self->torture)) {
        memset(self->copy_life, 0, sizeof self->copy_life);
    }
    for (uint32_t i = 0; i < self->torture->cluster.ndaemons; i++) {
        tick_daemon(self, i);
    }
    tick_healing(self);
}

/* ---- choosing ---- */

static uint32_t phases_now(const struct faults *self)
{
    const struct torture *torture = self->torture;
    bool starting = false;

    for (uint32_t i = 0; i < torture->cluster.ndaemons; i++) {
        starting |= torture->cluster.daemons[i].kind == DAEMON_NODE &&
                    torture->cluster.daemons[i].state == DAEMON_STARTING;
    }
    return (uint32_t)(atomic_load(&torture->creating) > 0) << PHASE_CREATE |
           (uint32_t)(atomic_load(&torture->adding) > 0) << PHASE_ADD |
           (uint32_t)(atomic_load(&torture->checking) > 0) << PHASE_CHECK |
           (uint32_t)(starting || atomic_load(&self->watch->replaying)) << PHASE_REPLAY |
           (uint32_t)atomic_load(&self->watch->joining) << PHASE_SYNC |
           (uint32_t)atomic_load(&self->watch->merging) << PHASE_MERGE |
           (uint32_t)(atomic_load(&torture->dropping) > 0) << PHASE_DROP |
           (uint32_t)atomic_load(&self->watch->growing) << PHASE_GROW |
           (uint32_t)atomic_load(&self->watch->valve) << PHASE_VALVE |
           (uint32_t)atomic_load(&self->watch->moving) << PHASE_MOVE;
}

static bool suits(const struct faults *self, const struct coverage_row *row, uint32_t index)
{
    const struct daemon *daemon = &self->torture->cluster.daemons[index];
    uint32_t copy_life = self->copy_life[index];

    if (daemon->kind != row->kind || self->active[index].used || daemon->state == DAEMON_DEAD) {
        return false;
    }
    switch (row->fault) {
    case FAULT_ROLLBACK:
        return copy_life > 0 && copy_life < daemon->lives;
    case FAULT_REPLACE:
        return atomic_load(&self->torture->spare) != 0 &&
               atomic_load(&self->torture->spare) != index + 1;
    case FAULT_REWIND:
        return copy_life > 0 && copy_life == daemon->lives && daemon->state == DAEMON_RUNNING;
    case FAULT_KILL:
    case FAULT_KILL_ALL:
    case FAULT_STOP:
    case FAULT_CUT:
    case FAULT_WIPE:
        break;
    }
    return true;
}

/* A daemon for it, at random; CLUSTER_MAX_DAEMONS: there is none. */
static uint32_t find_target(struct faults *self, const struct coverage_row *row)
{
    uint32_t ndaemons = self->torture->cluster.ndaemons;
    uint32_t first = (uint32_t)random_below(&self->random, ndaemons);

    for (uint32_t i = 0; i < ndaemons; i++) {
        if (suits(self, row, (first + i) % ndaemons)) {
            return (first + i) % ndaemons;
        }
    }
    return CLUSTER_MAX_DAEMONS;
}

/* Mostly one node at a time is in trouble, sometimes more than the quorums can do without. */
static bool spares_nodes(const struct faults *self)
{
    const struct cluster *cluster = &self->torture->cluster;
    uint32_t troubled = 0;

    for (uint32_t i = 0; i < cluster->ndaemons; i++) {
        troubled += cluster->daemons[i].kind == DAEMON_NODE && self->active[i].used;
    }
    return troubled > 0 && !self->crowds;
}

static uint32_t rows_now(struct faults *self)
{
    bool spares = spares_nodes(self);
    bool spare = atomic_load(&self->torture->spare) != 0; /* seldom: so it goes first */
    uint32_t rows = 0;

    for (uint32_t i = 0; i < COVERAGE_ROWS; i++) {
        const struct coverage_row *row = &coverage_rows[i];
        bool possible = (self->rows >> i & 1) != 0 && find_target(self, row) != CLUSTER_MAX_DAEMONS;

        if ((is_destruction(row->fault) && self->unhealed) ||
            (is_destruction(row->fault) && row->fault != FAULT_REPLACE && spare) ||
            (row->kind == DAEMON_NODE && spares) ||
            (row->fault == FAULT_KILL_ALL && faults_count_active(self) > 0)) {
            possible = false;
        }
        rows |= (uint32_t)possible << i;
    }
    return rows;
}

static void kill_all(struct faults *self)
{
    for (uint32_t i = 0; i < self->torture->cluster.ndaemons; i++) {
        fault_act_begin(self, i, FAULT_KILL);
    }
}

void faults_expect_healing(struct faults *self)
{
    self->unhealed = true;
    self->unhealed_ms = journal_now_ms();
    atomic_store(&self->watch->whole_ms, 0);
    atomic_store(&self->watch->wants_whole, true);
}

void faults_begin(struct faults *self, uint32_t row, uint32_t target)
{
    uint32_t phases = phases_now(self);
    char text[64];

    coverage_count(&self->coverage, row, phases);
    atomic_fetch_add(&self->torture->tally.rotation_faults[atomic_load(&self->torture->rotating)],
                     1);
    journal_say("fault %" PRIu64 ": %s, %s, during %s", self->coverage.faults,
                coverage_rows[row].name, self->torture->cluster.daemons[target].name,
                coverage_show_phases(phases, text));
    if (coverage_rows[row].fault == FAULT_KILL_ALL) {
        kill_all(self);
        return;
    }
    if (coverage_rows[row].fault == FAULT_REPLACE) {
        atomic_store(&self->torture->replacing, target + 1);
    }
    if (is_destruction(coverage_rows[row].fault)) {
        faults_expect_healing(self);
    }
    fault_act_begin(self, target, coverage_rows[row].fault);
}

static void plan(struct faults *self, uint64_t now_ms)
{
    bool calm = self->unhealed &&
                healing_after(now_ms - self->unhealed_ms, UINT64_MAX) != HEALING_STORM;
    uint32_t rows = calm ? 0 : rows_now(self);

    if (rows != 0 && now_ms >= self->next_ms && faults_count_active(self) < FAULTS_MAX_ACTIVE) {
        self->planned = coverage_choose_row(&self->coverage, rows, &self->random);
        self->phase = coverage_choose_phase(&self->coverage, self->planned, &self->random);
        self->planned_ms = now_ms;
    }
}

void faults_maybe_begin(struct faults *self)
{
    uint64_t now_ms = journal_now_ms();

    if (self->planned == COVERAGE_ROWS) {
        plan(self, now_ms);
    }
    if (self->planned == COVERAGE_ROWS) {
        return;
    }
    if ((rows_now(self) >> self->planned & 1) == 0) { /* Not possible any more. */
        self->planned = COVERAGE_ROWS;
        return;
    }
    if ((phases_now(self) >> self->phase & 1) != 0 || now_ms - self->planned_ms > PHASE_WAIT_MS) {
        uint32_t target = find_target(self, &coverage_rows[self->planned]);

        if (target != CLUSTER_MAX_DAEMONS) {
            faults_begin(self, self->planned, target);
        }
        self->planned = COVERAGE_ROWS;
        self->next_ms = now_ms + random_below(&self->random, self->torture->options.gap_ms);
        self->crowds = random_below(&self->random, CROWD_ODDS) == 0;
    }
}

void faults_wipe_majority(struct faults *self)
{
    uint32_t left = TORTURE_WRITE;

    journal_tell("%u nodes are wiped at once, on purpose", left);
    faults_expect_healing(self);
    for (uint32_t i = 0; left > 0 && i < self->torture->cluster.ndaemons; i++) {
        if (self->torture->cluster.daemons[i].kind == DAEMON_NODE) {
            fault_act_begin(self, i, FAULT_WIPE);
            left--;
        }
    }
}
