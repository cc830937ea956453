/* Copies are offered first, so that the other site says which keys it has: these are not sent.
 * Ranges of a copy are gathered, and offered together; while one offer is under way the next one is
 * gathered. It says nothing that is not sent if there is no answer; and an answer counts for the
 * very offer that it names, of this stream, so that one that comes late or twice means nothing.
 *
 * Whoever is being filled holds none of it. Offers of which too little is held are made more and
 * more seldom; what is told in between is sent as it is. */
#include "link/private.h"

#include <string.h>

enum {
    OFFERS_KEYS = 1 << 23,    /* gathered and offered, of all streams: what is more waits, but for
                                 a page of each, as others may have to wait for long */
    OFFER_US = 10000000,      /* so long it waits to be sent, and then for an answer */
    OFFER_USELESS_PART = 8,   /* an offer was of use if 1 in so many keys was held */
    OFFER_MOST_DOUBLINGS = 5, /* of ROUND_KEYS, that are sent without offer */
    OFFER_RANGE_BYTES = (PULL_PARTS + 1) * sizeof(uint64_t),
    SCRUB_LEAST_KEYS = 64, /* of a range that is worth an offer, where all of it may be held */
    SCRUB_ROOM = 8192,     /* keys of a scrub are sent when fewer wait, so that what is new is not
                              behind them: ... */
    SCRUB_ROOMS = 4,       /* ... with a rate no more than it lets go in such a part of a second */
};

static void note_keys(struct link *self, struct offers *offers)
{
    size_t now = offers->gathers.nkeys + offers->round.nkeys;

    self->offered += now;
    self->offered -= offers->counted;
    offers->counted = now;
}

void offers_clear(struct link *self, struct outflow *outflow)
{
    struct offers *offers = &outflow->offers;

    round_clear(&offers->gathers);
    round_clear(&offers->round);
    offers->sized = offers->whole = false;
    note_keys(self, offers);
}

void offers_begin(struct outflow *outflow)
{
    outflow->offers.useless = 0;
    outflow->offers.unoffered = 0;
}

bool offers_have_room(const struct link *self, const struct outflow *outflow)
{
    const struct offers *offers = &outflow->offers;

    return outflow_has_room(outflow) && offers->gathers.nkeys < ROUND_KEYS &&
           (self->offered < OFFERS_KEYS || offers->counted == 0);
}

bool offers_are_done(const struct outflow *outflow)
{
    return outflow->offers.gathers.nkeys == 0 && outflow->offers.round.nkeys == 0 &&
           outflow->offers.round.state == ROUND_GATHERS;
}

void offers_end(struct outflow *outflow)
{
    outflow->offers.whole = true;
}

/* ---- what is told ---- */

/* Keys that a range has at least of which the other site is asked. */
static uint32_t least_keys(const struct link *self, const struct outflow *outflow)
{
    return outflow->fill.scrubs && self->config.offered > SCRUB_LEAST_KEYS ? SCRUB_LEAST_KEYS
                                                                           : self->config.offered;
}

/* ... and ranges of which it is asked at once: with a rate of a scrub no more than it lets go in
 * such a part of a second. */
static uint32_t most_ranges(const struct link *self, const struct outflow *outflow)
{
    uint64_t ranges = self->config.rate / SCRUB_ROOMS / OFFER_RANGE_BYTES;

    return outflow->fill.scrubs && self->config.rate > 0 && ranges < SITE_MAX_OFFERED
               ? (uint32_t)ranges + 1
               : SITE_MAX_OFFERED;
}

static bool is_to_be_offered(const struct offers *offers)
{
    return offers->answered && (offers->unoffered == 0 || offers->gathers.nkeys > 0) &&
           offers->bits != ROUND_UNOFFERED;
}

bool offers_take(struct link *self, uint64_t now_us, struct outflow *outflow,
                 const struct router_copied *copied, uint64_t from, uint32_t shard_bits)
{
    struct offers *offers = &outflow->offers;
    bool done;

    if (!offers->sized && copied->nkeys > 0) {
        offers->bits = round_bits(from, copied->last, copied->nkeys, shard_bits,
                                  least_keys(self, outflow));
        offers->sized = true;
    }
    offers->last = copied->last;
    if (copied->nkeys == 0) {
        return true;
    }
    if (!is_to_be_offered(offers) && !outflow->fill.scrubs) {
        offers->unoffered -= least(offers->unoffered, copied->nkeys);
        return outflow_gather(outflow, now_us, copied->keys, copied->nkeys);
    }
    done = round_gather(&offers->gathers, copied->keys, copied->nkeys);
    note_keys(self, offers);
    return done;
}

/* ---- offers ---- */

/* It was of no use, or was not answered at all. */
static void note_useless(struct offers *offers, uint32_t doublings)
{
    offers->useless = doublings < OFFER_MOST_DOUBLINGS ? doublings + 1 : OFFER_MOST_DOUBLINGS;
    offers->unoffered = (uint64_t)ROUND_KEYS << (offers->useless - 1);
}

static void note_use(struct offers *offers)
{
    const struct round *round = &offers->round;

    if (round->total - round->nkeys < round->total / OFFER_USELESS_PART) {
        note_useless(offers, offers->useless);
    } else {
        offers->useless = 0;
    }
}

static bool may_offer(const struct link *self, uint64_t now_us, const struct outflow *outflow)
{
    return outflow->fill.scrubs ? section_line_is_free(self, now_us)
                                : section_rate_allows(self, now_us);
}

static void send_offer(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    struct offers *offers = &outflow->offers;
    struct channel *channel = channel_find(self, outflow->channel);
    const struct round *round = &offers->round;
    const size_t bytes = round->nprefixes * OFFER_RANGE_BYTES;
    const struct frame frame = {
        .kind = FRAME_SITE_OFFER,
        .body.site_offer = {.stream = outflow->stream,
                            .number = offers->number,
                            .bits = round->bits,
                            .prefixes = round->prefixes,
                            .nprefixes = round->nprefixes,
                            .digests = round->digests,
                            .ndigests = round->nprefixes * PULL_PARTS},
    };

    if (channel != NULL && channel_send(self, channel, &frame)) {
        offers->sent = true;
        offers->since_us = now_us;
        token_bucket_take(&self->rate, now_us, self->config.rate > 0 ? bytes : 0,
                          self->config.rate > 0 ? self->config.rate : 1);
        link_count(self, LINK_site_offers_total, 1);
        link_count(self, LINK_site_wire_bytes_total, bytes);
    }
}

/* There is one more to be sent, unless the rest is left. */
static void begin_offer(struct offers *offers)
{
    if (offers->round.state == ROUND_OFFERED) {
        offers->number++;
        offers->sent = false;
        offers->since_us = 0;
    }
}

/* One that other streams take all of the rate from is no reason to wait on: its keys have their
 * turn. That what is only compared may be lacking is no reason to send it. */
static void leave_late(uint64_t now_us, struct outflow *outflow)
{
    struct offers *offers = &outflow->offers;

    if (offers->round.state != ROUND_OFFERED) {
        return;
    }
    if (offers->since_us == 0) {
        offers->since_us = now_us;
    }
    if (now_us - offers->since_us < OFFER_US) {
        return;
    }
    if (outflow->fill.scrubs) {
        scrub_late(outflow);
        round_clear(&offers->round);
    } else {
        round_leave(&offers->round);
        if (offers->sent) {
            note_useless(offers, OFFER_MOST_DOUBLINGS);
        }
    }
}

/* Enough is gathered, or nothing more will be. */
static bool is_enough(const struct link *self, const struct offers *offers)
{
    return offers->gathers.nkeys > 0 &&
           (offers->whole || offers->gathers.nkeys >= ROUND_KEYS || self->offered >= OFFERS_KEYS);
}

/* False: memory is out. */
static bool begin_round(const struct link *self, struct outflow *outflow)
{
    struct offers *offers = &outflow->offers;

    offers->round = offers->gathers;
    offers->gathers = (struct round){0};
    if (!round_close(&offers->round, offers->bits, least_keys(self, outflow),
                     most_ranges(self, outflow), offers->whole ? UINT64_MAX : offers->last,
                     &offers->gathers)) {
        return false;
    }
    begin_offer(offers);
    return true;
}

static size_t scrub_room(const struct link *self)
{
    uint64_t room = self->config.rate / SCRUB_ROOMS / sizeof(uint64_t);

    if (self->config.rate == 0 || room > SCRUB_ROOM) {
        return SCRUB_ROOM;
    }
    return room > SCRUB_LEAST_KEYS ? room : SCRUB_LEAST_KEYS;
}

/* Everything else goes first: what is new of any stream, marks, copies. */
static bool scrub_may_send(const struct link *self, uint64_t now_us, const struct outflow *outflow)
{
    return outflow->npending < scrub_room(self) && section_line_is_free(self, now_us);
}

/* What was not offered counts as no loss: nobody knows whether it is there. False: memory is out.
 */
static bool send_part(struct link *self, uint64_t now_us, struct outflow *outflow, size_t most)
{
    struct round *round = &outflow->offers.round;
    size_t part = least(round->nkeys - round->at, most);

    if (!outflow_gather(outflow, now_us, round->keys + round->at, part)) {
        return false;
    }
    round->at += part;
    if (outflow->fill.scrubs) {
        scrub_moved(outflow, now_us);
        link_count(self, LINK_site_scrub_keys_total, round->total > 0 ? part : 0);
    }
    return true;
}

/* What the other site lacks goes as other keys do, a part at a time. False: memory is out. */
static bool send_left(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    struct round *round = &outflow->offers.round;
    bool scrubs = outflow->fill.scrubs;
    size_t most = scrubs ? scrub_room(self) : SITE_BATCH_MAX_KEYS;

    while (round->at < round->nkeys && outflow_has_room(outflow) &&
           (!scrubs || scrub_may_send(self, now_us, outflow))) {
        if (!send_part(self, now_us, outflow, most)) {
            return false;
        }
    }
    if (round->at == round->nkeys) {
        round_clear(round);
    }
    return true;
}

bool offers_turn(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    struct offers *offers = &outflow->offers;
    bool done = true;

    leave_late(now_us, outflow);
    if (offers->round.state == ROUND_LEFT) {
        done = send_left(self, now_us, outflow);
    }
    if (done && offers->round.state == ROUND_GATHERS && is_enough(self, offers)) {
        done = begin_round(self, outflow);
    }
    if (offers->round.state == ROUND_OFFERED && !offers->sent && may_offer(self, now_us, outflow)) {
        send_offer(self, now_us, outflow);
    }
    note_keys(self, offers);
    return done;
}

void outflow_on_held(struct link *self, struct channel *channel, const struct site_held *message)
{
    struct outflow *outflow = outflow_of(self, channel, message->stream);
    struct offers *offers = outflow != NULL ? &outflow->offers : NULL;
    size_t before;

    if (outflow == NULL || outflow->over || offers->round.state != ROUND_OFFERED || !offers->sent ||
        message->number != offers->number) {
        return; /* Nobody waits for it any more. */
    }
    if (message->nheld != offers->round.nprefixes) {
        outflow_close(self, outflow, STATUS_MALFORMED, "the answer to an offer is of other ranges");
        return;
    }
    if (outflow->fill.scrubs) {
        scrub_answered(outflow, self->now_us, !message->unsure);
    }
    if (outflow->fill.scrubs && message->unsure) {
        round_clear(&offers->round); /* It may be there. */
        note_keys(self, offers);
        return;
    }
    before = offers->round.nkeys;
    round_take(&offers->round, message->held);
    link_count(self, LINK_site_skipped_keys_total, before - offers->round.nkeys);
    if (offers->round.state == ROUND_LEFT && !outflow->fill.scrubs) {
        note_use(offers);
    }
    begin_offer(offers);
    note_keys(self, offers);
}
