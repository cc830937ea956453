/* Streams that are sent. What readers bring of the filter is gathered, a key that several replicas
 * tell once. From time to time what was gathered becomes a section: it is sorted and sent as
 * batches, and the last one of them says how far each log was covered when the section began. What
 * comes meanwhile waits for the next one, so that a backlog never keeps places and marks from being
 * told. A replica whose place is not known, or not to be gone on from, is copied first: fill.c. */
#include "base/heap.h"
#include "base/mutant.h"
#include "link/private.h"
#include "map/reader.h"
#include "site/batch.h"

#include <assert.h>
#include <string.h>

enum {
    PENDING_MAX_KEYS = 2 * SITE_BATCH_MAX_KEYS, /* nothing more is read beyond it */
    UNFILLED_US = 5000000,                      /* a replica that can't be copied is left alone */
};

/* ---- what has been sent ---- */

/* A record is told by every replica that has it. Where two have one number and one content the
 * second one was sent; the table forgets, and what is sent twice does no harm. */
static bool is_repeat(struct outflow *outflow, const struct site_tail_record *record)
{
    struct sent_record *place;
    bool same;

    if (record->producer_id == 0) {
        return false; /* Without a number nothing tells it apart. */
    }
    if (outflow->memory == NULL) {
        outflow->memory = heap_zalloc(OUTFLOW_MEMORY, sizeof *outflow->memory);
    }
    if (outflow->memory == NULL) {
        return false;
    }
    place = &outflow->memory[(record->producer_id ^ record->number * UINT64_C(0x9e3779b97f4a7c15)) %
                             OUTFLOW_MEMORY];
    same = place->producer_id == record->producer_id && place->number == record->number &&
           (place->digest == record->digest || MUTANT(SITE_REPEAT_ANY_CONTENT));
    *place = (struct sent_record){record->producer_id, record->number, record->digest};
    return same;
}

/* ---- reading ---- */

static bool gather_keys(struct outflow *outflow, const uint64_t *keys, size_t count)
{
    if (count == 0) {
        return true;
    }
    if (!heap_grow(&outflow->pending, &outflow->pending_capacity, outflow->npending + count,
                   sizeof *outflow->pending)) {
        return false;
    }
    memcpy(outflow->pending + outflow->npending, keys, count * sizeof *keys);
    outflow->npending += count;
    return true;
}

static bool is_wanted(const struct outflow *outflow, const struct site_tail_record *record)
{
    for (uint32_t i = 0; i < record->targets->count; i++) {
        if (record->targets->items[i].keyset == outflow->keyset) {
            return true;
        }
    }
    return false;
}

void outflow_stall_if_full(struct outflow *outflow)
{
    bool full = outflow->npending >= PENDING_MAX_KEYS;

    for (size_t i = 0; i < outflow->nreadings; i++) {
        struct reading *reading = &outflow->readings[i];

        if (reading->stalled && !full && reading->reader != NULL) {
            reader_stir(reading->reader);
        }
        reading->stalled = full;
    }
}

/* The follows that an answer speaks of: those whose place is in it. One that was begun from a lower
 * place since the question went out is not among them. Of another boot than it knew, a place within
 * the answer may be one of records that are not there any more. */
static bool is_told(struct follow *follow, const struct reading *reading,
                    const struct site_tail_reply *reply)
{
    if (follow->fills || follow->source.node != reading->member.node ||
        follow->source.offset < reply->from) {
        return false;
    }
    if (follow->source.boot != reply->boot) {
        follow->source.offset = reply->from;
    }
    return true;
}

static bool read_record(struct link *self, struct outflow *outflow, const struct reading *reading,
                        const struct site_tail_reply *reply, const struct site_tail_record *record,
                        const uint64_t *keys)
{
    struct follow *follow = record->filter_id == outflow->filter_id
                                ? outflow_follow(outflow, record->group, reading->member.node)
                                : NULL;

    if (follow == NULL || !is_told(follow, reading, reply) ||
        record->offset < follow->source.offset || !is_wanted(outflow, record)) {
        return true;
    }
    if (is_repeat(outflow, record)) {
        link_count(self, LINK_site_repeats_total, 1);
        return true;
    }
    return gather_keys(outflow, keys, record->count);
}

/* Everything of the answer below `next` is read. Copies are behind their views' ends: what those
 * have is not read again. Another boot is told at once, so that it is vouched for (vouched.c). */
void outflow_read(struct link *self, uint64_t now_us, struct reading *reading,
                  const struct site_tail_reply *reply)
{
    struct outflow *outflow = reading->outflow;
    const uint64_t *keys = reply->fingerprints;

    for (size_t i = 0; i < reply->nrecords; i++) {
        if (!read_record(self, outflow, reading, reply, &reply->records[i], keys)) {
            outflow_close(self, outflow, STATUS_NOMEM, "out of memory");
            return;
        }
        keys += reply->records[i].count;
    }
    for (size_t i = 0; i < outflow->nfollows; i++) {
        struct follow *follow = &outflow->follows[i];

        if (is_told(follow, reading, reply) &&
            (follow->source.offset < reply->next || follow->source.boot != reply->boot)) {
            follow->source.offset = reply->next > follow->source.offset ? reply->next
                                                                        : follow->source.offset;
            if (follow->source.boot != reply->boot) {
                outflow->placed_us = 0;
                outflow->flush_now = true;
            }
            follow->source.boot = reply->boot;
            outflow->moved = true;
        }
    }
    if (outflow->npending > 0 && outflow->since_us == 0) {
        outflow->since_us = now_us;
    }
    outflow_stall_if_full(outflow);
}

/* ---- who is followed ---- */

/* What the asker has of it, if that is to be gone on from. One of an epoch that is not known here
 * is what is left of the time after an older copy: the node judges that. */
static const struct site_source *known(const struct site_source *sources, size_t nsources,
                                       uint32_t group, const struct slot *slot)
{
    const struct member *reader = slot_reader(slot);

    for (size_t i = 0; i < nsources; i++) {
        if (sources[i].group == group && sources[i].node == reader->node &&
            sources[i].incarnation == reader->incarnation && sources[i].epoch >= slot->read_since &&
            outflow_place_can_be(&sources[i])) {
            return &sources[i];
        }
    }
    return NULL;
}

static void add_follow(struct outflow *outflow, uint32_t group, const struct slot *slot,
                       const struct site_source *source, uint64_t epoch)
{
    const struct member *reader = slot_reader(slot);
    struct follow *follow = &outflow->follows[outflow->nfollows++];

    *follow = (struct follow){
        .source = {.group = group, .node = reader->node, .incarnation = reader->incarnation},
        .fills = source == NULL,
    };
    if (source != NULL) {
        follow->source = *source;
        follow->source.epoch = least(source->epoch, epoch);
        follow->taken = source->offset;
        follow->taken_boot = source->boot;
    }
}

/* All readers of the document, each with the place that is known of it. */
static bool find_follows(struct outflow *outflow, const struct filter_document *document,
                         const struct site_source *sources, size_t nsources)
{
    const struct epoch_content *content = &document->content;
    struct follow *follows = heap_zalloc((size_t)content->ngroups * content->rule.replicas + 1,
                                         sizeof *follows);

    if (follows == NULL) {
        return false;
    }
    heap_free(outflow->follows);
    outflow->follows = follows;
    outflow->nfollows = 0;
    for (uint32_t group = 0; group < content->ngroups; group++) {
        for (uint32_t i = 0; i < content->rule.replicas; i++) {
            const struct slot *slot = &content->groups[group].slots[i];

            add_follow(outflow, group, slot, known(sources, nsources, group, slot),
                       document->epoch);
        }
    }
    outflow->epoch = document->epoch;
    return true;
}

struct reading *outflow_reading(struct outflow *outflow, uint32_t node)
{
    for (size_t i = 0; i < outflow->nreadings; i++) {
        if (outflow->readings[i].member.node == node) {
            return &outflow->readings[i];
        }
    }
    assert(outflow->nreadings < outflow->readings_room);
    return &outflow->readings[outflow->nreadings++];
}

/* From the lowest place that any of its slot groups has in that log; places of different
 * incarnations of a node are of different logs. */
static bool read_on(struct link *self, struct outflow *outflow, struct follow *follow)
{
    struct reading *reading = outflow_reading(outflow, follow->source.node);
    bool same = reading->reader != NULL &&
                reading->member.incarnation == follow->source.incarnation;

    if (same && follow->source.boot != reading->boot) {
        follow->fills =
            true; /* One place is asked from, and judged: it says nothing of this one. */
        return true;
    }
    if (same && follow->source.offset < reading->at) {
        reading->at = follow->source.offset;
        reading->asked = false; /* The answer under way begins behind it. */
        reader_stir(reading->reader);
    }
    if (same) {
        return true;
    }
    reader_leave(reading);
    *reading = (struct reading){
        .outflow = outflow,
        .filter_id = outflow->filter_id,
        .member = {follow->source.node, follow->source.incarnation},
        .boot = follow->source.boot,
        .at = follow->source.offset,
    };
    return reader_join(self, reading);
}

static void leave_readers(struct outflow *outflow)
{
    for (size_t i = 0; i < outflow->nreadings; i++) {
        reader_leave(&outflow->readings[i]);
    }
    outflow->nreadings = 0;
}

static bool start_reading(struct link *self, struct outflow *outflow)
{
    leave_readers(outflow);
    heap_free(outflow->readings);
    outflow->readings_room = outflow->nfollows + 1;
    outflow->readings = heap_zalloc(outflow->readings_room, sizeof *outflow->readings);
    if (outflow->readings == NULL) {
        return false;
    }
    for (size_t i = 0; i < outflow->nfollows; i++) {
        if (!outflow->follows[i].fills && !read_on(self, outflow, &outflow->follows[i])) {
            return false;
        }
    }
    return true;
}

/* The log does not go on from that place: what is there is copied. */
void outflow_lost(struct reading *reading)
{
    struct outflow *outflow = reading->outflow;

    for (size_t i = 0; i < outflow->nfollows; i++) {
        if (outflow->follows[i].source.node == reading->member.node) {
            outflow->follows[i].fills = true;
        }
    }
    reader_leave(reading);
}

void outflow_is_behind(struct reading *reading)
{
    struct outflow *outflow = reading->outflow;
    const struct site_source place = {.node = reading->member.node,
                                      .incarnation = reading->member.incarnation,
                                      .boot = reading->boot,
                                      .offset = reading->at};
    enum status status = put_back_note(outflow->self, outflow, &place);

    if (status == STATUS_OK) {
        outflow_close(outflow->self, outflow, STATUS_STALE,
                      "this site was put back to an older copy");
    } else if (status == STATUS_STALE) {
        outflow_lost(reading);
    } else { /* It is found once more. */
        outflow_close(outflow->self, outflow, status, "out of memory");
    }
}

/* A replica is copied: from here on its log is read. */
void outflow_filled(struct link *self, struct outflow *outflow, const struct site_source *source)
{
    struct follow *follow = outflow_follow(outflow, source->group, source->node);

    if (follow == NULL || !follow->fills || follow->source.incarnation != source->incarnation) {
        return; /* Another one has its place by now. */
    }
    follow->source = *source;
    follow->taken = source->offset;
    follow->taken_boot = 0;
    follow->fills = false;
    outflow->moved = outflow->flush_now = true; /* So that a break does not begin it anew: */
    outflow->placed_us = 0;                     /* that is told. */
    link_count(self, LINK_site_copies_total, 1);
    if (!read_on(self, outflow, follow)) {
        outflow_close(self, outflow, STATUS_NOMEM, "out of memory");
    }
}

/* Others have their turn first. */
void outflow_unfilled(struct outflow *outflow, uint64_t now_us, uint32_t group)
{
    for (size_t i = 0; i < outflow->nfollows; i++) {
        if (outflow->follows[i].fills && outflow->follows[i].source.group == group) {
            outflow->follows[i].again_us = now_us + UNFILLED_US;
        }
    }
}

/* Keys of a copy go as those of records do. */
bool outflow_gather(struct outflow *outflow, uint64_t now_us, const uint64_t *keys, size_t count)
{
    if (!gather_keys(outflow, keys, count)) {
        return false;
    }
    outflow->since_us = outflow->since_us == 0 && count > 0 ? now_us : outflow->since_us;
    outflow_stall_if_full(outflow);
    return true;
}

bool outflow_has_room(const struct outflow *outflow)
{
    return outflow->npending < PENDING_MAX_KEYS;
}

/* ---- life ---- */

static void forget(struct link *self, struct outflow *outflow)
{
    leave_readers(outflow);
    judging_stop(outflow);
    fill_forget(outflow);
    scrub_forget(outflow);
    number_table_remove(&self->outflows_by_stream, &outflow->entry);
    TAILQ_REMOVE(&self->outflows, outflow, link);
    for (size_t i = 0; i < OUTFLOW_ALL_MARKS; i++) {
        assert(!outflow->marks[i].asking);
        heap_free(outflow->marks[i].ends);
        heap_free(outflow->marks[i].passed);
    }
    heap_free(outflow->follows);
    heap_free(outflow->readings);
    heap_free(outflow->judges);
    heap_free(outflow->memory);
    heap_free(outflow->section.keys);
    heap_free(outflow->section.cursors);
    heap_free(outflow->taken);
    heap_free(outflow->pending);
    heap_free(outflow->sent);
    buffer_fini(&outflow->kept);
    heap_free(outflow);
}

/* Answers of the router may be on their way to it: it goes once they have come. */
static void retire(struct outflow *outflow)
{
    outflow->over = true;
    scrub_forget(outflow);
    under_way_forget(outflow);
    leave_readers(outflow);
    judging_stop(outflow);
}

static bool awaits_router(const struct outflow *outflow)
{
    bool asking = outflow->fill.asking;

    for (size_t i = 0; i < OUTFLOW_ALL_MARKS; i++) {
        asking |= outflow->marks[i].asking;
    }
    return asking;
}

static void say_closed(struct link *self, struct channel *channel, uint64_t stream,
                       enum status status, const char *cause)
{
    const struct frame frame = {
        .kind = FRAME_SITE_CLOSE,
        .body.site_close = {.stream = stream, .status = status, .message = cause},
    };

    if (channel != NULL) {
        (void)channel_send(self, channel, &frame);
    }
}

void outflow_close(struct link *self, struct outflow *outflow, enum status status,
                   const char *cause)
{
    if (outflow->over) {
        return;
    }
    link_count(self, LINK_site_closed_total, 1);
    say_closed(self, channel_find(self, outflow->channel), outflow->stream, status, cause);
    retire(outflow);
}

void outflow_on_close(struct link *self, struct channel *channel, const struct site_close *message)
{
    struct outflow *outflow = outflow_of(self, channel, message->stream);

    if (outflow != NULL && !outflow->over) {
        retire(outflow);
    }
}

static struct outflow *make(struct link *self, const struct channel *channel,
                            const struct site_open *open, const struct document_entry *entry)
{
    struct outflow *outflow = heap_zalloc(1, sizeof *outflow);

    if (outflow == NULL) {
        return NULL;
    }
    outflow->self = self;
    outflow->peer = channel->peer;
    outflow->filter_id = entry->document.id;
    outflow->stream = open->stream;
    outflow->channel = channel->number;
    outflow->uid = open->uid;
    outflow->own_life = open->source_life;
    outflow->peer_life = open->own_life;
    outflow->keyset = open->keyset;
    outflow->room = open->room;
    way_begin(&outflow->way);
    outflow->offers.answered = open->compares;
    scrub_open(self, self->now_us, outflow);
    buffer_init(&outflow->kept, SITE_BATCH_MAX_BYTES);
    TAILQ_INSERT_TAIL(&self->outflows, outflow, link);
    number_table_put(&self->outflows_by_stream, &outflow->entry, outflow->stream);
    if (!find_follows(outflow, &entry->document, open->sources, open->nsources) ||
        !start_reading(self, outflow) ||
        !judging_begin(self, outflow, open->sources, open->nsources)) {
        forget(self, outflow);
        return NULL;
    }
    return outflow;
}

/* A stream of the same filter to the same link is over: it was lost on its way. */
static void replace(struct link *self, const struct channel *channel, const struct site_open *open)
{
    struct outflow *outflow;

    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        if (!outflow->over && outflow->channel == channel->number &&
            filter_uid_equal(&outflow->uid, &open->uid)) {
            retire(outflow);
        }
    }
}

void outflow_on_open(struct link *self, uint64_t now_us, struct channel *channel,
                     const struct site_open *open)
{
    enum status status = STATUS_OK;
    const char *cause = NULL;
    const struct document_entry *entry = site_filter_find(self, channel->peer, open, &status,
                                                          &cause);
    struct outflow *outflow;

    if (entry == NULL) {
        say_closed(self, channel, open->stream, status, cause);
        return;
    }
    if (number_table_find(&self->outflows_by_stream, open->stream) != NULL) {
        return; /* It has come twice. */
    }
    replace(self, channel, open);
    outflow = make(self, channel, open, entry);
    if (outflow == NULL) {
        say_closed(self, channel, open->stream, STATUS_NOMEM, "out of memory");
        return;
    }
    outflow->said_us = now_us;
}

/* No document has changed since. */
static bool is_judged(const struct link *self, const struct outflow *outflow)
{
    return outflow->judged == router_documents(self->router)->changes;
}

/* Another epoch may have other readers, and others may be read since. */
static bool refresh(struct link *self, struct outflow *outflow)
{
    const struct document_entry *entry = outflow_document(self, outflow);
    struct site_source *sources;
    enum status status;
    const char *fault = site_filter_over(self, outflow, entry, &status);
    size_t count = 0;
    bool done;

    if (fault != NULL) {
        self->pauses[outflow->peer] |= status == STATUS_NOT_READY; /* Before others tell of it. */
        outflow_close(self, outflow, status, fault);
        return false;
    }
    outflow->judged = router_documents(self->router)->changes;
    if (entry->document.epoch == outflow->epoch) {
        return true;
    }
    sources = heap_alloc(outflow->nfollows + 1, sizeof *sources);
    for (size_t i = 0; sources != NULL && i < outflow->nfollows; i++) {
        if (!outflow->follows[i].fills) {
            sources[count++] = outflow->follows[i].source;
        }
    }
    done = sources != NULL && find_follows(outflow, &entry->document, sources, count) &&
           start_reading(self, outflow);
    heap_free(sources);
    if (!done) {
        outflow_close(self, outflow, STATUS_NOMEM, "out of memory");
    }
    return done;
}

static void serve(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    outmarks_read(self, now_us, outflow);
    section_flush(self, now_us, outflow); /* What marks wait for leaves at once. */
    outmarks_answer(self, now_us, outflow);
    fill_turn(self, now_us, outflow);
    section_say_alive(self, now_us, outflow);
}

/* All streams share the rate: whoever has taken what there was goes behind those who wait for it,
 * or one with more to send than that would leave nothing to others. */
static void serve_in_turn(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    bool allowed = section_rate_allows(self, now_us);

    serve(self, now_us, outflow);
    if (allowed && !section_rate_allows(self, now_us)) {
        TAILQ_REMOVE(&self->outflows, outflow, link);
        TAILQ_INSERT_TAIL(&self->outflows, outflow, link);
    }
}

void outflows_turn(struct link *self, uint64_t now_us)
{
    struct outflow *outflow = TAILQ_FIRST(&self->outflows);

    while (outflow != NULL) {
        struct outflow *next = TAILQ_NEXT(outflow, link);

        if (!outflow->over && channel_find(self, outflow->channel) == NULL) {
            retire(outflow);
        }
        if (!outflow->over && (is_judged(self, outflow) || refresh(self, outflow))) {
            serve_in_turn(self, now_us, outflow);
        }
        if (outflow->over && !awaits_router(outflow)) {
            forget(self, outflow);
        }
        outflow = next;
    }
}

void outflows_tick(struct link *self)
{
    const struct outflow *outflow;
    uint64_t streams = 0;

    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        streams++;
    }
    self->counters[LINK_site_streams_out] = streams;
    scrub_tick(self, self->now_us);
}

static uint64_t due_us(const struct link *self, const struct outflow *outflow)
{
    uint64_t next_us = section_alive_us(outflow);

    if (section_may_send(outflow) && outflow->npending > 0) {
        next_us = outflow->since_us + self->config.flush_us;
    }
    for (size_t i = 0; i < OUTFLOW_ALL_MARKS; i++) {
        const struct outmark *mark = &outflow->marks[i];

        if (mark->used && !mark->asking && !mark->read && mark->again_us > self->now_us &&
            mark->again_us < next_us) {
            next_us = mark->again_us;
        }
    }
    if (!outflow->fill.asking && outflow->fill.again_us > self->now_us &&
        outflow->fill.again_us < next_us) {
        next_us = outflow->fill.again_us;
    }
    return next_us;
}

/* Whatever is due and could not be done is done after what it waits for, or with the next tick. */
uint64_t outflows_next_us(const struct link *self)
{
    const struct outflow *outflow;
    uint64_t next_us = ACTOR_NEVER;

    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        uint64_t at_us = outflow->over ? ACTOR_NEVER : due_us(self, outflow);
        uint64_t rate_us = outflow->over ? ACTOR_NEVER : section_next_us(self, outflow);

        at_us = rate_us < at_us || at_us <= self->now_us ? rate_us : at_us;
        if (at_us > self->now_us && at_us < next_us) {
            next_us = at_us;
        }
    }
    return next_us;
}

/* The router is gone, and asks nobody any more. */
void outflows_fini(struct link *self)
{
    while (!TAILQ_EMPTY(&self->outflows)) {
        struct outflow *outflow = TAILQ_FIRST(&self->outflows);

        outflow->fill.asking = false;
        for (size_t i = 0; i < OUTFLOW_ALL_MARKS; i++) {
            outflow->marks[i].asking = false;
        }
        forget(self, outflow);
    }
}
