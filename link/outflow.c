/* Streams that are sent. What readers bring of the filter is gathered, a key that several replicas
 * tell once. From time to time what was gathered becomes a section: it is sorted and sent as
 * batches, and the last one of them says how far each log was covered when the section began. What
 * comes meanwhile waits for the next one, so that a backlog never keeps places and marks from being
 * told. A replica whose place is not known, or not to be gone on from, is copied first: fill.c. */
#include "base/heap.h"
#include "link/private.h"
#include "log/run_merge.h"
#include "map/reader.h"
#include "site/batch.h"

#include <assert.h>
#include <string.h>

enum {
    PENDING_MAX_KEYS = 2 * SITE_BATCH_MAX_KEYS, /* nothing more is read beyond it */
    ALIVE_US = 1000000,
    PLACES_US = 10000000, /* places that have moved are told so often, if no keys are */
    ENDS_MS = 2000,       /* for R replicas to tell how long their logs are */
    ENDS_AGAIN_US = 200000,
    UNFILLED_US = 5000000,
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
           place->digest == record->digest;
    *place = (struct sent_record){record->producer_id, record->number, record->digest};
    return same;
}

/* ---- reading ---- */

static struct follow *follow_of(struct outflow *outflow, uint32_t group, uint32_t node)
{
    for (size_t i = 0; i < outflow->nfollows; i++) {
        if (outflow->follows[i].source.group == group && outflow->follows[i].source.node == node) {
            return &outflow->follows[i];
        }
    }
    return NULL;
}

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

static void stall_if_full(struct outflow *outflow)
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
                                ? follow_of(outflow, record->group, reading->member.node)
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
 * have is not read again. */
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
            follow->source.boot = reply->boot;
            outflow->moved = true;
        }
    }
    if (outflow->npending > 0 && outflow->since_us == 0) {
        outflow->since_us = now_us;
    }
    stall_if_full(outflow);
}

/* ---- who is followed ---- */

static const struct document_entry *document_of(struct link *self, const struct outflow *outflow)
{
    return document_cache_find(router_documents(self->router), outflow->filter_id);
}

/* Nobody has told that who says such a thing. */
static bool can_be(const struct site_source *source, uint64_t epoch)
{
    return source->incarnation != 0 && source->boot != 0 && source->offset % 8 == 0 &&
           source->offset <= INT64_MAX && source->epoch <= epoch;
}

/* What the asker has of it, if that is to be gone on from. */
static const struct site_source *known(const struct site_source *sources, size_t nsources,
                                       uint32_t group, const struct slot *slot, uint64_t epoch)
{
    const struct member *reader = slot_reader(slot);

    for (size_t i = 0; i < nsources; i++) {
        if (sources[i].group == group && sources[i].node == reader->node &&
            sources[i].incarnation == reader->incarnation && sources[i].epoch >= slot->read_since &&
            can_be(&sources[i], epoch)) {
            return &sources[i];
        }
    }
    return NULL;
}

static void add_follow(struct outflow *outflow, uint32_t group, const struct slot *slot,
                       const struct site_source *source)
{
    const struct member *reader = slot_reader(slot);
    struct follow *follow = &outflow->follows[outflow->nfollows++];

    *follow = (struct follow){
        .source = {.group = group, .node = reader->node, .incarnation = reader->incarnation},
        .fills = source == NULL,
    };
    if (source != NULL) {
        follow->source = *source;
        follow->taken = source->offset;
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

            add_follow(outflow, group, slot,
                       known(sources, nsources, group, slot, document->epoch));
        }
    }
    outflow->epoch = document->epoch;
    return true;
}

/* The one of that node; a new one is in no reader yet. */
static struct reading *reading_of(struct outflow *outflow, uint32_t node)
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
    struct reading *reading = reading_of(outflow, follow->source.node);
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

/* A replica is copied: from here on its log is read. */
void outflow_filled(struct link *self, struct outflow *outflow, const struct site_source *source)
{
    struct follow *follow = follow_of(outflow, source->group, source->node);

    if (follow == NULL || !follow->fills || follow->source.incarnation != source->incarnation) {
        return; /* Another one has its place by now. */
    }
    follow->source = *source;
    follow->taken = source->offset;
    follow->fills = false;
    outflow->moved = outflow->flush_now = true; /* So that a break does not begin it anew. */
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
    stall_if_full(outflow);
    return true;
}

bool outflow_has_room(const struct outflow *outflow)
{
    return outflow->npending < PENDING_MAX_KEYS;
}

/* ---- sending ---- */

static size_t list_cursors(const struct outflow *outflow, struct site_batch_cursor *cursors)
{
    size_t count = 0;

    for (size_t i = 0; i < outflow->nfollows; i++) {
        const struct site_source *source = &outflow->follows[i].source;

        if (outflow->follows[i].fills) {
            continue;
        }
        cursors[count++] = (struct site_batch_cursor){
            .node = source->node,
            .group = source->group,
            .incarnation = source->incarnation,
            .boot = source->boot,
            .offset = source->offset,
            .epoch = source->epoch,
        };
    }
    return count;
}

static int by_node(const void *a, const void *b)
{
    const struct site_batch_cursor *left = a;
    const struct site_batch_cursor *right = b;

    if (left->node != right->node) {
        return left->node < right->node ? -1 : 1;
    }
    return left->group < right->group ? -1 : left->group > right->group;
}

static bool send_bytes(struct link *self, struct outflow *outflow, struct span bytes)
{
    struct channel *channel = channel_find(self, outflow->channel);
    const struct frame frame = {
        .kind = FRAME_SITE_BATCH,
        .body.site_batch = {.stream = outflow->stream, .number = outflow->number, .batch = bytes},
    };

    return channel != NULL && channel_send(self, channel, &frame);
}

/* What could not be sent is kept, and nothing overtakes it. */
static void send_kept(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    if (outflow->kept.size > 0 && send_bytes(self, outflow, buffer_span(&outflow->kept))) {
        buffer_clear(&outflow->kept);
        outflow->said_us = now_us;
    }
}

static bool note_sent(struct outflow *outflow, size_t bytes)
{
    if (!heap_grow(&outflow->sent, &outflow->sent_capacity, outflow->nsent + 1,
                   sizeof *outflow->sent)) {
        return false;
    }
    outflow->sent[outflow->nsent++] = bytes;
    outflow->flying += bytes;
    return true;
}

static bool may_send(const struct outflow *outflow)
{
    return outflow->kept.size == 0 && outflow->flying < outflow->room;
}

/* What was gathered, sorted, each once; and where the logs are read to. False: memory is out, and
 * it is tried again. */
static bool begin_section(struct link *self, struct outflow *outflow)
{
    struct section *section = &outflow->section;
    uint64_t *keys = section->keys;
    size_t room = section->room;

    if (!heap_grow(&self->spare, &self->spare_capacity, outflow->npending, sizeof *self->spare) ||
        !heap_grow(&section->cursors, &section->cursors_room, outflow->nfollows,
                   sizeof *section->cursors)) {
        return false;
    }
    section->ncursors = list_cursors(outflow, section->cursors);
    if (section->ncursors > 1) {
        qsort(section->cursors, section->ncursors, sizeof *section->cursors, by_node);
    }
    section->nkeys = outflow->npending > 1
                         ? run_sort(outflow->pending, self->spare, outflow->npending)
                         : outflow->npending;
    section->keys = outflow->pending;
    section->room = outflow->pending_capacity;
    section->at = 0;
    section->active = true;
    section->number++;
    outflow->pending = keys;
    outflow->pending_capacity = room;
    outflow->npending = 0;
    outflow->since_us = 0;
    outflow->moved = outflow->flush_now = false;
    return true;
}

/* Where the logs will be taken at the other site, once all that was sent is applied. */
static void note_places(struct outflow *outflow)
{
    const struct section *section = &outflow->section;

    if (outflow->taken_number != 0 || !heap_grow(&outflow->taken, &outflow->taken_room,
                                                 section->ncursors + 1, sizeof *outflow->taken)) {
        return; /* Those before are waited for; the next section tells more. */
    }
    if (section->ncursors > 0) {
        memcpy(outflow->taken, section->cursors, section->ncursors * sizeof *outflow->taken);
    }
    outflow->ntaken = section->ncursors;
    outflow->taken_number = outflow->number;
}

/* The next batch of the section; with the last one the places are told. */
static bool send_batch(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    struct section *section = &outflow->section;
    size_t left = section->nkeys - section->at;
    size_t count = left < SITE_BATCH_MAX_KEYS ? left : SITE_BATCH_MAX_KEYS;
    bool last = count == left;
    struct site_batch batch = {
        .uid = outflow->uid,
        .sender = outflow->own_life,
        .receiver = outflow->peer_life,
        .nkeysets = 1,
        .keysets = {outflow->keyset},
        .nkeys = (uint32_t)count,
        .ncursors = last ? (uint32_t)section->ncursors : 0,
    };
    uint8_t *out;

    assert(section->active && may_send(outflow));
    if (buffer_extend(&outflow->kept, site_batch_room(&batch), &out) != STATUS_OK) {
        return false;
    }
    outflow->kept.size = site_batch_encode(&batch, section->keys + section->at, section->cursors,
                                           out);
    if (!note_sent(outflow, outflow->kept.size)) {
        buffer_clear(&outflow->kept);
        return false;
    }
    outflow->number++;
    section->at += count;
    section->active = !last;
    if (last) {
        note_places(outflow);
    }
    link_count(self, LINK_site_keys_total, count);
    link_count(self, LINK_site_wire_bytes_total, outflow->kept.size);
    send_kept(self, now_us, outflow);
    return true;
}

static bool is_due(const struct link *self, const struct outflow *outflow, uint64_t now_us)
{
    return outflow->flush_now || outflow->npending >= SITE_BATCH_MAX_KEYS ||
           (outflow->npending > 0 && now_us - outflow->since_us >= self->config.flush_us) ||
           (outflow->moved && now_us - outflow->placed_us >= PLACES_US);
}

/* As far as the other side has room. */
static void flush(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    send_kept(self, now_us, outflow);
    while (may_send(outflow)) {
        if (!outflow->section.active) {
            if (!is_due(self, outflow, now_us) || !begin_section(self, outflow)) {
                break;
            }
            outflow->placed_us = now_us;
        }
        if (!send_batch(self, now_us, outflow)) {
            break;
        }
    }
    stall_if_full(outflow);
}

/* So that the other side knows of a loss of what was sent last, and that it is still there. */
static void say_alive(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    if (outflow->kept.size == 0 && now_us - outflow->said_us >= ALIVE_US &&
        send_bytes(self, outflow, span_of(NULL, 0))) {
        outflow->said_us = now_us;
    }
}

void outflow_on_applied(struct link *self, struct channel *channel,
                        const struct site_applied *message)
{
    struct outflow *outflow = outflow_of(self, channel, message->stream);
    size_t count;

    if (outflow == NULL) {
        return;
    }
    if (message->number < outflow->applied || message->number > outflow->number) {
        outflow_close(self, outflow, STATUS_MALFORMED, "more was applied than was sent");
        return;
    }
    count = (size_t)(message->number - outflow->applied);
    for (size_t i = 0; i < count; i++) {
        outflow->flying -= outflow->sent[i];
    }
    outflow->nsent -= count;
    if (outflow->nsent > 0) {
        memmove(outflow->sent, outflow->sent + count, outflow->nsent * sizeof *outflow->sent);
    }
    outflow->applied = message->number;
    outflow->room = message->room;
    if (outflow->taken_number != 0 && outflow->taken_number <= outflow->applied) {
        for (size_t i = 0; i < outflow->ntaken; i++) {
            struct follow *follow = follow_of(outflow, outflow->taken[i].group,
                                              outflow->taken[i].node);

            if (follow != NULL && follow->source.incarnation == outflow->taken[i].incarnation) {
                follow->taken = outflow->taken[i].offset;
            }
        }
        outflow->taken_number = 0;
    }
}

/* What the log of that node is still needed for: from where it is not applied, or is being copied.
 */
uint64_t outflow_needs(const struct outflow *outflow, uint32_t node)
{
    uint64_t from = UINT64_MAX;

    for (size_t i = 0; i < outflow->nfollows; i++) {
        const struct follow *follow = &outflow->follows[i];

        if (follow->source.node == node && !follow->fills && follow->taken < from) {
            from = follow->taken;
        }
    }
    for (uint32_t i = 0; i < outflow->fill.nsources; i++) {
        const struct router_copy_source *source = &outflow->fill.sources[i];

        if (source->member.node == node && source->end < from) {
            from = source->end;
        }
    }
    return from;
}

/* ---- marks ---- */

static void on_ends(void *owner, const struct router_ends_told *told)
{
    struct outmark *mark = owner;

    mark->asking = false;
    mark->nends = 0;
    if (told->status != STATUS_OK ||
        !heap_grow(&mark->ends, &mark->ends_capacity, told->count + 1, sizeof *mark->ends)) {
        return; /* Asked again. */
    }
    if (told->count > 0) {
        memcpy(mark->ends, told->ends, told->count * sizeof *mark->ends);
    }
    mark->nends = told->count;
    mark->epoch = told->epoch;
}

static void ask_ends(struct link *self, uint64_t now_us, struct outflow *outflow,
                     struct outmark *mark)
{
    const struct router_ends question = {
        .filter_id = outflow->filter_id,
        .timeout_ms = ENDS_MS,
        .done = on_ends,
        .owner = mark,
    };

    mark->asking = true;
    mark->again_us = now_us + ENDS_AGAIN_US;
    router_ends(self->router, now_us, &question);
}

/* Of the log that is followed; else that end is never passed. */
static bool is_followed(const struct follow *follow, const struct router_end *end)
{
    return follow != NULL && !follow->fills && follow->source.incarnation == end->incarnation &&
           follow->source.boot == end->boot;
}

/* The node may keep its answer for what routers add, and what moves its log's end may be none of
 * that. */
static void hurry(struct outflow *outflow, uint64_t now_us, uint32_t node)
{
    struct reading *reading = reading_of(outflow, node);

    if (reading->reader != NULL) {
        reader_hurry(reading->reader, now_us);
    }
}

enum passage { PASSED, NOT_YET, LOST };

/* Are R of them read to the end that they told? LOST: so many never will be. */
static enum passage passage_of(struct outflow *outflow, uint64_t now_us, const struct outmark *mark,
                               uint32_t group, uint32_t needed)
{
    uint32_t passed = 0;
    uint32_t followed = 0;

    for (size_t i = 0; i < mark->nends; i++) {
        const struct router_end *end = &mark->ends[i];
        const struct follow *follow = end->group == group ? follow_of(outflow, group, end->node)
                                                          : NULL;

        if (is_followed(follow, end)) {
            followed++;
            passed += follow->source.offset >= end->position;
            if (follow->source.offset < end->position) {
                hurry(outflow, now_us, end->node);
            }
        }
    }
    return passed >= needed ? PASSED : followed >= needed ? NOT_YET : LOST;
}

static enum passage look_at(struct link *self, uint64_t now_us, struct outflow *outflow,
                            const struct outmark *mark)
{
    const struct document_entry *entry = document_of(self, outflow);
    enum passage all = PASSED;

    if (entry == NULL || mark->nends == 0 || mark->epoch != outflow->epoch ||
        entry->document.epoch != outflow->epoch) {
        return LOST;
    }
    for (uint32_t group = 0; group < entry->document.content.ngroups; group++) {
        enum passage one = passage_of(outflow, now_us, mark, group,
                                      entry->document.content.rule.read);

        all = one > all ? one : all;
    }
    return all;
}

/* All that it takes is read: what of that is still gathered is in the next section. */
static void await_section(struct outflow *outflow, struct outmark *mark)
{
    mark->read = true;
    mark->section = outflow->section.number + (outflow->npending > 0);
    outflow->flush_now |= outflow->npending > 0;
}

static void answer_mark(struct link *self, struct outflow *outflow, struct outmark *mark)
{
    struct channel *channel = channel_find(self, outflow->channel);
    const struct frame frame = {
        .kind = FRAME_SITE_MARKED,
        .body.site_marked = {.stream = outflow->stream,
                             .mark = mark->mark,
                             .number = outflow->number},
    };

    if (channel != NULL && channel_send(self, channel, &frame)) {
        link_count(self, LINK_site_marks_total, 1);
        mark->used = false;
    }
}

static bool is_sent(const struct outflow *outflow, uint64_t section)
{
    return outflow->section.number > section ||
           (outflow->section.number == section && !outflow->section.active);
}

/* The ends stay what they are, so that they are reached; unless that can't be any more. */
static void pump_mark(struct link *self, uint64_t now_us, struct outflow *outflow,
                      struct outmark *mark)
{
    enum passage passage;

    if (mark->asking) {
        return;
    }
    if (!mark->read) {
        passage = look_at(self, now_us, outflow, mark);
        if (passage == PASSED) {
            await_section(outflow, mark);
        } else if (passage == LOST && now_us >= mark->again_us) {
            ask_ends(self, now_us, outflow, mark);
        }
    }
    if (mark->read && is_sent(outflow, mark->section)) {
        answer_mark(self, outflow, mark);
    }
}

void outflow_on_mark(struct link *self, uint64_t now_us, struct channel *channel,
                     const struct site_mark *message)
{
    struct outflow *outflow = outflow_of(self, channel, message->stream);

    if (outflow == NULL) {
        return;
    }
    for (size_t i = 0; i < OUTFLOW_MARKS; i++) {
        struct outmark *mark = &outflow->marks[i];

        if (!mark->used) {
            mark->used = true;
            mark->read = false;
            mark->mark = message->mark;
            mark->nends = 0;
            ask_ends(self, now_us, outflow, mark);
            return;
        }
    }
}

/* ---- life ---- */

struct outflow *outflow_of(struct link *self, const struct channel *channel, uint64_t stream)
{
    struct number_entry *entry = number_table_find(&self->outflows_by_stream, stream);
    struct outflow *outflow = (struct outflow *)entry;

    return entry != NULL && outflow->channel == channel->number ? outflow : NULL;
}

static void forget(struct link *self, struct outflow *outflow)
{
    leave_readers(outflow);
    fill_forget(outflow);
    number_table_remove(&self->outflows_by_stream, &outflow->entry);
    TAILQ_REMOVE(&self->outflows, outflow, link);
    for (size_t i = 0; i < OUTFLOW_MARKS; i++) {
        assert(!outflow->marks[i].asking);
        heap_free(outflow->marks[i].ends);
    }
    heap_free(outflow->follows);
    heap_free(outflow->readings);
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
    leave_readers(outflow);
}

static bool awaits_router(const struct outflow *outflow)
{
    bool asking = outflow->fill.asking;

    for (size_t i = 0; i < OUTFLOW_MARKS; i++) {
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
    buffer_init(&outflow->kept, SITE_BATCH_MAX_BYTES);
    TAILQ_INSERT_TAIL(&self->outflows, outflow, link);
    number_table_put(&self->outflows_by_stream, &outflow->entry, outflow->stream);
    if (!find_follows(outflow, &entry->document, open->sources, open->nsources) ||
        !start_reading(self, outflow)) {
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

/* Another epoch may have other readers, and others may be read since. */
static bool refresh(struct link *self, struct outflow *outflow)
{
    const struct document_entry *entry = document_of(self, outflow);
    struct site_source *sources;
    size_t count = 0;
    bool done;

    if (entry == NULL || !site_filter_lasts(self, outflow, entry)) {
        outflow_close(self, outflow, STATUS_NOT_FOUND, "the filter is not in both sites any more");
        return false;
    }
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
    flush(self, now_us, outflow);
    for (size_t i = 0; i < OUTFLOW_MARKS; i++) {
        if (outflow->marks[i].used) {
            pump_mark(self, now_us, outflow, &outflow->marks[i]);
        }
    }
    fill_turn(self, now_us, outflow);
    say_alive(self, now_us, outflow);
}

void outflows_turn(struct link *self, uint64_t now_us)
{
    struct outflow *outflow = TAILQ_FIRST(&self->outflows);

    while (outflow != NULL) {
        struct outflow *next = TAILQ_NEXT(outflow, link);

        if (!outflow->over && channel_find(self, outflow->channel) == NULL) {
            retire(outflow);
        }
        if (!outflow->over && refresh(self, outflow)) {
            serve(self, now_us, outflow);
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
    uint64_t keys = 0;

    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        streams++;
        keys += outflow->npending;
    }
    self->counters[LINK_site_streams_out] = streams;
    self->counters[LINK_site_pending_keys] = keys;
}

static uint64_t due_us(const struct link *self, const struct outflow *outflow)
{
    uint64_t next_us = outflow->said_us + ALIVE_US;

    if (may_send(outflow) && outflow->npending > 0) {
        next_us = outflow->since_us + self->config.flush_us;
    }
    for (size_t i = 0; i < OUTFLOW_MARKS; i++) {
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
        for (size_t i = 0; i < OUTFLOW_MARKS; i++) {
            outflow->marks[i].asking = false;
        }
        forget(self, outflow);
    }
}
