/* Requests for unknown names: kept as bytes until a read of the store that was begun after they
 * came, then served or refused. */
#include "base/heap.h"
#include "base/mutant.h"
#include "router/private.h"

#include <string.h>

static uint32_t timeout_ms(const struct frame *frame)
{
    uint32_t asked = frame->kind == FRAME_INFO_REQUEST ? frame->body.info_request.timeout_ms
                                                       : frame->body.client_request.timeout_ms;

    return asked > 0 ? asked : ROUTER_DEFAULT_TIMEOUT_MS;
}

static struct waiting *free_place(struct router *self)
{
    for (size_t i = 0; i < ROUTER_MAX_WAITING; i++) {
        if (!self->waiting[i].used) {
            return &self->waiting[i];
        }
    }
    return NULL;
}

static void count_inflight(struct router *self, uint64_t inflight_bytes)
{
    self->inflight_bytes = inflight_bytes;
    self->counters[ROUTER_inflight_bytes] = inflight_bytes;
}

static void forget(struct router *self, struct waiting *one)
{
    count_inflight(self, self->inflight_bytes - one->size);
    heap_free(one->frame);
    *one = (struct waiting){0};
    self->nwaiting--;
}

static void refuse(struct router *self, const struct peer *to, const struct frame *frame,
                   enum status status, const char *message)
{
    if (frame->kind == FRAME_CLIENT_REQUEST) {
        router_refuse_client(self, to, frame->correlation, &frame->body.client_request, status,
                             message);
    } else {
        struct frame answer = {
            .correlation = frame->correlation,
            .kind = FRAME_INFO_REPLY,
            .body.info_reply = {.status = status, .message = message},
        };

        router_reply(self, to, &answer);
    }
}

/* Not the one under way: it may have read the store before the request came. */
static uint64_t sync_settles(const struct router *self)
{
    return MUTANT(JOIN_OPEN_SYNC) && self->sync_open ? self->sync : self->sync + 1;
}

void waiting_add(struct router *self, uint64_t now_us, const struct peer *from, struct span bytes,
                 const struct frame *frame)
{
    struct waiting *one = free_place(self);
    uint8_t *copy = one != NULL &&
                            self->inflight_bytes + bytes.size <= self->config.max_inflight_bytes
                        ? heap_alloc(bytes.size, 1)
                        : NULL;

    if (copy == NULL) {
        router_count(self, ROUTER_overloaded_total);
        refuse(self, from, frame, STATUS_OVERLOADED,
               "too many requests wait for the coordinator; slow down, retry");
        return;
    }
    memcpy(copy, bytes.data, bytes.size);
    *one = (struct waiting){
        .used = true,
        .client = *from,
        .frame = copy,
        .size = bytes.size,
        .sync = sync_settles(self),
        .deadline_us = now_us + (uint64_t)timeout_ms(frame) * 1000,
    };
    if (one->deadline_us > now_us + self->config.max_timeout_us) {
        one->deadline_us = now_us + self->config.max_timeout_us;
    }
    self->nwaiting++;
    count_inflight(self, self->inflight_bytes + one->size);
    sync_want(self, now_us);
}

/* What is left of a request's time; never 0, which would mean the default. */
static void leave(struct frame *frame, uint64_t left_us)
{
    uint32_t left_ms = (uint32_t)(left_us / 1000) + 1;

    if (frame->kind == FRAME_INFO_REQUEST) {
        frame->body.info_request.timeout_ms = left_ms;
    } else {
        frame->body.client_request.timeout_ms = left_ms;
    }
}

/* Serve one again: its frame is decoded anew, as the arena has moved on. */
static void serve_again(struct router *self, uint64_t now_us, struct waiting *one, bool settled)
{
    struct waiting taken = *one;
    struct frame frame = {0};

    *one = (struct waiting){0};
    self->nwaiting--;
    count_inflight(self, self->inflight_bytes - taken.size);
    if (codec_decode(self->arena, span_of(taken.frame, taken.size), &frame) == STATUS_OK) {
        leave(&frame, taken.deadline_us > now_us ? taken.deadline_us - now_us : 0);
        router_serve(self, now_us, &taken.client, span_of(taken.frame, taken.size), &frame,
                     settled);
    }
    heap_free(taken.frame);
}

void waiting_settle(struct router *self, uint64_t now_us, uint64_t sync)
{
    for (size_t i = 0; self->nwaiting > 0 && i < ROUTER_MAX_WAITING; i++) {
        if (self->waiting[i].used && self->waiting[i].sync <= sync) {
            serve_again(self, now_us, &self->waiting[i], true);
        }
    }
}

static void give_up(struct router *self, struct waiting *one)
{
    static const char message[] =
        "the filter, or the rebuild to feed, is not known to this router and no coordinator "
        "answers; start one, or see the router's `coordinators` option";
    struct frame frame = {0};

    router_count(self, ROUTER_deadlines_total);
    if (codec_decode(self->arena, span_of(one->frame, one->size), &frame) == STATUS_OK) {
        refuse(self, &one->client, &frame, STATUS_UNAVAILABLE, message);
    }
    forget(self, one);
}

void waiting_tick(struct router *self, uint64_t now_us)
{
    for (size_t i = 0; self->nwaiting > 0 && i < ROUTER_MAX_WAITING; i++) {
        if (self->waiting[i].used && now_us >= self->waiting[i].deadline_us) {
            give_up(self, &self->waiting[i]);
        }
    }
}

void waiting_fini(struct router *self)
{
    for (size_t i = 0; i < ROUTER_MAX_WAITING; i++) {
        heap_free(self->waiting[i].frame);
    }
}
