/* After an end that was not in order: what does the log lack?
 *
 * A log that ends without a last word may be a copy that was made while its process ran, and put
 * back after it was killed: the boot that it continues is the last one, and nothing in it shows
 * what was accepted later. So a filter that was served before counts again only when it has
 * caught up: with all that every other reader of its slot groups has in its log, and with all
 * documents of the store, as a fence may be lost too. What was acknowledged with this node's word
 * is in the log of one of any N - W + 1 of them.
 *
 * Others that do not answer are waited for only so long: when many are down at once, those that are
 * left must serve. */
#include "base/mutant.h"
#include "node/sync/exchange.h"

#include <assert.h>
#include <inttypes.h>

void node_set_doubted(struct hosted_filter *hosted, bool doubted)
{
    hosted->doubted = doubted;
    hosted->heard_us = 0;
    for (struct arrays *set = hosted->set; set != NULL; set = set->next) {
        set->doubted = doubted;
    }
}

void node_doubt(struct exchange *self)
{
    if (MUTANT(COUNT_AT_ONCE)) {
        return;
    }
    self->node.life->torn = self->config.catch_up_wait_us > 0 &&
                            !storage_found_clean(self->storage);
    for (size_t i = 0; i < self->node.documents->count && self->node.life->torn; i++) {
        struct hosted_filter *hosted = self->node.documents->by_id[i]->attachment;

        if (hosted != NULL) {
            node_set_doubted(hosted, true);
        }
    }
}

/* Another incarnation has nothing to be asked for. */
void node_doubt_none(struct exchange *self)
{
    self->node.life->torn = false;
    for (size_t i = 0; i < self->node.documents->count; i++) {
        struct hosted_filter *hosted = self->node.documents->by_id[i]->attachment;

        if (hosted != NULL) {
            node_set_doubted(hosted, false);
        }
    }
}

/* A filter that the log does not know may have been there; one that is made later was not. */
void node_doubt_hosted(const struct exchange *self, struct hosted_filter *hosted)
{
    node_set_doubted(hosted, self->node.life->torn && !self->node.life->refetched);
}

/* How many sources have not been caught up with; those of groups that join do not count. */
static uint32_t lacking(const struct filter_pulls *pulls, uint32_t *example)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < pulls->count; i++) {
        const struct pull *pull = &pulls->items[i].pull;

        if (pull->purpose == PULL_DELTA && pull->catching_up) {
            *example = pull->source.node;
            count++;
        }
    }
    return count;
}

static void settle(struct exchange *self, struct document_entry *entry)
{
    struct hosted_filter *hosted = entry->attachment;

    assert(hosted->doubted);
    node_set_doubted(hosted, false);
    hosted->caught_up = storage_end(self->storage);
    self->changes++;
    self->node.report_news(self->node.self,
                           entry->document.id); /* Coordinators should hear that it counts. */
}

static void give_up(struct exchange *self, struct document_entry *entry, uint32_t example)
{
    log_line(LOG_WARN,
             "filter %s: node %u has not answered for %" PRIu64
             " ms; this replica counts again without having asked it what its own log may lack",
             entry->document.content.name, example, self->config.catch_up_wait_us / 1000);
    exchange_count(self, NODE_catch_ups_short_total);
    settle(self, entry);
}

/* All documents, and what others remember. Without a coordinator the others' documents must do. */
static bool knows_all(const struct exchange *self)
{
    return (self->node.life->refetched || !self->node.life->identity.confirmed) && node_met(self);
}

uint64_t node_settle(struct exchange *self, uint64_t now_us, struct document_entry *entry)
{
    struct hosted_filter *hosted = entry->attachment;
    const struct filter_pulls *pulls = hosted != NULL ? hosted->pulls : NULL;
    uint32_t example = 0;

    if (pulls == NULL || !hosted->doubted) {
        return ACTOR_NEVER;
    }
    /* The wait begins when others can be asked, not when the process did. */
    if (hosted->heard_us == 0) {
        hosted->heard_us = now_us;
    }
    if (lacking(pulls, &example) == 0 && knows_all(self)) {
        log_line(LOG_INFO, "filter %s: caught up with the other replicas, and counts again",
                 entry->document.content.name);
        settle(self, entry);
        return ACTOR_NEVER;
    }
    if (now_us - hosted->heard_us >= self->config.catch_up_wait_us) {
        give_up(self, entry, example);
        return ACTOR_NEVER;
    }
    return hosted->heard_us + self->config.catch_up_wait_us;
}
