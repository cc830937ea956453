/* When the router asks a coordinator for news: one question at a time, and not too often.
 *
 * Whoever asks for an unknown name waits for an answer to a question that was sent after the
 * request came, and all who wait share it. That "unknown" is never said from memory: the name may
 * have been created by way of another router a moment ago, and who was told of that must find it.
 * What bounds the reads of the store is their rate: beyond it those who wait do so a little longer.
 */
#include "map/feature.h"
#include "router/private.h"

enum {
    CONNECT_POLL_US = 50000, /* how soon to try again while nobody is connected */
    ANSWER_US = 250000,      /* a question that somebody waits for is given up after this ... */
    ANSWER_DOUBLINGS = 3,    /* ... and twice as long after each that was, so often */
    SYNCS_PER_SECOND = 100,  /* at most; a quarter of a second may be saved up */
};

static bool send(struct router *self)
{
    struct frame frame = {
        .correlation = ++self->sync,
        .kind = FRAME_SYNC_REQUEST,
        .body.sync_request =
            {
                .role = SYNC_ROUTER,
                .name = self->config.name,
                .endpoint = "",
                .host = "",
                .zone = "",
                .since = self->since,
                .store = self->store,
                .features = features_known(),
            },
    };

    buffer_clear(&self->out);
    return codec_encode(&frame, &self->out) == STATUS_OK &&
           link_ring_send(&self->coordinators, &self->effects, buffer_span(&self->out));
}

static uint64_t answer_us(const struct router *self)
{
    return (uint64_t)ANSWER_US << self->syncs_lost;
}

/* What was given up may have been for somebody, too. */
static uint64_t patience_us(const struct router *self, bool hurry)
{
    uint64_t answer = answer_us(self);
    uint64_t interval = self->config.sync_interval_us;

    return hurry || interval < answer ? answer : interval;
}

void sync_send(struct router *self, uint64_t now_us)
{
    bool given_up = self->sync_open;
    bool hurry = self->sync_wanted || given_up;

    router_forget_dropped(self, now_us);
    self->syncs_lost += given_up && self->syncs_lost < ANSWER_DOUBLINGS;
    token_bucket_take(&self->sync_rate, now_us, 1, SYNCS_PER_SECOND);
    self->sync_wanted = false;
    self->sync_open = send(self);
    self->sync_us = now_us;
    self->next_sync_us = now_us + (self->sync_open ? patience_us(self, hurry) : CONNECT_POLL_US);
}

void sync_want(struct router *self, uint64_t now_us)
{
    uint64_t next_us = self->sync_open ? self->sync_us + answer_us(self)
                                       : token_bucket_ready_us(&self->sync_rate, now_us);

    self->sync_wanted = true;
    self->next_sync_us = next_us < self->next_sync_us ? next_us : self->next_sync_us;
}

/* There is something to read, and no more of these than changes: not held up by the rate. */
void sync_hinted(struct router *self, uint64_t now_us)
{
    self->sync_rate = (struct token_bucket){0};
    sync_want(self, now_us);
}

void sync_answered(struct router *self, uint64_t now_us, uint64_t sync, bool well)
{
    if (!self->sync_open || sync != self->sync) {
        return; /* One that was given up: what it tells is as good, but another is under way. */
    }
    self->sync_open = false;
    self->syncs_lost = 0;
    self->next_sync_us = self->sync_us + self->config.sync_interval_us;
    if (self->sync_wanted && well) {
        sync_want(self, now_us);
    }
}
