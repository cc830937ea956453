/* Taking over what another node has answered: into the log first, then into the arrays. */
#include "base/mutant.h"
#include "node/pull/live_sets.h"
#include "node/sync/exchange.h"

#include <assert.h>
#include <string.h>

/* ---- which batches are here ---- */

static struct batch_series_key series_of(const struct document_entry *entry,
                                         const struct record_batch *batch, uint32_t target)
{
    return (struct batch_series_key){
        .producer_id = batch->batch_producer,
        .filter_id = entry->document.id,
        .epoch = batch->epoch,
        .slice = batch->targets[target].slice,
        .keyset = batch->targets[target].keyset,
        .group = batch->group,
    };
}

void node_note_batch(struct exchange *self, const struct document_entry *entry,
                     const struct record_batch *batch)
{
    if (self->storage == NULL || !node_batch_whole(batch)) {
        return;
    }
    for (uint32_t i = 0; i < batch->ntargets; i++) {
        const struct batch_series_key key = series_of(entry, batch, i);

        batch_set_add(self->have, &key, batch->batch_number);
    }
}

void node_forget_batches(struct exchange *self)
{
    batch_set_clear(self->have);
}

static bool has(struct exchange *self, const struct document_entry *entry,
                const struct record_batch *batch, uint32_t target)
{
    const struct batch_series_key key = series_of(entry, batch, target);

    return node_batch_whole(batch) && batch_set_has(self->have, &key, batch->batch_number);
}

bool node_has_batch(struct exchange *self, const struct document_entry *entry,
                    const struct record_batch *batch)
{
    return has(self, entry, batch, 0);
}

/* ---- a batch: into the log, then into the arrays ---- */

/* Another one, which lagged behind, may have taken keys for which this one was at its capacity. All
 * of them would pass the rate asked for. A FULL replica can do without what others bring: whatever
 * is acknowledged, W of them have from its router. */
static enum status judge(const struct document_entry *entry, const struct arrays *set,
                         const struct record_batch *batch)
{
    if (set == NULL || !arrays_ready(set)) {
        return STATUS_NOT_READY; /* A replay under way would not see it. */
    }
    if (!arrays_belongs(set, &entry->document, batch->group, batch->fingerprints, batch->count)) {
        return STATUS_INVALID;
    }
    return arrays_state(set, batch->group) == REPLICA_FULL &&
                   !hosted_fits(set, batch->group, batch->fingerprints, batch->count)
               ? STATUS_FULL
               : STATUS_OK;
}

/* Besides the first one, that was asked for. Each is asked for by its own name, too, so that one
 * which can't be taken now is not lost. */
static void choose_targets(struct exchange *self, const struct document_entry *entry,
                           struct record_batch *batch)
{
    uint32_t kept = 1;

    /* A record of a filter without key log is of one set. */
    for (uint32_t i = 1; i < batch->ntargets && !batch->bits; i++) {
        const struct record_target target = batch->targets[i];
        const struct arrays *set = hosted_find(entry->attachment, target.keyset, target.slice);

        if (live_sets_have(&entry->document, target.keyset, target.slice) &&
            judge(entry, set, batch) == STATUS_OK &&
            arrays_state(set, batch->group) >= REPLICA_JOINING && !has(self, entry, batch, i)) {
            batch->targets[kept++] = target;
        }
    }
    batch->ntargets = kept;
}

static void fill_targets(const struct document_entry *entry, const struct record_batch *batch)
{
    for (uint32_t i = 0; i < batch->ntargets; i++) {
        struct arrays *set = hosted_find(entry->attachment, batch->targets[i].keyset,
                                         batch->targets[i].slice);

        hosted_fill(set, &entry->document, batch->fingerprints, batch->count);
    }
}

/* Each set by its name: what was forgotten is not here, and does not come back. */
enum status node_absorb(struct exchange *self, struct document_entry *entry,
                        struct record_batch *batch)
{
    struct arrays *set;
    enum status status;
    uint64_t end;

    if (MUTANT(REBUILD_MERGE_ANY)) {
        batch->targets[0].keyset = live_sets_at(&entry->document, 0).keyset;
    }
    set = hosted_find(entry->attachment, batch->targets[0].keyset, batch->targets[0].slice);
    status = self->node.life->failed ? STATUS_NOT_READY : judge(entry, set, batch);
    assert(batch->ntargets > 0);
    if (status != STATUS_OK) {
        return status;
    }
    if (!live_sets_have(&entry->document, set->keyset, set->slice)) {
        return STATUS_INVALID;
    }
    batch->repaired = true;
    batch->bits = entry->document.keylog == KEYLOG_OFF;
    choose_targets(self, entry, batch);
    /* Into the log first: bits alone would be gone with the process. */
    status = MUTANT(SYNC_BITS_ONLY) ? STATUS_OK : storage_add(self->storage, batch, &end);
    if (status != STATUS_OK) {
        return status;
    }
    fill_targets(entry, batch);
    if (node_batch_named(batch)) {
        self->node.arrived(self->node.self, batch);
        node_note_batch(self, entry, batch);
    }
    return STATUS_OK;
}

/* ---- what an answer holds ---- */

/* A key of another slot group would be looked for elsewhere: whoever sends one is not to be
 * trusted with the rest. */
static bool belong(const struct filter_document *document, const struct pull_reply *reply)
{
    const uint16_t *group_of_shard = document->content.group_of_shard;
    bool all = true;

    for (size_t i = 0; i < reply->count; i++) {
        uint64_t shard = lines_shard_index(document->content.shard_bits, reply->fingerprints[i]);

        all &= group_of_shard[shard] == reply->scope.group;
    }
    return all;
}

static void count_keys(struct exchange *self, const struct pull *pull, uint64_t count)
{
    bool missed = pull->phase == PULL_PHASE_FETCH ||
                  (pull->catching_up && pull->phase == PULL_PHASE_LOG);
    enum node_counter counter = pull->purpose == PULL_SYNC ? NODE_sync_keys_total
                                : missed                   ? NODE_gossip_keys_missed_total
                                                           : NODE_gossip_keys_copied_total;

    self->node.counters[counter] += count;
}

/* Keys without the number of their batch may be those of an add that is still on its way here, and
 * whose "present" would be its own doing. */
static void doubt(struct exchange *self, uint64_t now_us)
{
    self->doubt_until_us = now_us + self->config.retry_memory_us;
}

bool node_pull_doubts(const struct exchange *self, uint64_t now_us)
{
    return now_us < self->doubt_until_us;
}

static enum status absorb(struct exchange *self, uint64_t now_us, struct document_entry *entry,
                          const struct pull *pull, struct record_batch *batch)
{
    enum status status;

    if (batch->count == 0) {
        return STATUS_OK;
    }
    status = node_absorb(self, entry, batch);
    if (status == STATUS_OK) {
        count_keys(self, pull, batch->count);
        if (!node_batch_named(batch)) {
            doubt(self, now_us);
        }
    }
    return status;
}

enum status node_pull_absorb(struct exchange *self, uint64_t now_us, struct document_entry *entry,
                             const struct pull_scope *scope, const uint64_t *fingerprints,
                             size_t count, size_t *done)
{
    const uint32_t most = self->node.steps->most[STEP_RECORD_KEYS];
    enum status status = STATUS_OK;

    *done = 0;
    while (*done < count && status == STATUS_OK) {
        size_t left = count - *done;
        struct record_batch batch = {
            .filter_id = scope->filter_id,
            .epoch = scope->epoch,
            .group = scope->group,
            .ntargets = 1,
            .targets = {{.slice = scope->slice, .keyset = scope->keyset}},
            .count = (uint32_t)(left < most ? left : most),
            .fingerprints = fingerprints + *done,
        };

        status = node_absorb(self, entry, &batch);
        *done += status == STATUS_OK ? batch.count : 0;
        if (left > most) {
            steps_again(self->node.steps, STEP_RECORD_KEYS);
        }
    }
    if (*done > 0) {
        doubt(self, now_us);
    }
    return status;
}

/* Take as much as the log accepts now; what is left is cut off the answer, and asked for again. */
static enum status absorb_runs(struct exchange *self, uint64_t now_us, struct document_entry *entry,
                               const struct pull *pull, struct pull_reply *reply)
{
    size_t done;
    enum status status = node_pull_absorb(self, now_us, entry, &pull->scope, reply->fingerprints,
                                          reply->count, &done);

    count_keys(self, pull, done);
    if (done > 0 && status != STATUS_OK) {
        reply->next = reply->fingerprints[done];
        reply->end = false;
    }
    return done > 0 ? STATUS_OK : status;
}

static enum status absorb_batches(struct exchange *self, uint64_t now_us,
                                  struct document_entry *entry, const struct pull *pull,
                                  struct pull_reply *reply)
{
    const uint64_t *fingerprints = reply->fingerprints;

    for (size_t i = 0; i < reply->nbatches; i++) {
        struct record_batch batch = node_batch_heard(&pull->scope, &reply->batches[i],
                                                     fingerprints);
        /* A SYNC is what acknowledged keys rest on: it goes by keys, not by what numbers say. */
        bool here = pull->purpose == PULL_DELTA && node_has_batch(self, entry, &batch);
        enum status status = here ? STATUS_OK : absorb(self, now_us, entry, pull, &batch);

        if (status != STATUS_OK) {
            reply->next = reply->batches[i].offset;
            reply->end = false;
            return reply->next > reply->from ? STATUS_OK : status;
        }
        fingerprints += batch.count;
    }
    return STATUS_OK;
}

static enum status take_lines(struct exchange *self, uint64_t now_us, struct document_entry *entry,
                              struct pull *pull, struct pull_reply *reply)
{
    uint64_t next = reply->next;
    enum status status = node_pull_take_lines(self, now_us, entry, reply);

    if (status == STATUS_OK) {
        pull_take(pull, now_us, reply, storage_end(self->storage));
        /* The own log took a part only, and needs a moment. */
        if (reply->next != next) {
            pull_pause(pull, now_us);
        }
    } else {
        self->node.counters[NODE_pull_mismatches_total] += status == STATUS_SHAPE;
    }
    return status;
}

enum status node_pull_take(struct exchange *self, uint64_t now_us, struct document_entry *entry,
                           struct pull *pull, const struct pull_reply *reply)
{
    struct pull_reply taken = *reply;
    enum status status;

    if (reply->kind == PULL_HEADERS) {
        return pull_take_headers(pull, now_us, reply, self->have);
    }
    if (reply->kind == PULL_DIGESTS) {
        return node_pull_take_digests(self, now_us, entry, pull, reply);
    }
    if (reply->kind == PULL_PAGES) {
        return take_lines(self, now_us, entry, pull, &taken);
    }
    if (!belong(&entry->document, reply)) {
        exchange_count(self, NODE_pull_mismatches_total);
        return STATUS_SHAPE;
    }
    status = reply->kind == PULL_RUNS ? absorb_runs(self, now_us, entry, pull, &taken)
                                      : absorb_batches(self, now_us, entry, pull, &taken);
    if (status == STATUS_OK) {
        /* What was skipped, being here already, lies below the end too. */
        pull_take(pull, now_us, &taken, storage_end(self->storage));
        if (taken.next != reply->next) {
            pull_pause(pull, now_us);
        }
    }
    return status;
}
