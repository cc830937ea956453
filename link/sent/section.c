/* Sections: what was gathered up to a moment, sorted, and sent as batches with rising numbers, as
 * far as the other side has room. The last batch of a section says how far each log was read when
 * it began, so that nobody goes on behind keys that are not all there. For a few keys that would be
 * most of the batch: such sections say it about once a second, as often as it is noted. */
#include "base/heap.h"
#include "link/private.h"
#include "log/run_merge.h"

#include <assert.h>
#include <string.h>

enum {
    PLACES_US = 1000000,        /* places are told so often with keys ... */
    PLACES_ALONE_US = 30000000, /* ... and without, if they have moved: where rest.c does not */
    PLACES_KEYS = 4096,         /* with so many they cost little */
};

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

/* ---- sending ---- */

static struct frame batch_frame(const struct outflow *outflow, struct span bytes)
{
    return (struct frame){
        .kind = FRAME_SITE_BATCH,
        .body.site_batch = {.stream = outflow->stream, .number = outflow->number, .batch = bytes},
    };
}

/* What could not be sent is kept, and nothing overtakes it. */
static void send_kept(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    struct channel *channel = channel_find(self, outflow->channel);
    const struct frame frame = batch_frame(outflow, buffer_span(&outflow->kept));
    struct sent_batch *last;
    uint32_t gone;

    if (outflow->kept.size == 0 || channel == NULL) {
        return;
    }
    assert(outflow->nsent > 0);
    last = &outflow->sent[outflow->nsent - 1];
    assert(last->by == SITE_MAX_CONNECTIONS);
    gone = under_way_by(outflow, channel);
    if (strands_send(self, channel, &frame, gone, &last->by)) {
        under_way_begin(channel, last);
        buffer_clear(&outflow->kept);
        /* By one connection it tells of all before; by several only that of its own. */
        outflow->said_us = (gone | UINT32_C(1) << last->by) == 1 ? now_us : outflow->said_us;
    }
}

/* By each of them, as none tells of the others. */
static bool send_word(struct link *self, const struct outflow *outflow)
{
    struct channel *channel = channel_find(self, outflow->channel);
    struct frame frame = batch_frame(outflow, span_of(NULL, 0));
    uint32_t gone = channel != NULL ? under_way_by(outflow, channel) | 1 : 0;
    bool sent = false;

    frame.body.site_batch.connections = gone == 1 ? 0 : gone;
    for (uint32_t i = 0; i < SITE_MAX_CONNECTIONS; i++) {
        if ((gone >> i & 1) != 0 && !strand_is_closed(&channel->strands[i])) {
            sent |= channel_send_by(self, channel, i, &frame);
        }
    }
    return sent;
}

/* ---- batches ---- */

static bool note_sent(struct outflow *outflow, uint64_t now_us, size_t bytes, size_t keys)
{
    if (!heap_grow(&outflow->sent, &outflow->sent_capacity, outflow->nsent + 1,
                   sizeof *outflow->sent)) {
        return false;
    }
    outflow->flying += bytes;
    outflow->sent[outflow->nsent++] = (struct sent_batch){.bytes = bytes,
                                                          .keys = (uint32_t)keys,
                                                          .read_us = outflow->section.read_us,
                                                          .sent_us = now_us,
                                                          .under_way = outflow->flying,
                                                          .by = SITE_MAX_CONNECTIONS};
    outflow->pace.bytes += bytes;
    return true;
}

bool section_may_send(const struct outflow *outflow)
{
    return outflow->kept.size == 0 && outflow->flying < outflow->room &&
           outflow->flying < outflow->way.bytes;
}

/* All streams share the rate: whoever overdraws it makes the next one wait. */
bool section_rate_allows(const struct link *self, uint64_t now_us)
{
    return self->config.rate == 0 || token_bucket_ready_us(&self->rate, now_us) <= now_us;
}

/* One that has no room at the other side waits for that. */
static bool waits_for_rate(const struct outflow *outflow)
{
    return outflow->held_back && section_may_send(outflow) && !outflow->over;
}

bool section_line_is_free(const struct link *self, uint64_t now_us)
{
    const struct outflow *outflow;
    bool waits = false;

    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        waits = waits || waits_for_rate(outflow);
    }
    return !waits && section_rate_allows(self, now_us);
}

uint64_t section_next_us(const struct link *self, const struct outflow *outflow)
{
    return waits_for_rate(outflow) ? token_bucket_ready_us(&self->rate, 0) : UINT64_MAX;
}

static bool tells_places(const struct outflow *outflow, uint64_t now_us)
{
    return outflow->npending == 0 || outflow->npending >= PLACES_KEYS ||
           now_us - outflow->placed_us >= PLACES_US;
}

/* What was gathered, sorted, each once; and where the logs are read to. False: memory is out, and
 * it is tried again. */
static bool begin_section(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    struct section *section = &outflow->section;
    uint64_t *keys = section->keys;
    size_t room = section->room;

    if (!heap_grow(&self->spare, &self->spare_capacity, outflow->npending, sizeof *self->spare) ||
        !heap_grow(&section->cursors, &section->cursors_room, outflow->nfollows,
                   sizeof *section->cursors)) {
        return false;
    }
    section->ncursors = 0;
    if (tells_places(outflow, now_us)) {
        section->ncursors = list_cursors(outflow, section->cursors);
        outflow->placed_us = now_us;
        outflow->moved = false;
    }
    if (section->ncursors > 1) {
        qsort(section->cursors, section->ncursors, sizeof *section->cursors, by_node);
    }
    section->nkeys = outflow->npending > 1
                         ? run_sort(outflow->pending, self->spare, outflow->npending)
                         : outflow->npending;
    section->keys = outflow->pending;
    section->room = outflow->pending_capacity;
    section->at = 0;
    section->read_us = outflow->since_us;
    section->active = true;
    section->number++;
    outflow->pending = keys;
    outflow->pending_capacity = room;
    outflow->npending = 0;
    outflow->since_us = 0;
    outflow->flush_now = false;
    return true;
}

/* Where the logs will be taken at the other site, once all that was sent is applied. */
static void note_places(struct outflow *outflow)
{
    const struct section *section = &outflow->section;

    if (section->ncursors == 0 || outflow->taken_number != 0 ||
        !heap_grow(&outflow->taken, &outflow->taken_room, section->ncursors + 1,
                   sizeof *outflow->taken)) {
        return; /* Those before are waited for; the next section tells more. */
    }
    memcpy(outflow->taken, section->cursors, section->ncursors * sizeof *outflow->taken);
    outflow->ntaken = section->ncursors;
    outflow->taken_number = outflow->number;
}

/* The next batch of the section; with the last one the places are told. */
static bool send_batch(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    struct section *section = &outflow->section;
    size_t left = section->nkeys - section->at;
    size_t most = way_batch_keys(&outflow->way);
    size_t count = left < most ? left : most;
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

    assert(section->active && section_may_send(outflow));
    if (buffer_extend(&outflow->kept, site_batch_room(&batch), &out) != STATUS_OK) {
        return false;
    }
    outflow->kept.size = site_batch_encode(&batch, section->keys + section->at, section->cursors,
                                           out);
    if (!note_sent(outflow, now_us, outflow->kept.size, count)) {
        buffer_clear(&outflow->kept);
        return false;
    }
    outflow->number++;
    section->at += count;
    section->active = !last;
    if (last) {
        note_places(outflow);
    }
    token_bucket_take(&self->rate, now_us, self->config.rate > 0 ? outflow->kept.size : 0,
                      self->config.rate > 0 ? self->config.rate : 1);
    link_count(self, LINK_site_keys_total, count);
    link_count(self, LINK_site_wire_bytes_total, outflow->kept.size);
    send_kept(self, now_us, outflow);
    return true;
}

static bool is_due(const struct link *self, const struct outflow *outflow, uint64_t now_us)
{
    return outflow->flush_now || outflow->npending >= SITE_BATCH_MAX_KEYS ||
           (outflow->npending > 0 && now_us - outflow->since_us >= self->config.flush_us) ||
           (outflow->moved && now_us - outflow->placed_us >= PLACES_ALONE_US);
}

/* Is a batch to leave that the rate does not let go yet? */
static bool holds_back(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    bool waits = outflow->section.active || is_due(self, outflow, now_us);

    if (!waits || section_rate_allows(self, now_us)) {
        outflow->held_back = false;
        return false;
    }
    link_count(self, LINK_site_rate_waits_total, outflow->held_back ? 0 : 1);
    outflow->held_back = true;
    return true;
}

void section_flush(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    send_kept(self, now_us, outflow);
    while (section_may_send(outflow) && !holds_back(self, now_us, outflow)) {
        if (!outflow->section.active) {
            if (!is_due(self, outflow, now_us) || !begin_section(self, now_us, outflow)) {
                break;
            }
        }
        if (!send_batch(self, now_us, outflow)) {
            break;
        }
    }
    outflow_stall_if_full(outflow);
}

uint64_t section_alive_us(const struct outflow *outflow)
{
    bool awaited = outflow->applied < outflow->number;

    return outflow->alive_asked ? 0 : awaited ? outflow->said_us + OUTFLOW_ALIVE_US : ACTOR_NEVER;
}

void section_say_alive(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    if (outflow->kept.size == 0 && now_us >= section_alive_us(outflow) &&
        send_word(self, outflow)) {
        outflow->said_us = now_us;
        outflow->alive_asked = false;
    }
}

/* What is there is not under way, applied or not. */
static void note_arrived(struct outflow *outflow, struct channel *channel,
                         const struct site_applied *message)
{
    uint64_t number = outflow->applied;

    for (size_t i = 0; i < outflow->nsent; i++) {
        struct sent_batch *sent = &outflow->sent[i];

        number++;
        if (sent->by < message->narrived && number <= message->arrived[sent->by]) {
            under_way_end(channel, sent);
        }
    }
}

void outflow_on_applied(struct link *self, uint64_t now_us, struct channel *channel,
                        const struct site_applied *message)
{
    struct outflow *outflow = outflow_of(self, channel, message->stream);
    uint64_t left;
    size_t count;

    if (outflow == NULL) {
        return;
    }
    left = outflow->number - (outflow->kept.size > 0);
    if (message->number < outflow->applied || message->number > left) {
        outflow_close(self, outflow, STATUS_MALFORMED, "more was applied than was sent");
        return;
    }
    count = (size_t)(message->number - outflow->applied);
    note_arrived(outflow, channel, message);
    for (size_t i = 0; i < count; i++) {
        struct sent_batch *sent = &outflow->sent[i];

        under_way_end(channel, sent);
        outflow->flying -= sent->bytes;
        way_applied(&outflow->way, sent->bytes, now_us - sent->sent_us, sent->under_way,
                    message->room);
    }
    outflow->nsent -= count;
    if (outflow->nsent > 0) {
        memmove(outflow->sent, outflow->sent + count, outflow->nsent * sizeof *outflow->sent);
    }
    outflow->applied = message->number;
    outflow->room = message->room;
    if (outflow->taken_number != 0 && outflow->taken_number <= outflow->applied) {
        for (size_t i = 0; i < outflow->ntaken; i++) {
            struct follow *follow = outflow_follow(outflow, outflow->taken[i].group,
                                                   outflow->taken[i].node);

            if (follow != NULL && follow->source.incarnation == outflow->taken[i].incarnation) {
                follow->taken = outflow->taken[i].offset;
                follow->taken_boot = outflow->taken[i].boot;
            }
        }
        outflow->taken_number = 0;
    }
}
