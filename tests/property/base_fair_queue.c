/* Deficit round robin against its laws: nothing is lost, a flow keeps its order, somebody always
 * has a turn, and whoever has something waiting all along gets as much as any other, but for a
 * turn; also where costs are told late, and where a flow has only one entry waiting at a time. */
#include "base/fair_queue.h"
#include "base/heap.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { FLOWS = 8, QUANTUM = 100, MOST_COST = 350, SEEDS = 200, STEPS = 3000 };

struct item {
    struct fair_entry waits; /* first: an entry is its item */
    uint32_t flow;
    uint64_t number; /* in its flow */
};

struct stage {
    uint64_t random;
    struct fair_queue queue;
    uint64_t pushed[FLOWS];
    uint64_t popped[FLOWS];
    uint64_t used[FLOWS]; /* in costs */
};

static uint32_t name_of(uint32_t flow)
{
    return flow * NUMBER_TABLE_BUCKETS + flow % 2; /* Several in one bucket. */
}

static void push(struct stage *self, uint32_t flow, uint64_t cost)
{
    struct item *item = calloc(1, sizeof *item);

    cr_assert_not_null(item);
    item->flow = flow;
    item->number = self->pushed[flow]++;
    cr_assert_eq(fair_queue_push(&self->queue, name_of(flow), &item->waits, cost), STATUS_OK);
}

static uint64_t draw_cost(struct stage *self)
{
    return 1 + random_below(&self->random, MOST_COST);
}

/* The next one, whose cost was told before, or is told now. */
static uint32_t pop(struct stage *self, uint64_t late_cost)
{
    struct item *item = (struct item *)(void *)fair_queue_pop(&self->queue);
    uint32_t flow;

    cr_assert_not_null(item, "somebody waits, and has no turn");
    cr_assert_not(fair_queue_waits(&item->waits));
    flow = item->flow;
    cr_assert_eq(item->number, self->popped[flow]++, "flow %u is out of order", flow);
    self->used[flow] += item->waits.cost + late_cost;
    fair_queue_charge(&self->queue, name_of(flow), late_cost);
    free(item);
    return flow;
}

static void begin(struct stage *self, uint64_t seed)
{
    *self = (struct stage){.random = seed};
    fair_queue_init(&self->queue, QUANTUM);
}

static void end(struct stage *self)
{
    while (self->queue.count > 0) {
        (void)pop(self, 0);
    }
    cr_assert_null(fair_queue_pop(&self->queue));
    for (uint32_t i = 0; i < FLOWS; i++) {
        cr_assert_eq(self->pushed[i], self->popped[i], "flow %u has lost some", i);
    }
    fair_queue_fini(&self->queue);
    cr_assert_eq(heap_live(), 0);
}

/* ---- nothing is lost ---- */

Test(base_fair_queue, nothing_is_lost_and_flows_keep_their_order, .timeout = 120)
{
    static struct stage stage;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(&stage, seed);
        for (int step = 0; step < STEPS; step++) {
            if (random_below(&stage.random, 5) < 2 || stage.queue.count == 0) {
                push(&stage, (uint32_t)random_below(&stage.random, FLOWS), draw_cost(&stage));
            } else {
                (void)pop(&stage, random_below(&stage.random, 3) * 50);
            }
        }
        end(&stage);
    }
}

Test(base_fair_queue, what_is_removed_does_not_come)
{
    static struct stage stage;
    struct fair_entry some[30] = {0};
    struct fair_entry *next;
    size_t count = 0;

    begin(&stage, 1);
    for (uint32_t i = 0; i < 30; i++) {
        cr_assert_eq(fair_queue_push(&stage.queue, i % 3, &some[i], 10), STATUS_OK);
    }
    for (uint32_t i = 0; i < 30; i += 2) {
        fair_queue_remove(&stage.queue, &some[i]);
        fair_queue_remove(&stage.queue, &some[i]);
        cr_assert_not(fair_queue_waits(&some[i]));
    }
    while ((next = fair_queue_pop(&stage.queue)) != NULL) {
        cr_assert_eq((next - some) % 2, 1);
        count++;
    }
    cr_assert_eq(count, 15);
    end(&stage);
}

Test(base_fair_queue, without_memory_it_does_not_wait)
{
    static struct stage stage;
    struct fair_entry one = {0};

    begin(&stage, 1);
    heap_fault_after(0);
    cr_assert_eq(fair_queue_push(&stage.queue, 1, &one, 1), STATUS_NOMEM);
    heap_fault_clear();
    cr_assert_not(fair_queue_waits(&one));
    cr_assert_null(fair_queue_pop(&stage.queue));
    end(&stage);
}

static size_t flows_of(const struct fair_queue *queue)
{
    const struct number_entry *flow = NULL;
    size_t count = 0;

    while ((flow = number_table_next(&queue->flows, flow)) != NULL) {
        count++;
    }
    return count;
}

/* Users come and go; those that wait are kept, however many. */
Test(base_fair_queue, flows_that_do_not_wait_are_forgotten_at_last)
{
    enum { WAITING = 2 * FAIR_QUEUE_IDLE, GONE = 20 * FAIR_QUEUE_IDLE };
    static struct fair_entry waiting[WAITING];
    static struct stage stage;
    struct fair_entry one = {0};

    begin(&stage, 1);
    for (uint32_t i = 0; i < GONE; i++) {
        cr_assert_eq(fair_queue_push(&stage.queue, i, &one, 1), STATUS_OK);
        cr_assert_eq(fair_queue_pop(&stage.queue), &one);
        fair_queue_charge(&stage.queue, i, MOST_COST);
    }
    cr_assert_eq(flows_of(&stage.queue), FAIR_QUEUE_IDLE);
    fair_queue_charge(&stage.queue, 0, 1); /* Of one that is forgotten: nothing. */
    for (uint32_t i = 0; i < WAITING; i++) {
        waiting[i] = (struct fair_entry){0};
        cr_assert_eq(fair_queue_push(&stage.queue, GONE + i, &waiting[i], 1), STATUS_OK);
    }
    cr_assert_eq(flows_of(&stage.queue), FAIR_QUEUE_IDLE + WAITING);
    for (uint32_t i = 0; i < WAITING; i++) {
        cr_assert_eq(fair_queue_pop(&stage.queue), &waiting[i]);
    }
    cr_assert_eq(flows_of(&stage.queue), FAIR_QUEUE_IDLE);
    end(&stage);
}

/* What it owes is not forgotten as long as few others come. */
Test(base_fair_queue, who_was_away_for_a_moment_still_owes)
{
    static struct stage stage;

    begin(&stage, 1);
    push(&stage, 1, 1);
    (void)pop(&stage, 2 * QUANTUM);
    for (int i = 0; i < 2; i++) {
        push(&stage, 1, 1);
        push(&stage, 2, 1);
    }
    cr_assert_eq(pop(&stage, 0), 2);
    cr_assert_eq(pop(&stage, 0), 2);
    cr_assert_eq(pop(&stage, 0), 1);
    end(&stage);
}

/* ---- fairness ---- */

/* More than a turn, on either side, nobody is ahead. */
static void expect_even(const struct stage *self, const bool *busy, uint64_t most_cost)
{
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;

    for (uint32_t i = 0; i < FLOWS; i++) {
        if (busy[i]) {
            least = self->used[i] < least ? self->used[i] : least;
            most = self->used[i] > most ? self->used[i] : most;
        }
    }
    cr_assert_leq(most - least, QUANTUM + 2 * most_cost, "%zu and %zu", (size_t)least,
                  (size_t)most);
}

/* Some have much waiting, with costs of their own size; `late`: it is told when they were taken. */
static void compete(uint64_t seed, bool late)
{
    static struct stage stage;
    bool busy[FLOWS] = {0};
    uint64_t size[FLOWS];

    begin(&stage, seed);
    for (uint32_t i = 0; i < FLOWS; i++) {
        busy[i] = i == 0 || random_below(&stage.random, 2) == 0;
        size[i] = draw_cost(&stage);
        for (int k = 0; busy[i] && k < 3; k++) {
            push(&stage, i, late ? 0 : size[i]);
        }
    }
    for (int step = 0; step < STEPS; step++) {
        struct item *item = (struct item *)(void *)fair_queue_pop(&stage.queue);
        uint32_t flow = item->flow;

        stage.popped[flow]++;
        stage.used[flow] += size[flow];
        fair_queue_charge(&stage.queue, name_of(flow), late ? size[flow] : 0);
        free(item);
        push(&stage, flow, late ? 0 : size[flow]);
        expect_even(&stage, busy, MOST_COST);
    }
    end(&stage);
}

Test(base_fair_queue, who_waits_all_along_gets_as_much_as_others, .timeout = 120)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        compete(seed, false);
    }
}

Test(base_fair_queue, so_it_is_where_costs_are_told_late, .timeout = 120)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        compete(seed, true);
    }
}

/* Each has one entry at most, which is there again once it was taken: what the dear one costs
 * beyond its turn is not forgotten in between. */
Test(base_fair_queue, one_at_a_time_is_no_way_around_it)
{
    static struct stage stage;
    uint64_t size[2] = {5 * QUANTUM, QUANTUM / 10};

    for (int late = 0; late < 2; late++) {
        begin(&stage, 1);
        push(&stage, 0, late ? 0 : size[0]);
        push(&stage, 1, late ? 0 : size[1]);
        for (int step = 0; step < STEPS; step++) {
            uint32_t flow = pop(&stage, 0);

            stage.used[flow] += late ? size[flow] : 0;
            fair_queue_charge(&stage.queue, name_of(flow), late ? size[flow] : 0);
            push(&stage, flow, late ? 0 : size[flow]);
        }
        /* The cheap one has a turn for each of the other's, and ends it as nothing else waits. */
        cr_assert_leq(stage.used[0], QUANTUM * (stage.popped[1] + 1) + size[0]);
        cr_assert_gt(stage.popped[1], 4 * stage.popped[0]);
        end(&stage);
    }
}

/* Who comes seldom waits for a turn of each other at most. */
Test(base_fair_queue, who_comes_seldom_is_soon_there)
{
    static struct stage stage;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t others = 0;
        uint64_t waited = 0;

        begin(&stage, seed);
        others = 1 + random_below(&stage.random, FLOWS - 1);
        for (uint32_t i = 1; i <= others; i++) {
            for (int k = 0; k < 200; k++) {
                push(&stage, i, draw_cost(&stage));
            }
        }
        for (uint64_t i = random_below(&stage.random, 100); i > 0; i--) {
            (void)pop(&stage, 0);
        }
        for (uint32_t i = 0; i < FLOWS; i++) {
            stage.used[i] = 0;
        }
        push(&stage, 0, 1);
        while (stage.popped[0] == 0) {
            (void)pop(&stage, 0);
        }
        for (uint32_t i = 1; i < FLOWS; i++) {
            waited += stage.used[i];
        }
        cr_assert_leq(waited, others * (QUANTUM + MOST_COST), "seed %zu", (size_t)seed);
        end(&stage);
    }
}

/* ---- who was away ---- */

enum { OTHERS = 2, TURNS_OWED = 4 };

/* Flow 0 has used up TURNS_OWED turns in advance, and nothing of it waits; the others have had so
 * many turns each since. */
static void be_away(struct stage *self, unsigned turns)
{
    begin(self, 1);
    push(self, 0, (1 + TURNS_OWED) * QUANTUM);
    for (uint32_t i = 1; i <= OTHERS; i++) {
        for (unsigned k = 0; k < 200; k++) {
            push(self, i, QUANTUM);
        }
    }
    cr_assert_eq(pop(self, 0), 0);
    for (unsigned i = 0; i < turns * OTHERS; i++) {
        cr_assert_neq(pop(self, 0), 0);
    }
}

/* What it owes is paid by the turns that it did not have, one by one, and by no more: in the first
 * round it had one, in the last one it still may. */
Test(base_fair_queue, debts_are_paid_while_away)
{
    static struct stage stage;

    for (unsigned turns = 0; turns <= 2 * TURNS_OWED; turns++) {
        unsigned missed = turns > 2 ? turns - 2 : 0;
        unsigned owed = missed < TURNS_OWED ? TURNS_OWED - missed : 0;
        unsigned waited = 0;

        be_away(&stage, turns);
        push(&stage, 0, 1);
        while (pop(&stage, 0) != 0) {
            waited++;
        }
        cr_assert_eq((waited + OTHERS - 1) / OTHERS, owed + 1, "%u turns away, %u waited", turns,
                     waited);
        end(&stage);
    }
}

/* ... and nothing is saved up for later. */
Test(base_fair_queue, being_away_saves_nothing_up)
{
    static struct stage stage;
    uint64_t before;

    be_away(&stage, 50);
    before = stage.popped[0];
    for (unsigned i = 0; i < 50; i++) {
        push(&stage, 0, QUANTUM);
    }
    for (unsigned i = 0; i < 10 * (OTHERS + 1); i++) {
        (void)pop(&stage, 0);
    }
    cr_assert_eq(stage.popped[0] - before, 10);
    end(&stage);
}

/* It had its turn in this round, and so has none of the next one before the others. */
Test(base_fair_queue, coming_back_in_the_same_round_brings_no_turn)
{
    static struct stage stage;

    be_away(&stage, 50);
    for (unsigned i = 0; i < 30; i++) {
        push(&stage, 0, QUANTUM);
        for (unsigned k = 0; pop(&stage, 0) != 0; k++) {
            cr_assert_lt(k, OTHERS);
        }
    }
    cr_assert_geq(stage.popped[1] + stage.popped[2], (50 + 29) * OTHERS);
    end(&stage);
}
