/* Does and undoes each kind of fault. */
#include "tests/torture/fault_act.h"

#include "tests/support/random.h"
#include "tests/torture/journal.h"

#include <signal.h>

enum {
    SHORTEST_MS = 100,
    LONGEST_MS = 3000,
    DOWN_MS = 500,      /* of a killed process, mostly */
    REPLACE_MS = 20000, /* at most, of one whose place is being given away */
    COPY_ODDS = 2, /* every so many-th time that a node is dead or stopped its folder is copied */
};

/* More short ones than long ones: 100 ms times a power of 30 between 0 and 1. */
static uint64_t draw_pause_ms(uint64_t *random)
{
    uint64_t pause_ms = SHORTEST_MS;

    while (pause_ms < LONGEST_MS && random_below(random, 10) < 6) {
        pause_ms = pause_ms * (150 + random_below(random, 70)) / 100;
    }
    return pause_ms < LONGEST_MS ? pause_ms : LONGEST_MS;
}

static void start_copy(struct faults *self, uint32_t index)
{
    const struct daemon *daemon = &self->torture->cluster.daemons[index];
    char from[DAEMON_PATH_BYTES];
    char to[DAEMON_PATH_BYTES];
    bool wanted = daemon->kind == DAEMON_NODE && !self->torture->options.in_memory &&
                  self->torture->options.change == CHANGE_NONE && daemon->lives > 0 &&
                  faults_may_copy(self->torture) && random_below(&self->random, COPY_ODDS) == 0;

    if (wanted && self->active[index].job == 0) {
        self->active[index].job = folder_copy(daemon_path(daemon, "data", from),
                                              daemon_path(daemon, "copy", to));
        self->copy_life[index] = daemon->lives;
        journal_say("copy the data of %s, life %u", daemon->name, daemon->lives);
    }
}

/* ---- cutting off ---- */

static void set_cut(const struct faults *self, uint32_t index, bool cut)
{
    const struct fault_active *active = &self->active[index];
    const struct cluster *cluster = &self->torture->cluster;
    uint32_t host = cluster->daemons[index].host;

    for (uint32_t other = 0; other < cluster->network.nhosts; other++) {
        if ((active->from_it >> other & 1) != 0) {
            network_cut(&cluster->network, host, other, cut);
        }
        if ((active->to_it >> other & 1) != 0) {
            network_cut(&cluster->network, other, host, cut);
        }
    }
}

/* From everyone, or from some; both ways, or one. Two faults never cut the same way twice. */
static void choose_cut(struct faults *self, uint32_t index)
{
    const struct cluster *cluster = &self->torture->cluster;
    struct fault_active *active = &self->active[index];
    uint32_t all = (uint32_t)((UINT64_C(1) << cluster->network.nhosts) - 1);
    uint32_t some = random_below(&self->random, 2) == 0
                        ? all
                        : (uint32_t)random_next(&self->random) & all;
    uint64_t way = random_below(&self->random, 4);

    for (uint32_t i = 0; i < cluster->ndaemons; i++) {
        if (self->active[i].used && self->active[i].fault == FAULT_CUT) {
            some &= ~(1U << cluster->daemons[i].host);
        }
    }
    some &= ~(1U << cluster->daemons[index].host);
    active->from_it = way != 0 ? some : 0;
    active->to_it = way != 1 ? some : 0;
    journal_say("cut off %s: to hosts %#x, from hosts %#x", cluster->daemons[index].name,
                active->from_it, active->to_it);
    set_cut(self, index, true);
}

/* ---- begin ---- */

static void begin_kill(struct faults *self, uint32_t index)
{
    daemon_kill(&self->torture->cluster.daemons[index]);
    self->active[index].end_ms = journal_now_ms() + random_below(&self->random, DOWN_MS);
    start_copy(self, index);
}

static void begin_pause(struct faults *self, uint32_t index, bool stop)
{
    struct daemon *daemon = &self->torture->cluster.daemons[index];

    self->active[index].end_ms = journal_now_ms() + draw_pause_ms(&self->random);
    atomic_store(&daemon->usable, false);
    if (stop) {
        daemon_signal(daemon, SIGSTOP);
        start_copy(self, index);
    } else {
        choose_cut(self, index);
    }
}

static void begin_destruction(struct faults *self, uint32_t index, bool wipe)
{
    struct daemon *daemon = &self->torture->cluster.daemons[index];
    char data[DAEMON_PATH_BYTES];
    char copy[DAEMON_PATH_BYTES];

    daemon_kill(daemon);
    self->active[index].end_ms = journal_now_ms() + random_below(&self->random, DOWN_MS);
    (void)daemon_path(daemon, "data", data);
    self->active[index].job = wipe ? folder_wipe(data)
                                   : folder_copy(daemon_path(daemon, "copy", copy), data);
}

void fault_act_begin(struct faults *self, uint32_t index, enum fault fault)
{
    self->active[index] = (struct fault_active){.used = true, .fault = fault};
    switch (fault) {
    case FAULT_KILL:
    case FAULT_KILL_ALL:
        begin_kill(self, index);
        break;
    case FAULT_STOP:
    case FAULT_CUT:
        begin_pause(self, index, fault == FAULT_STOP);
        break;
    case FAULT_WIPE:
    case FAULT_REPLACE:
    case FAULT_ROLLBACK:
    case FAULT_REWIND:
        begin_destruction(self, index, fault == FAULT_WIPE || fault == FAULT_REPLACE);
        break;
    }
}

/* ---- end ---- */

static bool job_done(struct faults *self, uint32_t index)
{
    struct fault_active *active = &self->active[index];
    bool good = true;

    if (active->job != 0 && !folder_done(&active->job, false, &good)) {
        return false;
    }
    if (!good) {
        tally_fail(&self->torture->tally, "the folder of %s could not be copied or emptied",
                   self->torture->cluster.daemons[index].name);
    }
    return true;
}

bool fault_act_tick(struct faults *self, uint32_t index)
{
    struct fault_active *active = &self->active[index];
    struct daemon *daemon = &self->torture->cluster.daemons[index];

    if (active->fault == FAULT_REPLACE && atomic_load(&self->torture->replacing) == index + 1 &&
        journal_now_ms() < active->end_ms + REPLACE_MS) {
        return false;
    }
    if (journal_now_ms() < active->end_ms || !job_done(self, index)) {
        return false;
    }
    if (daemon->state == DAEMON_DEAD) {
        daemon_start(daemon, &self->torture->cluster.network);
        daemon->ready_ms = journal_now_ms(); /* How long it takes counts from here. */
    } else {
        set_cut(self, index, false);
        daemon_signal(daemon, SIGCONT);
        atomic_store(&daemon->usable, daemon->state == DAEMON_RUNNING);
        journal_say("%s goes on", daemon->name);
    }
    active->used = false;
    return true;
}
