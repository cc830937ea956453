/* Signs documents that want other generations, and steps the node through them. */
#include "tests/support/expansion_stage.h"

#include "filter/sizing.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { FILTER = 5, MAX_STEPS = 200000 };

static void init(struct expansion_stage *self, uint64_t capacity, double rate,
                 const struct sizing_plan *plan)
{
    static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
    struct filter_document *document = &self->document;

    node_stage_init_disk(&self->stage);
    self->stage.config.steps[STEP_SPAN_LINES] = 1; /* Else so few shards take over at once. */
    cr_assert_eq(node_stage_open(&self->stage), 0);
    node_stage_document(&self->stage, FILTER, "filter-5", &rule, 3, document);
    document->durability = DURABILITY_SYNC;
    document->capacity = capacity;
    document->max_capacity = 1000 * capacity;
    document->rate = rate;
    document->generations[0].geometry.lines = plan->lines;
    document->generations[0].geometry.z = plan->z;
    document->generations[0].capacity = capacity;
    node_stage_hand(&self->stage, document);
    node_stage_settle(&self->stage);
    cr_assert_eq(arrays_state(expansion_stage_set(self), 0), REPLICA_FULL);
}

void expansion_stage_init(struct expansion_stage *self)
{
    const struct sizing_plan plan = {.lines = EXPANSION_STAGE_LINES, .z = 1};

    init(self, EXPANSION_STAGE_CAPACITY, 0.2, &plan);
}

static struct sizing_plan plan_for(uint64_t capacity, double rate)
{
    const struct sizing_request request = {.capacity = capacity, .rate = rate};
    struct sizing_plan plan;

    cr_assert_eq(sizing_plan_generation(&request, SAMPLE_SHARD_BITS, &plan), STATUS_OK);
    return plan;
}

void expansion_stage_init_planned(struct expansion_stage *self, uint64_t capacity, double rate)
{
    const struct sizing_plan plan = plan_for(capacity, rate);

    init(self, capacity, rate, &plan);
}

void expansion_stage_fini(struct expansion_stage *self)
{
    document_fini(&self->document);
    node_stage_fini_disk(&self->stage);
}

void expansion_stage_hand(struct expansion_stage *self)
{
    self->document.revision++;
    node_stage_hand(&self->stage, &self->document);
}

/* The one wanted before is being left; of a third one the coordinator forgets the first. */
static void want(struct expansion_stage *self, uint32_t id, const struct sizing_plan *plan,
                 uint64_t capacity, bool turn)
{
    struct filter_document *document = &self->document;
    uint32_t count = document->ngenerations;
    struct generation wanted = document->generations[0];
    uint32_t kept = 0;

    wanted.id = id;
    wanted.geometry.seed = id * UINT64_C(77);
    wanted.geometry.lines = plan->lines;
    wanted.geometry.z = plan->z;
    wanted.capacity = capacity;
    for (uint32_t i = 0; i < count; i++) {
        if (document->generations[i].id == id) {
            wanted = document->generations[i];
        } else {
            document->generations[kept++] = document->generations[i];
        }
    }
    if (kept == DOCUMENT_MAX_GENERATIONS) {
        memmove(document->generations, document->generations + 1,
                --kept * sizeof *document->generations);
    }
    document->generations[kept] = wanted;
    document->ngenerations = kept + 1;
    document->nturns = 1;
    document->turns[0] = turn ? 1 : 2;
    expansion_stage_hand(self);
}

void expansion_stage_want(struct expansion_stage *self, uint32_t id, uint64_t lines,
                          uint64_t capacity, bool turn)
{
    const struct sizing_plan plan = {.lines = lines, .z = 1};

    want(self, id, &plan, capacity, turn);
}

void expansion_stage_want_planned(struct expansion_stage *self, uint32_t id, uint64_t capacity,
                                  bool turn)
{
    const struct sizing_plan plan = plan_for(capacity, self->document.rate);

    want(self, id, &plan, capacity, turn);
}

bool expansion_stage_step(struct expansion_stage *self)
{
    struct node_stage *stage = &self->stage;
    uint64_t submitted = stage->lanes.submitted;
    bool more;

    node_stage_turn(stage);
    more = node_stage_run(stage, JOB_COMMIT);
    more = node_stage_run(stage, JOB_BACKGROUND) || more;
    more = stage->actor.work(stage->actor.self, stage->now_us) || more;
    return more || stage->lanes.submitted != submitted;
}

bool expansion_stage_until(struct expansion_stage *self, enum expansion_phase phase)
{
    for (int step = 0; self->stage.node->expansion.phase != phase; step++) {
        cr_assert_lt(step, MAX_STEPS, "it never settles");
        if (!expansion_stage_step(self)) {
            return self->stage.node->expansion.phase == phase;
        }
    }
    return true;
}

struct arrays *expansion_stage_set(struct expansion_stage *self)
{
    struct document_entry *entry = document_cache_find(&self->stage.node->documents, FILTER);
    struct hosted_filter *hosted = entry->attachment;

    cr_assert(hosted != NULL && hosted->set != NULL);
    return hosted->set;
}

struct replica_report expansion_stage_report(struct expansion_stage *self)
{
    struct replica_report report = {0};
    struct document_entry *entry = document_cache_find(&self->stage.node->documents, FILTER);

    arrays_report(expansion_stage_set(self), &entry->document, 0, 0, &report);
    return report;
}

uint32_t expansion_stage_lacks(struct expansion_stage *self, const uint64_t *keys, uint32_t count)
{
    const struct arrays *set = expansion_stage_set(self);
    uint32_t lacks = 0;

    for (uint32_t i = 0; i < count; i++) {
        lacks += !arrays_has(set, keys[i]);
    }
    return lacks;
}

void expansion_stage_restart(struct expansion_stage *self, enum stage_end how)
{
    uint64_t incarnation = self->stage.incarnation;

    node_stage_end(&self->stage, how);
    (void)node_stage_open(&self->stage);
    cr_assert_eq(self->stage.incarnation, incarnation);
    cr_assert_eq(arrays_state(expansion_stage_set(self), 0), REPLICA_FULL);
}

static uint8_t *copy_of(const struct arrays *set, uint64_t *size)
{
    const struct layer *layer = arrays_base(set);
    uint8_t *copy = malloc(layer_bytes(layer));

    cr_assert_null(set->expansion);
    cr_assert_not_null(copy);
    *size = 0;
    for (uint32_t shard = 0; shard < layer->nshards; shard++) {
        if (layer->shards[shard] != NULL) {
            memcpy(copy + *size, layer->shards[shard], layer->shard_bytes);
            *size += layer->shard_bytes;
        }
    }
    return copy;
}

void expansion_stage_expect_log(struct expansion_stage *self)
{
    uint64_t before_bytes;
    uint64_t after_bytes;
    uint8_t *before = copy_of(expansion_stage_set(self), &before_bytes);
    uint8_t *after;

    expansion_stage_restart(self, STAGE_END_CLEAN);
    after = copy_of(expansion_stage_set(self), &after_bytes);
    cr_assert_eq(after_bytes, before_bytes);
    cr_assert_arr_eq(after, before, before_bytes, "the arrays are not what the log makes of them");
    free(before);
    free(after);
}
