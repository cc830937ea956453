#include "tests/support/lineage_stage.h"

#include "map/lineage.h"

#include <criterion/criterion.h>

enum { FILTER = 5 };

void lineage_stage_init(struct lineage_stage *self)
{
    *self = (struct lineage_stage){.last = 1};
    node_stage_init_disk(&self->stage);
    cr_assert_eq(node_stage_open(&self->stage), 0);
    node_stage_filter(&self->stage, FILTER, DURABILITY_SYNC, &self->document);
    lineage_first(&self->document.content);
}

void lineage_stage_fini(struct lineage_stage *self)
{
    document_fini(&self->document);
    node_stage_fini_disk(&self->stage);
}

void lineage_stage_begin(struct lineage_stage *self)
{
    struct epoch_content *content = &self->document.content;

    lineage_add(content);
    self->last = content->last_lineage;
    document_epoch_advance(&self->document);
}

void lineage_stage_commit(struct lineage_stage *self)
{
    struct epoch_content *content = &self->document.content;

    cr_assert_eq(content->nlineages, 2);
    content->lineages[0] = (struct lineage){.id = content->lineages[1].id, .serving = true};
    content->nlineages = 1;
    document_epoch_advance(&self->document);
}

void lineage_stage_abort(struct lineage_stage *self)
{
    cr_assert_eq(self->document.content.nlineages, 2);
    self->document.content.nlineages = 1;
    document_epoch_advance(&self->document);
}

void lineage_stage_hand(struct lineage_stage *self)
{
    node_stage_hand(&self->stage, &self->document);
    node_stage_settle(&self->stage);
}

enum status lineage_stage_feed(struct lineage_stage *self, uint32_t lineage, const uint64_t *keys,
                               uint32_t count)
{
    static struct node_answer answer;
    struct segment segment = node_stage_segment(&self->document, OPERATION_ADD, count);

    segment.batch.number = ++self->stage.batches;
    segment.op.sequence = self->stage.batches;
    segment.lineage = lineage;
    if (!node_stage_ask_disk(&self->stage, &segment, keys, &answer)) {
        return STATUS_UNAVAILABLE;
    }
    return answer.segment.at_capacity ? STATUS_FULL : answer.segment.status;
}

void lineage_stage_restart(struct lineage_stage *self, enum stage_end how)
{
    uint64_t incarnation = self->stage.incarnation;

    node_stage_end(&self->stage, how);
    (void)node_stage_open(&self->stage);
    cr_assert_eq(self->stage.incarnation, incarnation);
}

const struct hosted_filter *lineage_stage_hosted(const struct lineage_stage *self)
{
    const struct document_entry *entry = document_cache_find(&self->stage.node->documents, FILTER);

    cr_assert(entry != NULL && entry->attachment != NULL);
    return entry->attachment;
}
