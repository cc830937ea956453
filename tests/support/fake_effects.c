/* Keeps what an actor sends, decodes it, and hands in what the test wants it to hear. */
#include "tests/support/fake_effects.h"

#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAKE_ARENA_BYTES = 64 << 20 };

static enum status keep(struct fake_effects *self, uint32_t link, const struct peer *peer,
                        struct span frame)
{
    if (self->deaf) {
        return STATUS_UNAVAILABLE;
    }
    cr_assert_lt(self->nframes, FAKE_MAX_FRAMES, "more frames than a test should cause");
    self->frames[self->nframes].link = link;
    self->frames[self->nframes].peer = peer != NULL ? *peer : (struct peer){0};
    self->frames[self->nframes].bytes = malloc(frame.size + 1); /* not of the seam under test */
    self->frames[self->nframes].size = frame.size;
    cr_assert_not_null(self->frames[self->nframes].bytes);
    memcpy(self->frames[self->nframes].bytes, frame.data, frame.size);
    self->nframes++;
    return STATUS_OK;
}

static enum status on_reply(void *context, const struct peer *to, struct span frame)
{
    return keep(context, 0, to, frame);
}

static enum status on_send(void *context, uint32_t link, struct span frame)
{
    const struct fake_effects *self = context;

    cr_assert(link >= 1 && link <= self->nlinks && !self->closed[link - 1], "no such link");
    return keep(context, link, NULL, frame);
}

static uint32_t on_link_open(void *context, const char *endpoint)
{
    struct fake_effects *self = context;

    cr_assert_lt(self->nlinks, FAKE_MAX_LINKS, "more links than a test should open");
    (void)snprintf(self->endpoints[self->nlinks], sizeof self->endpoints[0], "%s", endpoint);
    return ++self->nlinks;
}

static void on_link_close(void *context, uint32_t link)
{
    struct fake_effects *self = context;

    cr_assert(link >= 1 && link <= self->nlinks && !self->closed[link - 1], "closed twice");
    self->closed[link - 1] = true;
}

static uint64_t on_random(void *context)
{
    struct fake_effects *self = context;

    return random_next(&self->random);
}

static uint64_t on_date(void *context)
{
    const struct fake_effects *self = context;

    return self->date_ms;
}

static uint64_t on_waited(void *context)
{
    const struct fake_effects *self = context;

    return self->waited_us;
}

static uint64_t on_clock(void *context)
{
    const struct fake_effects *self = context;

    return self->clock_us;
}

void fake_init(struct fake_effects *self)
{
    *self = (struct fake_effects){.random = 42};
    self->effects = (struct effects){
        .context = self,
        .reply = on_reply,
        .link_open = on_link_open,
        .link_close = on_link_close,
        .send = on_send,
        .random = on_random,
        .date_ms = on_date,
        .waited_us = on_waited,
        .clock_us = on_clock,
    };
    cr_assert_eq(codec_arena_create(FAKE_ARENA_BYTES, &self->arena), STATUS_OK);
}

static void on_submit(void *context, enum job_lane lane, struct job *job)
{
    const struct fake_effects *self = context;

    self->lanes->effects.submit(self->lanes, lane, job);
}

void fake_use_lanes(struct fake_effects *self, struct job_lanes *lanes)
{
    self->lanes = lanes;
    self->effects.submit = on_submit;
}

void fake_fini(struct fake_effects *self)
{
    for (size_t i = 0; i < self->nframes; i++) {
        free(self->frames[i].bytes);
    }
    codec_arena_destroy(&self->arena);
}

bool fake_take(struct fake_effects *self, struct fake_sent *out)
{
    size_t at = self->ntaken;

    if (at == self->nframes) {
        return false;
    }
    *out = (struct fake_sent){.link = self->frames[at].link, .peer = self->frames[at].peer};
    cr_assert_eq(codec_decode(self->arena, span_of(self->frames[at].bytes, self->frames[at].size),
                              &out->frame),
                 STATUS_OK, "what an actor sends can be decoded");
    self->ntaken++;
    return true;
}

void fake_forget(struct fake_effects *self)
{
    self->ntaken = self->nframes;
}

uint32_t fake_link(const struct fake_effects *self, const char *endpoint)
{
    for (uint32_t i = self->nlinks; i > 0; i--) {
        if (!self->closed[i - 1] && strcmp(self->endpoints[i - 1], endpoint) == 0) {
            return i;
        }
    }
    return 0;
}

struct peer fake_peer(uint32_t number)
{
    struct peer peer = {.size = sizeof number};

    memcpy(peer.id, &number, sizeof number);
    return peer;
}

void fake_request_bytes(const struct actor *actor, uint64_t now_us, uint32_t peer,
                        struct span bytes)
{
    struct peer from = fake_peer(peer);

    actor->on_request(actor->self, now_us, &from, bytes);
    actor->turn(actor->self, now_us);
}

static void encode(const struct frame *frame, struct buffer *out)
{
    buffer_init(out, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(frame, out), STATUS_OK);
}

void fake_request(const struct actor *actor, uint64_t now_us, uint32_t peer,
                  const struct frame *frame)
{
    struct buffer bytes;

    encode(frame, &bytes);
    fake_request_bytes(actor, now_us, peer, buffer_span(&bytes));
    buffer_fini(&bytes);
}

void fake_answer(const struct actor *actor, uint64_t now_us, uint32_t link,
                 const struct frame *frame)
{
    struct buffer bytes;

    encode(frame, &bytes);
    actor->on_answer(actor->self, now_us, link, buffer_span(&bytes));
    actor->turn(actor->self, now_us);
    buffer_fini(&bytes);
}

uint64_t fake_counter(struct fake_effects *self, const struct actor *actor, uint64_t now_us,
                      uint32_t peer, const char *name)
{
    const struct frame frame = {.kind = FRAME_STATS_REQUEST};
    struct fake_sent sent;

    fake_request(actor, now_us, peer, &frame);
    cr_assert(fake_take(self, &sent));
    cr_assert_eq(sent.frame.kind, FRAME_STATS_REPLY);
    for (size_t i = 0; i < sent.frame.body.stats_reply.nvalues; i++) {
        if (strcmp(sent.frame.body.stats_reply.values[i].name, name) == 0) {
            return sent.frame.body.stats_reply.values[i].value;
        }
    }
    cr_assert_fail("no counter %s", name);
    return 0;
}
