/* How far another site's logs are applied here, as the nodes of this site remember it: records in
 * their logs (site/cursor.h), behind the keys that they cover. A link that begins reads them, and
 * while it runs it writes on what has been applied since.
 *
 * They are read from R replicas of each slot group and written by W, so what was written is found.
 * Which slot groups here a slot group there shares keys with only the other site knows: each place
 * is written to all of them, and the lowest one is in force. It is no place that one of them lacks.
 *
 * What is known counts for the boots of nodes here under which it arose (own_boots.c): they are
 * asked for them first, and places are put in no other ones. */
#include "base/mutant.h"
#include "link/private.h"

#include <assert.h>
#include <string.h>

enum {
    PLACES_EVERY_US = 1000000,    /* so often what was applied is noted */
    PLACES_IDLE_US = 60000000,    /* ... if no keys have come: then it only saves reading ... */
    PLACES_DRIFT_BYTES = 1 << 20, /* ... of so much at least, ... */
    PLACES_DRIFT_US = 600000000,  /* ... or so seldom */
    PLACES_AGAIN_US = 100000,
    PLACES_AGAIN_DOUBLINGS = 6,
    PLACES_MS = 2000,
    PLACES_AT_ONCE = 8,       /* questions under way for one of them, to nodes ... */
    PLACES_ALL_AT_ONCE = 128, /* ... and of all: the router takes no more than twice as many */
    PLACES_MOST = 16384,      /* records for one filter and site in each node's memory, at most */
    PLACES_OF_GROUP = CODEC_MAX_SITE_CURSORS / LINK_MAX_SITES, /* ... and in one of its answers */
};

void places_fini(struct inflow *inflow)
{
    own_boots_fini(inflow);
    heap_free(inflow->places.cursors);
}

/* Of questions under way the answers are awaited, but mean nothing. */
void places_void(struct inflow *inflow)
{
    struct places *places = &inflow->places;

    places->state = PLACES_UNREAD;
    places->failed = places->asking > 0;
    own_boots_void(inflow);
    places->ncursors = 0;
    places->written = 0;
    places->version++; /* So that none that is under way is taken for the newest. */
    places->noted = 0;
}

static const struct filter_document *document_of(const struct inflow *inflow)
{
    const struct document_entry *entry = document_cache_find(router_documents(inflow->self->router),
                                                             inflow->filter_id);

    return entry != NULL ? &entry->document : NULL;
}

uint64_t places_loss(const struct filter_document *document)
{
    uint64_t newest = 0;

    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        uint64_t one = document->content.groups[group].loss_epoch;

        newest = one > newest ? one : newest;
    }
    return newest;
}

static void put_off(struct inflow *inflow)
{
    struct places *places = &inflow->places;
    unsigned doublings = places->failures < PLACES_AGAIN_DOUBLINGS ? places->failures
                                                                   : PLACES_AGAIN_DOUBLINGS;

    places->failures++;
    places->again_us = inflow->self->now_us + ((uint64_t)PLACES_AGAIN_US << doublings);
}

/* It is tried again. OK: it was done, but under another epoch than what was done before. */
static void fail(struct inflow *inflow, const char *what, enum status status, const char *cause)
{
    struct link *self = inflow->self;

    inflow->places.failed = true;
    log_limited(&inflow->waits_log, self->now_us, LOG_WARN,
                "how far filter %016llx of site %s is here could not be %s: %s: %s",
                (unsigned long long)inflow->filter_id, self->config.peers[inflow->peer].name, what,
                status_code(status == STATUS_OK ? STATUS_STALE : status),
                status == STATUS_OK ? "replicas have moved meanwhile" : cause);
}

/* May another question about cursors be asked, and how many are to be? */
static bool may_ask(const struct link *self, const struct places *places, size_t wanted)
{
    return !places->failed && places->next < wanted && places->asking < PLACES_AT_ONCE &&
           self->place_questions < PLACES_ALL_AT_ONCE;
}

static void note_asked(struct inflow *inflow)
{
    inflow->places.next++;
    inflow->places.asking++;
    inflow->self->place_questions++;
}

static void note_answered(struct inflow *inflow)
{
    inflow->places.asking--;
    inflow->self->place_questions--;
}

/* All were asked, or one has gone wrong; and all that were asked are answered. */
static bool is_over(const struct places *places, size_t wanted)
{
    return places->asking == 0 && (places->failed || places->next >= wanted);
}

/* ---- what several records come to ---- */

/* Records of before that epoch are void: since then a loss was accepted in that slot group here, so
 * that they may cover what nobody has any more; or an operator trusts them no more. */
static uint64_t void_before(const struct inflow *inflow, const struct filter_document *document,
                            uint32_t group)
{
    uint64_t loss = document->content.groups[group].loss_epoch;

    return loss > inflow->resync ? loss : inflow->resync;
}

static bool is_of_site(const struct inflow *inflow, const struct record_site_cursor *cursor)
{
    const struct site_id *site = &inflow->self->config.peers[inflow->peer].id;

    return cursor->site[0] == site->high && cursor->site[1] == site->low;
}

/* What another life, keyset or site has says nothing of this; nor what is void. */
static bool is_ours(const struct inflow *inflow, const struct filter_document *document,
                    const struct record_site_cursor *cursor)
{
    return cursor->keyset == inflow->keyset && is_of_site(inflow, cursor) &&
           (cursor->loss == void_before(inflow, document, cursor->group) ||
            MUTANT(SITE_LOSS_KEEPS_PLACES)) &&
           cursor->site_life.number == inflow->source_life.number &&
           cursor->site_life.tag == inflow->source_life.tag &&
           cursor->own_life.number == inflow->own_life.number &&
           cursor->own_life.tag == inflow->own_life.tag;
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Those of one log, the lowest first. */
static int by_log(const void *a, const void *b)
{
    const struct site_source *left = a;
    const struct site_source *right = b;
    const uint64_t of_left[] = {left->group, left->node, left->offset};
    const uint64_t of_right[] = {right->group, right->node, right->offset};
    int order = 0;

    for (size_t i = 0; i < sizeof of_left / sizeof of_left[0] && order == 0; i++) {
        order = compare(of_left[i], of_right[i]);
    }
    return order;
}

/* What all slot groups have of one log, each of them one of these. False: they don't agree which
 * log it is, so nothing is known of it: of two boots one may be of a copy that was put back, and
 * then what is below one offset is not what is below the other. */
static bool lowest_of(const struct site_source *all, size_t count, uint32_t ngroups,
                      struct site_source *lowest)
{
    *lowest = all[MUTANT(SITE_PLACE_HIGHEST) ? count - 1 : 0];
    for (size_t i = 1; i < count; i++) {
        if (all[i].incarnation != lowest->incarnation || all[i].boot != lowest->boot) {
            return false;
        }
        lowest->epoch = all[i].epoch < lowest->epoch ? all[i].epoch : lowest->epoch;
    }
    return count == ngroups || MUTANT(SITE_PLACE_OF_SOME);
}

/* The first that is of another log. */
static size_t end_of_log(const struct site_source *all, size_t count, size_t from)
{
    size_t at = from;

    while (at < count && all[at].group == all[from].group && all[at].node == all[from].node) {
        at++;
    }
    return at;
}

/* All sources of all records that were read. NULL: memory is out. */
static struct site_source *flatten(const struct places *places, size_t *count)
{
    struct site_source *all = heap_alloc(places->ncursors * RECORD_MAX_SOURCES + 1, sizeof *all);

    *count = 0;
    for (size_t i = 0; all != NULL && i < places->ncursors; i++) {
        const struct record_site_cursor *cursor = &places->cursors[i];

        for (uint32_t k = 0; k < cursor->nsources; k++) {
            all[(*count)++] = (struct site_source){
                .group = cursor->site_group,
                .node = cursor->sources[k].node,
                .incarnation = cursor->sources[k].incarnation,
                .boot = cursor->sources[k].boot,
                .offset = cursor->sources[k].offset,
                .epoch = cursor->sources[k].epoch,
            };
        }
    }
    return all;
}

/* The places in force. False: memory is out. */
static bool take_all(struct inflow *inflow)
{
    struct places *places = &inflow->places;
    size_t count;
    struct site_source *all = flatten(places, &count);

    inflow->nsources = 0;
    if (all == NULL ||
        !heap_grow(&inflow->sources, &inflow->sources_capacity, count + 1, sizeof *all)) {
        heap_free(all);
        return false;
    }
    if (count > 1) {
        qsort(all, count, sizeof *all, by_log);
    }
    for (size_t at = 0, end; at < count && inflow->nsources < SITE_MAX_SOURCES; at = end) {
        end = end_of_log(all, count, at);
        inflow->nsources += lowest_of(all + at, end - at, places->ngroups,
                                      &inflow->sources[inflow->nsources]);
    }
    heap_free(all);
    return true;
}

/* ---- read ---- */

/* Nothing is known then, and the stream is opened all the same. */
static void note_too_many(struct inflow *inflow)
{
    inflow->places.too_many = true;
    inflow->places.next = inflow->places.ngroups;
    log_limited(&inflow->waits_log, inflow->self->now_us, LOG_WARN,
                "nodes have more places of filter %016llx than they can tell, of all other sites "
                "that it was ever in: all that site %s has is copied; give the filter fewer shards",
                (unsigned long long)inflow->filter_id,
                inflow->self->config.peers[inflow->peer].name);
}

/* The last answer has come. */
static void finish_reading(struct inflow *inflow)
{
    struct places *places = &inflow->places;
    const struct filter_document *document = document_of(inflow);

    if (places->failed || document == NULL || document->epoch != places->epoch ||
        !take_all(inflow)) {
        places_void(inflow);
        put_off(inflow);
        return;
    }
    places->state = PLACES_KNOWN;
    inflow->nsources = inflow->anew || places->too_many ? 0 : inflow->nsources;
    inflow->anew = false;
    inflow->from_nothing_us = 0;
    places->failures = 0;
    inflow->own.list = 0;
    places->version++;
}

static void on_read(void *owner, const struct router_site_cursors_told *told)
{
    struct inflow *inflow = owner;
    struct places *places = &inflow->places;
    const struct filter_document *document = document_of(inflow);

    note_answered(inflow);
    if (told->status == STATUS_TOO_LARGE) {
        note_too_many(inflow);
    } else if (told->status != STATUS_OK || told->epoch != places->epoch || document == NULL ||
               document->epoch != places->epoch) {
        fail(inflow, "read", told->status, told->message);
    }
    for (size_t i = 0; i < told->count && !places->failed; i++) {
        places->none = places->none && !is_of_site(inflow, &told->cursors[i]);
        if (!is_ours(inflow, document, &told->cursors[i])) {
            continue;
        }
        if (!heap_grow(&places->cursors, &places->cursors_room, places->ncursors + 1,
                       sizeof *places->cursors)) {
            places->failed = true;
            break;
        }
        places->cursors[places->ncursors++] = told->cursors[i];
    }
}

static void read_next(struct link *self, uint64_t now_us, struct inflow *inflow)
{
    struct places *places = &inflow->places;

    while (may_ask(self, places, places->ngroups)) {
        const struct router_site_cursors question = {
            .filter_id = inflow->filter_id,
            .group = places->next,
            .timeout_ms = PLACES_MS,
            .done = on_read,
            .owner = inflow,
        };

        note_asked(inflow);
        router_site_cursors_get(self->router, now_us, &question);
    }
    if (is_over(places, places->ngroups)) {
        finish_reading(inflow);
    }
}

static void on_first_boots(void *owner, const struct router_ends_told *told)
{
    struct inflow *inflow = owner;
    struct places *places = &inflow->places;

    places->asking--;
    if (told->status != STATUS_OK || told->epoch != places->epoch) {
        fail(inflow, "read", told->status, told->message);
    }
    places->failed |= !own_boots_set(inflow, told);
}

/* Their boots first: what they tell later may already be what another boot is left with, and then
 * that is noticed. */
static void begin_reading(struct link *self, uint64_t now_us, struct inflow *inflow)
{
    struct places *places = &inflow->places;
    const struct filter_document *document = document_of(inflow);
    const struct router_ends question = {
        .filter_id = inflow->filter_id,
        .timeout_ms = PLACES_MS,
        .done = on_first_boots,
        .owner = inflow,
    };

    if (document == NULL) {
        put_off(inflow);
        return;
    }
    places->state = PLACES_READING;
    places->failed = places->too_many = false;
    places->none = true;
    places->epoch = document->epoch;
    places->ngroups = document->content.ngroups;
    places->next = 0;
    places->ncursors = 0;
    places->asking++;
    router_ends(self->router, now_us, &question);
}

/* ---- write ---- */

static bool add_cursor(struct inflow *inflow, const struct site_source *source)
{
    struct places *places = &inflow->places;
    const struct site_id *site = &inflow->self->config.peers[inflow->peer].id;

    if (!heap_grow(&places->cursors, &places->cursors_room, places->ncursors + 1,
                   sizeof *places->cursors)) {
        return false;
    }
    places->cursors[places->ncursors++] = (struct record_site_cursor){
        .filter_id = inflow->filter_id,
        .keyset = inflow->keyset,
        .site = {site->high, site->low},
        .site_life = {inflow->source_life.number, inflow->source_life.tag},
        .own_life = {inflow->own_life.number, inflow->own_life.tag},
        .site_group = source->group,
    };
    return true;
}

static bool add_source(struct inflow *inflow, const struct site_source *source)
{
    struct places *places = &inflow->places;
    struct record_site_cursor *cursor = NULL;

    if (places->ncursors > 0 && places->cursors[places->ncursors - 1].site_group == source->group) {
        cursor = &places->cursors[places->ncursors - 1];
    } else if (add_cursor(inflow, source)) {
        cursor = &places->cursors[places->ncursors - 1];
    }
    if (cursor == NULL || cursor->nsources == RECORD_MAX_SOURCES) {
        return cursor != NULL; /* Who is left out is copied. */
    }
    cursor->sources[cursor->nsources++] = (struct record_site_source){
        .incarnation = source->incarnation,
        .boot = source->boot,
        .offset = source->offset,
        .epoch = source->epoch,
        .node = source->node,
    };
    return true;
}

/* The records of what is applied by now. False: memory is out. */
static bool make_cursors(struct inflow *inflow)
{
    inflow->places.ncursors = 0;
    if (inflow->nsources > 1) {
        qsort(inflow->sources, inflow->nsources, sizeof *inflow->sources, by_log);
    }
    for (size_t i = 0; i < inflow->nsources; i++) {
        if (!add_source(inflow, &inflow->sources[i])) {
            return false;
        }
    }
    return true;
}

/* The last answer has come. Under another epoch W replicas of this one need not have it. */
static void finish_writing(struct inflow *inflow)
{
    struct places *places = &inflow->places;
    const struct filter_document *document = document_of(inflow);

    if (places->failed || document == NULL || document->epoch != places->epoch) {
        put_off(inflow);
        places->drift = PLACES_DRIFT_BYTES;
        own_boots_confirm(inflow); /* They may have started again, and refuse for that. */
    } else {
        places->noted = places->written;
        places->noted_epoch = places->epoch;
        places->failures = 0;
    }
    places->written = 0;
}

static void on_written(void *owner, const struct router_site_cursors_told *told)
{
    struct inflow *inflow = owner;
    struct places *places = &inflow->places;

    note_answered(inflow);
    if (told->status != STATUS_OK || told->epoch != places->epoch) {
        fail(inflow, "noted", told->status, told->message);
    }
}

static size_t chunks_of(const struct places *places)
{
    return (places->ncursors + CODEC_MAX_SITE_CURSORS - 1) / CODEC_MAX_SITE_CURSORS;
}

/* Of that slot group. The router copies them. */
static void set_loss(struct inflow *inflow, const struct filter_document *document, uint32_t group)
{
    for (size_t i = 0; i < inflow->places.ncursors; i++) {
        inflow->places.cursors[i].loss = void_before(inflow, document, group);
    }
}

/* `next` counts the chunks of all slot groups. */
static void write_next(struct link *self, uint64_t now_us, struct inflow *inflow)
{
    struct places *places = &inflow->places;
    const struct filter_document *document = document_of(inflow);
    size_t chunks = chunks_of(places);

    places->failed |= document == NULL || document->epoch != places->epoch;
    while (may_ask(self, places, places->ngroups * chunks)) {
        size_t at = places->next % chunks * CODEC_MAX_SITE_CURSORS;
        size_t left = places->ncursors - at;
        const struct router_site_cursors question = {
            .filter_id = inflow->filter_id,
            .group = (uint32_t)(places->next / chunks),
            .timeout_ms = PLACES_MS,
            .cursors = places->cursors + at,
            .count = left < CODEC_MAX_SITE_CURSORS ? left : CODEC_MAX_SITE_CURSORS,
            .boots = inflow->own.boots,
            .nboots = inflow->own.count,
            .done = on_written,
            .owner = inflow,
        };

        set_loss(inflow, document, question.group);
        note_asked(inflow);
        router_site_cursors_put(self->router, now_us, &question);
    }
    if (is_over(places, places->ngroups * chunks)) {
        finish_writing(inflow);
    }
}

static bool is_too_much(struct inflow *inflow, uint32_t ngroups)
{
    struct places *places = &inflow->places;
    bool too_much = places->ncursors > PLACES_OF_GROUP || places->ncursors * ngroups > PLACES_MOST;

    if (too_much && !places->said) {
        places->said = true;
        log_line(LOG_WARN,
                 "filter %016llx has so many slot groups at both sites that how far it is here is "
                 "not noted: a link that starts again copies it; give it fewer shards",
                 (unsigned long long)inflow->filter_id);
    }
    return too_much;
}

static void begin_writing(struct link *self, uint64_t now_us, struct inflow *inflow)
{
    struct places *places = &inflow->places;
    const struct filter_document *document = document_of(inflow);

    places->noted_us = now_us;
    places->failed = places->hurried = false;
    places->drift = 0;
    if (document == NULL || !make_cursors(inflow)) {
        put_off(inflow);
        return;
    }
    places->epoch = document->epoch;
    places->ngroups = document->content.ngroups;
    places->next = 0;
    if (places->ncursors == 0 || is_too_much(inflow, places->ngroups)) {
        places->noted = 0;
        places->again_us = now_us + PLACES_IDLE_US;
        return;
    }
    places->written = places->version;
    write_next(self, now_us, inflow);
}

void places_advanced(struct inflow *inflow, bool keys)
{
    struct places *places = &inflow->places;

    places->version++;
    places->keyed = keys ? places->version : places->keyed;
    places->drift = PLACES_DRIFT_BYTES;
}

void places_drifted(struct inflow *inflow, uint64_t bytes)
{
    inflow->places.version++;
    inflow->places.drift += bytes;
}

/* When what is applied is to be noted, if it is not. */
static uint64_t write_due_us(const struct inflow *inflow)
{
    const struct places *places = &inflow->places;
    bool moved = inflow->epoch != places->noted_epoch;
    uint64_t due_us = places->noted_us + PLACES_EVERY_US;

    if (inflow->nsources == 0 || (places->noted == places->version && !moved)) {
        return ACTOR_NEVER;
    }
    if (places->noted != 0 && places->keyed <= places->noted && !moved) {
        due_us = places->noted_us +
                 (places->drift >= PLACES_DRIFT_BYTES ? PLACES_IDLE_US : PLACES_DRIFT_US);
    }
    due_us = places->hurried ? 0 : due_us;
    return due_us > places->again_us ? due_us : places->again_us;
}

bool places_are_noted(const struct inflow *inflow, uint64_t version)
{
    const struct places *places = &inflow->places;
    const struct filter_document *document = document_of(inflow);

    return places->written == 0 && places->noted >= version && document != NULL &&
           document->epoch == places->noted_epoch;
}

void places_hurry(struct inflow *inflow)
{
    inflow->places.hurried = inflow->places.written == 0;
}

/* ---- when ---- */

void places_turn(struct link *self, uint64_t now_us, struct inflow *inflow)
{
    struct places *places = &inflow->places;

    if (places->state == PLACES_UNREAD && places->asking == 0 && now_us >= places->again_us) {
        begin_reading(self, now_us, inflow);
    }
    if (places->state == PLACES_READING && (places->asking == 0 || places->next > 0)) {
        read_next(self, now_us, inflow);
    }
    if (places->state != PLACES_KNOWN) {
        return;
    }
    own_boots_turn(self, now_us, inflow);
    if (places->written != 0) {
        write_next(self, now_us, inflow);
    } else if (!own_boots_asked(inflow) && now_us >= write_due_us(inflow)) {
        begin_writing(self, now_us, inflow);
    }
}

uint64_t places_next_us(const struct link *self, const struct inflow *inflow)
{
    const struct places *places = &inflow->places;
    uint64_t due_us = ACTOR_NEVER;

    if (places->state == PLACES_UNREAD && places->asking == 0) {
        due_us = places->again_us;
    } else if (places->state == PLACES_KNOWN && places->written == 0) {
        due_us = write_due_us(inflow);
    }
    return due_us > self->now_us ? due_us : ACTOR_NEVER;
}
