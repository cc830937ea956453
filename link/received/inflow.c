/* Streams that are received. A batch is applied as a relayed add; several are under way at once,
 * and what counts is how far all of them are applied without a gap: as far as that the source's
 * logs are here. From there a stream that breaks goes on, and by what nodes here have noted of it
 * (places.c) that of another link. */
#include "base/heap.h"
#include "base/mutant.h"
#include "link/private.h"
#include "link/received/evidence.h"
#include "link/spread.h"
#include "site/batch.h"

#include <assert.h>
#include <string.h>

enum {
    APPLY_TIMEOUT_MS = 5000,
    AGAIN_FIRST_US = 20000,
    AGAIN_MAX_US = 1000000,
    OPEN_MAX_US = 16000000,
    HELD_USUAL = 2, /* keys that are hashes take less than twice the bytes of a batch */
    HELD_WINDOWS = 2 * HELD_USUAL,
    HELD_SHARES = 2, /* one for those of which batches come, one for the others */
    RECEIVING_US = 2000000,
    AHEAD_MOST = 8192, /* of one that is missing; far fewer come while a connection stalls */
};

/* ---- batches ---- */

/* The router's answer, which may still come, finds it no more. */
static void forget_batch(struct link *self, struct inflow *inflow, struct arrived_batch *arrival)
{
    TAILQ_REMOVE(&inflow->arrivals, arrival, link);
    if (arrival->asked) {
        number_table_remove(&self->relays, &arrival->entry);
    }
    inflow->held -= arrival->bytes;
    self->held -= arrival->bytes;
    arrival_free(arrival);
}

static void forget_batches(struct link *self, struct inflow *inflow)
{
    while (!TAILQ_EMPTY(&inflow->arrivals)) {
        forget_batch(self, inflow, TAILQ_FIRST(&inflow->arrivals));
    }
    assert(inflow->held == 0);
}

static void note_receiving(struct link *self, struct inflow *inflow, uint64_t batch_us)
{
    if (inflow->batch_us == 0 && batch_us != 0) {
        self->nreceiving++;
    } else if (inflow->batch_us != 0 && batch_us == 0) {
        self->nreceiving--;
    }
    inflow->batch_us = batch_us;
}

/* Of what was received and is not applied nothing is lost: the source's logs have it. */
static void stop(struct link *self, struct inflow *inflow)
{
    note_receiving(self, inflow, 0);
    if (inflow->stream != 0) {
        number_table_remove(&self->inflows_by_stream, &inflow->entry);
        inflow->stream = 0;
    }
    inflow->channel = 0;
    marked_stop(inflow);
    forget_batches(self, inflow);
}

/* One that ends again and again is begun more and more seldom. */
static void put_off_opening(struct inflow *inflow, uint64_t now_us)
{
    uint64_t wait_us = (uint64_t)AGAIN_FIRST_US << (inflow->failures < 10 ? inflow->failures : 10);

    inflow->failures++;
    inflow->open_us = now_us + (wait_us < OPEN_MAX_US ? wait_us : OPEN_MAX_US);
}

/* It ends, which is said. */
static void end_stream(struct link *self, struct inflow *inflow, enum status status,
                       const char *cause)
{
    struct channel *channel = channel_find(self, inflow->channel);
    const struct frame frame = {
        .kind = FRAME_SITE_CLOSE,
        .body.site_close = {.stream = inflow->stream, .status = status, .message = cause},
    };

    if (channel != NULL) {
        (void)channel_send(self, channel, &frame);
    }
    stop(self, inflow);
}

void inflow_close(struct link *self, struct inflow *inflow, enum status status, const char *cause)
{
    link_count(self, LINK_site_closed_total, 1);
    log_limited(&inflow->waits_log, self->now_us, LOG_WARN,
                "begins to receive filter %016llx of site %s anew: %s",
                (unsigned long long)inflow->filter_id, self->config.peers[inflow->peer].name,
                cause);
    end_stream(self, inflow, status, cause);
    put_off_opening(inflow, self->now_us);
}

/* ---- how far all is here ---- */

/* What a batch tells of places is all that is followed. False: memory is out; the places stay what
 * they were, and the stream begins anew from there. */
static bool note_places(struct inflow *inflow, const struct arrived_batch *arrival)
{
    if (arrival->ncursors == 0) {
        return true;
    }
    if (!heap_grow(&inflow->sources, &inflow->sources_capacity, arrival->ncursors,
                   sizeof *inflow->sources)) {
        return false;
    }
    for (size_t i = 0; i < arrival->ncursors; i++) {
        const struct site_batch_cursor *cursor = &arrival->cursors[i];

        inflow->sources[i] = (struct site_source){
            .group = cursor->group,
            .node = cursor->node,
            .incarnation = cursor->incarnation,
            .boot = cursor->boot,
            .offset = cursor->offset,
            .epoch = cursor->epoch,
        };
    }
    inflow->nsources = arrival->ncursors;
    return true;
}

/* What lies before the first batch that is not applied counts. */
static void advance(struct link *self, struct inflow *inflow)
{
    struct arrived_batch *first;

    while ((first = TAILQ_FIRST(&inflow->arrivals)) != NULL && first->applied &&
           (first->number == inflow->applied + 1 || MUTANT(SITE_APPLIED_UNCOME))) {
        if (!note_places(inflow, first)) {
            inflow_close(self, inflow, STATUS_NOMEM, "out of memory");
            return;
        }
        inflow->unplaced |= first->nkeys > 0;
        if (first->ncursors > 0) {
            places_advanced(inflow, inflow->unplaced);
            inflow->unplaced = false;
        }
        inflow->applied = first->number;
        inflow->untold = true;
        inflow->failures = 0;
        inflow->taken_keys += first->nkeys;
        link_count(self, LINK_site_applied_keys_total, first->nkeys);
        forget_batch(self, inflow, first);
    }
}

/* ---- applying ---- */

static void on_heard(void *owner, uint64_t correlation, const struct router_boot *from)
{
    struct link *self = owner;
    struct number_entry *entry = number_table_find(&self->relays, correlation);

    if (entry != NULL) {
        own_boots_heard(((struct arrived_batch *)entry)->inflow, from);
    }
}

static void apply(struct link *self, uint64_t now_us, struct inflow *inflow,
                  struct arrived_batch *arrival)
{
    struct router_relay relay = {
        .filter_id = inflow->filter_id,
        .correlation = ++self->last_number,
        .timeout_ms = APPLY_TIMEOUT_MS,
        .fingerprints = arrival->keys,
        .count = (uint32_t)arrival->left,
        .heard = on_heard,
        .owner = self,
    };

    assert(!arrival->asked && !arrival->applied);
    if (arrival->left == 0) {
        arrival->applied = true;
        return;
    }
    arrival->applied = MUTANT(SITE_APPLIED_UNASKED);
    arrival->asked = !arrival->applied;
    if (arrival->asked) { /* Else it is gone before the answer. */
        number_table_put(&self->relays, &arrival->entry, relay.correlation);
    }
    router_relay(self->router, now_us, &relay);
}

/* What is due goes to nodes. Those behind one that found no room would find none either. */
static void pump(struct link *self, uint64_t now_us, struct inflow *inflow)
{
    struct arrived_batch *arrival;

    TAILQ_FOREACH(arrival, &inflow->arrivals, link)
    {
        if (!arrival->applied && !arrival->asked && arrival->again_us <= now_us) {
            apply(self, now_us, inflow, arrival);
        }
        if (arrival->full) {
            break;
        }
    }
    advance(self, inflow); /* There are such without keys. */
}

static void put_off(struct link *self, uint64_t now_us, struct inflow *inflow,
                    struct arrived_batch *arrival, const struct client_reply *reply)
{
    uint64_t wait_us = (uint64_t)AGAIN_FIRST_US << (arrival->failures < 6 ? arrival->failures : 6);

    arrival->failures++;
    arrival->again_us = now_us + (wait_us < AGAIN_MAX_US ? wait_us : AGAIN_MAX_US);
    arrival->full = reply->status == STATUS_FULL;
    link_count(self, LINK_site_full_total, arrival->full);
    log_limited(&inflow->waits_log, now_us, LOG_WARN,
                "filter %016llx waits for what site %s has sent: %s: %s",
                (unsigned long long)inflow->filter_id, self->config.peers[inflow->peer].name,
                status_code(reply->status), reply->message);
}

bool inflows_on_reply(struct link *self, uint64_t now_us, const struct frame *frame)
{
    struct number_entry *entry = number_table_find(&self->relays, frame->correlation);
    const struct client_reply *reply = &frame->body.client_reply;
    struct arrived_batch *arrival = (struct arrived_batch *)entry;

    if (entry == NULL) {
        return false;
    }
    number_table_remove(&self->relays, entry);
    arrival->asked = false;
    if (arrival->inflow->own.doubted) {
        return true; /* All of it is begun anew. */
    }
    if (arrival_keep_unacknowledged(arrival, reply)) {
        arrival->failures = 0;
    }
    if (arrival->left == 0 || MUTANT(SITE_REFUSED_IS_APPLIED)) {
        arrival->applied = true;
        arrival->full = false;
        if (MUTANT(SITE_APPLIED_WITH_GAPS)) {
            for (struct arrived_batch *former = arrival; former != NULL;
                 former = TAILQ_PREV(former, arrival_list, link)) {
                former->applied = true;
            }
        }
        advance(self, arrival->inflow);
    } else {
        put_off(self, now_us, arrival->inflow, arrival, reply);
    }
    return true;
}

/* ---- what comes ---- */

struct inflow *inflow_of(struct link *self, const struct channel *channel, uint64_t stream)
{
    struct number_entry *entry = number_table_find(&self->inflows_by_stream, stream);
    struct inflow *inflow = (struct inflow *)entry;

    return entry != NULL && inflow->channel == channel->number ? inflow : NULL;
}

/* In its order among those that have come. False: it has come before, or far too early. */
static bool put_in_order(struct link *self, struct inflow *inflow, struct arrived_batch *arrival)
{
    struct arrived_batch *former = TAILQ_LAST(&inflow->arrivals, arrival_list);

    if (arrival->number <= inflow->received || arrival->number - inflow->received > AHEAD_MOST) {
        return false;
    }
    while (former != NULL && former->number > arrival->number) {
        former = TAILQ_PREV(former, arrival_list, link);
    }
    if (former != NULL && former->number == arrival->number) {
        return false;
    }
    if (former != NULL) {
        TAILQ_INSERT_AFTER(&inflow->arrivals, former, arrival, link);
    } else {
        TAILQ_INSERT_HEAD(&inflow->arrivals, arrival, link);
    }
    if (arrival->number > inflow->received + 1) {
        link_count(self, LINK_site_overtaken_total, 1);
        inflow->untold = true; /* It counts no more as under way. */
    }
    for (; arrival != NULL && arrival->number == inflow->received + 1;
         arrival = TAILQ_NEXT(arrival, link)) {
        inflow->received++;
    }
    return true;
}

static void take_batch(struct link *self, uint64_t now_us, struct inflow *inflow,
                       const struct site_batch_message *message)
{
    struct arrived_batch *arrival = NULL;
    const char *fault = NULL;
    enum status status = arrival_read(message->batch, inflow, &arrival, &fault);

    if (status != STATUS_OK) {
        inflow_close(self, inflow, status, fault);
        return;
    }
    arrival->number = message->number;
    if (!put_in_order(self, inflow, arrival)) {
        arrival_free(arrival);
        inflow_close(self, inflow, STATUS_MALFORMED, "a batch came twice, or far too early");
        return;
    }
    inflow->pace.bytes += message->batch.size;
    inflow->held += arrival->bytes;
    self->held += arrival->bytes;
    note_receiving(self, inflow, now_us);
    pump(self, now_us, inflow);
}

/* What a stream may be sent: so that all of them together, filled, are no more than may wait; each
 * goes on with the least, which is what it may always have. Half of it is for those of which
 * batches come: a thousand without traffic should not slow one down. */
static uint64_t room_of(const struct link *self, const struct inflow *inflow)
{
    uint64_t spare = self->held < self->config.held ? self->config.held - self->held : 0;
    size_t sharing = inflow->batch_us != 0 ? self->nreceiving : self->ninflows;
    uint64_t room;

    assert(sharing > 0); /* One is opened after the tick that it was wanted in. */
    room = spare / HELD_USUAL / HELD_SHARES / sharing;
    room = room > LINK_WINDOW_MIN ? room : LINK_WINDOW_MIN;
    return room < self->config.window ? room : self->config.window;
}

static bool has_more_than(const struct inflow *inflow, uint64_t room)
{
    return inflow->held > HELD_WINDOWS * room + SITE_BATCH_MAX_BYTES;
}

/* NULL, or why no more is taken: of one stream, or of one that has much where all have too much. */
static const char *excess_of(const struct link *self, const struct inflow *inflow)
{
    if (has_more_than(inflow, self->config.window)) {
        return "more came than was asked for";
    }
    return self->held > self->config.held && has_more_than(inflow, LINK_WINDOW_MIN)
               ? "too much waits in memory until nodes have applied it, of all filters together"
               : NULL;
}

/* Whoever sends it has not heard that it is over. */
static void say_unknown(struct link *self, struct channel *channel, uint64_t stream)
{
    const struct frame frame = {
        .kind = FRAME_SITE_CLOSE,
        .body.site_close = {.stream = stream,
                            .status = STATUS_NOT_FOUND,
                            .message = "there is no such stream here any more"},
    };

    (void)channel_send(self, channel, &frame);
}

/* Is the next one lost, so that the gap before those that have come is never filled? */
static bool has_lost_one(const struct inflow *inflow, uint32_t connection,
                         const struct site_batch_message *message)
{
    uint32_t all = message->connections | UINT32_C(1) << connection;

    return spread_has_passed(inflow->told, all, inflow->received + 1);
}

void inflow_on_batch(struct link *self, uint64_t now_us, struct channel *channel,
                     uint32_t connection, const struct site_batch_message *message)
{
    struct inflow *inflow = inflow_of(self, channel, message->stream);
    const char *excess;

    if (inflow == NULL) {
        say_unknown(self, channel, message->stream);
        return;
    }
    inflow->heard_us = now_us;
    excess = excess_of(self, inflow);
    if (message->number > inflow->told[connection]) {
        inflow->told[connection] = message->number;
    }
    if (message->batch.size == 0) {
        inflow->untold = true; /* What was told before may have been lost. */
    } else if (excess != NULL) {
        inflow_close(self, inflow, STATUS_OVERLOADED, excess);
    } else {
        take_batch(self, now_us, inflow, message);
    }
    if (inflow->stream != 0 && has_lost_one(inflow, connection, message)) {
        inflow_close(self, inflow, STATUS_IO, "a batch was lost on its way");
    }
}

void inflow_on_close(struct link *self, uint64_t now_us, struct channel *channel,
                     const struct site_close *message)
{
    struct inflow *inflow = inflow_of(self, channel, message->stream);

    if (inflow == NULL) {
        return;
    }
    log_limited(&inflow->waits_log, now_us, LOG_WARN,
                "site %s does not send filter %016llx: %s: %s", channel_site(self, channel),
                (unsigned long long)inflow->filter_id, status_code(message->status),
                message->message);
    stop(self, inflow);
    put_off_opening(inflow, now_us);
}

/* ---- opening ---- */

static void open_stream(struct link *self, uint64_t now_us, struct inflow *inflow)
{
    struct channel *channel = channel_in_turn(self, inflow->peer, &inflow->uid, inflow->turn);
    struct frame frame = {.kind = FRAME_SITE_OPEN};
    struct site_open *open = &frame.body.site_open;

    if (channel == NULL) {
        return;
    }
    *open = (struct site_open){
        .stream = self->inner.random(self->inner.context),
        .uid = inflow->uid,
        .source_life = inflow->source_life,
        .own_life = inflow->own_life,
        .keyset = inflow->keyset,
        .room = room_of(self, inflow),
        .sources = inflow->sources,
        .nsources = inflow->nsources,
        .compares = true,
    };
    if (open->stream == 0 || number_table_find(&self->inflows_by_stream, open->stream) != NULL ||
        !channel_send(self, channel, &frame)) {
        inflow->open_us = now_us + AGAIN_FIRST_US;
        return;
    }
    if (inflow->nsources == 0) {
        inflow->from_nothing_us = now_us;
    }
    inflow->stream = open->stream;
    inflow->channel = channel->number;
    inflow->heard_us = now_us;
    inflow->received = inflow->applied = 0;
    memset(inflow->told, 0, sizeof inflow->told);
    inflow->taken_keys = 0;
    inflow->untold = false;
    number_table_put(&self->inflows_by_stream, &inflow->entry, inflow->stream);
}

/* By the last connection that has told something; 0: only the first has, of which nothing is said
 * that what is applied does not say. */
static size_t count_told(const struct inflow *inflow)
{
    size_t count = SITE_MAX_CONNECTIONS;

    while (count > 0 && inflow->told[count - 1] == 0) {
        count--;
    }
    return count > 1 ? count : 0;
}

static void tell_applied(struct link *self, struct inflow *inflow)
{
    struct channel *channel = channel_find(self, inflow->channel);
    const struct frame frame = {
        .kind = FRAME_SITE_APPLIED,
        .body.site_applied = {.stream = inflow->stream,
                              .number = inflow->applied,
                              .room = room_of(self, inflow),
                              .arrived = inflow->told,
                              .narrived = count_told(inflow)},
    };

    if (channel != NULL && channel_send(self, channel, &frame)) {
        inflow->untold = false;
    }
}

/* What was acknowledged may be lost with the boot that has: what the nodes still know of it counts.
 */
static void begin_anew(struct link *self, struct inflow *inflow)
{
    if (inflow->stream != 0) {
        inflow_close(self, inflow, STATUS_STALE,
                     "a node has started again at the site that receives");
        inflow->open_us = 0;
    }
    inflow->nsources = 0;
    /* Of places that are read nobody knows what they were copied with. */
    inflow->from_nothing_us = 0;
    places_void(inflow);
    marked_void(inflow);
    evidence_void(inflow);
}

void inflow_copy_anew(struct link *self, struct inflow *inflow)
{
    if (inflow->stream != 0) {
        inflow_close(self, inflow, STATUS_STALE, "all of it is compared once more");
        inflow->open_us = 0;
    }
    inflow->places.none = inflow->places.none && inflow->nsources == 0;
    inflow->nsources = 0;
    inflow->from_nothing_us = 0;
    inflow->anew = inflow->places.state != PLACES_KNOWN;
    inflow->evidence.whole_us = 0;
}

void inflow_drop(struct link *self, struct inflow *inflow)
{
    stop(self, inflow);
    evidence_free(self, inflow);
    TAILQ_REMOVE(&self->inflows, inflow, link);
    TAILQ_INSERT_TAIL(&self->leaving, inflow, link);
}

static void forget(struct inflow *inflow)
{
    marked_fini(inflow);
    vouched_fini(inflow);
    places_fini(inflow);
    held_here_clear(&inflow->held_here);
    heap_free(inflow->sources);
    heap_free(inflow);
}

/* Answers of the router may be on their way to one that was dropped. */
static void forget_left(struct link *self)
{
    struct inflow *inflow = TAILQ_FIRST(&self->leaving);

    while (inflow != NULL) {
        struct inflow *next = TAILQ_NEXT(inflow, link);

        if (inflow->places.asking == 0 && !inflow->own.asked && !inflow->held_here.asking) {
            TAILQ_REMOVE(&self->leaving, inflow, link);
            forget(inflow);
        }
        inflow = next;
    }
}

/* One that is in the set no more is the sweep's to judge, too. */
static uint64_t resync_of(const struct inflow *inflow, const struct filter_document *document)
{
    const struct site_entry *site = site_set_find(document_sites(document),
                                                  &inflow->self->config.peers[inflow->peer].id);

    return site != NULL ? site->resync : inflow->resync;
}

/* A document that is not known any more is the sweep's to judge. */
bool inflow_lasts(struct inflow *inflow)
{
    const struct document_cache *documents = router_documents(inflow->self->router);
    const struct document_entry *entry;

    if (inflow->judged == documents->changes) {
        return true;
    }
    entry = document_cache_find(documents, inflow->filter_id);
    if (entry != NULL && entry->document.epoch != inflow->loss_epoch) {
        if (places_loss(&entry->document) != inflow->loss ||
            resync_of(inflow, &entry->document) != inflow->resync) {
            return false;
        }
        inflow->loss_epoch = entry->document.epoch;
    }
    inflow->judged = documents->changes;
    return true;
}

/* It is wanted again with the next tick, with nothing of what it has known. */
static void end_by_loss(struct link *self, struct inflow *inflow)
{
    if (inflow->stream != 0) {
        inflow_close(self, inflow, STATUS_STALE,
                     "at the site that receives a loss was accepted, or all is to be compared");
    }
    inflow_drop(self, inflow);
}

/* Whether a stream was open or not: once it may be, it is at once. */
static void hold(struct link *self, struct inflow *inflow)
{
    if (inflow->stream != 0) {
        end_stream(self, inflow, STATUS_NOT_READY, "it is paused by an operator");
    }
    inflow->open_us = 0;
    inflow->failures = 0;
}

static void inflow_turn(struct link *self, uint64_t now_us, struct inflow *inflow)
{
    if (inflow->own.doubted) {
        begin_anew(self, inflow);
    }
    if (pause_is_on(inflow)) {
        hold(self, inflow);
    }
    if (inflow->stream != 0 && marked_tries_another(self, now_us, inflow)) {
        inflow_close(self, inflow, STATUS_UNAVAILABLE,
                     "further sites do not say by this link that they know its site as it is");
        inflow->turn++;
    }
    places_turn(self, now_us, inflow);
    marked_turn(self, now_us, inflow);
    if (inflow->stream == 0 && inflow->places.state == PLACES_KNOWN && inflow->open_us <= now_us &&
        evidence_may_open(inflow) && !pause_is_on(inflow)) {
        open_stream(self, now_us, inflow);
    }
    if (inflow->stream != 0) {
        pump(self, now_us, inflow);
    }
    if (inflow->stream != 0 && inflow->untold) {
        tell_applied(self, inflow);
    }
}

void inflows_turn(struct link *self, uint64_t now_us)
{
    struct inflow *inflow = TAILQ_FIRST(&self->inflows);

    forget_left(self);
    while (inflow != NULL) {
        struct inflow *next = TAILQ_NEXT(inflow, link);

        if (inflow_lasts(inflow)) {
            inflow_turn(self, now_us, inflow);
        } else {
            end_by_loss(self, inflow);
        }
        inflow = next;
    }
}

/* But for its batches and the opening of its stream. What is due already waits for an answer. */
static uint64_t due_us(const struct link *self, const struct inflow *inflow)
{
    uint64_t at_us = places_next_us(self, inflow);

    if (own_boots_next_us(inflow) > self->now_us) {
        at_us = least(at_us, own_boots_next_us(inflow));
    }
    if (marked_next_us(inflow) > self->now_us) {
        at_us = least(at_us, marked_next_us(inflow));
    }
    return at_us;
}

uint64_t inflows_next_us(const struct link *self)
{
    const struct inflow *inflow;
    uint64_t next_us = ACTOR_NEVER;

    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        const struct arrived_batch *arrival;

        next_us = least(next_us, due_us(self, inflow));
        if (inflow->stream == 0 && inflow->open_us > self->now_us) {
            next_us = inflow->open_us < next_us ? inflow->open_us : next_us;
        }
        TAILQ_FOREACH(arrival, &inflow->arrivals, link)
        {
            if (!arrival->applied && !arrival->asked && arrival->again_us < next_us) {
                next_us = arrival->again_us;
            }
            if (arrival->full) {
                break;
            }
        }
    }
    return next_us;
}

void inflows_tick(struct link *self, uint64_t now_us)
{
    struct inflow *inflow;
    uint64_t streams = 0;

    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        if (inflow->stream != 0 && (channel_find(self, inflow->channel) == NULL ||
                                    now_us - inflow->heard_us > LINK_SILENT_US)) {
            inflow_close(self, inflow, STATUS_DEADLINE, "nothing was heard for a while");
        }
        if (inflow->batch_us != 0 && TAILQ_EMPTY(&inflow->arrivals) &&
            now_us - inflow->batch_us > RECEIVING_US) {
            note_receiving(self, inflow, 0);
            inflow->untold = true; /* It may be sent less than while batches came. */
        }
        streams += inflow->stream != 0;
    }
    self->counters[LINK_site_streams_in] = streams;
}

/* ---- which there are ---- */

struct inflow *inflow_find(const struct link *self, uint64_t filter_id, uint32_t peer)
{
    struct inflow *inflow;

    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        if (inflow->filter_id == filter_id && inflow->peer == peer) {
            return inflow;
        }
    }
    return NULL;
}

void inflows_fini(struct link *self)
{
    struct inflow *inflow;

    while (!TAILQ_EMPTY(&self->inflows)) {
        inflow_drop(self, TAILQ_FIRST(&self->inflows));
    }
    TAILQ_FOREACH(inflow, &self->leaving, link)
    {
        inflow->places.asking = 0; /* The router is gone, and answers nobody any more. */
        inflow->own.asked = false;
        inflow->held_here.asking = false;
    }
    forget_left(self);
}
