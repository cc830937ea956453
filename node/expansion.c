/* Which set does what next. */
#include "node/expansion.h"

#include "base/heap.h"
#include "base/number.h"
#include "node/array/expansion_layers.h"
#include "node/private.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

void node_expansion_stir(struct node *self)
{
    self->expansion.due = self->storage != NULL;
}

uint64_t node_expansion_next_us(const struct node *self)
{
    const struct node_expansion *expansion = &self->expansion;

    return expansion->due && expansion->resume_us != 0 ? expansion->resume_us : ACTOR_NEVER;
}

/* ---- what is known of a set ---- */

static bool can_grow(const struct node *self, const struct document_entry *entry,
                     const struct arrays *set)
{
    const struct hosted_filter *hosted = entry->attachment;

    return self->storage != NULL && hosted != NULL && set != NULL && !entry->conflict &&
           document_logs_keys(&entry->document) && arrays_built(set) && arrays_ready(set);
}

/* Is it for all that is here? One that is for no less than what serves is no worse in any case: a
 * replica that took over what others had may hold more than either. */
static bool holds(const struct arrays *set, const struct generation *generation)
{
    if (generation->capacity >= arrays_base(set)->generation.capacity) {
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

bool node_expansion_presses(const struct arrays *set, const struct filter_document *document,
                            uint32_t number)
{
    const struct layer *from = arrays_base(set);
    const struct generation *to = set->expansion != NULL ? &set->layers[1]->generation
                                                         : document_generation(document);
    const struct replica_group *group = &set->groups[number];

    return group->hosted && !document_is_chain(document) && to->id != from->generation.id &&
           to->capacity > from->generation.capacity &&
           expansion_is_near(group->keys, layer_capacity(from, group->nshards));
}

static bool any_pressing(const struct arrays *set, const struct filter_document *document)
{
    bool any = false;

    for (uint32_t i = 0; i < set->ngroups; i++) {
        any = any || node_expansion_presses(set, document, i);
    }
    return any;
}

/* What sets that have begun will take more before they end. */
static uint64_t promised(const struct node *self, const struct arrays *but)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < self->documents.count; i++) {
        const struct hosted_filter *hosted = self->documents.by_id[i]->attachment;
        const struct arrays *set = hosted != NULL ? hosted->set : NULL;

        for (; set != NULL; set = set->next) {
            if (set != but && set->expansion != NULL && layer_bytes(set->layers[1]) > set->bytes) {
                sum += layer_bytes(set->layers[1]) - set->bytes;
            }
        }
    }
    return sum;
}

/* At most: the new arrays, beside the last of the old ones, or the first of them beside all. */
static uint64_t needed(const struct arrays *set, const struct generation *wanted)
{
    const struct layer *from = arrays_base(set);
    uint64_t shard = lines_shard_bytes(&wanted->geometry);
    uint64_t all = shard * from->nhosted;
    uint64_t grown = all > layer_bytes(from) ? all - layer_bytes(from) + from->shard_bytes : 0;

    return grown > shard ? grown : shard;
}

static bool has_room(const struct node *self, const struct arrays *set,
                     const struct filter_document *document)
{
    uint64_t room = node_expansion_room(self);

    if (set->expansion != NULL) {
        return node_span_bytes(set) <= room;
    }
    return needed(set, document_generation(document)) + promised(self, set) <= room;
}

static void see(const struct node *self, const struct document_entry *entry,
                const struct arrays *set, struct expansion_sight *sight)
{
    const struct filter_document *document = &entry->document;
    const struct generation *wanted = document_generation(document);

    *sight = (struct expansion_sight){.ready = can_grow(self, entry, set), .wanted = wanted->id};
    if (!sight->ready) {
        return;
    }
    sight->from = arrays_base(set)->generation.id;
    sight->has_turn = document_has_turn(document, self->life.id);
    sight->pressing = any_pressing(set, document);
    sight->refused = set->expansion_refused == document->revision;
    sight->in_span = node_expansion_set(self, entry) == set;
    if (set->expansion != NULL) {
        sight->to = set->layers[1]->generation.id;
        sight->fits_to = holds(set, &set->layers[1]->generation);
        sight->served = set->expansion->ngrown > 0;
        sight->all_served = set->expansion->ngrown == set->layers[1]->nhosted;
        sight->open = set->expansion->nopen > 0;
    }
    sight->fits_wanted = holds(set, wanted);
    sight->has_room = has_room(self, set, document);
}

/* ---- what is done ---- */

static void say_small(const struct document_entry *entry, const struct arrays *set)
{
    char slice[NODE_SLICE_BYTES];

    log_line(
        LOG_ERROR,
        "filter %s%s: this node holds more keys than the wanted generation %u is for, and stays "
        "with the one it has; want one of more than %" PRIu64 " keys",
        entry->document.content.name, node_expansion_slice(set, slice),
        document_generation(&entry->document)->id, document_generation(&entry->document)->capacity);
}

static void say_no_room(const struct node *self, const struct document_entry *entry,
                        const struct arrays *set)
{
    char slice[NODE_SLICE_BYTES];
    char need[NUMBER_TEXT_BYTES];
    char used[NUMBER_TEXT_BYTES];
    char limit[NUMBER_TEXT_BYTES];
    uint64_t bytes = set->expansion != NULL ? node_span_bytes(set)
                                            : needed(set, document_generation(&entry->document));

    log_line(
        LOG_ERROR,
        "filter %s%s can't grow here: that takes %s more, and %s of memory_limit %s are in use; "
        "raise memory_limit or drop filters. What is there serves",
        entry->document.content.name, node_expansion_slice(set, slice),
        number_show_bytes(bytes, need), number_show_bytes(self->memory_used_bytes, used),
        number_show_bytes(self->config.memory_limit_bytes, limit));
}

static void say(const struct node *self, const struct document_entry *entry, struct arrays *set,
                enum expansion_move move)
{
    if (set->expansion_said == move) {
        return;
    }
    set->expansion_said = move;
    if (move == MOVE_STAY_SMALL) {
        say_small(entry, set);
    } else if (move == MOVE_STAY_ROOM) {
        say_no_room(self, entry, set);
    }
}

static bool begin(struct node *self, struct document_entry *entry, struct arrays *set)
{
    const struct generation *wanted = document_generation(&entry->document);
    char slice[NODE_SLICE_BYTES];

    if (expansion_layers_begin(set, &entry->document, wanted) != STATUS_OK) {
        say(self, entry, set, MOVE_STAY_ROOM);
        return false;
    }
    log_line(LOG_INFO, "filter %s%s: builds generation %u, for %" PRIu64 " keys, beside %u",
             entry->document.content.name, node_expansion_slice(set, slice), wanted->id,
             wanted->capacity, arrays_base(set)->generation.id);
    return true;
}

static void finish(struct node *self, struct document_entry *entry, struct arrays *set)
{
    uint64_t before = set->bytes;
    char slice[NODE_SLICE_BYTES];

    expansion_layers_finish(set);
    node_expansion_account(self, set, before);
    self->life.changed = true;
    log_line(LOG_INFO, "filter %s%s: generation %u serves all that is here",
             entry->document.content.name, node_expansion_slice(set, slice),
             arrays_base(set)->generation.id);
}

static void go_back(struct node *self, struct document_entry *entry, struct arrays *set,
                    enum expansion_move move)
{
    char slice[NODE_SLICE_BYTES];
    uint64_t before;

    /* First the span that is under way: its arrays go. */
    if (node_expansion_set(self, entry) == set) {
        node_span_end(self, set);
    }
    before = set->bytes;
    log_line(LOG_INFO, "filter %s%s: generation %u is not wanted any more",
             entry->document.content.name, node_expansion_slice(set, slice),
             set->layers[1]->generation.id);
    if (move == MOVE_TURN) {
        expansion_layers_turn(set, &entry->document);
    } else {
        expansion_layers_drop(set);
    }
    node_expansion_account(self, set, before);
    self->life.changed = true;
}

/* Nearly always. */
static bool has_nothing_to_do(const struct document_entry *entry, const struct arrays *set)
{
    return set->expansion == NULL &&
           (document_is_chain(&entry->document) ||
            arrays_base(set)->generation.id == document_generation(&entry->document)->id);
}

/* Of the sets that may go on, the one that does. */
struct candidate {
    struct document_entry *entry; /* NULL: none */
    struct arrays *set;
    struct expansion_urgency urgency;
};

static void propose(struct candidate *best, struct document_entry *entry, struct arrays *set,
                    bool pressing)
{
    const struct expansion_urgency urgency = {.pressing = pressing,
                                              .bytes = layer_bytes(set->layers[1])};

    if (best->entry == NULL || expansion_goes_first(&urgency, &best->urgency)) {
        *best = (struct candidate){.entry = entry, .set = set, .urgency = urgency};
    }
}

/* True: something was done, and more may be. */
static bool act(struct node *self, struct document_entry *entry, struct arrays *set,
                struct candidate *next)
{
    struct expansion_sight sight;
    enum expansion_move move;

    if (has_nothing_to_do(entry, set)) {
        return false;
    }
    see(self, entry, set, &sight);
    move = expansion_decide(&sight);
    /* Of a set that is not ready nothing is known that would be a reason. */
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
static bool stand_ahead(struct node *self, const struct document_entry *entry, struct arrays *set)
{
    if (set->expansion == NULL || self->expansion.phase == EXPANSION_STANDING) {
        return false;
    }
    for (uint32_t i = 0; i < set->ngroups; i++) {
        if (node_expansion_presses(set, &entry->document, i) &&
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
    struct arrays *set = hosted != NULL ? hosted->set : NULL;
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

    if (self->expansion.phase == EXPANSION_REST) {
        return NULL;
    }
    entry = document_cache_find(&self->documents, self->expansion.filter_id);
    if (entry == NULL || !can_grow(self, entry, node_expansion_set(self, entry))) {
        node_span_end(self, NULL);
        return NULL;
    }
    return entry;
}

bool node_grow(struct node *self, uint64_t now_us)
{
    struct node_expansion *expansion = &self->expansion;
    struct candidate next = {0};
    struct document_entry *entry;
    bool more = false;

    if (!expansion->due || self->life.recovering || self->life.failed) {
        return false;
    }
    for (size_t i = 0; i < self->documents.count; i++) {
        more = act_on_sets(self, self->documents.by_id[i], &next) || more;
    }
    if (expansion->phase == EXPANSION_REST && next.entry != NULL) {
        node_span_begin(self, next.entry, next.set);
        more = true;
    }
    /* Looked for anew: what was done above may have ended it, or made its set another one. */
    entry = spanning(self);
    if (entry != NULL && expansion->resume_us <= now_us) {
        expansion->resume_us = 0;
        more = node_span_step(self, now_us, entry) || more;
    }
    expansion->due = more || expansion->phase != EXPANSION_REST;
    if (!expansion->due && expansion->current.capacity + expansion->coming.capacity > 0) {
        node_expansion_fini(self); /* It may not be needed for long, nor what reading has left. */
        heap_trim();
    }
    return more;
}
