/* Drains a node, waits until it is empty, brings it back, and takes the next one. */
#include "tests/torture/move.h"

#include "tests/support/random.h"
#include "tests/torture/admin.h"
#include "tests/torture/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    PAUSE_MS = 1000,
    STEP_MS = 20,
    DRAIN_MS = 15000,   /* then it is taken back, whatever is left */
    OFFER_MS = 6000,    /* a spare is offered */
    REPLACE_MS = 12000, /* a lost node's place is asked for */
    REBALANCE_MS = 15000,
};

static bool must_stop(const struct torture *torture)
{
    return atomic_load(&torture->ending) || atomic_load(&torture->tally.failed);
}

static const char *name_of(const struct move *self, uint32_t index)
{
    return self->torture->cluster.daemons[index].name;
}

bool move_drain(struct move *self, uint32_t index, bool undo)
{
    uint64_t start_ms = journal_now_ms();
    enum status status;

    do {
        status = admin_drain(&self->admin, name_of(self, index), undo);
        if (status != STATUS_OK) {
            journal_pause_ms(STEP_MS);
        }
        if (undo && journal_now_ms() - start_ms > atomic_load(&self->torture->patience_ms)) {
            tally_fail(&self->torture->tally, "STUCK: the drain of %s can't be taken back: %s",
                       name_of(self, index), self->admin.error);
        }
    } while (undo && status != STATUS_OK && !atomic_load(&self->torture->tally.failed));
    journal_say("drain %s%s: %s", name_of(self, index), undo ? ", undo" : "", self->admin.error);
    return status == STATUS_OK;
}

/* Nothing is left on it, as seen since `since_ms`. */
static bool is_empty(const struct move *self, uint32_t index, uint64_t since_ms)
{
    return atomic_load(&self->watch->looked_ms) > since_ms &&
           atomic_load(&self->watch->slots[index]) == 0;
}

bool move_await_empty(const struct move *self, uint32_t index, uint64_t most_ms)
{
    uint64_t start_ms = journal_now_ms();

    while (!must_stop(self->torture) && journal_now_ms() < start_ms + most_ms) {
        if (is_empty(self, index, start_ms)) {
            return true;
        }
        journal_pause_ms(STEP_MS);
    }
    return false;
}

static bool await_empty(const struct move *self, uint32_t index)
{
    return move_await_empty(self, index, DRAIN_MS / 3 + random_below(self->random, DRAIN_MS));
}

/* It would go on as filters come and go. */
static void stop_rebalance(struct move *self)
{
    uint64_t start_ms = journal_now_ms();

    while (admin_rebalance(&self->admin, true) != STATUS_OK &&
           !atomic_load(&self->torture->tally.failed)) {
        if (journal_now_ms() - start_ms > atomic_load(&self->torture->patience_ms)) {
            tally_fail(&self->torture->tally, "STUCK: a rebalance can't be stopped: %s",
                       self->admin.error);
        }
        journal_pause_ms(STEP_MS);
    }
}

/* Until this node, which has nothing, has got its share. */
static void rebalance(struct move *self, uint32_t index)
{
    uint64_t start_ms = journal_now_ms();
    bool asked = false;
    bool moves = false;
    bool done = false;

    while (!done && !must_stop(self->torture) && journal_now_ms() < start_ms + REBALANCE_MS) {
        if (!asked && admin_rebalance(&self->admin, false) == STATUS_OK) {
            asked = true;
            moves = strstr(self->admin.error, ": 0 replicas ") == NULL;
        }
        journal_pause_ms(5 * STEP_MS);
        done = asked && (!moves || atomic_load(&self->watch->slots[index]) > 0);
    }
    journal_say("rebalance for %s: %s, %s", name_of(self, index), self->admin.error,
                done && moves ? "it has its share" : "nothing came of it");
    stop_rebalance(self);
    atomic_fetch_add(&self->torture->tally.rebalances, done && moves);
}

/* The spare takes what the lost one held; it may have got new filters' replicas meanwhile, and is
 * refused then: the lost one comes back as it is, empty. */
static void replace(struct move *self, uint32_t lost, uint32_t spare)
{
    uint64_t limit_ms = journal_now_ms() + REPLACE_MS;
    enum status status = STATUS_UNAVAILABLE;
    bool offered = false;

    while (status != STATUS_OK && journal_now_ms() < limit_ms && !must_stop(self->torture)) {
        journal_pause_ms(10 * STEP_MS); /* It must have been silent for a while. */
        if (!offered && journal_now_ms() + REPLACE_MS * 3 / 4 < limit_ms) {
            continue; /* The spare stays empty until then. */
        }
        if (!offered) {
            (void)move_drain(self, spare, true);
            offered = true;
        }
        status = admin_replace(&self->admin, name_of(self, lost), name_of(self, spare));
    }
    journal_say("replace %s by %s: %s", name_of(self, lost), name_of(self, spare),
                self->admin.error);
    if (!offered) {
        (void)move_drain(self, spare, true);
    }
    atomic_store(&self->torture->replacing, 0);
    if (status == STATUS_OK) {
        if (await_empty(self, lost)) {
            atomic_fetch_add(&self->torture->tally.replacements, 1);
        }
        (void)move_drain(self, lost, true);
    }
}

/* A fault may come and take some node's data. */
static void offer(struct move *self, uint32_t spare)
{
    uint64_t limit_ms = journal_now_ms() + OFFER_MS;
    uint32_t lost = 0;

    atomic_store(&self->torture->spare, spare + 1);
    while (lost == 0 && journal_now_ms() < limit_ms && !must_stop(self->torture)) {
        journal_pause_ms(STEP_MS);
        lost = atomic_load(&self->torture->replacing);
    }
    atomic_store(&self->torture->spare, 0);
    journal_pause_ms(10 * STEP_MS); /* The fault may just have begun. */
    lost = atomic_load(&self->torture->replacing);
    if (lost != 0) {
        replace(self, lost - 1, spare);
    } else if (move_drain(self, spare, true) && torture_may(self->torture, "rebalance") &&
               random_below(self->random, 2) == 0) {
        rebalance(self, spare);
    }
}

static uint32_t draw_node(struct move *self)
{
    struct cluster *cluster = &self->torture->cluster;
    uint64_t skip = random_below(self->random, self->torture->options.nodes);
    uint32_t i = 0;
    const struct daemon *node = cluster_next(cluster, DAEMON_NODE, &i);

    while (skip-- > 0) {
        node = cluster_next(cluster, DAEMON_NODE, &i);
    }
    return (uint32_t)(node - cluster->daemons);
}

static void move_once(struct move *self)
{
    uint32_t index = draw_node(self);

    if (!move_drain(self, index, false)) {
        (void)move_drain(self, index, true); /* It may have been written. */
        return;
    }
    if (!await_empty(self, index)) {
        (void)move_drain(self, index, true);
        return;
    }
    atomic_fetch_add(&self->torture->tally.drains, 1);
    journal_say("%s is drained", name_of(self, index));
    offer(self, index);
}

/* A node that comes later: nothing else is moved before it has its share. */
static void await_late(struct move *self)
{
    uint32_t last = self->torture->cluster.ndaemons - 1;
    bool late = atomic_load(&self->torture->late) != 0;

    while (late && !must_stop(self->torture) &&
           !atomic_load(&self->torture->cluster.daemons[last].usable)) {
        journal_pause_ms(STEP_MS);
    }
    if (late) {
        rebalance(self, last);
    }
}

void *move_thread(void *context)
{
    struct move_thread *thread = context;
    struct move self = {
        .torture = thread->torture, .watch = thread->watch, .random = &thread->random};

    if (!admin_open(&self.admin, self.torture)) {
        return NULL;
    }
    await_late(&self);
    while (!must_stop(self.torture)) {
        if (!atomic_load(&thread->watch->wants_whole)) {
            move_once(&self);
        }
        journal_pause_ms(random_below(&thread->random, PAUSE_MS));
    }
    admin_close(&self.admin);
    return NULL;
}
