/* The tails of the logs of this site's nodes. One question is under way at each node, for all
 * filters whose place in its log is the same; while places differ, the one that is furthest behind
 * and the one that is furthest ahead take turns, so that neither waits for the other. Who has
 * caught up goes on together with the next one. */
#include "link/private.h"

#include <assert.h>
#include <string.h>

enum {
    WAIT_MS = 2000, /* a node may keep a question for so long while there is nothing to tell */
    PATIENCE_US = 5000000,
    AGAIN_US = 50000, /* after an answer that tells nothing, as something is wrong */
    HURRY_US = 5000,  /* between two questions for the sake of marks */
    MAX_BYTES = 1 << 20,
};

static struct reader *find(struct link *self, uint32_t node)
{
    struct reader *reader;

    TAILQ_FOREACH(reader, &self->readers, link)
    {
        if (reader->node == node) {
            return reader;
        }
    }
    return NULL;
}

/* In the node list as it is now. */
static void connect_to(struct link *self, struct reader *reader)
{
    const struct node_list *nodes = &router_documents(self->router)->nodes;
    const struct node_record *record = node_list_find(nodes, reader->node);
    char address[NODE_ADDRESS_BYTES];

    if (record == NULL) {
        return;
    }
    (void)node_record_address(record, address);
    if (reader->channel != 0 && strcmp(address, reader->address) == 0) {
        return;
    }
    if (reader->channel != 0) {
        self->inner.link_close(self->inner.context, reader->channel);
    }
    memcpy(reader->address, address, sizeof reader->address);
    reader->channel = self->inner.link_open(self->inner.context, address);
    reader->number = 0;
}

/* ---- who reads ---- */

void reader_stir(struct reader *reader)
{
    reader->stirred = true;
}

void reader_hurry(struct reader *reader, uint64_t now_us)
{
    if (now_us - reader->hurried_us >= HURRY_US) {
        reader->hurried_us = now_us;
        reader->hurried = reader->stirred = true;
    }
}

bool reader_join(struct link *self, struct reading *reading)
{
    struct reader *reader = find(self, reading->member.node);

    if (reader == NULL) {
        reader = heap_zalloc(1, sizeof *reader);
        if (reader == NULL) {
            return false;
        }
        reader->node = reading->member.node;
        TAILQ_INIT(&reader->readings);
        TAILQ_INSERT_TAIL(&self->readers, reader, link);
    }
    TAILQ_INSERT_TAIL(&reader->readings, reading, link);
    reading->reader = reader;
    reading->asked = false;
    reader_stir(reader);
    return true;
}

void reader_leave(struct reading *reading)
{
    if (reading->reader != NULL) {
        TAILQ_REMOVE(&reading->reader->readings, reading, link);
        reading->reader = NULL;
    }
}

static void forget(struct link *self, struct reader *reader)
{
    if (reader->channel != 0) {
        self->inner.link_close(self->inner.context, reader->channel);
    }
    TAILQ_REMOVE(&self->readers, reader, link);
    heap_free(reader);
}

/* A connection stays while its node does: streams end and begin anew. */
void readers_tick(struct link *self)
{
    const struct node_list *nodes = &router_documents(self->router)->nodes;
    struct reader *reader = TAILQ_FIRST(&self->readers);

    while (reader != NULL) {
        struct reader *next = TAILQ_NEXT(reader, link);

        if (TAILQ_EMPTY(&reader->readings) && node_list_find(nodes, reader->node) == NULL) {
            forget(self, reader);
        }
        reader = next;
    }
}

void readers_fini(struct link *self)
{
    while (!TAILQ_EMPTY(&self->readers)) {
        assert(TAILQ_EMPTY(&TAILQ_FIRST(&self->readers)->readings));
        forget(self, TAILQ_FIRST(&self->readers));
    }
}

/* ---- asking ---- */

static bool same_log(const struct reading *a, const struct reading *b)
{
    return a->member.incarnation == b->member.incarnation && a->boot == b->boot;
}

static bool may_ask(const struct reading *reading, uint64_t now_us)
{
    return !reading->stalled && reading->again_us <= now_us;
}

/* Whose turn it is: who judges first; *alone: no other place is to be read from. */
static struct reading *choose(struct reader *reader, uint64_t now_us, bool *alone)
{
    struct reading *lowest = NULL;
    struct reading *highest = NULL;
    struct reading *reading;

    *alone = true;
    TAILQ_FOREACH(reading, &reader->readings, link)
    {
        if (!may_ask(reading, now_us)) {
            continue;
        }
        if (reading->judges) {
            *alone = false;
            return reading;
        }
        if (lowest != NULL && (reading->at != lowest->at || !same_log(reading, lowest))) {
            *alone = false;
        }
        lowest = lowest == NULL || reading->at < lowest->at ? reading : lowest;
        highest = highest == NULL || reading->at > highest->at ? reading : highest;
    }
    reader->ahead = !reader->ahead;
    return reader->ahead ? highest : lowest;
}

static int by_id(const void *a, const void *b)
{
    uint64_t left = ((const struct site_tail_filter *)a)->filter_id;
    uint64_t right = ((const struct site_tail_filter *)b)->filter_id;

    return left < right ? -1 : left > right;
}

/* In the list, perhaps twice. False: memory is out, or its document is gone. */
static bool list_filter(struct link *self, uint64_t filter_id)
{
    const struct document_entry *entry = document_cache_find(router_documents(self->router),
                                                             filter_id);

    if (entry == NULL || !heap_grow(&self->filters, &self->filters_capacity, self->nfilters + 1,
                                    sizeof *self->filters)) {
        return false;
    }
    self->filters[self->nfilters++] = (struct site_tail_filter){
        .filter_id = filter_id,
        .epoch = entry->document.epoch,
        .epoch_hash = entry->document.epoch_hash,
    };
    return true;
}

/* All that go on from the same place as `first`; where they are too many for one question those who
 * are asked go behind the others. */
static void gather(struct link *self, struct reader *reader, const struct reading *first,
                   uint64_t now_us)
{
    struct reading *last = TAILQ_LAST(&reader->readings, reading_list);
    struct reading *reading = TAILQ_FIRST(&reader->readings);
    bool more = true;

    self->nfilters = 0;
    while (more) {
        struct reading *next = TAILQ_NEXT(reading, link);

        more = reading != last;
        reading->asked = may_ask(reading, now_us) && reading->at == first->at &&
                         same_log(reading, first) && self->nfilters < SITE_TAIL_MAX_FILTERS &&
                         list_filter(self, reading->filter_id);
        if (reading->asked && next != NULL) {
            TAILQ_REMOVE(&reader->readings, reading, link);
            TAILQ_INSERT_TAIL(&reader->readings, reading, link);
        }
        reading = next;
    }
}

/* A filter may be sent to several sites: its readings are one line of the list. */
static void put_in_order(struct link *self)
{
    size_t kept = 0;

    qsort(self->filters, self->nfilters, sizeof *self->filters, by_id);
    for (size_t i = 0; i < self->nfilters; i++) {
        if (kept == 0 || self->filters[kept - 1].filter_id != self->filters[i].filter_id) {
            self->filters[kept++] = self->filters[i];
        }
    }
    self->nfilters = kept;
}

/* By the streams that there are. A paused filter has none, and needs what it lacks all the same: so
 * of that site nothing is said, and nodes keep as much as in a cut. */
size_t readers_taken(const struct link *self, uint32_t node,
                     struct site_taken taken[LINK_MAX_SITES])
{
    size_t count = 0;

    for (uint32_t peer = 0; peer < self->config.npeers; peer++) {
        const struct outflow *outflow;
        uint64_t from = UINT64_MAX;
        bool any = false;

        TAILQ_FOREACH(outflow, &self->outflows, link)
        {
            if (outflow->peer == peer && !outflow->over) {
                uint64_t needs = outflow_needs(outflow, node);

                any = true;
                from = needs < from ? needs : from;
            }
        }
        if (any && from != UINT64_MAX && !self->pauses[peer]) {
            taken[count++] = (struct site_taken){
                .site_high = self->config.peers[peer].id.high,
                .site_low = self->config.peers[peer].id.low,
                .offset = from,
            };
        }
    }
    return count;
}

static void ask(struct link *self, uint64_t now_us, struct reader *reader)
{
    bool alone;
    struct reading *first = choose(reader, now_us, &alone);
    struct frame frame = {.kind = FRAME_SITE_TAIL_REQUEST};
    struct site_tail_request *request = &frame.body.site_tail_request;
    struct site_taken taken[LINK_MAX_SITES];
    struct span bytes;

    if (first == NULL) {
        return;
    }
    reader->again_us = now_us + AGAIN_US; /* Unless it is asked now. */
    if (reader->channel == 0) {
        return;
    }
    gather(self, reader, first, now_us);
    if (self->nfilters == 0) {
        return;
    }
    put_in_order(self);
    frame.correlation = ++self->last_number;
    *request = (struct site_tail_request){
        .source = first->member,
        .boot = first->boot,
        .from = first->at,
        .max_bytes = MAX_BYTES,
        .wait_ms = alone && !reader->hurried ? WAIT_MS : 0,
        .list = site_tail_list(self->filters, self->nfilters),
        .filters = self->filters,
        .nfilters = self->nfilters,
        .taken = taken,
        .ntaken = readers_taken(self, reader->node, taken),
    };
    if (request->list == reader->list && !reader->list_lost) {
        request->nfilters = 0; /* The node knows it. */
    }
    if (codec_encode_out(&frame, &self->inner, &self->out, &bytes) == STATUS_OK &&
        self->inner.send(self->inner.context, reader->channel, bytes) == STATUS_OK) {
        reader->number = frame.correlation;
        reader->asked_us = now_us;
        reader->list = request->list;
        reader->list_lost = reader->stirred = reader->hurried = false;
        reader->waits = request->wait_ms > 0;
        reader->again_us = 0;
    }
}

void readers_turn(struct link *self, uint64_t now_us)
{
    struct reader *reader;

    TAILQ_FOREACH(reader, &self->readers, link)
    {
        if (reader->number != 0 && now_us - reader->asked_us >= PATIENCE_US) {
            reader->number = 0; /* It was lost; the node may be another one by now. */
            reader->list_lost = true;
        } else if (reader->stirred && reader->waits) {
            reader->number = 0; /* The next question takes its place. */
        }
        if (reader->number == 0 && reader->again_us <= now_us) {
            connect_to(self, reader);
            ask(self, now_us, reader);
        }
    }
}

/* ---- answers ---- */

static const struct site_tail_refusal *refusal_of(const struct site_tail_reply *reply,
                                                  uint64_t filter_id)
{
    for (size_t i = 0; i < reply->nrefusals; i++) {
        if (reply->refusals[i].filter_id == filter_id) {
            return &reply->refusals[i];
        }
    }
    return NULL;
}

static void tell(struct link *self, uint64_t now_us, struct reading *reading,
                 const struct site_tail_reply *reply)
{
    const struct site_tail_refusal *refusal = refusal_of(reply, reading->filter_id);

    if (reply->from != reading->at) {
        return; /* It is to be read from elsewhere by now. */
    }
    if (refusal != NULL) {
        reading->again_us = now_us + AGAIN_US;
    }
    if (refusal != NULL && !refusal->compare) {
        return;
    }
    if (reading->judges) {
        reader_leave(reading); /* That place it had. */
        return;
    }
    if (refusal != NULL) {
        outflow_lost(reading);
        return;
    }
    if (reply->boot != reading->boot && outflow_is_ahead(reading)) {
        outflow_close(self, reading->outflow, STATUS_STALE,
                      "a node has started again, and of its log there are places that only the "
                      "asker can tell");
        return;
    }
    reading->boot = reply->boot;
    reading->at = reply->next;
    outflow_read(self, now_us, reading, reply);
}

/* Of those that were asked, which all began at one place, one that has moved; NULL: none has. */
static const struct reading *find_moved(const struct reader *reader)
{
    const struct reading *reading;

    TAILQ_FOREACH(reading, &reader->readings, link)
    {
        if (reading->asked && reading->at > reading->from) {
            return reading;
        }
    }
    return NULL;
}

/* Who has caught up with others goes on from the lowest of their places: what is told twice by that
 * is not sent twice. */
static void join_places(struct reader *reader, uint64_t now_us)
{
    const struct reading *moved = find_moved(reader);
    struct reading *reading;
    uint64_t lowest;

    if (moved == NULL) {
        return;
    }
    lowest = moved->at;
    TAILQ_FOREACH(reading, &reader->readings, link)
    {
        if (!reading->asked && !reading->judges && may_ask(reading, now_us) &&
            same_log(moved, reading) && reading->at >= moved->from && reading->at < lowest) {
            lowest = reading->at;
        }
    }
    TAILQ_FOREACH(reading, &reader->readings, link)
    {
        if (reading->asked && same_log(moved, reading) && reading->from <= lowest &&
            reading->at > lowest) {
            reading->at = lowest;
        }
    }
}

static void take(struct link *self, uint64_t now_us, struct reader *reader,
                 const struct site_tail_reply *reply)
{
    struct reading *reading = TAILQ_FIRST(&reader->readings);

    while (reading != NULL) {
        struct reading *next = TAILQ_NEXT(reading, link); /* It may leave. */

        if (reading->asked && reply->status == STATUS_OK) {
            reading->from = reading->at;
            tell(self, now_us, reading, reply);
        } else if (reading->asked && reply->status == STATUS_STALE && reading->judges) {
            reader_leave(reading); /* It is no place to go on from, and was one. */
        } else if (reading->asked && reply->status == STATUS_STALE) {
            outflow_lost(reading);
        } else if (reading->asked && reply->status == STATUS_CONFLICT) {
            outflow_is_behind(reading);
        }
        reading = next;
    }
}

bool readers_on_answer(struct link *self, uint64_t now_us, uint32_t link, struct span bytes)
{
    struct reader *reader;
    struct frame frame = {0};
    const struct site_tail_reply *reply = &frame.body.site_tail_reply;

    TAILQ_FOREACH(reader, &self->readers, link)
    {
        if (reader->channel == link) {
            break;
        }
    }
    if (reader == NULL) {
        return false;
    }
    if (codec_decode(self->arena, bytes, &frame) != STATUS_OK ||
        frame.correlation != reader->number || reader->number == 0) {
        return true;
    }
    reader->number = 0;
    if (frame.kind != FRAME_SITE_TAIL_REPLY) {
        reader->again_us = now_us + AGAIN_US; /* A refusal of the whole. */
        return true;
    }
    for (size_t i = 0; i < reply->ndocuments; i++) {
        router_take_document(self->router, now_us, reply->documents[i]);
    }
    if (reply->status == STATUS_NOT_FOUND) {
        reader->list_lost = true;
    } else if (reply->status != STATUS_OK && reply->status != STATUS_STALE &&
               reply->status != STATUS_CONFLICT) {
        reader->again_us = now_us + AGAIN_US;
    }
    take(self, now_us, reader, reply);
    join_places(reader, now_us);
    return true;
}

/* When somebody may be asked for next. */
static uint64_t due_us(const struct reader *reader)
{
    const struct reading *reading;
    uint64_t next_us = ACTOR_NEVER;

    TAILQ_FOREACH(reading, &reader->readings, link)
    {
        if (!reading->stalled && reading->again_us < next_us) {
            next_us = reading->again_us;
        }
    }
    return next_us == ACTOR_NEVER || next_us > reader->again_us ? next_us : reader->again_us;
}

uint64_t readers_next_us(const struct link *self)
{
    const struct reader *reader;
    uint64_t next_us = ACTOR_NEVER;

    TAILQ_FOREACH(reader, &self->readers, link)
    {
        uint64_t at_us = reader->number != 0 ? reader->asked_us + PATIENCE_US : due_us(reader);

        next_us = at_us < next_us ? at_us : next_us;
    }
    return next_us;
}
