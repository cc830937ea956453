/* Walks through the steps of a key's replacement, with each daemon's copy of the ring. */
#include "tests/torture/rotate.h"

#include "tests/support/random.h"
#include "tests/torture/credentials.h"
#include "tests/torture/journal.h"
#include "tests/torture/operator.h"
#include "tests/torture/tail.h"

#include <inttypes.h>
#include <string.h>

enum {
    STEP_MS = 20,
    SPREAD_PAUSE_MS = 60, /* between two daemons, at most */
    PAUSE_MS = 3000,      /* between two rotations, at most */
    SIGNED_MARGIN_MS = 200,
    SYNCED_MS = 1000, /* a node that serves so long, and may ask every coordinator, is up to date */
};

static const char *const step_names[TALLY_ROTATION_STEPS] = {
    [TALLY_NO_ROTATION] = "none", [TALLY_ADD] = "add",   [TALLY_RENEW] = "renew",
    [TALLY_PROMOTE] = "promote",  [TALLY_SIGN] = "sign", [TALLY_RETIRE] = "retire",
};

struct rotate {
    struct rotate_thread *thread;
    struct torture *torture;
    struct tail tails[CLUSTER_MAX_DAEMONS];  /* of daemons that are to take the ring */
    uint32_t lives[CLUSTER_MAX_DAEMONS];     /* when they got it, */
    bool starting[CLUSTER_MAX_DAEMONS];      /* ... perhaps in time for that start */
    uint64_t usable_ms[CLUSTER_MAX_DAEMONS]; /* since when, without a break; 0: it is not */
    uint64_t overtime_ms; /* since when a step is under way though faults are over; 0: it is not */
};

static void begin(struct rotate *self, enum tally_rotation step)
{
    journal_say("rotation: %s", step_names[step]);
    atomic_store(&self->torture->rotating, step);
    self->overtime_ms = 0;
}

/* While there are faults it may take as long as they do. */
static bool goes_on(struct rotate *self, const char *what)
{
    uint64_t now_ms = journal_now_ms();

    if (atomic_load(&self->thread->enough) && self->overtime_ms == 0) {
        self->overtime_ms = now_ms;
    }
    if (self->overtime_ms != 0 &&
        now_ms - self->overtime_ms > atomic_load(&self->torture->patience_ms)) {
        tally_fail(&self->torture->tally,
                   "STUCK: %s, %" PRIu64 " s after all faults; see %s/operator", what,
                   (now_ms - self->overtime_ms) / 1000, self->torture->cluster.dir);
    }
    journal_pause_ms(STEP_MS);
    return !atomic_load(&self->torture->tally.failed);
}

/* ---- the operator's copy ---- */

static bool edit_key(struct rotate *self, const char *action, bool insist)
{
    const struct cluster *cluster = &self->torture->cluster;
    char key[DAEMON_PATH_BYTES];
    const char *const words[OPERATOR_MAX_WORDS] = {"key",
                                                   action,
                                                   credentials_path(cluster, "key", key),
                                                   "--coordinator",
                                                   self->torture->coordinators,
                                                   "--timeout",
                                                   "2s"};
    /* `add` asks nobody. */
    const char *const alone[OPERATOR_MAX_WORDS] = {"key", action, key};
    int code;

    do {
        code = operator_run(cluster, strcmp(action, "add") == 0 ? alone : words);
    } while (code != 0 && insist && goes_on(self, "a key can't be retired"));
    if (code != 0) {
        tally_fail(&self->torture->tally, "`orbloom key %s` ended with %d; see %s/operator", action,
                   code, cluster->dir);
    }
    return code == 0 && credentials_become_process(cluster);
}

/* As the user whose credential it is. */
static bool renew(struct rotate *self)
{
    const struct cluster *cluster = &self->torture->cluster;
    char file[DAEMON_PATH_BYTES];
    const char *const words[OPERATOR_MAX_WORDS] = {
        "user",          "renew",
        "--credential",  credentials_path(cluster, "credential", file),
        "--coordinator", self->torture->coordinators,
        "--timeout",     "2s"};

    if (self->torture->options.sabotage == SABOTAGE_OLD_CREDENTIAL) {
        return true;
    }
    while (operator_run(cluster, words) != 0) {
        if (!goes_on(self, "a credential can't be renewed")) {
            return false;
        }
    }
    atomic_fetch_add(&self->torture->tally.renewals, 1);
    return true;
}

/* ---- to all daemons ---- */

static bool give(struct rotate *self, uint32_t index)
{
    const struct daemon *daemon = &self->torture->cluster.daemons[index];
    char path[DAEMON_PATH_BYTES];

    tail_open(&self->tails[index], daemon_path(daemon, "log", path));
    if (!credentials_give_key(&self->torture->cluster, daemon)) {
        tally_fail(&self->torture->tally, "%s can't get the cluster key", daemon->name);
        return false;
    }
    self->lives[index] = atomic_load(&daemon->lives);
    self->starting[index] = !atomic_load(&daemon->usable);
    atomic_fetch_or(&self->torture->hangups, UINT64_C(1) << index);
    return true;
}

/* Who has read it when it started finds nothing new. */
static bool tells(const struct rotate *self, uint32_t index, const char *line)
{
    return strstr(line, "SIGHUP: cluster_key_file holds other keys") != NULL ||
           (self->starting[index] && strstr(line, "SIGHUP: ") != NULL &&
            strstr(line, "stay as they were") == NULL);
}

/* A daemon that has never run finds it at its first start. */
static bool has_taken(struct rotate *self, uint32_t index)
{
    uint32_t lives = atomic_load(&self->torture->cluster.daemons[index].lives);
    const char *line;

    if (self->lives[index] == 0 || lives != self->lives[index]) {
        return true;
    }
    while ((line = tail_next(&self->tails[index])) != NULL) {
        if (tells(self, index, line)) {
            return true;
        }
    }
    return false;
}

static bool await_taken(struct rotate *self, uint64_t given)
{
    while (given != 0) {
        for (uint32_t i = 0; i < self->torture->cluster.ndaemons; i++) {
            if ((given >> i & 1) != 0 && has_taken(self, i)) {
                given &= ~(UINT64_C(1) << i);
                atomic_fetch_and(&self->torture->hangups, ~(UINT64_C(1) << i));
                tail_close(&self->tails[i]);
            }
        }
        if (given != 0 && !goes_on(self, "a daemon does not take another cluster key")) {
            return false;
        }
    }
    return true;
}

/* One after the other, in some order. */
static bool spread(struct rotate *self)
{
    uint32_t ndaemons = self->torture->cluster.ndaemons;
    uint32_t first = (uint32_t)random_below(&self->thread->random, ndaemons);
    uint64_t given = 0;
    bool good = true;

    for (uint32_t i = 0; i < ndaemons && good; i++) {
        uint32_t index = (first + i) % ndaemons;

        good = give(self, index);
        given |= (uint64_t)good << index;
        journal_pause_ms(random_below(&self->thread->random, SPREAD_PAUSE_MS));
    }
    good = await_taken(self, given) && good;
    for (uint32_t i = 0; i < ndaemons; i++) {
        tail_close(&self->tails[i]);
    }
    return good;
}

/* ---- until the former key may go ---- */

static bool await_signed(struct rotate *self)
{
    uint64_t since_ms = journal_now_ms() + SIGNED_MARGIN_MS;

    while (atomic_load(&self->thread->watch->signed_ms) < since_ms) {
        if (!goes_on(self, "records are signed with the former key")) {
            return false;
        }
    }
    return true;
}

static bool all_usable(const struct rotate *self, enum daemon_kind kind)
{
    struct cluster *cluster = &self->torture->cluster;
    const struct daemon *daemon;
    bool all = true;

    for (uint32_t i = 0; (daemon = cluster_next(cluster, kind, &i)) != NULL;) {
        all &= atomic_load(&daemon->usable);
    }
    return all;
}

/* Nodes which have served, while every coordinator did, for long enough: a bit set. */
static uint64_t find_synced(struct rotate *self)
{
    uint64_t now_ms = journal_now_ms();
    bool coordinators = all_usable(self, DAEMON_COORDINATOR);
    uint64_t synced = 0;

    for (uint32_t i = 0; i < self->torture->cluster.ndaemons; i++) {
        const struct daemon *daemon = &self->torture->cluster.daemons[i];
        bool usable = coordinators && atomic_load(&daemon->usable);

        self->usable_ms[i] = !usable ? 0 : self->usable_ms[i] == 0 ? now_ms : self->usable_ms[i];
        if (daemon->kind != DAEMON_NODE || atomic_load(&daemon->lives) == 0 ||
            (usable && now_ms - self->usable_ms[i] > SYNCED_MS)) {
            synced |= UINT64_C(1) << i;
        }
    }
    return synced;
}

/* Each node is to have the new documents in its log: with the former key it can't be started any
 * more otherwise. */
static bool await_synced(struct rotate *self)
{
    uint64_t all = (UINT64_C(1) << self->torture->cluster.ndaemons) - 1;
    uint64_t synced = 0;

    memset(self->usable_ms, 0, sizeof self->usable_ms);
    while ((synced |= find_synced(self)) != all) {
        if (!goes_on(self, "nodes are not up for long enough")) {
            return false;
        }
    }
    return true;
}

/* ---- the whole of it ---- */

static bool rotate(struct rotate *self)
{
    begin(self, TALLY_ADD);
    if (!edit_key(self, "add", false) || !spread(self)) {
        return false;
    }
    begin(self, TALLY_RENEW);
    if (!renew(self)) {
        return false;
    }
    begin(self, TALLY_PROMOTE);
    if (!edit_key(self, "promote", false) || !spread(self)) {
        return false;
    }
    begin(self, TALLY_SIGN);
    if (!await_signed(self) || !await_synced(self)) {
        return false;
    }
    begin(self, TALLY_RETIRE);
    return edit_key(self, "retire", true) && spread(self) && renew(self);
}

void *rotate_thread(void *context)
{
    struct rotate_thread *thread = context;
    struct rotate self = {.thread = thread, .torture = thread->torture};

    while (!atomic_load(&thread->enough) && rotate(&self)) {
        atomic_store(&self.torture->rotating, TALLY_NO_ROTATION);
        atomic_fetch_add(&self.torture->tally.rotations, 1);
        journal_say("rotation: done");
        for (uint64_t end_ms = journal_now_ms() + random_below(&thread->random, PAUSE_MS);
             journal_now_ms() < end_ms && !atomic_load(&thread->enough);) {
            journal_pause_ms(STEP_MS);
        }
    }
    atomic_store(&thread->idle, true);
    return NULL;
}
