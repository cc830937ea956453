/* Random clusters in which nodes are drained, replaced, silenced and brought back while replicas
 * move: no group ever has two slots on one node, every step has its evidence, room is respected,
 * and when all is calm nothing is left on who was to leave if anybody could take it. */
#include "base/heap.h"
#include "coordinator/plan/change.h"
#include "coordinator/plan/move_plan.h"
#include "tests/support/random.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { MOST_NODES = 9, SEEDS = 400, STEPS = 60, CALM_STEPS = 400, BUDGET = 2 };

struct world {
    struct filter_document document;
    struct node_list list;
    struct evidence evidence;
    bool alive[MOST_NODES];
    struct slot_group next[MOST_NODES];
    uint64_t state;
};

static void draw(struct world *self, uint64_t seed)
{
    static const struct quorum_rule rules[] = {
        {3, 2, 2}, {2, 2, 1}, {3, 3, 1}, {1, 1, 1}, {5, 3, 3}};
    uint32_t members;

    *self = (struct world){.state = seed * UINT64_C(0x9e3779b97f4a7c15)};
    self->list.count = (uint32_t)(5 + random_below(&self->state, MOST_NODES - 4));
    self->list.nodes = heap_zalloc(self->list.count, sizeof *self->list.nodes);
    cr_assert_not_null(self->list.nodes);
    members = (uint32_t)(5 + random_below(&self->state, self->list.count - 4));
    sample_document(7, "urls", &rules[random_below(&self->state, 5)], members, &self->document);
    self->document.durability = DURABILITY_SYNC;
    for (uint32_t i = 0; i < self->list.count; i++) {
        struct node_record *record = &self->list.nodes[i];

        record->id = i + 1;
        record->incarnation = SAMPLE_INCARNATION + i + 1;
        record->durable = true;
        record->memory_limit_bytes = UINT64_C(1) << 30;
        (void)snprintf(record->host, sizeof record->host, "h%u", i % 6);
        self->alive[i] = true;
    }
}

static void end(struct world *self)
{
    evidence_fini(&self->evidence);
    document_fini(&self->document);
    node_list_fini(&self->list);
}

static enum status make_plan(struct world *self, struct move_plan *plan)
{
    struct move_node nodes[MOST_NODES];
    uint32_t under_way = move_groups_under_way(&self->document);

    for (uint32_t i = 0; i < self->list.count; i++) {
        nodes[i] = (struct move_node){
            .record = &self->list.nodes[i],
            .alive = self->alive[i],
            .leaves = node_record_leaves(&self->list.nodes[i]),
            .used_bytes = move_bytes_held(&self->document, i + 1),
        };
    }
    return move_plan_make(&self->document, nodes, self->list.count,
                          under_way < BUDGET ? BUDGET - under_way : 0, 0, plan);
}

/* A step out of a pair or a move took the fences, and the first one the copy as well. */
static void judge_slot(const struct world *self, uint32_t group, uint32_t index)
{
    const struct slot *before = &self->document.content.groups[group].slots[index];
    const struct slot *after = &self->next[group].slots[index];
    const struct change_move *move = change_move_of(before, after);
    bool same = member_equal(&before->current, &after->current) &&
                member_equal(&before->incoming, &after->incoming) &&
                before->reads_incoming == after->reads_incoming;
    bool stays = member_equal(slot_reader(before), slot_reader(after));

    cr_assert_eq(after->read_since, stays ? before->read_since : self->document.epoch + 1);
    if (same) {
        return;
    }
    cr_assert_not_null(move);
    if (move->takes_fences) {
        cr_assert_geq((uint32_t)__builtin_popcount(self->evidence.groups[group].current_fenced),
                      quorum_fences(&self->document.content.rule));
    }
    if (move->takes_copy) {
        cr_assert((self->evidence.groups[group].complete >> index & 1) != 0);
    }
}

static void judge_group(const struct world *self, uint32_t group)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < self->document.content.rule.replicas; i++) {
        const struct slot *slot = &self->next[group].slots[i];
        uint32_t nodes = 1U << slot->current.node;

        nodes |= slot_is_pair(slot) ? 1U << slot->incoming.node : 0;
        cr_assert_eq(seen & nodes, 0, "two slots of group %u on one node", group);
        seen |= nodes;
        judge_slot(self, group, i);
    }
}

static void look(struct world *self)
{
    struct change_decision decision;
    struct move_plan plan;

    if (!evidence_fits(&self->evidence, &self->document)) {
        cr_assert_eq(evidence_open(&self->evidence, &self->document), STATUS_OK);
    }
    cr_assert_eq(make_plan(self, &plan), STATUS_OK);
    change_decide(&self->document, &self->list, &self->evidence, self->alive, &plan, self->next,
                  &decision);
    move_plan_fini(&plan);
    if (decision.action != CHANGE_WRITE) {
        return;
    }
    for (uint32_t group = 0; group < self->document.content.ngroups; group++) {
        judge_group(self, group);
        self->document.content.groups[group] = self->next[group];
    }
    document_epoch_advance(&self->document);
    cr_assert_leq(move_groups_under_way(&self->document), BUDGET);
}

static void gather(struct world *self)
{
    uint32_t node = (uint32_t)random_below(&self->state, self->list.count);
    uint32_t group = (uint32_t)random_below(&self->state, self->document.content.ngroups);
    const struct node_record *record = &self->list.nodes[node];

    if (!self->alive[node] || !evidence_fits(&self->evidence, &self->document)) {
        return;
    }
    (void)evidence_fence(&self->evidence, &self->document, record->id, record->incarnation);
    (void)evidence_complete(&self->evidence, &self->document, group, record->id,
                            record->incarnation);
}

static void disturb(struct world *self)
{
    uint32_t i = (uint32_t)random_below(&self->state, self->list.count);
    struct node_record *record = &self->list.nodes[i];

    switch (random_below(&self->state, 6)) {
    case 0:
        record->draining = !record->draining;
        return;
    case 1:
        self->alive[i] = !self->alive[i];
        return;
    case 2:
        record->replaced_by = (uint32_t)random_below(&self->state, self->list.count + 1);
        record->replaced_by = record->replaced_by == record->id ? 0 : record->replaced_by;
        return;
    default:
        gather(self);
        return;
    }
}

/* One node is to leave, all are alive, and there is a sixth one for five: it ends up empty. */
static void calm_down(struct world *self)
{
    for (uint32_t i = 0; i < self->list.count; i++) {
        self->list.nodes[i].draining = i == 0;
        self->list.nodes[i].replaced_by = 0;
        self->alive[i] = true;
    }
    for (uint32_t i = 0; i < CALM_STEPS; i++) {
        for (uint32_t k = 0; k < 8; k++) {
            gather(self);
        }
        look(self);
    }
    if (self->list.count > self->document.content.rule.replicas) {
        cr_assert_eq(move_slots_held(&self->document, 1), 0);
    }
    cr_assert_eq(move_groups_under_way(&self->document), 0);
}

Test(moves_property, whatever_happens_every_step_is_sound)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world world;

        draw(&world, seed);
        for (uint32_t i = 0; i < STEPS; i++) {
            disturb(&world);
            look(&world);
        }
        calm_down(&world);
        end(&world);
    }
    cr_assert_eq(heap_live(), 0);
}
