/* A span: some shards of one set, on their way to the new layer together. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/array/expansion_layers.h"
#include "node/private.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum {
    SPANS = 32,            /* of a large set, about */
    TOUCH_BYTES = 1 << 20, /* 256 pages, half a millisecond */
    MOST_WRONGS = 3,
    LEAST_KEYS = 4096,     /* read at once, more than a span should have */
    PATIENCE_US = 1000000, /* after reading has failed */
};

/* ---- the one under way, and what is known of its set ---- */

void node_expansion_account(struct node *self, const struct arrays *set, uint64_t before)
{
    assert(before <= self->memory_used_bytes); /* All sets of the node are in it. */
    self->memory_used_bytes += set->bytes - before;
    self->counters[NODE_memory_used_bytes] = self->memory_used_bytes;
}

uint64_t node_expansion_room(const struct node *self)
{
    uint64_t limit = self->config.memory_limit_bytes;

    return limit > self->memory_used_bytes ? limit - self->memory_used_bytes : 0;
}

struct arrays *node_expansion_set(const struct node *self, const struct document_entry *entry)
{
    struct arrays *set = self->expansion.phase != EXPANSION_REST &&
                                 self->expansion.filter_id == entry->document.id
                             ? hosted_find_hosting(entry->attachment, self->expansion.hosting)
                             : NULL;

    return set != NULL && set->expansion != NULL ? set : NULL;
}

const char *node_expansion_slice(const struct arrays *set, char text[NODE_SLICE_BYTES])
{
    text[0] = '\0';
    if (set->slice != 0) {
        (void)snprintf(text, NODE_SLICE_BYTES, ", slice %" PRIu64, set->slice);
    }
    return text;
}

/* The span under way goes to its next phase, which is logged (debug). */
static void go(struct node *self, enum expansion_event event)
{
    struct node_expansion *expansion = &self->expansion;
    enum expansion_phase before = expansion->phase;

    assert(event != EXPANSION_ON_BEGUN || before == EXPANSION_REST); /* One span at a time. */
    expansion->phase = expansion_next(before, event);
    if (expansion->phase != before) {
        log_line(LOG_DEBUG, "filter %016" PRIx64 ", shards %u to %u: %s", expansion->filter_id,
                 expansion->first, expansion->end - 1, expansion_phase_name(expansion->phase));
    }
}

static void give_back(struct expansion_stretch *stretch)
{
    heap_free(stretch->keys);
    *stretch = (struct expansion_stretch){0};
}

void node_expansion_fini(struct node *self)
{
    give_back(&self->expansion.current);
    give_back(&self->expansion.coming);
    self->expansion.taken = 0;
}

/* ---- what it is filled and checked with ----
 *
 * Sorted runs of its shards, then the log where it is in no run. The next stretch is read while one
 * is worked on. */

/* A pass under way, too, is of no use any more. */
static void stop_reading(struct node *self)
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

static void begin_reading(struct node *self)
{
    struct node_expansion *expansion = &self->expansion;
    const struct document_entry *entry = document_cache_find(&self->documents,
                                                             expansion->filter_id);
    uint32_t bits = entry->document.content.shard_bits;

    stop_reading(self);
    expansion->read_all = false;
    if (expansion_reads_log(expansion->phase)) {
        expansion->from = expansion->merged;
    } else {
        expansion->from = first_of(expansion->first, bits);
        expansion->merged = UINT64_MAX;
    }
}

/* ---- ... an answer ---- */

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
    go(self, EXPANSION_ON_STALE);
    begin_reading(self);
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

/* ---- ... a question ---- */

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
    /* Its memory is for the next stretch. */
    expansion->coming = done;
    expansion->coming.count = 0;
}

/* Keys to work on now; *end: the pass has come to its end. NULL: wait. */
static const uint64_t *read_some(struct node *self, uint64_t now_us,
                                 const struct document_entry *entry, size_t most, size_t *count,
                                 bool *end)
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
    go(self, EXPANSION_ON_BEGUN);
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
    stop_reading(self);
    go(self, EXPANSION_ON_GONE);
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
    /* To the very end: what is not durable yet went to the old array alone, too. */
    expansion->cut = MUTANT(GROW_DURABLE_ONLY) ? storage_synced(self->storage)
                                               : storage_end(self->storage);
    go(self, EXPANSION_ON_DONE);
    return true;
}

static bool await(struct node *self)
{
    struct node_expansion *expansion = &self->expansion;

    if (storage_written(self->storage) < expansion->cut) {
        return false;
    }
    go(self, EXPANSION_ON_DONE);
    begin_reading(self);
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
    set->expansion_refused = entry->document.revision;
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
    stop_reading(self);
    go(self, EXPANSION_ON_WRONG);
}

static void read_on(struct node *self)
{
    struct node_expansion *expansion = &self->expansion;

    go(self, EXPANSION_ON_DONE);
    expansion->at = expansion->first;
    if (expansion_reads(expansion->phase)) {
        begin_reading(self);
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
    keys = read_some(self, now_us, entry, slice_keys(self), &count, &end);
    if (end) {
        read_on(self);
        return true;
    }
    if (keys == NULL) {
        /* A read that failed has said when to go on. */
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
        go(self, EXPANSION_ON_DONE);
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
        stop_reading(self);
        go(self, EXPANSION_ON_DONE);
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
