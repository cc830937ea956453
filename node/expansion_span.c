/* A span: some shards of one set, on their way to the new layer together. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/array/expansion_layers.h"
#include "node/private.h"

#include <assert.h>

enum {
    SPANS = 32,            /* of a large set, about */
    TOUCH_BYTES = 1 << 20, /* 256 pages, half a millisecond */
    MOST_WRONGS = 3,
};

/* ---- which shards ---- */

/* Hosted here, and not served from the new layer yet. */
static bool is_left(const struct arrays *set, uint32_t shard)
{
    return expansion_layers_hosts(set, shard) && !expansion_layers_serves(set, shard);
}

static uint32_t next_left(const struct arrays *set, uint32_t from, uint32_t end)
{
    while (from < end && !is_left(set, from)) {
        from++;
    }
    return from;
}

/* For each span the log is written, its end read, and both wait their turn: those of a small set
 * would take longer to wait than to fill. */
static uint64_t span_shards(const struct node *self, const struct arrays *set)
{
    uint64_t share = set->layers[0]->nhosted / SPANS;
    uint64_t small = (uint64_t)self->steps.most[STEP_SPAN_LINES] * LINE_BYTES /
                     set->layers[1]->shard_bytes;
    uint64_t most = small > share ? small : share;

    return most > 0 ? most : 1;
}

/* Fewer where memory is short, down to one. */
static uint32_t span_end(const struct node *self, const struct arrays *set, uint32_t first)
{
    uint64_t room = node_expansion_room(self) / set->layers[1]->shard_bytes;
    uint64_t wanted = span_shards(self, set);
    uint64_t most = room < wanted ? room : wanted;
    uint32_t end = first + 1;

    for (uint32_t count = 1; end < set->nshards && count < most; end++) {
        count += is_left(set, end);
    }
    return end;
}

uint64_t node_span_bytes(const struct arrays *set)
{
    uint32_t first = next_left(set, 0, set->nshards);

    return first < set->nshards && !expansion_layers_stands(set, first)
               ? set->layers[1]->shard_bytes
               : 0;
}

/* ---- beginning and ending ---- */

void node_span_begin(struct node *self, struct document_entry *entry, const struct arrays *set)
{
    struct node_expansion *expansion = &self->expansion;

    expansion->filter_id = entry->document.id;
    expansion->hosting = set->hosting;
    expansion->first = next_left(set, 0, set->nshards);
    assert(expansion->first < set->nshards); /* Else the set would be done. */
    expansion->end = span_end(self, set, expansion->first);
    expansion->wrongs = 0;
    node_expansion_go(self, EXPANSION_ON_BEGUN);
}

/* So that they begin from nothing; behind an open valve they can't. */
static void unstand(struct node *self, struct arrays *set)
{
    const struct node_expansion *expansion = &self->expansion;
    uint64_t before = set->bytes;

    for (uint32_t shard = expansion->first; shard < expansion->end; shard++) {
        bool stands = set->expansion->reserved == shard || expansion_layers_stands(set, shard);

        if (stands && !expansion_layers_is_open(set, shard)) {
            expansion_layers_unstand(set, shard);
        }
    }
    node_expansion_account(self, set, before);
}

void node_span_end(struct node *self, struct arrays *set)
{
    if (set != NULL && set->expansion != NULL) {
        unstand(self, set);
    }
    node_expansion_read_stop(self);
    node_expansion_go(self, EXPANSION_ON_GONE);
}

/* ---- arrays that stand ---- */

static void populate(struct job *job)
{
    struct expansion_pages *self = (struct expansion_pages *)job;

    heap_pages_populate(self->pages, self->bytes);
}

static void populated(struct job *job, uint64_t now_us)
{
    struct expansion_pages *self = (struct expansion_pages *)job;

    (void)now_us;
    self->coming = false;
    self->node->expansion.due = true;
}

/* False: they are had at once. */
static bool ask_for_pages(struct node *self, const struct arrays *set, uint32_t shard)
{
    const struct layer *layer = set->layers[1];

    if (!self->effects.slow_pages) {
        return false;
    }
    self->expansion.pages = (struct expansion_pages){
        .job = {.run = populate, .done = populated},
        .node = self,
        .pages = layer->shards[shard],
        .bytes = layer->shard_bytes,
        .coming = true,
    };
    self->effects.submit(self->effects.context, JOB_MEMORY, &self->expansion.pages.job);
    return true;
}

enum expansion_stand node_span_stand(struct node *self, const struct filter_document *document,
                                     struct arrays *set, uint32_t first, uint32_t end,
                                     uint32_t group)
{
    uint64_t before = set->bytes;
    uint32_t shard = first;

    if (self->expansion.pages.coming) {
        return STAND_LATER;
    }
    if (set->expansion->reserved == DOCUMENT_MAX_SHARDS) {
        while (shard < end && (!is_left(set, shard) || expansion_layers_stands(set, shard) ||
                               (group != EXPANSION_ANY_GROUP &&
                                document->content.group_of_shard[shard] != group))) {
            shard++;
        }
        if (shard >= end) {
            return STAND_ALL;
        }
        if (set->layers[1]->shard_bytes > node_expansion_room(self)) {
            return STAND_NO_ROOM;
        }
        expansion_layers_reserve(set, shard);
        node_expansion_account(self, set, before);
        if (ask_for_pages(self, set, shard)) {
            return STAND_LATER;
        }
    }
    (void)expansion_layers_touch(set, TOUCH_BYTES);
    return STAND_SOME;
}

/* From here on both arrays get everything; what came before is below the end of the log. */
static bool stand(struct node *self, const struct document_entry *entry)
{
    struct node_expansion *expansion = &self->expansion;
    struct arrays *set = node_expansion_set(self, entry);

    switch (node_span_stand(self, &entry->document, set, expansion->first, expansion->end,
                            EXPANSION_ANY_GROUP)) {
    case STAND_SOME:
        return true;
    case STAND_LATER:
        return false;
    case STAND_NO_ROOM:
        node_span_end(self, set);
        return true;
    case STAND_ALL:
        break;
    }
    expansion->cut = MUTANT(GROW_DURABLE_ONLY) ? storage_synced(self->storage)
                                               : storage_end(self->storage);
    node_expansion_go(self, EXPANSION_ON_DONE);
    return true;
}

static bool await(struct node *self)
{
    struct node_expansion *expansion = &self->expansion;

    if (storage_written(self->storage) < expansion->cut) {
        return false;
    }
    node_expansion_go(self, EXPANSION_ON_DONE);
    node_expansion_read_begin(self);
    return true;
}

/* ---- filled and checked ---- */

static void give_up(struct node *self, const struct document_entry *entry)
{
    struct arrays *set = node_expansion_set(self, entry);
    char slice[NODE_SLICE_BYTES];

    log_line(
        LOG_ERROR,
        "filter %s%s: new arrays for shards %u to %u came out wrong %d times and are given up; "
        "the old ones serve. Check this machine's memory, then restart this node",
        entry->document.content.name, node_expansion_slice(set, slice), self->expansion.first,
        self->expansion.end - 1, MOST_WRONGS);
    set->growth_refused = entry->document.revision;
    node_span_end(self, set);
}

static void found_wrong(struct node *self, const struct document_entry *entry, const char *what)
{
    struct node_expansion *expansion = &self->expansion;
    struct arrays *set = node_expansion_set(self, entry);
    char slice[NODE_SLICE_BYTES];

    node_count(self, NODE_growth_verify_failures_total);
    log_line(LOG_ERROR,
             "filter %s%s: the new arrays of shards %u to %u are wrong, %s; they are built again, "
             "and the old ones serve meanwhile",
             entry->document.content.name, node_expansion_slice(set, slice), expansion->first,
             expansion->end - 1, what);
    if (++expansion->wrongs == MOST_WRONGS) {
        give_up(self, entry);
        return;
    }
    unstand(self, set);
    node_expansion_read_stop(self);
    node_expansion_go(self, EXPANSION_ON_WRONG);
}

static void read_on(struct node *self)
{
    struct node_expansion *expansion = &self->expansion;

    node_expansion_go(self, EXPANSION_ON_DONE);
    expansion->at = expansion->first;
    if (expansion_reads(expansion->phase)) {
        node_expansion_read_begin(self);
    }
}

static bool is_throttled(struct node *self, uint64_t now_us)
{
    struct node_expansion *expansion = &self->expansion;
    uint64_t served = self->counters[NODE_keys_checked_total] +
                      self->counters[NODE_keys_added_total];
    uint64_t ready_us;

    if (self->config.growth_rate == 0) {
        return false;
    }
    ready_us = expansion_throttle_ready_us(&expansion->throttle, now_us, served,
                                           self->config.growth_rate);
    if (ready_us <= now_us) {
        return false;
    }
    expansion->resume_us = ready_us;
    return true;
}

/* How many keys to work on before requests have their turn. */
static size_t slice_keys(const struct node *self)
{
    const uint32_t step = self->steps.most[STEP_WORK_KEYS];
    uint64_t most = self->config.growth_rate > 0
                        ? expansion_throttle_most(&self->expansion.throttle)
                        : step;

    return most < step ? (size_t)most : step;
}

static bool work_on_keys(struct node *self, uint64_t now_us, const struct document_entry *entry)
{
    struct node_expansion *expansion = &self->expansion;
    struct arrays *set = node_expansion_set(self, entry);
    const uint64_t *keys;
    size_t count;
    bool end;

    if (is_throttled(self, now_us)) {
        return false;
    }
    keys = node_expansion_read_some(self, now_us, entry, slice_keys(self), &count, &end);
    if (end) {
        read_on(self);
        return true;
    }
    if (keys == NULL) {
        return !expansion->reading && expansion->resume_us == 0;
    }
    if (self->config.growth_rate > 0) {
        expansion_throttle_take(&expansion->throttle, now_us, count);
    }
    if (expansion->taken < expansion->current.count) {
        steps_again(&self->steps, STEP_WORK_KEYS);
    }
    self->counters[NODE_growth_keys_total] += count;
    if (!expansion_checks(expansion->phase)) {
        expansion_bits_backfill(set, keys, (uint32_t)count);
    } else if (expansion_bits_missing(set, keys, (uint32_t)count) > 0) {
        found_wrong(self, entry, "as they lack keys of the log");
    }
    return true;
}

/* ---- weighed, and in service ---- */

static bool weigh(struct node *self, const struct document_entry *entry)
{
    struct node_expansion *expansion = &self->expansion;
    struct arrays *set = node_expansion_set(self, entry);

    expansion->at = next_left(set, expansion->at, expansion->end);
    if (expansion->at == expansion->end) {
        expansion->at = expansion->first;
        node_expansion_go(self, EXPANSION_ON_DONE);
    } else if (expansion_bits_plausible(set, expansion->at)) {
        expansion->at++;
    } else {
        found_wrong(self, entry, "as so many keys can't have set so many bits");
    }
    return true;
}

static bool serve(struct node *self, const struct document_entry *entry)
{
    struct node_expansion *expansion = &self->expansion;
    struct arrays *set = node_expansion_set(self, entry);
    uint64_t before = set->bytes;

    expansion->at = next_left(set, expansion->at, expansion->end);
    if (expansion->at == expansion->end) {
        if (next_left(set, expansion->end, set->nshards) < set->nshards) {
            steps_again(&self->steps, STEP_SPAN_LINES);
        }
        node_expansion_read_stop(self);
        node_expansion_go(self, EXPANSION_ON_DONE);
        return true;
    }
    /* Coordinators wait for groups. */
    self->life.changed = expansion_layers_serve(set, &entry->document, expansion->at) ||
                         self->life.changed;
    node_expansion_account(self, set, before);
    node_count(self, NODE_growth_shards_total);
    return true;
}

bool node_span_step(struct node *self, uint64_t now_us, struct document_entry *entry)
{
    switch (self->expansion.phase) {
    case EXPANSION_STANDING:
        return stand(self, entry);
    case EXPANSION_AWAITING:
        return await(self);
    case EXPANSION_FILL_RUNS:
    case EXPANSION_FILL_LOG:
    case EXPANSION_CHECK_RUNS:
    case EXPANSION_CHECK_LOG:
        return work_on_keys(self, now_us, entry);
    case EXPANSION_WEIGHING:
        return weigh(self, entry);
    case EXPANSION_SERVING:
        return serve(self, entry);
    case EXPANSION_REST:
    case EXPANSION_NPHASES:
        break;
    }
    return false;
}
