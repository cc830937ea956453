/* The answers of a comparison: digests compared with the own ones, what lacks here taken over. */
#include "base/heap.h"
#include "node/sync/exchange.h"

#include <string.h>

void node_repair_forget(struct node_repair *repair)
{
    heap_free(repair->words);
    repair->words = NULL;
    repair->answered = false;
    repair->absorbed = 0;
}

static const uint64_t *put(uint64_t **at, const uint64_t *words, size_t count)
{
    const uint64_t *begin = *at;

    if (count > 0) {
        memcpy(*at, words, count * sizeof *words);
    }
    *at += count;
    return begin;
}

/* The answer borrows from the frame that it came in; its fingerprints are with the view. */
enum status node_repair_keep(struct node_repair *repair, const struct pull_reply *reply)
{
    uint64_t *at;

    node_repair_forget(repair);
    repair->words = heap_alloc(reply->ndigests + reply->ncounts + 1, sizeof *repair->words);
    if (repair->words == NULL) {
        return STATUS_NOMEM;
    }
    at = repair->words;
    repair->reply = *reply;
    repair->reply.digests = put(&at, reply->digests, reply->ndigests);
    repair->reply.counts = put(&at, reply->counts, reply->ncounts);
    repair->reply.fingerprints = NULL;
    repair->answered = true;
    return STATUS_OK;
}

static enum status compare_roots(struct node_repair *repair)
{
    size_t count = repair->machine.shards.count;
    struct repair_root *own = heap_alloc(count + 1, sizeof *own);
    enum status status;

    if (own == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        struct run_digest_range range = storage_view_shard(repair->view, i);

        own[i] = (struct repair_root){.digest = run_digest_short(range), .count = range.count};
    }
    status = repair_take_roots(&repair->machine, &repair->reply, own);
    heap_free(own);
    return status;
}

static enum status compare_parts(struct node_repair *repair)
{
    uint64_t *own = heap_alloc(repair->reply.ndigests + 1, sizeof *own);
    struct pull_request question;
    enum status status = own != NULL ? STATUS_OK : STATUS_NOMEM;

    repair_question(&repair->machine, &question);
    for (size_t i = 0; i < question.nprefixes && status == STATUS_OK; i++) {
        struct run_digest_range parts[STORAGE_VIEW_PARTS];

        if (!storage_view_parts(repair->view, question.prefix_bits, question.prefixes[i], parts)) {
            status = STATUS_INTERNAL;
        }
        for (size_t k = 0; k < PULL_PARTS && status == STATUS_OK; k++) {
            own[i * PULL_PARTS + k] = run_digest_short(parts[k]);
        }
    }
    if (status == STATUS_OK) {
        status = repair_take_digests(&repair->machine, &repair->reply, own);
    }
    heap_free(own);
    return status;
}

static enum status absorb(struct exchange *self, uint64_t now_us, struct document_entry *entry)
{
    struct node_repair *repair = &self->repair;
    size_t count;
    const uint64_t *lacking = storage_view_keys(repair->view, &count);
    size_t done;
    enum status status = node_pull_absorb(self, now_us, entry, &repair->machine.scope,
                                          lacking + repair->absorbed, count - repair->absorbed,
                                          &done);

    repair->absorbed += done;
    repair->keys += done;
    self->node.counters[NODE_repair_keys_total] += done;
    if (done > 0) {
        repair->appended = storage_end(self->storage);
    }
    if (status == STATUS_OK) {
        repair_take_ranges(&repair->machine, &repair->reply);
    }
    return status;
}

enum status node_repair_compare(struct exchange *self, uint64_t now_us,
                                struct document_entry *entry)
{
    struct node_repair *repair = &self->repair;
    enum status status = STATUS_INTERNAL;

    switch (repair->machine.phase) {
    case REPAIR_ROOTS:
        status = compare_roots(repair);
        break;
    case REPAIR_NODES:
        status = compare_parts(repair);
        break;
    case REPAIR_RANGES:
        status = absorb(self, now_us, entry);
        break;
    case REPAIR_DONE:
        break;
    }
    return status;
}
