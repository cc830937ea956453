/* What a span is filled and checked with: sorted runs of its shards, then the log where it is in
 * no run. The next stretch is read while one is worked on. */
#include "base/heap.h"
#include "node/array/expansion_layers.h"
#include "node/private.h"

#include <string.h>

enum {
    LEAST_KEYS = 4096,
    PATIENCE_US = 1000000, /* after a failure */
};

void node_expansion_read_stop(struct node *self)
{
    self->expansion.pass++;
    self->expansion.current.count = self->expansion.taken = 0;
    self->expansion.coming.count = 0;
}

static uint64_t first_of(uint32_t shard, uint32_t bits)
{
    return bits == 0 ? 0 : (uint64_t)shard << (64 - bits);
}

static uint64_t last_of(uint32_t shard, uint32_t bits)
{
    return bits == 0 ? UINT64_MAX : first_of(shard, bits) | UINT64_MAX >> bits;
}

void node_expansion_read_begin(struct node *self)
{
    struct node_expansion *expansion = &self->expansion;
    const struct document_entry *entry = document_cache_find(&self->documents,
                                                             expansion->filter_id);
    uint32_t bits = entry->document.content.shard_bits;

    node_expansion_read_stop(self);
    expansion->read_all = false;
    if (expansion_reads_log(expansion->phase)) {
        expansion->from = expansion->merged;
    } else {
        expansion->from = first_of(expansion->first, bits);
        expansion->merged = UINT64_MAX;
    }
}

/* ---- an answer ---- */

static bool keep(struct node_expansion *expansion, const struct storage_read *read, uint32_t bits)
{
    struct expansion_stretch *coming = &expansion->coming;

    if (!heap_grow(&coming->keys, &coming->capacity, read->count, sizeof *coming->keys)) {
        return false;
    }
    for (size_t i = 0; i < read->count; i++) {
        uint64_t shard = lines_shard_index(bits, read->fingerprints[i]);

        coming->keys[coming->count] = read->fingerprints[i];
        coming->count += shard >= expansion->first && shard < expansion->end;
    }
    return true;
}

static void start_over(struct node *self, uint64_t now_us, enum status status)
{
    struct node_expansion *expansion = &self->expansion;

    node_count(self, NODE_growth_restarts_total);
    node_expansion_go(self, EXPANSION_ON_STALE);
    node_expansion_read_begin(self);
    if (status != STATUS_STALE) {
        expansion->resume_us = now_us + PATIENCE_US;
        log_limited(&self->expansion_limit, now_us, LOG_ERROR,
                    "a bigger array is being built, and the log can't be read for it: %s; tried "
                    "again every second, the old array serves",
                    status_meaning(status));
    }
}

static void on_stretch(struct storage_read *read, uint64_t now_us, enum status status)
{
    struct node *self = read->context;
    struct node_expansion *expansion = &self->expansion;
    const struct document_entry *entry;

    expansion->reading = false;
    expansion->due = true;
    if (expansion->pass != expansion->read_pass) {
        return; /* Nobody waits for it any more. */
    }
    entry = document_cache_find(&self->documents, expansion->filter_id);
    if (status == STATUS_OK && !keep(expansion, read, entry->document.content.shard_bits)) {
        status = STATUS_NOMEM;
    }
    if (status != STATUS_OK) {
        start_over(self, now_us, status);
        return;
    }
    if (!read->log && read->merged < expansion->merged) {
        expansion->merged = read->merged;
    }
    expansion->from = read->next;
    expansion->read_all = read->end;
    if (!read->end) {
        steps_again(&self->steps, STEP_EXPANSION_KEYS);
    }
}

/* ---- a question ---- */

/* Not much more than the span has: what is read beyond is read in vain. */
static size_t room_for(const struct node_expansion *expansion, const struct arrays *set,
                       uint32_t most)
{
    uint64_t keys = 0;
    uint64_t expected;

    for (uint32_t i = 0; i < set->ngroups; i++) {
        keys += set->groups[i].hosted ? set->groups[i].keys : 0;
    }
    expected = keys / set->layers[0]->nhosted * (expansion->end - expansion->first);
    expected += expected / 8 + LEAST_KEYS;
    return expected < most ? (size_t)expected : most;
}

static void ask(struct node *self, uint64_t now_us, const struct document_entry *entry)
{
    struct node_expansion *expansion = &self->expansion;
    const struct arrays *set = node_expansion_set(self, entry);
    const struct epoch_content *content = &entry->document.content;
    bool log = expansion_reads_log(expansion->phase);
    const uint32_t most = self->steps.most[STEP_EXPANSION_KEYS];
    enum status status;

    expansion->read = (struct storage_read){
        .set = hosted_storage_set(&entry->document, set),
        .log = log,
        .from = expansion->from,
        .to = log ? expansion->cut : last_of(expansion->end - 1, content->shard_bits),
        .room = log ? most : room_for(expansion, set, most),
        .context = self,
        .done = on_stretch,
    };
    expansion->read_pass = expansion->pass;
    status = storage_read(self->storage, &expansion->read);
    expansion->reading = status == STATUS_OK;
    if (status != STATUS_OK) {
        start_over(self, now_us, status);
    }
}

static void take_coming(struct node_expansion *expansion)
{
    struct expansion_stretch done = expansion->current;

    expansion->current = expansion->coming;
    expansion->taken = 0;
    expansion->coming = done;
    expansion->coming.count = 0;
}

const uint64_t *node_expansion_read_some(struct node *self, uint64_t now_us,
                                         const struct document_entry *entry, size_t most,
                                         size_t *count, bool *end)
{
    struct node_expansion *expansion = &self->expansion;
    const uint64_t *keys;

    if (expansion->taken == expansion->current.count && !expansion->reading) {
        take_coming(expansion);
    }
    if (!expansion->reading && !expansion->read_all && expansion->coming.count == 0) {
        ask(self, now_us, entry);
    }
    *count = expansion->current.count - expansion->taken;
    *count = *count < most ? *count : most;
    *end = *count == 0 && expansion->read_all && !expansion->reading &&
           expansion->coming.count == 0;
    if (*count == 0) {
        return NULL;
    }
    keys = expansion->current.keys + expansion->taken;
    expansion->taken += *count;
    return keys;
}
