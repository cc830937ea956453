/* Whom to ask for what: each hosted slot group by its document. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/pull/live_sets.h"
#include "node/pull/pull_geometry.h"
#include "node/sync/exchange.h"

enum { MAX_ITEMS = 65536 };

static uint64_t interval_us(const struct exchange *self)
{
    return self->config.gossip_delay_us;
}

static struct pull_scope scope_of(const struct filter_document *document, uint32_t group,
                                  uint32_t at)
{
    const struct live_set live = live_sets_at(document, at);
    struct pull_scope scope = {
        .filter_id = document->id,
        .epoch = document->epoch,
        .epoch_hash = document->epoch_hash,
        .slice = live.slice,
        .keyset = live.keyset,
        .group = group,
    };

    pull_scope_name(&scope, document);
    return scope;
}

static void add_item(struct exchange *self, const struct filter_document *document, bool doubted,
                     const struct pull_plan *plan, uint32_t group, uint32_t at, uint32_t rank,
                     struct filter_pulls *pulls)
{
    struct pull_item *item = &pulls->items[pulls->count++];
    const struct pull_scope scope = scope_of(document, group, at);
    const struct member *source = &plan->sources[rank];
    bool joins = plan->role == PULL_ROLE_JOINS;
    const struct record_cursor *cursor = joins ? node_cursors_sync(&self->cursors, &scope, source)
                                               : node_cursors_delta(&self->cursors, &scope, source);

    *item = (struct pull_item){.rank = rank, .needed = plan->needed};
    pull_init(&item->pull, joins ? PULL_SYNC : PULL_DELTA, &scope, source,
              cursor != NULL ? &cursor->offset : NULL, interval_us(self));
    item->pull.npages = pull_pages(document, scope.slice);
    item->pull.pages_a_shard = pull_pages_a_shard(document, scope.slice);
    item->pull.nshards = pull_group_shards(document, group);
    /* What joins has lost writes of this epoch, which a SYNC leaves to routers. */
    if (doubted || (joins && self->node.life->torn)) {
        pull_catch_up(&item->pull);
    }
}

/* The sets of one source follow each other: a source is complete when all of them are. */
static void add_group(struct exchange *self, const struct filter_document *document, bool doubted,
                      uint32_t group, struct filter_pulls *pulls)
{
    const struct member me = {.node = self->node.life->id,
                              .incarnation = self->node.life->incarnation};
    uint32_t nsets = live_sets_count(document);
    struct pull_plan plan;

    if (MUTANT(CHAIN_JOINS_NEWEST) && document_is_chain(document)) {
        nsets = 1;
    }
    pull_plan_make(document, group, &me, &plan);
    for (uint32_t rank = 0; rank < plan.nsources; rank++) {
        for (uint32_t at = 0; at < nsets; at++) {
            add_item(self, document, doubted, &plan, group, at, rank, pulls);
        }
    }
}

static struct filter_pulls *make(struct exchange *self, const struct filter_document *document,
                                 struct hosted_filter *hosted)
{
    size_t most = (size_t)document->content.ngroups * QUORUM_MAX_REPLICAS *
                  live_sets_count(document);
    struct filter_pulls *pulls =
        most > MAX_ITEMS ? NULL : heap_zalloc(1, sizeof *pulls + most * sizeof pulls->items[0]);

    if (pulls == NULL) {
        return NULL;
    }
    pulls->serial = ++self->serial;
    pulls->epoch = document->epoch;
    pulls->incarnation = self->node.life->incarnation;
    pulls->hosting = hosted->hosting;
    pulls->joined = hosted->joined;
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        if (hosted->set->groups[group].hosted) {
            add_group(self, document, hosted->doubted, group, pulls);
        }
    }
    for (uint32_t i = 0; i < pulls->count; i++) {
        hosted->joined = hosted->joined || pulls->items[i].pull.purpose == PULL_SYNC;
    }
    return pulls;
}

void node_pull_drop(struct hosted_filter *hosted)
{
    for (uint32_t i = 0; hosted->pulls != NULL && i < hosted->pulls->count; i++) {
        pull_fini(&hosted->pulls->items[i].pull);
    }
    heap_free(hosted->pulls);
    hosted->pulls = NULL;
}

/* A cursor is worth keeping while the document names the life, and the set, that it is about. */
static bool names_source(const void *context, const struct record_cursor *cursor)
{
    const struct filter_document *document = context;

    return document->content.state == FILTER_ACTIVE && cursor->group < document->content.ngroups &&
           document_slot_of(document, cursor->group, cursor->source, cursor->source_incarnation) >=
               0 &&
           live_sets_have(document, cursor->keyset, cursor->slice);
}

static bool is_current(const struct exchange *self, const struct filter_document *document,
                       const struct hosted_filter *hosted)
{
    const struct filter_pulls *pulls = hosted->pulls;

    return pulls != NULL && pulls->epoch == document->epoch && pulls->hosting == hosted->hosting &&
           pulls->incarnation == self->node.life->incarnation;
}

/* By the operator's word nobody has anything that it would have to take over. */
static bool needs_nothing(const struct exchange *self, const struct filter_document *document,
                          uint32_t group)
{
    const struct member me = {.node = self->node.life->id,
                              .incarnation = self->node.life->incarnation};
    struct pull_plan plan;

    pull_plan_make(document, group, &me, &plan);
    return plan.role == PULL_ROLE_JOINS && plan.needed == 0;
}

static void begin_anew(struct exchange *self, const struct filter_document *document,
                       struct hosted_filter *hosted)
{
    for (uint32_t i = 0; i < hosted->set->ngroups; i++) {
        bool complete = hosted->set->groups[i].hosted && needs_nothing(self, document, i);

        hosted->set->groups[i].complete = complete ? document->epoch : 0;
        hosted->set->groups[i].copied = complete ? 1 : 0;
        self->node.life->changed = self->node.life->changed || complete;
    }
}

void node_pull_follow(struct exchange *self, struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    struct hosted_filter *hosted = entry->attachment;
    bool serves;

    if (hosted == NULL) {
        return;
    }
    serves = hosted_ready(hosted) && !hosted->unlogged && !entry->conflict &&
             self->node.life->confirmed && document->content.state == FILTER_ACTIVE;
    if (!serves) {
        node_pull_drop(hosted);
    } else if (!is_current(self, document, hosted)) {
        node_pull_drop(hosted);
        node_cursors_prune(&self->cursors, document->id, names_source, document);
        hosted->pulls = make(self, document, hosted);
        begin_anew(self, document, hosted);
    }
}

struct pull_item *node_pull_item(struct exchange *self, const struct peer_topic *topic,
                                 struct document_entry **out)
{
    struct document_entry *entry = document_cache_find(self->node.documents, topic->filter_id);
    const struct hosted_filter *hosted;

    if (entry == NULL) {
        return NULL;
    }
    node_pull_follow(self, entry);
    hosted = entry->attachment;
    if (hosted == NULL || hosted->pulls == NULL || hosted->pulls->serial != topic->serial ||
        topic->item >= hosted->pulls->count) {
        return NULL; /* An answer to what is not wanted any more. */
    }
    *out = entry;
    return &hosted->pulls->items[topic->item];
}
