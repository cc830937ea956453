/* One node that goes from generation to generation, any history: adds on their way while lanes are
 * slow, other generations wanted at any moment, larger, smaller, the old one again, turns given and
 * taken, capacities reached, kills and power losses. What was acknowledged is in the arrays that
 * checks read, after every step, and in the end they are what the log makes of them. */
#include "base/heap.h"
#include "tests/support/expansion_stage.h"
#include "tests/support/random.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { POOL = 12000, MAX_COUNT = 800, MAX_REQUESTS = 512, SEEDS = 40, STEPS = 500, KINDS = 5 };

static const struct {
    uint64_t lines;
    uint64_t capacity;
} kinds[KINDS] = {{64, 4000}, {128, 8000}, {512, 60000}, {192, 20000}, {64, 12000}};

struct request {
    uint32_t first;
    uint32_t count;
};

struct history {
    struct expansion_stage expansion;
    uint64_t random;
    uint64_t seed;
    uint64_t keys[POOL];
    uint8_t acknowledged[POOL];
    struct request requests[MAX_REQUESTS]; /* of this process, by correlation */
    uint32_t nrequests;
    uint32_t ids;
    uint32_t valves;  /* moments with an open one */
    uint32_t mixed;   /* moments with shards in two layers */
    uint64_t grown;   /* shards, in processes that have ended */
    uint32_t checked; /* keys looked for */
};

static uint64_t below(struct history *self, uint64_t limit)
{
    return random_below(&self->random, limit);
}

static void listen(struct history *self)
{
    struct fake_sent sent;

    while (fake_take(&self->expansion.stage.fake, &sent)) {
        const struct node_reply *reply = &sent.frame.body.node_reply;

        for (size_t k = 0; sent.frame.kind == FRAME_NODE_REPLY && k < reply->nsubrequests; k++) {
            const struct subrequest_reply *subrequest = &reply->subrequests[k];
            const struct request *request = &self->requests[sent.frame.correlation];

            cr_assert_lt(sent.frame.correlation, self->nrequests);
            for (uint32_t i = 0; subrequest->status == STATUS_OK && i < request->count; i++) {
                uint64_t bits = subrequest->present[i / 64] | subrequest->absent[i / 64];

                self->acknowledged[request->first + i] |= (uint8_t)(bits >> (i % 64) & 1);
            }
        }
    }
}

static void ask(struct history *self)
{
    struct node_stage *stage = &self->expansion.stage;
    struct request *request = &self->requests[self->nrequests];
    struct subrequest subrequest;

    if (self->nrequests == MAX_REQUESTS) {
        return;
    }
    request->count = 1 + (uint32_t)below(self, MAX_COUNT);
    request->first = (uint32_t)below(self, POOL - request->count);
    subrequest = node_stage_subrequest(&self->expansion.document, OPERATION_ADD, request->count);
    subrequest.batch.number = ++stage->batches;
    subrequest.op.sequence = stage->batches;
    node_stage_send(stage, &subrequest, 1, self->keys + request->first, self->nrequests++);
}

/* One of before is wanted again now and then. */
static void want(struct history *self)
{
    const struct filter_document *document = &self->expansion.document;
    uint32_t id = document->generations[below(self, document->ngenerations)].id;
    uint64_t kind = below(self, KINDS);

    if (below(self, 3) != 0) {
        id = ++self->ids;
    }
    expansion_stage_want(&self->expansion, id, kinds[kind].lines, kinds[kind].capacity,
                         below(self, 4) != 0);
    self->expansion.stage.node->config.growth_rate = below(self, 3) == 0 ? 5000 : 0;
}

static void restart(struct history *self)
{
    static const enum stage_end ends[] = {STAGE_END_CLEAN, STAGE_END_KILL, STAGE_END_POWER};

    self->grown += node_stage_counter(&self->expansion.stage, "growth_shards_total");
    expansion_stage_restart(&self->expansion, ends[below(self, 3)]);
    self->nrequests = 0;
}

static void go_on(struct history *self)
{
    struct node_stage *stage = &self->expansion.stage;
    enum job_lane lane = below(self, 2) == 0 ? JOB_COMMIT : JOB_BACKGROUND;

    switch (below(self, 7)) {
    case 0:
        (void)job_lanes_run(&stage->lanes, lane);
        break;
    case 1:
        (void)job_lanes_finish(&stage->lanes, lane, stage->now_us);
        break;
    case 2:
        (void)node_stage_run(stage, lane);
        break;
    case 3:
        node_stage_turn(stage);
        break;
    case 4:
        stage->now_us += below(self, 300000);
        stage->actor.time(stage->actor.self, stage->now_us);
        break;
    default:
        for (uint64_t i = below(self, 12); i > 0; i--) {
            (void)stage->actor.work(stage->actor.self, stage->now_us);
        }
        break;
    }
}

static void look(struct history *self)
{
    const struct arrays *set = expansion_stage_set(&self->expansion);

    for (uint32_t i = 0; i < POOL; i++) {
        if (self->acknowledged[i] != 0) {
            cr_assert(arrays_has(set, self->keys[i]), "seed %u: key %u is absent",
                      (unsigned)self->seed, i);
            self->checked++;
        }
    }
    cr_assert_eq(set->bytes, self->expansion.stage.node->memory_used_bytes);
    self->valves += set->expansion != NULL && set->expansion->nopen > 0;
    self->mixed += set->expansion != NULL && set->expansion->ngrown > 0;
}

static void step(struct history *self)
{
    uint64_t what = below(self, 200);

    if (what < 24) {
        ask(self);
    } else if (what < 28) {
        want(self);
    } else if (what < 29) {
        restart(self);
    } else if (what < 36) {
        for (uint64_t i = below(self, 60); i > 0; i--) {
            (void)expansion_stage_step(&self->expansion);
        }
    } else {
        go_on(self);
    }
    listen(self);
    if (what < 60) {
        look(self);
    }
}

static void begin(struct history *self, uint64_t seed)
{
    memset(self, 0, sizeof *self);
    self->seed = seed;
    self->random = seed * 7919;
    self->ids = 1;
    expansion_stage_init(&self->expansion);
    self->expansion.stage.random = seed;
    self->expansion.stage.config.retain_bytes = below(self, 4) * STAGE_DISK_SEGMENT_BYTES;
    sample_fingerprints(&self->expansion.document, 0, seed, POOL, self->keys);
}

/* In the end nothing is slow, and the largest is wanted. */
static void conclude(struct history *self)
{
    expansion_stage_want(&self->expansion, ++self->ids, 512, 60000, true);
    self->expansion.stage.node->config.growth_rate = 0;
    self->expansion.stage.now_us += 60000000;
    node_stage_settle_long(&self->expansion.stage);
    listen(self);
    look(self);
    cr_assert_eq(expansion_stage_report(&self->expansion).generation, self->ids, "seed %u",
                 (unsigned)self->seed);
    cr_assert_eq(node_stage_counter(&self->expansion.stage, "growth_verify_failures_total"), 0);
    self->grown += node_stage_counter(&self->expansion.stage, "growth_shards_total");
    expansion_stage_expect_log(&self->expansion);
    look(self);
}

Test(node_expansion_property, what_was_acknowledged_is_in_the_arrays_at_any_moment)
{
    static struct history history;
    uint64_t checked = 0;
    uint64_t grown = 0;
    uint64_t mixed = 0;
    uint64_t valves = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(&history, seed);
        for (int i = 0; i < STEPS; i++) {
            step(&history);
        }
        conclude(&history);
        checked += history.checked;
        grown += history.grown;
        mixed += history.mixed;
        valves += history.valves;
        expansion_stage_fini(&history.expansion);
        cr_assert_eq(heap_live(), 0);
    }
    cr_log_info("%u keys looked for, %u shards grown, %u moments between two layers, %u with an "
                "open valve",
                (unsigned)checked, (unsigned)grown, (unsigned)mixed, (unsigned)valves);
    cr_assert_gt(grown, SEEDS * EXPANSION_STAGE_SHARDS);
    cr_assert_gt(mixed, SEEDS);
    cr_assert_gt(valves, SEEDS / 2);
}
