/* Asks for expansions, drains or replacements, and waits until each has come to its end. */
#include "tests/torture/changes.h"

#include "tests/torture/journal.h"

#include <inttypes.h>

enum { STEP_MS = 20, MOMENT_MS = 400, CALM_MARGIN_MS = 1000 };

struct changes {
    struct changes_thread *thread;
    struct torture *torture;
    struct move move;
    uint32_t spare; /* index + 1: a node that has nothing */
};

static bool must_stop(const struct torture *torture)
{
    return atomic_load(&torture->tally.failed);
}

static bool is_late(const struct changes *self, uint64_t start_ms, const char *what)
{
    uint64_t took_ms = journal_now_ms() - start_ms;

    if (took_ms > atomic_load(&self->torture->patience_ms)) {
        tally_fail(&self->torture->tally, "STUCK: %s for %" PRIu64 " s: %s", what, took_ms / 1000,
                   self->move.admin.error);
    }
    return must_stop(self->torture);
}

/* Nothing grows and nothing moves. */
static void await_calm(const struct changes *self, const char *what)
{
    uint64_t start_ms = journal_now_ms();

    while (atomic_load(&self->thread->watch->calm_ms) <= start_ms + CALM_MARGIN_MS &&
           !is_late(self, start_ms, what)) {
        journal_pause_ms(STEP_MS);
    }
}

static uint32_t nth_node(const struct changes *self, uint64_t number)
{
    uint64_t nnodes = self->torture->options.nodes;

    return self->torture->cluster.ndaemons - (uint32_t)(nnodes - number % nnodes);
}

static void expand(struct changes *self, uint64_t round)
{
    uint64_t room = torture_room(self->torture->options.to);
    const struct expand_parameters wish = {.capacity = round % 2 == 0 ? room : 2 * room,
                                           .rate = TORTURE_RATE};
    uint64_t start_ms = journal_now_ms();

    atomic_store(&self->thread->underway, true);
    while (admin_expand(&self->move.admin, "keep", &wish) != STATUS_OK &&
           !is_late(self, start_ms, "an expansion can't be asked for")) {
        journal_pause_ms(STEP_MS);
    }
    journal_say("expand keep, capacity %" PRIu64 ": %s", wish.capacity, self->move.admin.error);
    await_calm(self, "the filter grows");
}

/* Some node, until it has nothing. */
static void empty(struct changes *self, uint32_t index)
{
    uint64_t start_ms = journal_now_ms();

    atomic_store(&self->thread->leaving, index + 1);
    while (!move_drain(&self->move, index, false) &&
           !is_late(self, start_ms, "a drain can't be asked for")) {
        journal_pause_ms(STEP_MS);
    }
    while (!move_await_empty(&self->move, index, 10 * STEP_MS) &&
           !is_late(self, start_ms, "a drained node is not empty")) {
    }
    atomic_fetch_add(&self->torture->tally.drains, 1);
    await_calm(self, "replicas move");
}

static void drain(struct changes *self, uint64_t round)
{
    uint32_t index = nth_node(self, round);

    atomic_store(&self->thread->underway, true);
    empty(self, index);
    atomic_store(&self->thread->underway, false);
    (void)move_drain(&self->move, index, true);
}

/* The main thread does it when nothing else is in trouble. */
static bool lose(struct changes *self, uint32_t index, bool place)
{
    uint64_t start_ms = journal_now_ms();

    atomic_store(&self->thread->leaving, index + 1);
    atomic_store(&self->thread->lose_place, place);
    atomic_store(&self->thread->lose, index + 1);
    while (atomic_load(&self->thread->lose) != 0) {
        if (is_late(self, start_ms, "the cluster does not become whole")) {
            return false;
        }
        journal_pause_ms(STEP_MS);
    }
    return true;
}

static void await_whole(struct changes *self)
{
    uint64_t start_ms = journal_now_ms();

    while (atomic_load(&self->thread->watch->wants_whole) &&
           !is_late(self, start_ms, "the cluster does not become whole")) {
        journal_pause_ms(STEP_MS);
    }
}

static void give_place(struct changes *self, uint32_t lost, uint32_t spare)
{
    const struct daemon *daemons = self->torture->cluster.daemons;
    uint64_t start_ms = journal_now_ms();

    while (admin_replace(&self->move.admin, daemons[lost].name, daemons[spare].name) != STATUS_OK &&
           !is_late(self, start_ms, "a replacement can't be asked for")) {
        journal_pause_ms(5 * STEP_MS); /* It must have been silent for a while. */
    }
    journal_say("replace %s by %s: %s", daemons[lost].name, daemons[spare].name,
                self->move.admin.error);
    atomic_store(&self->torture->replacing, 0);
    while (!move_await_empty(&self->move, lost, 10 * STEP_MS) &&
           !is_late(self, start_ms, "a replaced node is not empty")) {
    }
    await_calm(self, "replicas move");
    atomic_fetch_add(&self->torture->tally.replacements, 1);
}

static void replace(struct changes *self, uint64_t round)
{
    bool place = round % 2 == 0;
    uint32_t lost;

    if (self->spare == 0) { /* There is none yet: no kills while it is made. */
        self->spare = nth_node(self, 0) + 1;
        empty(self, self->spare - 1);
        (void)move_drain(&self->move, self->spare - 1, true);
    }
    lost = nth_node(self, round / 2);
    lost = lost + 1 == self->spare ? nth_node(self, round / 2 + 1) : lost;
    atomic_store(&self->thread->underway, true);
    if (lose(self, lost, place)) {
        if (place) {
            give_place(self, lost, self->spare - 1);
            (void)move_drain(&self->move, lost, true);
            self->spare = lost + 1;
        }
        await_whole(self);
    }
}

void *changes_thread(void *context)
{
    struct changes_thread *thread = context;
    struct changes self = {.thread = thread, .torture = thread->torture};
    enum change change = thread->torture->options.change;

    self.move = (struct move){
        .torture = thread->torture, .watch = thread->watch, .random = &thread->random};
    if (admin_open(&self.move.admin, self.torture)) {
        while (!must_stop(self.torture) && !atomic_load(&thread->enough)) {
            uint64_t round = atomic_load(&thread->rounds);

            journal_say("%s, round %" PRIu64, options_change_name(change), round + 1);
            if (change == CHANGE_EXPAND) {
                expand(&self, round);
            } else if (change == CHANGE_DRAIN) {
                drain(&self, round);
            } else {
                replace(&self, round);
            }
            journal_pause_ms(MOMENT_MS);
            atomic_store(&thread->underway, false);
            atomic_store(&thread->rounds, round + 1);
        }
        admin_close(&self.move.admin);
    }
    atomic_store(&thread->idle, true);
    return NULL;
}
