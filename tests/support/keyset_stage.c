/* Signs the documents of a rebuild, hands them to the node, and feeds it. */
#include "tests/support/keyset_stage.h"

#include "map/history/keyset.h"

#include <criterion/criterion.h>

enum { FILTER = 5 };

void keyset_stage_init(struct keyset_stage *self)
{
    *self = (struct keyset_stage){.last = 1};
    node_stage_init_disk(&self->stage);
    cr_assert_eq(node_stage_open(&self->stage), 0);
    node_stage_filter(&self->stage, FILTER, DURABILITY_SYNC, &self->document);
    keyset_first(&self->document.content);
}

void keyset_stage_fini(struct keyset_stage *self)
{
    document_fini(&self->document);
    node_stage_fini_disk(&self->stage);
}

void keyset_stage_begin(struct keyset_stage *self)
{
    struct epoch_content *content = &self->document.content;

    keyset_add(content);
    self->last = content->last_keyset;
    document_epoch_advance(&self->document);
}

void keyset_stage_commit(struct keyset_stage *self)
{
    struct epoch_content *content = &self->document.content;

    cr_assert_eq(content->nkeysets, 2);
    content->keysets[0] = (struct keyset){.id = content->keysets[1].id, .serving = true};
    content->nkeysets = 1;
    document_epoch_advance(&self->document);
}

void keyset_stage_abort(struct keyset_stage *self)
{
    cr_assert_eq(self->document.content.nkeysets, 2);
    self->document.content.nkeysets = 1;
    document_epoch_advance(&self->document);
}

void keyset_stage_hand(struct keyset_stage *self)
{
    node_stage_hand(&self->stage, &self->document);
    node_stage_settle(&self->stage);
}

enum status keyset_stage_feed(struct keyset_stage *self, uint32_t keyset, const uint64_t *keys,
                              uint32_t count)
{
    static struct node_answer answer;
    struct subrequest subrequest = node_stage_subrequest(&self->document, OPERATION_ADD, count);

    subrequest.batch.number = ++self->stage.batches;
    subrequest.op.sequence = self->stage.batches;
    subrequest.keyset = keyset;
    if (!node_stage_ask_disk(&self->stage, &subrequest, keys, &answer)) {
        return STATUS_UNAVAILABLE;
    }
    return answer.subrequest.at_capacity ? STATUS_FULL : answer.subrequest.status;
}

void keyset_stage_restart(struct keyset_stage *self, enum stage_end how)
{
    uint64_t incarnation = self->stage.incarnation;

    node_stage_end(&self->stage, how);
    (void)node_stage_open(&self->stage);
    cr_assert_eq(self->stage.incarnation, incarnation);
}

const struct hosted_filter *keyset_stage_hosted(const struct keyset_stage *self)
{
    const struct document_entry *entry = document_cache_find(&self->stage.node->documents, FILTER);

    cr_assert(entry != NULL && entry->attachment != NULL);
    return entry->attachment;
}
