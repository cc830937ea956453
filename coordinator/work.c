/* One coroutine does all of the work, so that pieces of it can wait and never overlap; what waits
 * for it are two queues in order of arrival. */
#include "coordinator/work.h"

#include "base/coroutine.h"
#include "base/heap.h"
#include "coordinator/private.h"

#include <assert.h>
#include <string.h>

enum {
    LOOK_US = 10000,
    BATCH_US = 100000, /* so long one of the rest after the other is served without a turn */
};

/* ---- queues ---- */

static size_t cost_of(size_t size)
{
    return size + WORK_ITEM_BYTES;
}

static void queue_init(struct work_queue *self)
{
    TAILQ_INIT(&self->items);
    self->bytes = 0;
}

static struct work_item *queue_remove(struct work_queue *self, struct work_item *item)
{
    TAILQ_REMOVE(&self->items, item, entry);
    assert(self->bytes >= cost_of(item->size));
    self->bytes -= cost_of(item->size);
    return item;
}

/* The first one, if its place was taken when `arrivals` had come; NULL: there is none. */
static struct work_item *queue_pop(struct work_queue *self, uint64_t arrivals)
{
    struct work_item *item = TAILQ_FIRST(&self->items);

    return item != NULL && item->place <= arrivals ? queue_remove(self, item) : NULL;
}

static bool is_of(const struct work_item *item, const struct peer *from)
{
    return from->size > 0 && item->from.size == from->size &&
           memcmp(item->from.id, from->id, from->size) == 0;
}

static struct work_item *queue_find(struct work_queue *self, const struct peer *from)
{
    struct work_item *item = TAILQ_FIRST(&self->items);

    while (item != NULL && !is_of(item, from)) {
        item = TAILQ_NEXT(item, entry);
    }
    return item;
}

/* At the end; or in the place of an older one of the same sender, which goes. */
static bool queue_push(struct work_queue *self, const struct work_item *head, struct span bytes,
                       struct work_item *older)
{
    struct work_item *item = NULL;

    if (self->bytes + cost_of(bytes.size) <= WORK_MAX_BYTES) {
        item = heap_alloc(1, sizeof *item + bytes.size);
    }
    if (item == NULL) {
        return false;
    }
    *item = *head;
    item->size = bytes.size;
    if (bytes.size > 0) {
        memcpy(item->bytes, bytes.data, bytes.size);
    }
    self->bytes += cost_of(bytes.size);
    if (older == NULL) {
        TAILQ_INSERT_TAIL(&self->items, item, entry);
    } else {
        item->place = older->place;
        TAILQ_INSERT_AFTER(&self->items, older, item, entry);
        heap_free(queue_remove(self, older));
    }
    return true;
}

static struct work_item head_of(struct coordinator *self, uint64_t now_us)
{
    const struct effects *effects = &self->effects;
    uint64_t number = ++self->work.arrivals;

    return (struct work_item){
        .number = number,
        .place = number,
        .arrived_us = now_us,
        .waited_us = effects->waited_us != NULL ? effects->waited_us(effects->context) : 0,
        .aside_us = ACTOR_NEVER,
    };
}

bool work_queue_request(struct coordinator *self, uint64_t now_us, const struct peer *from,
                        struct span bytes, bool first, uint64_t aside_us)
{
    struct work_queue *first_ones = &self->work.first;
    struct work_item head = head_of(self, now_us);

    head.from = *from;
    head.aside_us = aside_us;
    if (first) { /* A newer report says all that the older one says, and more. */
        return queue_push(first_ones, &head, bytes, queue_find(first_ones, from));
    }
    if (aside_us < self->work.look_us) {
        self->work.look_us = aside_us;
    }
    return queue_push(&self->work.rest, &head, bytes, NULL);
}

bool work_queue_answer(struct coordinator *self, uint64_t now_us, uint32_t link, struct span bytes)
{
    struct work_item head = head_of(self, now_us);

    head.link = link;
    return queue_push(&self->work.first, &head, bytes, NULL);
}

/* ---- the work ---- */

static void serve(struct coordinator *self, struct work_item *item)
{
    struct work *work = &self->work;

    work->item = item;
    if (!work->ending) {
        work->hands->serve(self, self->now_us, item);
    }
    work->item = NULL;
    heap_free(item);
}

static bool serve_next(struct coordinator *self, struct work_queue *queue, uint64_t arrivals)
{
    struct work_item *item = queue_pop(queue, arrivals);

    if (item != NULL) {
        serve(self, item);
    }
    return item != NULL;
}

/* What had come when it began. What comes meanwhile waits for the turn; so that this is not for
 * long where each of many takes the store its time, some of the rest waits, too. */
static void serve_those_there(struct coordinator *self)
{
    struct work *work = &self->work;
    uint64_t arrivals = work->arrivals;
    uint64_t began_us = self->now_us;
    bool more = true;

    while (more) {
        more = serve_next(self, &work->first, arrivals);
    }
    do {
        more = serve_next(self, &work->rest, arrivals);
    } while (more && self->now_us - began_us < BATCH_US);
}

static bool has_work(const struct work *self)
{
    return self->turn_due || !TAILQ_EMPTY(&self->first.items) || !TAILQ_EMPTY(&self->rest.items);
}

static void do_all(struct coordinator *self)
{
    struct work *work = &self->work;

    work->under_way = true;
    while (has_work(work)) {
        serve_those_there(self);
        if (work->turn_due && !work->ending) {
            work->hands->turn(self, self->now_us);
        }
        work->turn_due = false;
    }
    work->under_way = false;
}

static void body(void *context)
{
    struct coordinator *self = context;

    while (!self->work.ending) {
        do_all(self);
        coroutine_yield(self->work.coroutine);
    }
}

static void look_aside(struct coordinator *self, uint64_t now_us)
{
    struct work_queue *rest = &self->work.rest;
    struct work_item *item = TAILQ_FIRST(&rest->items);
    struct work_item *served = self->work.item;
    uint64_t next_us = ACTOR_NEVER;

    if (served != NULL && served->aside_us <= now_us) {
        self->work.hands->aside(self, now_us, served);
        served->answered = true;
        served->aside_us = ACTOR_NEVER;
    }
    if (now_us < self->work.look_us) {
        return;
    }
    while (item != NULL) {
        struct work_item *next = TAILQ_NEXT(item, entry);

        if (item->aside_us <= now_us) {
            (void)queue_remove(rest, item);
            self->work.hands->aside(self, now_us, item);
            heap_free(item);
        } else {
            next_us = item->aside_us < next_us ? item->aside_us : next_us;
        }
        item = next;
    }
    /* A look at hundreds of thousands must not come with each of them. */
    self->work.look_us = next_us < now_us + LOOK_US ? now_us + LOOK_US : next_us;
}

void work_do(struct coordinator *self, uint64_t now_us, bool turn)
{
    struct work *work = &self->work;

    work->turn_due = work->turn_due || turn;
    if (work->under_way) {
        look_aside(self, now_us);
        return;
    }
    self->now_us = now_us;
    if (work->coroutine != NULL) {
        coroutine_resume(work->coroutine);
    } else {
        do_all(self);
    }
}

bool work_waits(const struct coordinator *self)
{
    return self->work.under_way;
}

uint64_t work_waits_us(const struct coordinator *self, uint64_t now_us)
{
    uint64_t since_us = self->work.waits_since_us;

    return since_us != 0 && since_us < now_us ? now_us - since_us : 0;
}

uint64_t work_aside_us(const struct coordinator *self)
{
    const struct work *work = &self->work;
    uint64_t aside_us = work->item != NULL ? work->item->aside_us : ACTOR_NEVER;

    return work->look_us < aside_us ? work->look_us : aside_us;
}

bool work_begin(struct coordinator *self)
{
    struct work_item *item = self->work.item;

    assert(item != NULL);
    item->aside_us = ACTOR_NEVER;
    return !item->answered;
}

uint64_t work_number(const struct coordinator *self)
{
    return self->work.item != NULL ? self->work.item->number : self->work.arrivals;
}

uint64_t work_arrived_us(const struct coordinator *self)
{
    return self->work.item != NULL ? self->work.item->arrived_us : self->now_us;
}

uint64_t work_waited_us(const struct coordinator *self)
{
    const struct work_item *item = self->work.item;

    return item != NULL ? item->waited_us + (self->now_us - item->arrived_us) : 0;
}

/* ---- standing still ---- */

bool work_may_wait(const struct coordinator *self)
{
    return self->work.coroutine != NULL && coroutine_runs(self->work.coroutine);
}

void work_await(struct coordinator *self)
{
    struct work *work = &self->work;

    assert(work->under_way && !work->ending && work->waits_since_us == 0);
    work->waits_since_us = self->now_us;
    coroutine_yield(work->coroutine);
    work->waits_since_us = 0;
}

void work_go_on(struct coordinator *self, uint64_t now_us)
{
    assert(self->work.under_way && !coroutine_runs(self->work.coroutine));
    self->now_us = now_us > self->now_us ? now_us : self->now_us;
    coroutine_resume(self->work.coroutine);
}

/* ---- its life ---- */

enum status work_init(struct coordinator *self, const struct work_hands *hands)
{
    struct work *work = &self->work;

    work->hands = hands;
    work->look_us = ACTOR_NEVER;
    queue_init(&work->first);
    queue_init(&work->rest);
    return self->effects.submit != NULL ? coroutine_create(body, self, &work->coroutine)
                                        : STATUS_OK;
}

static enum status reply_to_nobody(void *context, const struct peer *to, struct span frame)
{
    (void)context, (void)to, (void)frame;
    return STATUS_UNAVAILABLE;
}

static uint32_t open_nothing(void *context, const char *endpoint)
{
    (void)context, (void)endpoint;
    return 0;
}

static void close_nothing(void *context, uint32_t link)
{
    (void)context, (void)link;
}

static enum status send_to_nobody(void *context, uint32_t link, struct span frame)
{
    (void)context, (void)link, (void)frame;
    return STATUS_UNAVAILABLE;
}

static uint64_t draw_nothing(void *context)
{
    (void)context;
    return 0;
}

static const struct effects no_effects = {
    .reply = reply_to_nobody,
    .link_open = open_nothing,
    .link_close = close_nothing,
    .send = send_to_nobody,
    .random = draw_nothing,
};

static void queue_fini(struct work_queue *self)
{
    struct work_item *item;

    while ((item = queue_pop(self, UINT64_MAX)) != NULL) {
        heap_free(item);
    }
}

void work_fini(struct coordinator *self)
{
    struct work *work = &self->work;

    if (work->hands == NULL) {
        return;
    }
    work->ending = true;
    if (work->under_way) {
        self->effects = no_effects;
        coroutine_resume(work->coroutine);
        assert(!work->under_way); /* Whoever ends waits for nothing. */
    }
    coroutine_destroy(&work->coroutine);
    queue_fini(&work->first);
    queue_fini(&work->rest);
}
