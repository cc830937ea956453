/* Makes the document and the nodes' reports, and brings both from step to step of an expansion. */
#include "tests/support/expansion_cluster.h"

#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};

void expansion_cluster_init(struct expansion_cluster *self, uint32_t nnodes)
{
    *self = (struct expansion_cluster){.view = {.nnodes = nnodes}};
    cr_assert_leq(nnodes, EXPANSION_CLUSTER_NODES);
    sample_document(1, "urls", &rule, nnodes, &self->document);
    self->document.durability = DURABILITY_SYNC;
    self->document.when_full = WHEN_FULL_EXPAND;
    for (uint32_t i = 0; i < nnodes; i++) {
        (void)snprintf(self->hosts[i], sizeof self->hosts[i], "host-%u", i + 1);
        self->nodes[i] = (struct expansion_node){
            .id = i + 1,
            .incarnation = SAMPLE_INCARNATION + i + 1,
            .host = self->hosts[i],
            .limit_bytes = UINT64_C(1) << 30,
            .alive = true,
            .current = true,
            .told = true,
        };
        for (uint32_t group = 0; group < self->document.content.ngroups; group++) {
            if (document_slot_of(&self->document, group, i + 1, 0) >= 0) {
                self->reports[self->view.nreports++] = (struct expansion_report){
                    .node = i + 1, .group = group, .generation = 1, .keys = 100, .asked = true};
            }
        }
    }
    self->view.document = &self->document;
    self->view.nodes = self->nodes;
    self->view.reports = self->reports;
}

void expansion_cluster_fini(struct expansion_cluster *self)
{
    document_fini(&self->document);
}

struct expansion_node *expansion_cluster_node(struct expansion_cluster *self, uint32_t id)
{
    return &self->nodes[id - 1];
}

uint32_t expansion_cluster_shards(const struct expansion_cluster *self, uint32_t group)
{
    uint32_t count = 0;

    for (uint32_t shard = 0; shard < document_nshards(&self->document); shard++) {
        count += self->document.content.group_of_shard[shard] == group;
    }
    return count;
}

void expansion_cluster_serve(struct expansion_cluster *self, uint32_t id, uint32_t generation)
{
    for (size_t i = 0; i < self->view.nreports; i++) {
        if (self->reports[i].node == id) {
            self->reports[i].generation = generation;
            self->reports[i].shards_grown = expansion_cluster_shards(self, self->reports[i].group);
        }
    }
}

uint32_t expansion_cluster_begin(struct expansion_cluster *self, uint64_t capacity)
{
    const struct expansion_wish wish = {.capacity = capacity};
    struct expansion_answer answer = expansion_request(&self->view, &wish, 99);

    cr_assert_eq(answer.verdict, EXPANSION_VERDICT_BEGIN, "%d", (int)answer.verdict);
    expansion_begin(&self->document, &answer);
    return answer.next.id;
}
