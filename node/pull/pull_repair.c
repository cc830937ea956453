/* Walks down the digests: ranges that differ are asked for in parts until they are small enough
 * to be told in full. */
#include "node/pull/pull_repair.h"

#include "base/heap.h"

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

/* ---- what is asked, and which answers fit ---- */

/* How many of the nodes the question is about. */
static size_t asked(const struct repair *self)
{
    size_t left = self->nodes.count - self->at;
    size_t most = self->phase == REPAIR_RANGES ? PULL_MAX_PREFIXES : PULL_MAX_PARENTS;

    return left < most ? left : most;
}

void repair_question(const struct repair *self, struct pull_request *out)
{
    assert(self->phase != REPAIR_DONE);
    *out = (struct pull_request){
        .kind = self->phase == REPAIR_RANGES ? PULL_RANGES : PULL_DIGESTS,
        .scope = self->scope,
        .source = self->source,
        .max_bytes = PULL_MAX_KEYS * sizeof(uint64_t),
    };
    if (self->phase == REPAIR_ROOTS) {
        return;
    }
    out->view = self->view;
    out->from = self->from;
    out->prefix_bits = self->bits;
    out->prefixes = self->nodes.prefixes + self->at;
    out->nprefixes = asked(self);
}

static uint64_t prefix_of(uint64_t fingerprint, uint32_t bits)
{
    /* In two steps, as a shift by 64, for no bits, is not defined. */
    return (fingerprint >> 1) >> (63 - bits);
}

/* Ascending, from where the question says, and nothing but what it asks for. */
static bool keys_asked_for(const struct repair *self, const struct pull_reply *reply)
{
    const uint64_t *prefixes = self->nodes.prefixes + self->at;
    size_t nprefixes = asked(self);
    size_t at = 0;

    for (size_t i = 0; i < reply->count; i++) {
        uint64_t fingerprint = reply->fingerprints[i];
        uint64_t prefix = prefix_of(fingerprint, self->bits);

        while (at < nprefixes && prefixes[at] < prefix) {
            at++;
        }
        if (at == nprefixes || prefixes[at] != prefix || fingerprint < self->from ||
            (i > 0 && fingerprint <= reply->fingerprints[i - 1])) {
            return false;
        }
    }
    return reply->end || (reply->count > 0 && reply->next > reply->fingerprints[reply->count - 1]);
}

static bool sensible(const struct repair *self, const struct pull_reply *reply)
{
    switch (self->phase) {
    case REPAIR_ROOTS:
        return reply->view != 0 && reply->view_end <= reply->durable &&
               reply->ndigests == self->shards.count && reply->ncounts == reply->ndigests;
    case REPAIR_NODES:
        return reply->ndigests == asked(self) * PULL_PARTS && reply->ncounts == 0;
    case REPAIR_RANGES:
        return keys_asked_for(self, reply);
    case REPAIR_DONE:
        break;
    }
    return false;
}

static bool answers(const struct repair *self, const struct pull_reply *reply)
{
    enum pull_kind kind = self->phase == REPAIR_RANGES ? PULL_RANGES : PULL_DIGESTS;

    /* In a view that was made anew equal digests of before say nothing. */
    return reply->kind == kind && reply->from == self->from &&
           pull_scope_equal(&self->scope, &reply->scope) &&
           (self->phase == REPAIR_ROOTS ||
            (reply->view == self->view && reply->view_end == self->view_end));
}

enum status repair_judge(const struct repair *self, const struct pull_reply *reply)
{
    if (reply->status != STATUS_OK) {
        return reply->status;
    }
    if (!answers(self, reply)) {
        return STATUS_SHAPE;
    }
    if (reply->source.node != self->source.node ||
        reply->source.incarnation != self->source.incarnation) {
        return STATUS_CONFLICT;
    }
    if (reply->state != REPLICA_FULL) {
        return STATUS_NOT_READY;
    }
    return sensible(self, reply) ? STATUS_OK : STATUS_MALFORMED;
}

/* ---- what answers tell ---- */

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
        /* Whole shards were found at several levels, and a question names prefixes in order. */
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
        /* Going down would end with asking for most of its leaves, one by one. */
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

    /* More nodes than there is memory for: the rest is sent whole. */
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
    size_t count = asked(self);
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
        /* The source has cut it off: the same question again, from there on. */
        self->from = reply->next;
        return;
    }
    self->at += asked(self);
    self->from = 0;
    if (self->at == self->nodes.count) {
        advance(self);
    }
}
