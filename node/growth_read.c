/* What a span is filled and checked with: sorted runs of its shards, then the log where it is in
 * no run. The next stretch is read while one is worked on. */
#include "base/heap.h"
#include "node/array/growth_layers.h"
#include "node/private.h"

#include <string.h>

enum {
    LEAST_KEYS = 4096,
    PATIENCE_US = 1000000, /* after a failure */
};

void node_growth_read_stop(struct node *self)
{
    self->growth.pass++;
    self->growth.current.count = self->growth.taken = 0;
    self->growth.coming.count = 0;
}

static uint64_t first_of(uint32_t shard, uint32_t bits)
{
    return bits == 0 ? 0 : (uint64_t)shard << (64 - bits);
}

static uint64_t last_of(uint32_t shard, uint32_t bits)
{
    return bits == 0 ? UINT64_MAX : first_of(shard, bits) | UINT64_MAX >> bits;
}

void node_growth_read_begin(struct node *self)
{
    struct node_growth *growth = &self->growth;
    const struct document_entry *entry = document_cache_find(&self->documents, growth->filter_id);
    uint32_t bits = entry->document.content.shard_bits;

    node_growth_read_stop(self);
    growth->read_all = false;
    if (growth_reads_log(growth->phase)) {
        growth->from = growth->merged;
    } else {
        growth->from = first_of(growth->first, bits);
        growth->merged = UINT64_MAX;
    }
}

/* ---- an answer ---- */

static bool keep(struct node_growth *growth, const struct storage_read *read, uint32_t bits)
{
    struct growth_stretch *coming = &growth->coming;

    if (!heap_grow(&coming->keys, &coming->capacity, read->count, sizeof *coming->keys)) {
        return false;
    }
    for (size_t i = 0; i < read->count; i++) {
        uint64_t shard = lines_shard_index(bits, read->fingerprints[i]);

        coming->keys[coming->count] = read->fingerprints[i];
        coming->count += shard >= growth->first && shard < growth->end;
    }
    return true;
}

static void start_over(struct node *self, uint64_t now_us, enum status status)
{
    struct node_growth *growth = &self->growth;

    node_count(self, NODE_growth_restarts_total);
    node_growth_go(self, GROWTH_ON_STALE);
    node_growth_read_begin(self);
    if (status != STATUS_STALE) {
        growth->resume_us = now_us + PATIENCE_US;
        log_limited(&self->growth_limit, now_us, LOG_ERROR,
                    "a bigger array is being built, and the log can't be read for it: %s; tried "
                    "again every second, the old array serves",
                    status_meaning(status));
    }
}

static void on_stretch(struct storage_read *read, uint64_t now_us, enum status status)
{
    struct node *self = read->context;
    struct node_growth *growth = &self->growth;
    const struct document_entry *entry;

    growth->reading = false;
    growth->due = true;
    if (growth->pass != growth->read_pass) {
        return; /* Nobody waits for it any more. */
    }
    entry = document_cache_find(&self->documents, growth->filter_id);
    if (status == STATUS_OK && !keep(growth, read, entry->document.content.shard_bits)) {
        status = STATUS_NOMEM;
    }
    if (status != STATUS_OK) {
        start_over(self, now_us, status);
        return;
    }
    if (!read->log && read->merged < growth->merged) {
        growth->merged = read->merged;
    }
    growth->from = read->next;
    growth->read_all = read->end;
    if (!read->end) {
        steps_again(&self->steps, STEP_GROWTH_KEYS);
    }
}

/* ---- a question ---- */

/* Not much more than the span has: what is read beyond is read in vain. */
static size_t room_for(const struct node_growth *growth, const struct replica_set *set,
                       uint32_t most)
{
    uint64_t keys = 0;
    uint64_t expected;

    for (uint32_t i = 0; i < set->ngroups; i++) {
        keys += set->groups[i].hosted ? set->groups[i].keys : 0;
    }
    expected = keys / set->layers[0]->nhosted * (growth->end - growth->first);
    expected += expected / 8 + LEAST_KEYS;
    return expected < most ? (size_t)expected : most;
}

static void ask(struct node *self, uint64_t now_us, const struct document_entry *entry)
{
    struct node_growth *growth = &self->growth;
    const struct replica_set *set = node_growth_set(self, entry);
    const struct epoch_content *content = &entry->document.content;
    bool log = growth_reads_log(growth->phase);
    const uint32_t most = self->steps.most[STEP_GROWTH_KEYS];
    enum status status;

    growth->read = (struct storage_read){
        .set = hosted_storage_set(&entry->document, set),
        .log = log,
        .from = growth->from,
        .to = log ? growth->cut : last_of(growth->end - 1, content->shard_bits),
        .room = log ? most : room_for(growth, set, most),
        .context = self,
        .done = on_stretch,
    };
    growth->read_pass = growth->pass;
    status = storage_read(self->storage, &growth->read);
    growth->reading = status == STATUS_OK;
    if (status != STATUS_OK) {
        start_over(self, now_us, status);
    }
}

static void take_coming(struct node_growth *growth)
{
    struct growth_stretch done = growth->current;

    growth->current = growth->coming;
    growth->taken = 0;
    growth->coming = done;
    growth->coming.count = 0;
}

const uint64_t *node_growth_read_some(struct node *self, uint64_t now_us,
                                      const struct document_entry *entry, size_t most,
                                      size_t *count, bool *end)
{
    struct node_growth *growth = &self->growth;
    const uint64_t *keys;

    if (growth->taken == growth->current.count && !growth->reading) {
        take_coming(growth);
    }
    if (!growth->reading && !growth->read_all && growth->coming.count == 0) {
        ask(self, now_us, entry);
    }
    *count = growth->current.count - growth->taken;
    *count = *count < most ? *count : most;
    *end = *count == 0 && growth->read_all && !growth->reading && growth->coming.count == 0;
    if (*count == 0) {
        return NULL;
    }
    keys = growth->current.keys + growth->taken;
    growth->taken += *count;
    return keys;
}
