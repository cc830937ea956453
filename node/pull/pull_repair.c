/* Walks down the digests: ranges that differ are asked for in parts until they are small enough
 * to be told in full. */
#include "base/heap.h"
#include "node/pull/pull_repair_private.h"

#include <assert.h>
#include <stdlib.h>

static enum status push(struct repair_list *list, uint64_t prefix)
{
    if (!heap_grow(&list->prefixes, &list->capacity, list->count + 1, sizeof *list->prefixes)) {
        return STATUS_NOMEM;
    }
    list->prefixes[list->count++] = prefix;
    return STATUS_OK;
}

static void drop(struct repair_list *list)
{
    heap_free(list->prefixes);
    *list = (struct repair_list){0};
}

enum status repair_init(struct repair *self, const struct pull_scope *scope,
                        const struct member *source, uint32_t shard_bits,
                        const uint16_t *group_of_shard)
{
    enum status status = STATUS_OK;

    *self = (struct repair){.scope = *scope, .source = *source, .shard_bits = shard_bits};
    for (uint64_t i = 0; i < UINT64_C(1) << shard_bits && status == STATUS_OK; i++) {
        status = group_of_shard[i] == scope->group ? push(&self->shards, i) : STATUS_OK;
    }
    if (status != STATUS_OK) {
        repair_fini(self);
    }
    return status;
}

void repair_fini(struct repair *self)
{
    drop(&self->shards);
    drop(&self->nodes);
    drop(&self->below);
    drop(&self->copies);
}

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* The list under way is done: what is next? */
static void advance(struct repair *self)
{
    self->at = 0;
    self->from = 0;
    self->nodes.count = 0;
    if (self->below.count > 0) {
        struct repair_list nodes = self->nodes;

        self->nodes = self->below;
        self->below = nodes;
        self->phase = self->bits < self->leaf_bits ? REPAIR_NODES : REPAIR_RANGES;
    } else if (self->copies.count > 0) {
        struct repair_list nodes = self->nodes;

        self->nodes = self->copies;
        self->copies = nodes;
        qsort(self->nodes.prefixes, self->nodes.count, sizeof *self->nodes.prefixes, ascending);
        self->bits = self->shard_bits;
        self->phase = REPAIR_RANGES;
    } else {
        self->phase = REPAIR_DONE;
        return;
    }
    self->ranges += self->phase == REPAIR_RANGES ? self->nodes.count : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* So much more on one side that most ranges differ. */
static bool far_apart(uint64_t a, uint64_t b)
{
    uint64_t most = larger(a, b);

    return most > REPAIR_LEAF_KEYS && most - (a < b ? a : b) > most / REPAIR_CROWDED_PART;
}

static void choose_leaves(struct repair *self, uint64_t most)
{
    self->bits = self->shard_bits;
    self->leaf_bits = self->shard_bits;
    while (most > REPAIR_LEAF_KEYS && self->leaf_bits <= PULL_MAX_PARENT_BITS) {
        most /= PULL_PARTS;
        self->leaf_bits += PULL_PART_BITS;
    }
}

enum status repair_take_roots(struct repair *self, const struct pull_reply *reply,
                              const struct repair_root *own)
{
    enum status status = STATUS_OK;
    uint64_t most = 0;

    self->below.count = self->copies.count = 0;
    for (size_t i = 0; i < self->shards.count && status == STATUS_OK; i++) {
        if (own[i].digest == reply->digests[i] || reply->counts[i] == 0) {
            continue; /* Nothing to be had there. */
        }
        if (far_apart(own[i].count, reply->counts[i])) {
            status = push(&self->copies, self->shards.prefixes[i]);
        } else {
            status = push(&self->below, self->shards.prefixes[i]);
            most = larger(most, larger(own[i].count, reply->counts[i]));
        }
    }
    if (status != STATUS_OK) {
        return status;
    }
    self->round_trips++;
    self->view = reply->view;
    self->view_end = reply->view_end;
    choose_leaves(self, most);
    advance(self);
    return STATUS_OK;
}

static uint64_t shard_of(const struct repair *self, uint64_t prefix, uint32_t bits)
{
    return prefix >> (bits - self->shard_bits);
}

static bool is_copied(const struct repair *self, uint64_t shard)
{
    return self->copies.count > 0 && self->copies.prefixes[self->copies.count - 1] == shard;
}

/* Of `shard`, the last one that parts were pushed of: is it too much? */
static bool is_crowded(const struct repair *self, uint64_t shard, uint32_t bits)
{
    uint64_t most = (UINT64_C(1) << (bits - self->shard_bits)) / REPAIR_CROWDED_PART;
    size_t first = self->below.count;

    if (self->below.count >= REPAIR_MAX_NODES) {
        return true;
    }
    if (bits < self->leaf_bits || self->below.count <= most) {
        return false;
    }
    first -= (size_t)most + 1;
    return shard_of(self, self->below.prefixes[first], bits) == shard;
}

static void forget(struct repair *self, uint64_t shard, uint32_t bits)
{
    while (self->below.count > 0 &&
           shard_of(self, self->below.prefixes[self->below.count - 1], bits) == shard) {
        self->below.count--;
    }
}

static enum status compare_parts(struct repair *self, uint64_t node, const uint64_t *theirs,
                                 const uint64_t *own)
{
    uint32_t bits = self->bits + PULL_PART_BITS;
    uint64_t shard = shard_of(self, node, self->bits);

    for (uint64_t i = 0; i < PULL_PARTS && !is_copied(self, shard); i++) {
        enum status status;

        if (theirs[i] == own[i]) {
            continue;
        }
        status = push(&self->below, node << PULL_PART_BITS | i);
        if (status == STATUS_OK && is_crowded(self, shard, bits)) {
            status = push(&self->copies, shard);
            forget(self, shard, bits);
        }
        if (status != STATUS_OK) {
            return status;
        }
    }
    return STATUS_OK;
}

enum status repair_take_digests(struct repair *self, const struct pull_reply *reply,
                                const uint64_t *own)
{
    size_t count = repair_asked(self);
    enum status status = STATUS_OK;

    assert(self->phase == REPAIR_NODES);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = compare_parts(self, self->nodes.prefixes[self->at + i],
                               reply->digests + i * PULL_PARTS, own + i * PULL_PARTS);
    }
    if (status != STATUS_OK) {
        return status;
    }
    self->round_trips++;
    self->at += count;
    if (self->at == self->nodes.count) {
        self->bits += PULL_PART_BITS;
        advance(self);
    }
    return STATUS_OK;
}

void repair_take_ranges(struct repair *self, const struct pull_reply *reply)
{
    assert(self->phase == REPAIR_RANGES);
    self->round_trips++;
    if (!reply->end) {
        self->from = reply->next;
        return;
    }
    self->at += repair_asked(self);
    self->from = 0;
    if (self->at == self->nodes.count) {
        advance(self);
    }
}
