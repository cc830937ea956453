/* cluster_change.h - a filter whose replicas are replaced, and what is known of its nodes, for
 * tests.
 *
 * Node n is node-n of sample_cluster.h, lives, and keeps a log on a disk. The test says what was
 * lost, fenced and copied, lets change_decide() decide, and writes the next epoch.
 *
 * Errors:  a failed cr_assert.
 */
#ifndef ORBLOOM_TESTS_UNIT_CLUSTER_CHANGE_H
#define ORBLOOM_TESTS_UNIT_CLUSTER_CHANGE_H

#include "base/heap.h"
#include "coordinator/plan/change.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { MOST_GROUPS = 8, NEW_LIFE = 5000, THIRD_LIFE = 6000 };

static struct filter_document document;
static struct node_list nodes;
static struct evidence evidence;
static struct slot_group next[MOST_GROUPS];
static struct change_decision decision;
static bool alive[MOST_GROUPS];
static const struct move_plan *plan; /* NULL: no node is to leave */

static inline void make(uint32_t replicas, uint32_t write, uint32_t nnodes)
{
    const struct quorum_rule rule = {
        .replicas = replicas, .write = write, .read = replicas - write + 1};

    sample_document(7, "urls", &rule, nnodes, &document);
    document.durability = DURABILITY_SYNC;
    nodes = (struct node_list){.revision = 1, .count = nnodes};
    nodes.nodes = heap_zalloc(nnodes, sizeof *nodes.nodes);
    cr_assert_not_null(nodes.nodes);
    for (uint32_t i = 0; i < nnodes; i++) {
        nodes.nodes[i].id = i + 1;
        nodes.nodes[i].incarnation = SAMPLE_INCARNATION + i + 1;
        nodes.nodes[i].durable = true;
        alive[i] = true;
    }
}

static inline void teardown(void)
{
    evidence_fini(&evidence);
    document_fini(&document);
    node_list_fini(&nodes);
    if (heap_live() != 0) {
        abort();
    }
}

static inline void lose(uint32_t node, uint64_t life)
{
    nodes.nodes[node - 1].incarnation = life + node;
}

/* What is gathered so far belongs to the document; else it is gone. */
static inline void gather(void)
{
    if (!evidence_fits(&evidence, &document)) {
        cr_assert_eq(evidence_open(&evidence, &document), STATUS_OK);
    }
}

static inline void fence(uint32_t node)
{
    gather();
    cr_assert(evidence_fence(&evidence, &document, node, SAMPLE_INCARNATION + node));
}

static inline void complete(uint32_t group, uint32_t node, uint64_t life)
{
    gather();
    cr_assert(evidence_complete(&evidence, &document, group, node, life + node));
}

static inline enum change_action decide(void)
{
    gather();
    change_decide(&document, &nodes, &evidence, alive, plan, next, &decision);
    return decision.action;
}

/* Whatever the step: the epoch of a slot's reader is the one that brought it. */
static inline void judge_readers(uint32_t group)
{
    for (uint32_t i = 0; i < document.content.rule.replicas; i++) {
        const struct slot *before = &document.content.groups[group].slots[i];
        const struct slot *after = &next[group].slots[i];
        bool stays = member_equal(slot_reader(before), slot_reader(after));

        cr_assert_eq(after->read_since, stays ? before->read_since : document.epoch + 1,
                     "group %u slot %u", group, i);
    }
}

/* Decide, write, and void the evidence as a new epoch does. */
static inline void write_next(void)
{
    cr_assert_eq(decide(), CHANGE_WRITE, "wait %d in group %u: %u of %u", decision.wait,
                 decision.group, decision.have, decision.needed);
    for (uint32_t group = 0; group < document.content.ngroups; group++) {
        judge_readers(group);
        document.content.groups[group] = next[group];
    }
    document_epoch_advance(&document);
}

static inline void expect_wait(enum change_wait wait, uint32_t have, uint32_t needed)
{
    cr_assert_eq(decide(), CHANGE_AWAIT);
    cr_assert_eq(decision.wait, wait, "wait %d", decision.wait);
    cr_assert_eq(decision.have, have, "have %u", decision.have);
    cr_assert_eq(decision.needed, needed, "needed %u", decision.needed);
}

static inline struct slot *slot_of(uint32_t group, uint32_t index)
{
    return &document.content.groups[group].slots[index];
}

static inline void expect_slot(uint32_t group, uint32_t index, enum slot_stage stage,
                               uint64_t current, uint64_t incoming)
{
    const struct slot *slot = slot_of(group, index);

    cr_assert_eq(slot_stage(slot), stage, "group %u slot %u: stage %d", group, index,
                 slot_stage(slot));
    cr_assert_eq(slot->current.incarnation, current);
    cr_assert_eq(slot->incoming.incarnation, incoming);
}

static inline uint64_t old_life(uint32_t node)
{
    return SAMPLE_INCARNATION + (uint64_t)node;
}

#endif
