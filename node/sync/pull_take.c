/* Taking over what another node has answered: into the log first, then into the arrays. */
#include "node/sync/exchange.h"

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
