/* One operation is one job. What it reads is gathered on the lane's thread, and visited where the
 * work goes on, as visitors change what is the coordinator's. */
#include "coordinator/stored.h"

#include "base/heap.h"
#include "coordinator/order.h"
#include "coordinator/private.h"

#include <assert.h>
#include <string.h>

enum {
    NEWS_GOAL_BYTES = 2 << 20, /* gathered at once; the rest is read next */
    NEWS_MAX_BYTES = NEWS_GOAL_BYTES + STORE_MAX_KEYS * (STORE_MAX_VALUE_BYTES + STORE_KEY_BYTES),
};

/* Records of the store; `bytes` holds keys and values. */
struct gathered {
    struct buffer bytes;
    struct record_place {
        size_t key_at;
        size_t value_at;
        size_t size;
        uint64_t version;
    } * places;
    size_t count;
    size_t room;
    bool more; /* there are others behind these */
    enum status status;
};

struct store_call {
    struct job job;                  /* first: run() and done() get it */
    struct coordinator *coordinator; /* on the lane's thread only what never changes */
    struct store *store;
    void (*operation)(struct store_call *self);
    enum status status;
    bool done;

    const char *key;                /* get */
    struct buffer *value;           /* ... */
    const struct store_swap *swaps; /* swap */
    size_t nswaps;                  /* ... */
    struct order order;             /* ... of the command under way */
    uint64_t now_us;                /* ... at least */
    uint64_t since;                 /* news, since */
    uint64_t change;                /* get: the version */
    struct gathered gathered;
};

/* ---- on the lane's thread ---- */

static bool gather(void *context, const char *key, uint64_t version, struct span value)
{
    struct gathered *self = context;
    struct record_place *place;

    /* Records of one swap share a version and stay together: the next read begins behind it. */
    if (self->count > 0 && self->places[self->count - 1].version != version &&
        self->bytes.size >= NEWS_GOAL_BYTES) {
        self->more = true;
        return false;
    }
    if (!heap_grow(&self->places, &self->room, self->count + 1, sizeof *self->places)) {
        self->status = STATUS_NOMEM;
        return false;
    }
    place = &self->places[self->count];
    *place = (struct record_place){
        .key_at = self->bytes.size, .size = value.size, .version = version};
    self->status = buffer_append(&self->bytes, span_of(key, strlen(key) + 1));
    place->value_at = self->bytes.size;
    self->status = self->status == STATUS_OK ? buffer_append(&self->bytes, value) : self->status;
    self->count += self->status == STATUS_OK;
    return self->status == STATUS_OK;
}

static void do_get(struct store_call *self)
{
    self->status = self->store->get(self->store->self, self->key, self->value, &self->change);
}

static void do_since(struct store_call *self)
{
    struct gathered *gathered = &self->gathered;

    self->status = self->store->since(self->store->self, self->since, gather, gathered);
    self->status = self->status == STATUS_OK ? gathered->status : self->status;
}

static void do_news(struct store_call *self)
{
    self->status = self->store->change(self->store->self, &self->change);
    if (self->status == STATUS_OK && self->change != self->since) {
        self->since = self->change < self->since ? 0 : self->since;
        do_since(self);
    }
}

/* The job may have waited for its thread: the command's time is looked at here and not before. */
static void do_swap(struct store_call *self)
{
    self->status = order_is_wanted(&self->order, &self->coordinator->effects, self->now_us)
                       ? self->store->swap(self->store->self, self->swaps, self->nswaps,
                                           &self->change)
                       : STATUS_DEADLINE;
}

static void run(struct job *job)
{
    struct store_call *self = (struct store_call *)job;

    self->operation(self);
}

/* ---- on the actor's ---- */

static void done(struct job *job, uint64_t now_us)
{
    struct store_call *self = (struct store_call *)job;

    self->done = true;
    work_go_on(self->coordinator, now_us);
}

static void call(struct coordinator *self, struct store_call *call,
                 void (*operation)(struct store_call *self))
{
    call->job = (struct job){.run = run, .done = done};
    call->coordinator = self;
    call->store = self->store;
    call->now_us = self->now_us;
    call->operation = operation;
    call->done = false;
    if (!work_may_wait(self)) {
        run(&call->job);
        return;
    }
    if (!self->work.ending) {
        self->effects.submit(self->effects.context, JOB_COMMIT, &call->job);
        work_await(self);
    }
    if (!call->done) {
        call->status = STATUS_IO; /* The coordinator ends. */
    }
}

/* False: the visitor has seen enough. */
static bool visit_all(const struct gathered *self, store_visit_fn visit, void *context)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct record_place *place = &self->places[i];

        if (!visit(context, (const char *)self->bytes.data + place->key_at, place->version,
                   span_of(self->bytes.data + place->value_at, place->size))) {
            return false;
        }
    }
    return true;
}

/* What was gathered, and then whatever is behind it. */
static enum status visit_on(struct coordinator *self, struct store_call *reading,
                            store_visit_fn visit, void *context)
{
    struct gathered *gathered = &reading->gathered;

    while (reading->status == STATUS_OK && visit_all(gathered, visit, context) && gathered->more) {
        reading->since = gathered->places[gathered->count - 1].version;
        gathered->more = false;
        gathered->count = 0;
        buffer_clear(&gathered->bytes);
        call(self, reading, do_since);
    }
    return reading->status;
}

static void reading_init(struct store_call *self, uint64_t since)
{
    *self = (struct store_call){.since = since};
    buffer_init(&self->gathered.bytes, NEWS_MAX_BYTES);
}

static void reading_fini(struct store_call *self)
{
    buffer_fini(&self->gathered.bytes);
    heap_free(self->gathered.places);
}

enum status stored_get(struct coordinator *self, const char *key, struct buffer *value,
                       uint64_t *version)
{
    struct store_call getting = {.key = key, .value = value};

    call(self, &getting, do_get);
    if (getting.status == STATUS_OK) {
        *version = getting.change;
    }
    return getting.status;
}

enum status stored_swap(struct coordinator *self, const struct store_swap *swaps, size_t count)
{
    struct store_call swapping = {.swaps = swaps, .nswaps = count, .order = self->order};

    assert(count > 0 && count <= STORE_MAX_KEYS && !swaps[0].remove);
    call(self, &swapping, do_swap);
    return swapping.status;
}

enum status stored_since(struct coordinator *self, uint64_t since, store_visit_fn visit,
                         void *context)
{
    struct store_call reading;
    enum status status;

    reading_init(&reading, since);
    call(self, &reading, do_since);
    status = visit_on(self, &reading, visit, context);
    reading_fini(&reading);
    return status;
}

enum status stored_news(struct coordinator *self, uint64_t known, uint64_t *change,
                        store_visit_fn visit, void *context)
{
    struct store_call reading;
    enum status status;

    reading_init(&reading, known);
    call(self, &reading, do_news);
    if (reading.status == STATUS_OK) {
        *change = reading.change;
    }
    status = visit_on(self, &reading, visit, context);
    reading_fini(&reading);
    return status;
}
