/* Which other nodes may be told what. */
#include "base/mutant.h"
#include "node/pull/live_sets.h"
#include "node/pull/pull_lines.h"
#include "node/sync/exchange.h"

static bool is_meant(const struct exchange *self, const struct member *source)
{
    return source->node == self->node.life->id &&
           (source->incarnation == 0 || source->incarnation == self->node.life->incarnation ||
            MUTANT(SYNC_COUNTS_JOINING));
}

static bool counts(const struct hosted_filter *hosted, const struct pull_request *request)
{
    const struct replica_set *set = hosted_find(hosted, request->scope.lineage,
                                                request->scope.slice);
    enum replica_state state = replica_set_state(set, request->scope.group);

    if (MUTANT(SYNC_COUNTS_JOINING) && request->sync && state == REPLICA_JOINING) {
        return true;
    }
    /* Two that are in doubt help each other; whoever joins needs one that is not. */
    return state == REPLICA_FULL ||
           (!request->sync && replica_set_holds(set, request->scope.group));
}

enum status node_serve_judge(const struct exchange *self, const struct pull_request *request,
                             const struct document_entry **out)
{
    const struct pull_scope *scope = &request->scope;
    const struct document_entry *entry = document_cache_find(self->node.documents,
                                                             scope->filter_id);
    const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;
    enum status status;

    *out = entry;
    if (!MUTANT(ERASE_NO_TOMBSTONE) &&
        document_cache_is_dropped(self->node.documents, scope->filter_id)) {
        return STATUS_DROPPED;
    }
    if (entry == NULL) {
        return STATUS_NEED_DOC;
    }
    if (entry->conflict) {
        return STATUS_NOT_READY;
    }
    if (hosted == NULL || hosted->unlogged || !self->node.life->confirmed ||
        self->node.life->failed) {
        return STATUS_NOT_READY;
    }
    status = fence_judge(&hosted->fence, &entry->document, scope->epoch, scope->epoch_hash);
    if (status != STATUS_OK) {
        return status == STATUS_CONFLICT ? STATUS_NOT_READY : status;
    }
    if (scope->group >= entry->document.content.ngroups ||
        !live_sets_have(&entry->document, scope->lineage, scope->slice) ||
        !pull_scope_fits(scope, &entry->document) ||
        !pull_kind_fits(request->kind, &entry->document)) {
        return STATUS_INVALID;
    }
    return is_meant(self, &request->source) && counts(hosted, request) ? STATUS_OK
                                                                       : STATUS_NOT_READY;
}
