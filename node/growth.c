/* Which set does what next. */
#include "node/growth.h"

#include "base/heap.h"
#include "base/number.h"
#include "node/array/growth_layers.h"
#include "node/private.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static void give_back(struct growth_stretch *stretch)
{
    heap_free(stretch->keys);
    *stretch = (struct growth_stretch){0};
}

void node_growth_fini(struct node *self)
{
    give_back(&self->growth.current);
    give_back(&self->growth.coming);
    self->growth.taken = 0;
}

void node_growth_go(struct node *self, enum growth_event event)
{
    struct node_growth *growth = &self->growth;
    enum growth_phase before = growth->phase;

    assert(event != GROWTH_ON_BEGUN || before == GROWTH_REST); /* One span at a time. */
    growth->phase = growth_next(before, event);
    if (growth->phase != before) {
        log_line(LOG_DEBUG, "filter %016" PRIx64 ", shards %u to %u: %s", growth->filter_id,
                 growth->first, growth->end - 1, growth_phase_name(growth->phase));
    }
}

void node_growth_stir(struct node *self)
{
    self->growth.due = self->storage != NULL;
}

uint64_t node_growth_next_us(const struct node *self)
{
    const struct node_growth *growth = &self->growth;

    return growth->due && growth->resume_us != 0 ? growth->resume_us : ACTOR_NEVER;
}

void node_growth_account(struct node *self, const struct replica_set *set, uint64_t before)
{
    assert(before <= self->memory_used_bytes); /* All sets of the node are in it. */
    self->memory_used_bytes += set->bytes - before;
    self->counters[NODE_memory_used_bytes] = self->memory_used_bytes;
}

uint64_t node_growth_room(const struct node *self)
{
    uint64_t limit = self->config.memory_limit_bytes;

    return limit > self->memory_used_bytes ? limit - self->memory_used_bytes : 0;
}

/* ---- what is known of a set ---- */

static bool can_grow(const struct node *self, const struct document_entry *entry,
                     const struct replica_set *set)
{
    const struct hosted_filter *hosted = entry->attachment;

    return self->storage != NULL && hosted != NULL && set != NULL && !entry->conflict &&
           document_logs_keys(&entry->document) && replica_set_built(set) && replica_set_ready(set);
}

/* Is it for all that is here? One that is for no less than what serves is no worse in any case: a
 * replica that took over what others had may hold more than either. */
static bool holds(const struct replica_set *set, const struct generation *generation)
{
    if (generation->capacity >= replica_set_base(set)->generation.capacity) {
        return true;
    }
    for (uint32_t i = 0; i < set->ngroups; i++) {
        const struct replica_group *group = &set->groups[i];

        if (group->hosted &&
            group->keys > layer_share(generation->capacity, group->nshards, set->nshards)) {
            return false;
        }
    }
    return true;
}

bool node_growth_presses(const struct replica_set *set, const struct filter_document *document,
                         uint32_t number)
{
    const struct layer *from = replica_set_base(set);
    const struct generation *to = set->growth != NULL ? &set->layers[1]->generation
                                                      : document_generation(document);
    const struct replica_group *group = &set->groups[number];

    return group->hosted && !document_is_chain(document) && to->id != from->generation.id &&
           to->capacity > from->generation.capacity &&
           growth_is_near(group->keys, layer_capacity(from, group->nshards));
}

static bool any_pressing(const struct replica_set *set, const struct filter_document *document)
{
    bool any = false;

    for (uint32_t i = 0; i < set->ngroups; i++) {
        any = any || node_growth_presses(set, document, i);
    }
    return any;
}

/* What sets that have begun will take more before they end. */
static uint64_t promised(const struct node *self, const struct replica_set *but)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < self->documents.count; i++) {
        const struct hosted_filter *hosted = self->documents.by_id[i]->attachment;
        const struct replica_set *set = hosted != NULL ? hosted->set : NULL;

        for (; set != NULL; set = set->next) {
            if (set != but && set->growth != NULL && layer_bytes(set->layers[1]) > set->bytes) {
                sum += layer_bytes(set->layers[1]) - set->bytes;
            }
        }
    }
    return sum;
}

/* At most: the new arrays, beside the last of the old ones, or the first of them beside all. */
static uint64_t needed(const struct replica_set *set, const struct generation *wanted)
{
    const struct layer *from = replica_set_base(set);
    uint64_t shard = lines_shard_bytes(&wanted->geometry);
    uint64_t all = shard * from->nhosted;
    uint64_t grown = all > layer_bytes(from) ? all - layer_bytes(from) + from->shard_bytes : 0;

    return grown > shard ? grown : shard;
}

static bool has_room(const struct node *self, const struct replica_set *set,
                     const struct filter_document *document)
{
    uint64_t room = node_growth_room(self);

    if (set->growth != NULL) {
        return node_span_bytes(set) <= room;
    }
    return needed(set, document_generation(document)) + promised(self, set) <= room;
}

struct replica_set *node_growth_set(const struct node *self, const struct document_entry *entry)
{
    struct replica_set *set = self->growth.phase != GROWTH_REST &&
                                      self->growth.filter_id == entry->document.id
                                  ? hosted_find_hosting(entry->attachment, self->growth.hosting)
                                  : NULL;

    return set != NULL && set->growth != NULL ? set : NULL;
}

static void see(const struct node *self, const struct document_entry *entry,
                const struct replica_set *set, struct growth_sight *sight)
{
    const struct filter_document *document = &entry->document;
    const struct generation *wanted = document_generation(document);

    *sight = (struct growth_sight){.ready = can_grow(self, entry, set), .wanted = wanted->id};
    if (!sight->ready) {
        return;
    }
    sight->from = replica_set_base(set)->generation.id;
    sight->has_turn = document_has_turn(document, self->life.id);
    sight->pressing = any_pressing(set, document);
    sight->refused = set->growth_refused == document->revision;
    sight->in_span = node_growth_set(self, entry) == set;
    if (set->growth != NULL) {
        sight->to = set->layers[1]->generation.id;
        sight->fits_to = holds(set, &set->layers[1]->generation);
        sight->served = set->growth->ngrown > 0;
        sight->all_served = set->growth->ngrown == set->layers[1]->nhosted;
        sight->open = set->growth->nopen > 0;
    }
    sight->fits_wanted = holds(set, wanted);
    sight->has_room = has_room(self, set, document);
}

/* ---- what is done ---- */

const char *node_growth_slice(const struct replica_set *set, char text[NODE_SLICE_BYTES])
{
    text[0] = '\0';
    if (set->slice != 0) {
        (void)snprintf(text, NODE_SLICE_BYTES, ", slice %" PRIu64, set->slice);
    }
    return text;
}

static void say_small(const struct document_entry *entry, const struct replica_set *set)
{
    char slice[NODE_SLICE_BYTES];

    log_line(
        LOG_ERROR,
        "filter %s%s: this node holds more keys than the wanted generation %u is for, and stays "
        "with the one it has; want one of more than %" PRIu64 " keys",
        entry->document.content.name, node_growth_slice(set, slice),
        document_generation(&entry->document)->id, document_generation(&entry->document)->capacity);
}

static void say_no_room(const struct node *self, const struct document_entry *entry,
                        const struct replica_set *set)
{
    char slice[NODE_SLICE_BYTES];
    char need[NUMBER_TEXT_BYTES];
    char used[NUMBER_TEXT_BYTES];
    char limit[NUMBER_TEXT_BYTES];
    uint64_t bytes = set->growth != NULL ? node_span_bytes(set)
                                         : needed(set, document_generation(&entry->document));

    log_line(
        LOG_ERROR,
        "filter %s%s can't grow here: that takes %s more, and %s of memory_limit %s are in use; "
        "raise memory_limit or drop filters. What is there serves",
        entry->document.content.name, node_growth_slice(set, slice), number_show_bytes(bytes, need),
        number_show_bytes(self->memory_used_bytes, used),
        number_show_bytes(self->config.memory_limit_bytes, limit));
}

static void say(const struct node *self, const struct document_entry *entry,
                struct replica_set *set, enum growth_move move)
{
    if (set->growth_said == move) {
        return;
    }
    set->growth_said = move;
    if (move == MOVE_STAY_SMALL) {
        say_small(entry, set);
    } else if (move == MOVE_STAY_ROOM) {
        say_no_room(self, entry, set);
    }
}

static bool begin(struct node *self, struct document_entry *entry, struct replica_set *set)
{
    const struct generation *wanted = document_generation(&entry->document);
    char slice[NODE_SLICE_BYTES];

    if (growth_layers_begin(set, &entry->document, wanted) != STATUS_OK) {
        say(self, entry, set, MOVE_STAY_ROOM);
        return false;
    }
    log_line(LOG_INFO, "filter %s%s: builds generation %u, for %" PRIu64 " keys, beside %u",
             entry->document.content.name, node_growth_slice(set, slice), wanted->id,
             wanted->capacity, replica_set_base(set)->generation.id);
    return true;
}

static void finish(struct node *self, struct document_entry *entry, struct replica_set *set)
{
    uint64_t before = set->bytes;
    char slice[NODE_SLICE_BYTES];

    growth_layers_finish(set);
    node_growth_account(self, set, before);
    self->life.changed = true;
    log_line(LOG_INFO, "filter %s%s: generation %u serves all that is here",
             entry->document.content.name, node_growth_slice(set, slice),
             replica_set_base(set)->generation.id);
}

static void go_back(struct node *self, struct document_entry *entry, struct replica_set *set,
                    enum growth_move move)
{
    char slice[NODE_SLICE_BYTES];
    uint64_t before;

    if (node_growth_set(self, entry) == set) {
        node_span_end(self, set);
    }
    before = set->bytes;
    log_line(LOG_INFO, "filter %s%s: generation %u is not wanted any more",
             entry->document.content.name, node_growth_slice(set, slice),
             set->layers[1]->generation.id);
    if (move == MOVE_TURN) {
        growth_layers_turn(set, &entry->document);
    } else {
        growth_layers_drop(set);
    }
    node_growth_account(self, set, before);
    self->life.changed = true;
}

/* Nearly always. */
static bool has_nothing_to_do(const struct document_entry *entry, const struct replica_set *set)
{
    return set->growth == NULL &&
           (document_is_chain(&entry->document) ||
            replica_set_base(set)->generation.id == document_generation(&entry->document)->id);
}

/* Of the sets that may go on, the one that does. */
struct candidate {
    struct document_entry *entry; /* NULL: none */
    struct replica_set *set;
    struct growth_urgency urgency;
};

static void propose(struct candidate *best, struct document_entry *entry, struct replica_set *set,
                    bool pressing)
{
    const struct growth_urgency urgency = {.pressing = pressing,
                                           .bytes = layer_bytes(set->layers[1])};

    if (best->entry == NULL || growth_goes_first(&urgency, &best->urgency)) {
        *best = (struct candidate){.entry = entry, .set = set, .urgency = urgency};
    }
}

/* True: something was done, and more may be. */
static bool act(struct node *self, struct document_entry *entry, struct replica_set *set,
                struct candidate *next)
{
    struct growth_sight sight;
    enum growth_move move;

    if (has_nothing_to_do(entry, set)) {
        return false;
    }
    see(self, entry, set, &sight);
    move = growth_decide(&sight);
    if (sight.ready) {
        say(self, entry, set, move);
    }
    switch (move) {
    case MOVE_BEGIN:
        return begin(self, entry, set);
    case MOVE_GO_ON:
        propose(next, entry, set, sight.pressing);
        return false;
    case MOVE_FINISH:
        finish(self, entry, set);
        return true;
    case MOVE_TURN:
    case MOVE_DROP:
        go_back(self, entry, set, move);
        return true;
    case MOVE_STAY:
    case MOVE_STAY_SMALL:
    case MOVE_STAY_ROOM:
        break;
    }
    return false;
}

/* Arrays for the valve, ahead of when it is needed. Without them adds are refused as ever. */
static bool stand_ahead(struct node *self, const struct document_entry *entry,
                        struct replica_set *set)
{
    if (set->growth == NULL || self->growth.phase == GROWTH_STANDING) {
        return false;
    }
    for (uint32_t i = 0; i < set->ngroups; i++) {
        if (node_growth_presses(set, &entry->document, i) &&
            node_span_stand(self, &entry->document, set, 0, set->nshards, i) == STAND_SOME) {
            return true;
        }
    }
    return false;
}

/* Each set grows by itself, one after the other. */
static bool act_on_sets(struct node *self, struct document_entry *entry, struct candidate *next)
{
    const struct hosted_filter *hosted = entry->attachment;
    struct replica_set *set = hosted != NULL ? hosted->set : NULL;
    bool more = false;

    for (; set != NULL; set = set->next) {
        more = act(self, entry, set, next) || more;
        more = stand_ahead(self, entry, set) || more;
    }
    return more;
}

/* Its set may be another one by now, or gone. */
static struct document_entry *spanning(struct node *self)
{
    struct document_entry *entry;

    if (self->growth.phase == GROWTH_REST) {
        return NULL;
    }
    entry = document_cache_find(&self->documents, self->growth.filter_id);
    if (entry == NULL || !can_grow(self, entry, node_growth_set(self, entry))) {
        node_span_end(self, NULL);
        return NULL;
    }
    return entry;
}

bool node_grow(struct node *self, uint64_t now_us)
{
    struct node_growth *growth = &self->growth;
    struct candidate next = {0};
    struct document_entry *entry;
    bool more = false;

    if (!growth->due || self->life.recovering || self->life.failed) {
        return false;
    }
    for (size_t i = 0; i < self->documents.count; i++) {
        more = act_on_sets(self, self->documents.by_id[i], &next) || more;
    }
    if (growth->phase == GROWTH_REST && next.entry != NULL) {
        node_span_begin(self, next.entry, next.set);
        more = true;
    }
    entry = spanning(self);
    if (entry != NULL && growth->resume_us <= now_us) {
        growth->resume_us = 0;
        more = node_span_step(self, now_us, entry) || more;
    }
    growth->due = more || growth->phase != GROWTH_REST;
    if (!growth->due && growth->current.capacity + growth->coming.capacity > 0) {
        node_growth_fini(self); /* It may not be needed for long, nor what reading has left. */
        heap_trim();
    }
    return more;
}
