/* Deficit round robin, with debts: as an entry is taken while anything is left of its flow's turn,
 * and is paid for then or later, the last one in a turn may cost more than is left. What it costs
 * beyond is owed, also by a flow that has nothing waiting for a while; else whoever never has more
 * than one entry waiting would pay nothing. */
#include "base/fair_queue.h"

#include "base/heap.h"

#include <assert.h>

TAILQ_HEAD(fair_entry_list, fair_entry);

struct fair_flow {
    struct number_entry name;     /* first */
    TAILQ_ENTRY(fair_flow) entry; /* among those that wait, or are idle */
    int64_t left;                 /* of its turn; below 0: it owes that */
    uint64_t round;               /* that it had its last turn in */
    uint64_t waiting;
    struct fair_entry_list entries;
};

void fair_queue_init(struct fair_queue *self, uint64_t quantum)
{
    assert(quantum > 0 && quantum <= INT64_MAX / 2);
    *self = (struct fair_queue){.quantum = quantum, .round = 1};
    TAILQ_INIT(&self->waiting);
    TAILQ_INIT(&self->idle);
}

void fair_queue_fini(struct fair_queue *self)
{
    struct number_entry *flow;

    while ((flow = number_table_next(&self->flows, NULL)) != NULL) {
        number_table_remove(&self->flows, flow);
        heap_free(flow);
    }
    TAILQ_INIT(&self->waiting);
    TAILQ_INIT(&self->idle);
    self->count = self->nidle = 0;
}

static struct fair_flow *find(const struct fair_queue *self, uint32_t name)
{
    return (struct fair_flow *)number_table_find(&self->flows, name);
}

/* Idle, like all that have no entries. */
static void rest(struct fair_queue *self, struct fair_flow *flow)
{
    TAILQ_INSERT_TAIL(&self->idle, flow, entry);
    self->nidle++;
}

static struct fair_flow *add(struct fair_queue *self, uint32_t name)
{
    struct fair_flow *flow = heap_zalloc(1, sizeof *flow);

    if (flow != NULL) {
        flow->round = self->round - 1;
        TAILQ_INIT(&flow->entries);
        number_table_put(&self->flows, &flow->name, name);
        rest(self, flow);
    }
    return flow;
}

static void forget_oldest(struct fair_queue *self)
{
    while (self->nidle > FAIR_QUEUE_IDLE) {
        struct fair_flow *flow = TAILQ_FIRST(&self->idle);

        TAILQ_REMOVE(&self->idle, flow, entry);
        self->nidle--;
        number_table_remove(&self->flows, &flow->name);
        heap_free(flow);
    }
}

/* It was away: what it owed is paid by the turns that it did not have, and nothing is saved up. It
 * may still have one in this round, unless it had. */
static void come_back(const struct fair_queue *self, struct fair_flow *flow)
{
    uint64_t debt = flow->left < 0 ? (uint64_t)-flow->left : 0;

    if (flow->round < self->round) {
        uint64_t missed = self->round - 1 - flow->round;

        flow->left = missed > debt / self->quantum ? 0 : -(int64_t)(debt - missed * self->quantum);
        flow->round = self->round - 1;
    }
}

enum status fair_queue_push(struct fair_queue *self, uint32_t name, struct fair_entry *entry,
                            uint64_t cost)
{
    struct fair_flow *flow = find(self, name);

    assert(entry->flow == NULL && cost <= INT64_MAX / 2);
    flow = flow != NULL ? flow : add(self, name);
    if (flow == NULL) {
        return STATUS_NOMEM;
    }
    if (TAILQ_EMPTY(&flow->entries)) {
        come_back(self, flow);
        TAILQ_REMOVE(&self->idle, flow, entry);
        self->nidle--;
        TAILQ_INSERT_TAIL(&self->waiting, flow, entry);
    }
    entry->flow = flow;
    entry->cost = cost;
    TAILQ_INSERT_TAIL(&flow->entries, entry, entry);
    flow->waiting += cost;
    self->count++;
    return STATUS_OK;
}

/* The flow in front has nothing left: the next one's turn. Who is met a second time in a round
 * begins the next one. Alone it pays what it owes at once, as nobody waits for that. */
static void next_turn(struct fair_queue *self)
{
    struct fair_flow *flow = TAILQ_FIRST(&self->waiting);

    if (flow->round == self->round) {
        self->round++;
    }
    flow->round = self->round;
    flow->left += (int64_t)self->quantum;
    if (flow->left <= 0 && TAILQ_NEXT(flow, entry) == NULL) {
        flow->left = (int64_t)self->quantum;
    }
    if (flow->left <= 0) {
        TAILQ_REMOVE(&self->waiting, flow, entry);
        TAILQ_INSERT_TAIL(&self->waiting, flow, entry);
    }
}

/* An entry goes, and its flow with the last one. */
static void take_out(struct fair_queue *self, struct fair_entry *entry)
{
    struct fair_flow *flow = entry->flow;

    assert(self->count > 0 && flow->waiting >= entry->cost);
    TAILQ_REMOVE(&flow->entries, entry, entry);
    flow->waiting -= entry->cost;
    entry->flow = NULL;
    self->count--;
    if (TAILQ_EMPTY(&flow->entries)) {
        TAILQ_REMOVE(&self->waiting, flow, entry);
        flow->left = flow->left < 0 ? flow->left : 0;
        rest(self, flow);
        forget_oldest(self);
    }
}

/* Its turn is over: it waits behind all others. */
static void end_turn(struct fair_queue *self, struct fair_flow *flow)
{
    if (flow->left <= 0 && !TAILQ_EMPTY(&flow->entries)) {
        TAILQ_REMOVE(&self->waiting, flow, entry);
        TAILQ_INSERT_TAIL(&self->waiting, flow, entry);
    }
}

struct fair_entry *fair_queue_pop(struct fair_queue *self)
{
    struct fair_flow *flow;
    struct fair_entry *entry;

    if (self->count == 0) {
        return NULL;
    }
    while (TAILQ_FIRST(&self->waiting)->left <= 0) {
        next_turn(self);
    }
    flow = TAILQ_FIRST(&self->waiting);
    entry = TAILQ_FIRST(&flow->entries);
    /* Paid before it goes: a flow that empties keeps what it owes, and nothing else. */
    flow->left -= (int64_t)entry->cost;
    take_out(self, entry);
    end_turn(self, flow);
    return entry;
}

uint64_t fair_queue_waiting(const struct fair_queue *self, uint32_t name)
{
    const struct fair_flow *flow = find(self, name);

    return flow != NULL ? flow->waiting : 0;
}

void fair_queue_charge(struct fair_queue *self, uint32_t name, uint64_t cost)
{
    struct fair_flow *flow = find(self, name);
    bool had_turn;

    assert(cost <= INT64_MAX / 2);
    if (flow == NULL) {
        return;
    }
    had_turn = flow->left > 0;
    flow->left = flow->left > INT64_MIN / 2 ? flow->left - (int64_t)cost : flow->left;
    if (had_turn) {
        end_turn(self, flow);
    }
}

void fair_queue_remove(struct fair_queue *self, struct fair_entry *entry)
{
    if (entry->flow != NULL) {
        take_out(self, entry);
    }
}
